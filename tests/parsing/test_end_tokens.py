"""End-of-turn and padding tokens at the end of a response: left out by trainers and commands, in Python when asked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import END_TOKENS, as_texts, trimmed, without_end
from grounding_rewards.tables.recorder import read_rollouts
from grounding_rewards_adapters import easyr1, verl
from grounding_rewards_adapters.trl import reward_funcs

BOX = [0.0, 0.0, 0.5, 0.5]
REFERENCE = re.compile(rf"(?:{'|'.join(map(re.escape, END_TOKENS))})(?:\s|{'|'.join(map(re.escape, END_TOKENS))})*$")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("(1, 2)<|im_end|>", "(1, 2)"),
        ("(1, 2)\n<|im_end|>\n", "(1, 2)\n"),
        ("(1, 2)<|im_end|>\n<|endoftext|><|endoftext|>", "(1, 2)"),
        ("(1, 2)</s> <pad>\t<pad>", "(1, 2)"),
        ("<|box_start|>(1, 2)<|box_end|><|im_end|>", "<|box_start|>(1, 2)<|box_end|>"),
        ("<|im_end|>", ""),
        ("(1, 2)<|im_end|>\n(3, 4)", "(1, 2)<|im_end|>\n(3, 4)"),
        ("(1, 2) \n", "(1, 2) \n"),
        ("<s>(1, 2)</s>", "<s>(1, 2)</s>"),
        ("<s>(1, 2)</s><|im_end|>", "<s>(1, 2)</s>"),
        ("(1, 2)<|IM_END|>", "(1, 2)<|IM_END|>"),
        ("", ""),
    ],
)
def test_tokens_at_the_end_alone_are_left_out(text: str, kept: str) -> None:
    assert without_end(text) == kept
    assert list(trimmed(as_texts([text, "(1, 2)"]))) == [kept, "(1, 2)"]


@given(st.lists(st.sampled_from([*END_TOKENS, " ", "\n", "\u3000", "(1, 2)", "<", "|", ">", "</"]), max_size=8))
def test_it_equals_a_pattern(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = REFERENCE.search(text)
    assert without_end(text) == (text[: found.start()] if found else text)


def test_texts_without_tokens_are_the_same_object() -> None:
    texts = as_texts(["(1, 2)", "[1, 2]", "<answer>(1, 2)</answer>\n"])
    assert trimmed(texts) is texts


@pytest.mark.parametrize(
    ("name", "options", "total"),
    [
        ("gelato", {}, 0.0),
        ("gelato", {"trim": True}, 1.0),
        ("click", {"dialect": "bare_tuple_whole"}, 1.0),
        ("click", {"dialect": "bare_tuple_whole", "trim": False}, 0.0),
        ("action", {"dialect": "auto_action"}, 1.0),
    ],
)
def test_python(name: str, options: dict[str, Any], total: float) -> None:
    own = {} if name == "gelato" else {"response_space": "thousandths", "target_space": "unit"}
    recipe = gr.recipe(name, **own, **options)
    target = {"bbox": BOX, "image_size": [100, 100], **({"action": "click"} if name == "action" else {})}
    assert recipe.score("(250, 250)<|im_end|>", target).total.tolist() == [total]
    assert gr.recipe(recipe.to_dict()) == recipe


def test_options_that_are_neither_true_nor_false_are_an_error() -> None:
    with pytest.raises(gr.RecipeError, match="gelato: option trim: got 1; expected one of True, False"):
        gr.recipe("gelato", trim=1)


@pytest.mark.parametrize(("options", "total"), [({}, 1.0), ({"trim": False}, 0.0)])
def test_trainers(options: dict[str, Any], total: float) -> None:
    text, own = "(250, 250)<|im_end|>", {"recipe": "gelato", "diagnose": False, **options}
    (function,) = reward_funcs(**own)
    assert function(completions=[text], target=[BOX]) == [total]
    assert verl.compute_score("", text, BOX, **own)["score"] == total
    row = {"response": text, "response_length": 9, "ground_truth": BOX}
    assert easyr1.compute_score([row], **own)[0]["overall"] == total


def test_files_and_what_is_recorded(tmp_path: Path) -> None:
    rows, records = tmp_path / "rows.jsonl", tmp_path / "records"
    rows.write_text('{"response": "(250, 250)<|im_end|>", "target": {"bbox": [0, 0, 0.5, 0.5]}}\n', "utf-8")
    assert gr.evaluate(rows, recipe="gelato").accuracy == 1.0
    assert gr.evaluate(rows, recipe="gelato", trim=False).accuracy == 0.0
    (function,) = reward_funcs("gelato", record=str(records))
    function(completions=["(250, 250)<|im_end|>"], target=[BOX])
    function.scorer._recording.recorder.close()
    assert read_rollouts(records).column("response").to_pylist() == ["(250, 250)<|im_end|>"]


def test_functions_of_ones_own_get_responses_as_they_came() -> None:
    def mine(response: str, target: Any) -> float:
        return float(response.endswith("<|im_end|>"))

    (function,) = reward_funcs(mine)
    assert function(completions=["(250, 250)<|im_end|>"], target=[BOX]) == [1.0]
