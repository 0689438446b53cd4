"""The text of a completion, in every form in which TRL hands it over."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.testing.hostile import short_responses
from grounding_rewards_adapters._trl_rows import response_text
from grounding_rewards_adapters.trl import reward_funcs

ARGUMENTS = {"action": "left_click", "coordinate": [512, 384]}
CALL = (
    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [512, 384]}}\n'
    "</tool_call>"
)
BOX = [0.0, 0.0, 0.5, 0.5]


def message(**fields: Any) -> list[dict[str, Any]]:
    return [{"role": "assistant", **fields}]


def call(arguments: Any = ARGUMENTS) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "computer_use", "arguments": arguments}}


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        (None, None),
        ("", ""),
        ("(1, 2)", "(1, 2)"),
        ([], None),
        (message(), None),
        (message(content=None), None),
        (message(content="(1, 2)"), "(1, 2)"),
        (message(content=[{"type": "text", "text": "(1, "}, {"type": "image"}, "2)"]), "(1, 2)"),
        (message(content={"type": "text", "text": "(1, 2)"}), "(1, 2)"),
        (message(content="(1, 2)", tool_calls=[]), "(1, 2)"),
        (message(content="(1, 2)", tool_calls=None, reasoning_content=None), "(1, 2)"),
        (message(content="(1, 2)", reasoning_content=""), "(1, 2)"),
        ([*message(content="(9, 9)"), {"role": "user", "content": "?"}, *message(content="(1, 2)")], "(1, 2)"),
        ([*message(content="", tool_calls=[call()]), {"role": "tool", "content": "x"}], CALL),
        ([{"role": "model", "content": "(1, 2)"}], "(1, 2)"),
        ([{"content": "(9, 9)"}, {"content": "(1, 2)"}], "(1, 2)"),
        ([{"role": None, "content": "(1, 2)"}], "(1, 2)"),
        ([{"role": "tool", "content": "(1, 2)"}], None),
        ([{"role": "user", "content": "(1, 2)"}, {"content": "(1, 2)"}], None),
    ],
)
def test_plain_forms(completion: Any, text: str | None) -> None:
    assert response_text(completion) == text


@pytest.mark.parametrize("content", ["", None, [], [{"type": "text", "text": ""}]])
@pytest.mark.parametrize(
    "made", [call(), call(json.dumps(ARGUMENTS)), {"name": "computer_use", "arguments": ARGUMENTS}, {"id": 1, **call()}]
)
def test_a_tool_call_is_written_as_models_write_it(content: Any, made: dict[str, Any]) -> None:
    assert response_text(message(content=content, tool_calls=[made])) == CALL


def test_thinking_content_and_calls_stand_in_this_order() -> None:
    parsed = message(reasoning_content="At the top.", content="I click it.", tool_calls=[call(), call()])
    assert response_text(parsed) == f"<think>At the top.</think>\nI click it.\n{CALL}\n{CALL}"
    for name in ("reasoning_content", "reasoning", "thinking"):
        assert response_text(message(content="(1, 2)", **{name: "Top."})) == "<think>Top.</think>\n(1, 2)"
    both = message(content="(1, 2)", thinking="Top.", reasoning_content="At the top.")
    assert response_text(both) == "<think>At the top.</think>\n(1, 2)"


def test_thinking_without_an_answer_is_unfinished() -> None:
    assert response_text(message(reasoning_content="At (1, 2)?", content="")) == "<think>At (1, 2)?"
    text = response_text(message(reasoning_content="(250, 250)", content=""))
    scores = gr.recipe("click", response_space="pixel").score([text], [[0, 0, 500, 500]])
    assert (scores.total[0], scores.reason[0]) == (0.0, gr.Reason.UNFINISHED)


def test_names_and_arguments_of_any_kind_are_kept() -> None:
    made = {"function": {"name": "wählen", "arguments": {"text": 'a "b" </tool_call>', "n": float("nan")}}}
    assert response_text(message(content="", tool_calls=[made])) == (
        '<tool_call>\n{"name": "wählen", "arguments": {"text": "a \\"b\\" </tool_call>", "n": NaN}}\n</tool_call>'
    )
    assert response_text(message(tool_calls=[{"function": {"name": "wait"}}])) == (
        '<tool_call>\n{"name": "wait"}\n</tool_call>'
    )


def test_all_keys_of_a_call_are_kept_but_empty_arguments_that_were_added() -> None:
    function = {"name": "computer_use", "parameters": ARGUMENTS, "arguments": {}}
    written = CALL.replace("arguments", "parameters")
    assert response_text(message(tool_calls=[{"type": "function", "function": function}])) == written
    assert response_text(message(tool_calls=[{"type": "function", "id": "a", **function}])) == written
    assert response_text(message(tool_calls=[{"function": {**function, "id": 7, "arguments": None}}])) == (
        f'{written.removesuffix("}" + chr(10) + "</tool_call>")}, "arguments": null, "id": 7}}\n</tool_call>'
    )
    for only in ({"name": "wait", "arguments": {}}, {"name": "wait", "arguments": {}, "note": ""}):
        assert f"\n{json.dumps(only)}\n" in str(response_text(message(tool_calls=[{"function": only}])))
    (reward,) = reward_funcs("click", response_space="pixel", format_weight=0.0)
    parsed = message(content="", tool_calls=[{"type": "function", "function": function}])
    assert reward(completions=[parsed, written], target=[[500, 370, 530, 400]] * 2) == [1.0, 1.0]


@pytest.mark.parametrize("arguments", [10**5000, {1, 2}, object(), b"x"], ids=["number", "set", "object", "bytes"])
def test_arguments_that_json_has_no_words_for_are_null(arguments: Any) -> None:
    assert response_text(message(tool_calls=[call(arguments)])) == (
        '<tool_call>\n{"name": "computer_use", "arguments": null}\n</tool_call>'
    )


def test_arguments_without_end_are_null() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    round_about: list[Any] = []
    round_about.append(round_about)
    for arguments in (deep, round_about):
        assert '"arguments": null' in str(response_text(message(tool_calls=[call(arguments)])))


PLAIN = st.none() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4)
KEYS = st.sampled_from(
    ["role", "content", "reasoning_content", "tool_calls", "function", "name", "arguments", "type", "text"]
)
CELLS = PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(KEYS, PLAIN, max_size=2)
CALLS = st.lists(st.dictionaries(KEYS, CELLS, max_size=2), max_size=2)
MESSAGES = st.dictionaries(KEYS, CELLS | CALLS, max_size=3)


@given(st.lists(MESSAGES, max_size=2))
@settings(max_examples=100)
def test_whatever_messages_hold_there_is_a_text_or_none(messages: list[dict[str, Any]]) -> None:
    text = response_text(messages)
    assert text is None or isinstance(text, str)


@pytest.mark.parametrize("completion", [5, 1.0, b"(1, 2)", {"content": "(1, 2)"}, ["(1, 2)"], [None], object()])
def test_what_no_trainer_gives_is_a_type_error(completion: Any) -> None:
    with pytest.raises(TypeError, match=r"completion: got .*; expected a string or a list of messages"):
        response_text(completion)


@pytest.mark.parametrize("name", ["se-gui", "groundnext", "ui-ins"])
def test_a_rebuilt_call_scores_like_the_written_one(name: str) -> None:
    recipe = gr.recipe(name)
    written = recipe.example
    assert written is not None
    before, _, rest = written.response.partition("<tool_call>")
    thought, _, content = before.rpartition("</think>")
    parsed = message(
        content=content.strip(),
        tool_calls=[{"function": json.loads(rest.partition("</tool_call>")[0])}],
        reasoning_content=thought.removeprefix("<think>"),
    )
    sizes = {"image_sizes": [written.image_size], "model_image_sizes": [written.model_image_size]}
    sizes = {key: value for key, value in sizes.items() if value != [None]}
    texts = written.response, response_text(parsed)
    scores = [recipe.score([text], [written.target], **sizes) for text in texts]
    assert scores[0].total[0] == scores[1].total[0] == recipe.high


def test_hostile_texts_inside_messages_score_like_themselves() -> None:
    (reward,) = reward_funcs("gelato", format_weight=0.5)
    texts = list(short_responses())
    plain = reward(completions=texts, target=[BOX] * len(texts))
    inside = reward(completions=[message(content=text) for text in texts], target=[BOX] * len(texts))
    assert plain == inside
