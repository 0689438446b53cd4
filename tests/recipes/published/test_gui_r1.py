"""GUI-R1's reward by hand: four fifths for the action with its point or text, one fifth for the format."""

import ast
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import compiled
from grounding_rewards.recipes.published import gui_r1
from tests.golden import harness
from tests.parsing.dialects.actions.test_gui_r1 import USUAL
from tests.parsing.fragments import responses

GUI_R1 = gr.recipe("gui-r1")
BOX = {"action": "click", "gt_bbox": [100, 100, 300, 200], "input_text": "no input text"}
NO_PLACE = [-100, -100]


def answered(content):
    return f"<think>-</think> <answer>{content}</answer>"


def item(action="click", point=(200, 150), text="no input text"):
    return f"{{'action': '{action}', 'point': {list(point)}, 'input_text': '{text}'}}"


def answer(*arguments, **more):
    return answered(f"[{item(*arguments, **more)}]")


def target(action, text="no input text", place=NO_PLACE):
    return json.dumps({"action": action, "gt_bbox": place, "input_text": text})


def parts(response, truth=BOX):
    scores = GUI_R1.score(response, truth)
    assert scores.total.tolist() == [0.8 * scores.parts["matched"][0] + 0.2 * scores.parts["format"][0]]
    assert scores.acc.tolist() == scores.parts["matched"].tolist()
    return scores.parts["matched"][0], scores.parts["format"][0]


def by_python(text):
    """The format as GUI-R1 has it, with Python's own reader of literals."""
    text = text.strip()
    start, joint = text.startswith("<think>"), compiled(r"</think>\s*<answer>").search(text, 7)
    if not (start and joint and text.endswith("</answer>") and joint.end() <= len(text) - 9):
        return False
    content = text[text.index("<answer>") + 8 :].partition("</answer>")[0].strip()
    try:
        items = ast.literal_eval(content)
        return isinstance(items, list) and all(well_formed(each) for each in items)
    except (ValueError, SyntaxError, TypeError, LookupError, MemoryError, RecursionError):
        return False


def well_formed(each):
    name, text = each["action"], each["input_text"]
    if not (isinstance(name, str) and isinstance(text, str) and all(isinstance(each["point"][k], int) for k in (0, 1))):
        return False
    if name in ("type", "select", "open_app") and text == "no input text":
        return False
    return name != "scroll" or text in ("left", "right", "up", "down")


@settings(max_examples=300, deadline=None)
@given(st.one_of(USUAL, responses, responses.map(answered), st.text("[]{}',: '\"#\n0aup\\", max_size=9).map(answered)))
@example(answer())
def test_the_format_is_that_of_pythons_own_reader(text):
    if text.isascii() and "\\N" not in text and "j" not in text and "..." not in text and "\\\n" not in text:
        assert gui_r1.is_well_formed(text) == by_python(text)
    if compiled(gui_r1._USUAL).search(text.strip()):
        assert by_python(text.strip())


def test_all_golden_formats_but_those_that_end_in_white_space_are_as_published():
    lines = [json.loads(text) for text in (harness.directory() / "guir1.jsonl").read_text("utf-8").splitlines()]
    same = [line for line in lines if line["response"] == line["response"].strip()]
    found = GUI_R1.score([line["response"] for line in same], [BOX] * len(same)).parts["format"]
    assert len(same) > 400
    assert found.tolist() == [line["expected"]["format"] for line in same]


@pytest.mark.parametrize(
    "content",
    [
        "[open('bait', 'w').write('1')]", "[{**{'action': 'click', 'point': [1, 2], 'input_text': ''}}]",
        "[{'action': 'click', 'point': [100 + 100, 150], 'input_text': 'x'}]", "[x for x in ()]", "list()", "[exit()]",
    ],
)  # fmt: skip
def test_code_in_an_answer_is_not_run(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert parts(answered(content)) == (0, 0)
    assert list(tmp_path.iterdir()) == []
