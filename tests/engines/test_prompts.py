"""Prompts by name and users' templates: literal messages, instructions that stay data, errors with name and line."""

from __future__ import annotations

import builtins
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards import recipe
from grounding_rewards.converting.prompts import Message
from grounding_rewards.coords.register import published_prompts
from grounding_rewards.engines import prompts
from grounding_rewards.engines.prompts import FIELDS, PLAIN, Prompt, prompt_named
from grounding_rewards.errors import ConvertError, EngineError

SIZES = {"width": 1316, "height": 728, "image_width": 1920, "image_height": 1080}
TEXTS = st.text("ab \n{}%#_<>image'\"\\&\ufdd0é", max_size=9)
WRITTEN = "<\u200bimage>"
"""The data's own <image>, which no engine takes for the place of an image."""
POINT = (
    "You see a screenshot and read the description of one element in it. Find the element and choose the point where a "
    "click on it is safest, mostly its middle. "
)
THOUSANDTHS = (
    "Measure in thousandths of the screenshot: x from 0 at its left edge to 1000 at its right edge, y from 0 at its "
    "top to 1000 at its bottom. Answer with nothing but this point, in whole numbers: (x, y)"
)
COMPUTER = (
    "You operate a computer. The user shows its screen and says what to click on. Do so by one call of the function "
    "computer_use, whose action is left_click and whose coordinate is a point [x, y] of the screen. The screen's "
)
CALL = (
    ". Write nothing but the call:\n<tool_call>\n"
    '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [x, y]}}\n</tool_call>'
)
PIXELS = "Measure in pixels of the screenshot, which is 1316 wide and 728 high."
SYSTEMS = {
    "gta1": POINT + PIXELS + "\n\nOutput the coordinate pair exactly:\n(x,y)",
    "gelato": POINT + THOUSANDTHS,
    "gelato-refusal": POINT + THOUSANDTHS + ". If no element fits the description, respond with 'refusal'.",
    "qwen2_5_vl": COMPUTER + "resolution is 1316x728" + CALL,
    "qwen3_vl": COMPUTER + "resolution is 1000x1000" + CALL,
    "ui-tars": (
        "You operate the screen that the user shows, one step at a time. Think in one sentence, then click on what the "
        f"user asks for. {PIXELS} Answer in two lines:\nThought: ...\nAction: click(point='<point>x y</point>')"
    ),
}
RIGHT: dict[str, dict[str, Any]] = {
    "gta1": {"bbox": [490, 240, 510, 260], "space": "model_pixel", "model_image_size": [1316, 728]},
    "gelato": {"bbox": [0.4, 0.2, 0.6, 0.3]},
    "gelato-refusal": {"bbox": [760, 200, 1160, 340], "image_size": [1920, 1080]},
    "qwen2_5_vl": {"bbox": [480, 240, 520, 260], "image_size": [1000, 800]},
    "qwen3_vl": {"bbox": [760, 200, 1160, 340], "image_size": [1920, 1080]},
    "ui-tars": {"bbox": [490, 240, 510, 260], "space": "model_pixel", "model_image_size": [1316, 728],
                "image_size": [1920, 1080]},
    "gui-g1": {"bbox": [400, 200, 600, 300], "image_size": [1920, 1080]},
}  # fmt: skip
"""A target for the example answer of each prompt."""

PUBLISHED = published_prompts()


def asked(template: str, instruction: Any = "Save", images: int = 1, **fields: Any) -> str:
    """Return the user's text."""
    return Prompt("mine", template).messages(instruction, images, fields)[-1].text


def file(folder: Path, text: str) -> str:
    (folder / "ask.jinja").write_text(text, "utf-8")
    return str(folder / "ask.jinja")


@pytest.mark.parametrize("name", SYSTEMS)
def test_published_prompts_word_by_word(name: str) -> None:
    assert prompt_named(name).messages("Close the tab", 1, SIZES) == (
        Message("system", SYSTEMS[name]),
        Message("user", "<image>Close the tab"),
    )


def test_those_without_a_system_message_word_by_word() -> None:
    (message,) = prompt_named("gui-g1").messages("the save button", 1, {})
    assert message.text == (
        "<image>Find the element of the screenshot that this describes: the save button\nDo not think first. Answer "
        "with its box in pixels of the screenshot, in this form:\n```json\n"
        '[{"bbox_2d": [x1, y1, x2, y2], "label": "..."}]\n```'
    )
    assert prompt_named(PLAIN).messages("Close the tab", 2, {}) == (Message("user", "<image><image>Close the tab"),)
    assert {*SYSTEMS, "gui-g1"} == PUBLISHED.keys() == RIGHT.keys()


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_recipe_of_a_prompt_reads_the_answers_that_it_asks_for(name: str) -> None:
    published = PUBLISHED[name]
    reader = recipe(published.recipe, **published.options)
    scores = reader.score([published.answer], [RIGHT[name]])
    assert scores.acc.tolist() == [1.0]
    assert scores.valid.tolist() == [1.0]
    assert scores.total.tolist() == [pytest.approx(reader.high)]
    assert reader.response_space == published.space
    away = reader.score(
        [published.answer.replace("250", "700").replace("200, 600, 300", "700, 600, 800")], [RIGHT[name]]
    )
    assert away.acc.tolist() == [0.0]


def test_a_refusal_is_read_where_the_prompt_allows_one() -> None:
    published = PUBLISHED["gelato-refusal"]
    reader = recipe(published.recipe, **published.options)
    assert reader.score(["refusal"], [{"refusal": True, "image_size": [9, 9]}]).total.tolist() == [1.0]


@given(
    st.sampled_from((PLAIN, *PUBLISHED)),
    TEXTS | st.tuples(TEXTS, st.sampled_from(("<image>", "{{ row }}", "{% if %}", "{#")), TEXTS).map("".join),
    st.integers(0, 3),
)  # fmt: skip
def test_instructions_are_data(name: str, instruction: str, images: int) -> None:
    prompt = prompt_named(name)
    asked = instruction.removeprefix("<image>" * images) if name == PLAIN else instruction  # marks of images alone
    if not asked.strip():
        with pytest.raises(ConvertError, match="instruction: got"):
            prompt.messages(instruction, images, SIZES)
        return
    *system, user = prompt.messages(instruction, images, SIZES)
    before, _, after = prompt.messages("@", images, SIZES)[-1].text.partition("@")
    assert user.text.count("<image>") == before.count("<image>") == images
    if not instruction.startswith("<image>"):
        kept = instruction if name == PLAIN else instruction.replace("\ufdd0", "\ufffd")
        assert user.text == before + kept.replace("<image>", WRITTEN) + after
    assert system == [*prompt.messages("@", images, SIZES)[:-1]]


def test_marks_before_an_instruction_are_places_without_a_template_alone() -> None:
    plain, mine = prompt_named(PLAIN), Prompt("mine", "{{ instruction }}")
    assert plain.messages("<image>Save the <image>", 1, {})[0].text == f"<image>Save the {WRITTEN}"
    assert plain.messages("<image><image>Save", 1, {})[0].text == f"<image>{WRITTEN}Save"
    assert plain.messages("Save the <image>", 1, {})[0].text == f"<image>Save the {WRITTEN}"
    assert plain.messages("Save the <image>", 0, {})[0].text == f"Save the {WRITTEN}"
    assert mine.messages("<image>Save", 1, {})[0].text == f"<image>{WRITTEN}Save"


def test_conversations_of_several_turns_go_into_the_plain_prompt_alone() -> None:
    turns = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Save {{ it }}"}]}]
    assert prompt_named(PLAIN, "Be brief.").messages(turns, 1, {}) == (
        Message("system", "Be brief."),
        Message("user", "<image>Save {{ it }}"),
    )
    (message,) = prompt_named("gelato", "").messages(turns, 1, {"width": 64, "height": 48})
    assert message.text.count("Save {{ it }}") == 1
    turns = [*turns, {"role": "assistant", "content": "Which?"}, *turns]
    why = r"instruction: got \[\{'role': 'user'.*; expected a text \(a conversation needs the prompt 'plain'\)"
    with pytest.raises(ConvertError, match=why):
        prompt_named("gelato").messages(turns, 1, {})
    for nothing, came in ((None, "nothing"), ("  ", "'  '"), (7, "7"), ([], r"\[\]")):
        for name in ("gelato", PLAIN):
            with pytest.raises(ConvertError, match=f"instruction: got {came}; expected a text"):
                prompt_named(name).messages(nothing, 1, {})


def test_a_template_in_a_file(tmp_path: Path) -> None:
    name = file(
        tmp_path,
        "{# a lab's #}\n{% if row.app %}\nIn {{ row['app'] }} ({{ row.tags | join(', ') }}): <image>\n{% endif %}\n"
        "{{ instruction }} on {{ width }} x {{ height }} of {{ image_width }} x {{ image_height }}\n",
    )
    prompt = prompt_named(name, "Best of {{ row.tags[0] }}")
    row = {"app": "Paint <image>", "tags": np.array(["a", "b"])}
    assert prompt.messages("Sav\u00e9 & <b>", 1, {**SIZES, "width": 1316.0, "row": row}) == (
        Message("system", "Best of a"),
        Message("user", f"In Paint {WRITTEN} (a, b): <image>\nSav\u00e9 & <b> on 1316 x 728 of 1920 x 1080"),
    )
    assert pickle.loads(pickle.dumps(prompt)) == prompt
    assert row["tags"].tolist() == ["a", "b"]


def test_system_messages_are_texts_files_or_none(tmp_path: Path) -> None:
    name = file(tmp_path, "On {{ width }} pixels.\n")
    for system, text in (
        (name, "On 1316 pixels."),
        ("Be brief. {{ height }}", "Be brief. 728"),
        ("\u00e9" * 5000,) * 2,
    ):
        for prompt in (prompt_named(PLAIN, system), prompt_named("gta1", system)):
            assert prompt.messages("Save", 1, SIZES)[0] == Message("system", text)
    assert [each.role for each in prompt_named("gta1", "").messages("Save", 1, SIZES)] == ["user"]


def test_places_of_images_in_templates() -> None:
    assert asked("Before <image> and after <image>: {{ instruction }}", images=2) == (
        "Before <image> and after <image>: Save"
    )
    assert asked("<{{ instruction }}>", "image") == f"<image>{WRITTEN}"
    assert asked("{{ instruction | replace('<image>', '') | upper }}", "a<image>") == "<image>A"
    with pytest.raises(ConvertError, match="names 2 images by <image>; the row has 1"):
        asked("<image><image>{{ instruction }}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ instruction }}\n{{ size }}", "line 2: unknown field 'size'. There are: instruction, width, height, image"),
        ("{{ instuction }}", "line 1: unknown field 'instuction'; did you mean 'instruction'? There are: instruction"),
        ("{% for i in range(9) %}{{ instruction }}{% endfor %}", "line 1: unknown field 'range'"),
        ("{{ instruction }}\n\n{% if width %}", "line 3: Unexpected end of template."),
        ("{{ instruction }", "line 1: unexpected '}'"),
        ("{{ instruction | shout }}", "line 1: No filter named 'shout'."),
        ("{{ row.tags | random }}", "line 1: No filter named 'random'."),
        ("{{ instruction }}\n{{ row.__class__ }}", "line 2: '__class__' is not for templates; use a field"),
        ("{{ instruction }}{% include '/etc/passwd' %}", "line 1: asks for another file; a prompt is one file"),
        ("{% extends 'a' %}{{ instruction }}", "line 1: asks for another file; a prompt is one file"),
        ("Close the tab", "is the same for every row; expected {{ instruction }} in it"),
        ("", "is the same for every row; expected {{ instruction }} in it"),
        ("{# {{ instruction }} #}", "is the same for every row; expected {{ instruction }} in it"),
    ],
)
def test_what_can_be_known_of_a_template_is_an_error_when_it_is_read(text: str, why: str, tmp_path: Path) -> None:
    name = file(tmp_path, text)
    with pytest.raises(EngineError) as caught:
        prompt_named(name)
    assert str(caught.value).startswith(f"prompt {name!r}{':' if why.startswith('is') else ','} {why}")
    assert "\n" not in str(caught.value)


def test_a_template_of_many_brackets_is_an_error() -> None:
    with pytest.raises(EngineError, match=r"^prompt 'mine': is nested too deeply$"):
        Prompt("mine", "{{ " + "(" * 5000 + "instruction" + ")" * 5000 + " }}")


def test_system_messages_have_errors_of_their_own() -> None:
    with pytest.raises(EngineError, match=r"^system message of prompt 'gta1', line 2: unknown field 'size'\."):
        prompt_named("gta1", "Be brief.\n{{ size }}")


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ instruction }}\n{{ row.colour }}", "line 2: 'dict object' has no attribute 'colour'; columns of the "),
        ("{{ width }} {{ instruction }}", "line 1: 'width' is undefined; the row has no width; --pipeline says how"),
        ("{{ image_width }} {{ instruction }}", "line 1: 'image_width' is undefined; the row has no image_width"),
        ("{{ instruction['__class__'] }}", "line 1: access to attribute '__class__' of 'str' object is unsafe."),
        ("{{ '{0.__class__}'.format(instruction) }}", "line 1: access to attribute '__class__' of 'str' object is"),
        ("{{ instruction }}\n{{ row.a.append(7) }}", "line 2: access to attribute 'append' of 'list' object"),
        ("{{ instruction }}{{ 1 / row.zero }}", "line 1: division by zero"),
        ("{{ instruction.split(':')[1] }}", "line 1: list object has no element 1"),
        ("{% if instruction == 'Open' %}{{ instruction }}{% endif %}", "is empty for this row; expected a text"),
    ],
)  # fmt: skip
def test_what_a_row_does_not_fit_is_a_problem_of_the_row(template: str, why: str) -> None:
    row = {"a": [1], "zero": 0}
    with pytest.raises(ConvertError) as caught:
        asked(template, row=row, width=None)
    assert str(caught.value).startswith(f"prompt 'mine'{':' if why.startswith('is') else ','} {why}")
    assert row == {"a": [1], "zero": 0}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "gelatto",
            "unknown prompt 'gelatto'; did you mean 'gelato'? There are: plain, qwen2_5_vl, qwen3_vl, gelato, ",
        ),
        ("gone.jinja", "or the path of a template file"),
        ("a\0b" + "c" * 5000, "unknown prompt 'a\\x00bccc"),
    ],
)
def test_prompts_that_there_are_not(name: str, why: str) -> None:
    with pytest.raises(EngineError) as caught:
        prompt_named(name)
    assert why in str(caught.value)
    assert len(str(caught.value)) < 500


def test_files_that_are_no_templates(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"Caf\xe9 {{ instruction }}")
    (tmp_path / "long").write_text("a" * (1 << 20) + "{{ instruction }}")
    for name, why in (
        ("latin", "cannot be read (it is not UTF-8); expected a text file, a template"),
        ("long", "is longer than 1,048,576 characters; expected a template"),
        (".", "cannot be read (Is a directory); expected a text file, a template"),
    ):
        with pytest.raises(EngineError) as caught:
            prompt_named(str(tmp_path / name))
        assert str(caught.value) == f"prompt {str(tmp_path / name)!r}: {why}"


def test_jinja2_is_asked_for_where_a_template_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *further: Any) -> Any:
        if name.partition(".")[0] == "jinja2":
            raise ImportError(name)
        return real(name, *further)

    monkeypatch.setattr(builtins, "__import__", without)
    prompts._compiled.cache_clear()
    assert prompt_named(PLAIN).messages("Save", 0, {}) == (Message("user", "Save"),)
    with pytest.raises(EngineError, match="prompt 'gelato': needs jinja2: pip install jinja2"):
        prompt_named("gelato")


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | TEXTS, st.lists, max_leaves=4)


@given(st.dictionaries(st.sampled_from(("a", "b c", "items")), VALUES))
def test_columns_of_any_value_never_make_a_place_of_an_image(row: dict[str, Any]) -> None:
    text = asked("{{ instruction }} {% for name in row %}{{ name }}: {{ row[name] }}; {% endfor %}", row=row)
    assert text.startswith("<image>Save ")
    assert text.count("<image>") == 1
    assert text.count("; ") >= len(row)


def test_every_field_has_a_meaning_and_may_be_used() -> None:
    for name in FIELDS:
        assert asked("{{ instruction }} {{ %s }}" % name, **SIZES, row={"a": 1}).startswith("<image>Save ")  # noqa: UP031
