"""GUI-R1's reward by hand: four fifths for the action with its point or text, one fifth for the format."""

import ast
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
from grounding_rewards.recipes.published import gui_r1
from tests.golden import harness
from tests.parsing.fragments import responses
from tests.parsing.test_cases import changed, texts_of

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


@settings(max_examples=300)
@given(
    st.one_of(
        changed(texts_of("gui_r1")), responses.map(answered), st.text("[]{}',: '\"#\n0aup\\", max_size=9).map(answered)
    )
)
@example(answer())
def test_the_format_is_that_of_pythons_own_reader(text):
    if text.isascii() and "\\N" not in text and "j" not in text and "..." not in text and "\\\n" not in text:
        assert gui_r1.is_well_formed(text) == by_python(text)
    if compiled(gui_r1._USUAL).search(text.strip()):
        assert by_python(text.strip())


def stated(response, truth):
    """The deviation that applies, ``matched`` as it states it, and as it is."""
    line = {"response": response, "ground_truth": truth, "extra": {}}
    found, ours = harness.deviation("guir1", line), harness.score("guir1", GUI_R1, line)
    value = harness.stated("guir1", GUI_R1, found, line) if found else ours
    assert {name: ours[name] for name in value} == value
    return found and found.name, value["matched"], ours["matched"]


@pytest.mark.parametrize(
    ("content", "truth", "expected"),
    [
        ("[{\"action': 'click', 'point': [200, 150]}]", target("click", place=[0, 0, 300, 200]), (None, 0, 0)),
        ("[{'action': 'cl\"ick'}, {'action': 'click', 'point': [200, 150]}]", BOX, ("target", 1, 1)),
        ("[{'action': ''}, {'action': \"click\", 'point': [200, 150]}]", json.dumps(BOX), ("quotes", 1, 1)),
        ("[{'action': ''}, {'action': 'click', 'point': [200, 150]}]", json.dumps(BOX), (None, 1, 1)),
        ("[{'action': 'type', 'input_text': u'hello'}]", target("type", "hello"), (None, 0, 0)),
        ("[{'action': 'type', 'input_text': 'a' 'b'}]", target("type", "ab"), ("quotes", 1, 1)),
        ("[{'action': 'type', 'input_text': 'a c'\n\"'d e\", }]", target("type", "x c'd y"), ("quotes", 0, 0)),
        ("[{'action': 'type', 'input_text': 'a c'\n\"'d e\", }]", target("type", "a c'd x"), ("quotes", 1, 1)),
        ("[{'action': 'type', 'input_text': '''hello there'''}]", target("type", "hello there"), ("quotes", 1, 1)),
        ("[{'action': 'type', 'input_text': 'hello', 'input_text': 'bye'}]", target("type", "hello"), (None, 1, 1)),
        ("[{'action': 'type', 'input_text': 'hi you' 'x': 'y', 'z': 'a'}]", target("type", "hi you"), (None, 1, 1)),
        ("[{'action': 'type', 'input_text': 'I don't, you won't'}]", target("type", "I don't, x"), ("quotes", 1, 1)),
        ("[{'action': 'type', 'input_text': 'the dogs' tail'}]", target("type", "the dogs"), (None, 1, 1)),
        ("[{'action': 'type', 'input_text': 'don't}]", target("type", "don"), (None, 1, 1)),
        ("[{'action': 'type', 'input_text': 'a\nb', 'input_text': 'red hat'}]", target("type", "hat"), (None, 1, 1)),
        ("[{'action': 'type', 'input_text': '\\x \\'b\\''}]", target("type", "\\x \\'b\\'"), ("quotes", 1, 1)),
        ("[open('x')]", target("click", place=None), ("target", 0, 0)),
        ("[{'action': 'wait', 'point': [1 + 1, 2], 'input_text': ''}]", {"action": "wait"}, ("target", 1, 1)),
        ("[]", '{"action": "click"}', ("target", 0, 0)),
        ("[{'action': 'type', 'input_text': ''}]", '{"action": "type"}', ("target", 1, 1)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", "\n"])
def test_what_a_deviation_states_is_what_is_returned(content, truth, expected, end):
    name, *values = expected
    assert stated(answered(content) + end, truth) == ("white-space" if end else name, *values)


@pytest.mark.parametrize("text", ["[5.5, 6]", "see [ 5 , 6 ] here", "v [1.0, 2.0]", "[1., .2]", "[1.5, 2]}"])
@pytest.mark.parametrize("count", [1, VECTOR_ROWS])
def test_numbers_in_a_text_are_no_point_beside_one_as_the_source_reads_it(text, count):
    scores = GUI_R1.score([answer(text=text)] * count, [BOX] * count)
    assert (scores.total.tolist(), stated(answer(text=text), json.dumps(BOX))[0]) == ([1] * count, None)
    assert parts(answer(text=text, point=(200.5, 150)))[0] == 0  # which is no such one
