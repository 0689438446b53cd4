"""GUI-R1's reward by hand: four fifths for the action with its point or text, one fifth for the format."""

import ast
import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
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


@pytest.mark.parametrize(
    ("point", "hit"),
    [((200, 150), 1), ((101, 101), 1), ((299, 199), 1), ((100, 150), 0), ((300, 150), 0), ((200, 100), 0),
     ((200, 200), 0), ((100, 100), 0), ((301, 150), 0), ((0, 0), 0)],
)  # fmt: skip
def test_a_click_lies_within_the_box_and_not_on_its_border(point, hit):
    assert parts(answer(point=point)) == (hit, 1)


@pytest.mark.parametrize(
    ("point", "hit"), [((60, 60), 1), ((199, 60), 1), ((200, 60), 0), ((144, 172), 0), ((143, 172), 1), ((60, 199), 1)]
)
def test_a_target_that_is_only_a_point_reaches_140_pixels(point, hit):
    assert parts(answer(point=point), target("click", place=[60, 60])) == (hit, 1)
    assert parts(answer(point=point), {"point": [60, 60], "action": "click"}) == (hit, 1)


def test_squares_are_compared_and_no_rounded_root():
    place = [112.38740773867889, 112.97274841939797]  # 19599.999999999996 from it, of which the root is 140.0
    assert parts(answer(point=(195, 226)), target("click", place=place)) == (1, 1)
    boxes = [answer(point=(1, 1))] * 2, [target("click", place=[0, 0, 9, 9]), target("click", place=[141, 1])]
    assert GUI_R1.score(*boxes).acc.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("said", "wanted", "score"),
    [
        ("hello world", "hello world", 1), ("World  HELLO", "hello world", 1), ("hello", "hello world", 1),
        ("hello", "hello big world", 1), ("hello", "hello big wide world", 0), ("new york city", "new york", 1),
        ("hello there", "hello world", 1), ("a b c", "a d e f", 0), ("a b c", "a b d e f", 1), ("up", "down", 0),
        ("[bracket] text", "bracket text", 1), ("a", "restaurants", 1), ("restaurants", "a", 1),
        ("a a", "restaurants", 1), ("a b", "restaurants", 0), ("", "hello", 0), ("hello", "", 0), ("", "", 0),
        ("[]", "hello", 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("action", ["type", "select"])
def test_text_is_compared_by_its_words(said, wanted, score, action):
    assert parts(answer(action, NO_PLACE, said), target(action, wanted)) == (score, 1)
    assert gui_r1.texts_agree(said, wanted) == bool(score)


@pytest.mark.parametrize("action", ["open_app", "press_back", "wait", "complete", "long_press"])
def test_of_other_actions_the_name_alone_counts(action):
    assert parts(answer(action, NO_PLACE, "WRONG"), target(action, "Chrome")) == (1, 1)
    assert parts(answer(action, (1, 1), "Chrome"), target(action.upper(), "Chrome")) == (1, 1)
    assert parts(answer("click", (1, 1), "Chrome"), target(action, "Chrome")) == (0, 1)


def test_names_are_compared_in_any_case_and_no_further():
    assert parts(answer("Click"))[0] == 1
    assert parts(answer(), target("CLICK", place=[100, 100, 300, 200]))[0] == 1
    assert parts(answer("left_click"))[0] == 0
    assert parts(answer("type", text="a"))[0] == 0


@pytest.mark.parametrize(
    ("response", "formed"),
    [
        (answer(), 1), (answered("[]"), 1), (answered(f"[{item()}, {item('wait')}]"), 1), (answered(item()), 0),
        (answered(f"({item()},)"), 0), (answered("[1]"), 0), (answered("[{}]"), 0),
        (answered(f"\n[\n{item()},  # there\n]\n"), 1), (answered(f"[{item()}"), 0),
        (answer(point=(200, 150, 7)), 1), (answer(point=(True, False)), 1), (answer(point=(200,)), 0),
        (answer(point=(200.0, 150.0)), 0), (answer(point=("200", "150")), 0), (answer(point=(-100, -100)), 1),
        (answered("[{'action': 'click', 'point': (200, 150), 'input_text': ''}]"), 1),
        (answered("[{'action': 'click', 'point': [true, false], 'input_text': ''}]"), 0),
        (answered("[{'action': 'click', 'point': [1, 2], 'input_text': 'true'}]"), 1),
        (answered("[{'action': 'click', 'point': [1, 2], 'input_text': '', 'more': null}]"), 0),
        (answered("[{'action': 'click', 'point': [0200, 150], 'input_text': ''}]"), 0),
        (answered("[{'action': 'click', 'point': [200, 150]}]"), 0),
        (answered("[{'action': 7, 'point': [200, 150], 'input_text': ''}]"), 0),
        (answered("[{'action': 'click', 'point': [200, 150], 'input_text': None}]"), 0),
        (answer(text="\x00"), 0), (answer("type", text="a\x00"), 0), (answer(text="\x01\u2028\x85"), 1),
        (answer("type"), 0), (answer("select"), 0), (answer("open_app"), 0), (answer("wait"), 1),
        (answer("type", text="nothing"), 1), (answer("type", text=""), 1), (answer("TYPE"), 1),
        (answer("scroll", text="up"), 1), (answer("scroll", text="UP"), 0), (answer("scroll", text="l"), 0),
        (answer().replace("</think> ", "</think>"), 1), (answer().replace("</think> ", "</think>\n\n"), 1),
        (answer().replace("</think> ", "</think> so "), 0), (f"<answer>[{item()}]</answer>", 0),
        ("It is here: " + answer(), 0), (answer() + " done.", 0), (answer().upper(), 0), ("", 0),
        (answer() + answer("wait"), 1), ("<think></think><answer></answer>", 0), (answered("[" * 300 + "]" * 300), 0),
        ("<think><answer>[]</answer></think>" + answer("wait"), 1), ("<think>a < b</think>" + answer()[16:], 1),
        ("<think>-</think><answer>", 0), ("<think></answer>", 0), ("<think></think></answer>", 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("count", [1, VECTOR_ROWS])
def test_format(response, formed, count):
    assert GUI_R1.score([response] * count, [BOX] * count).parts["format"].tolist() == [formed] * count


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
    ("response", "expected"),
    [
        (answer() + "\n", (1, 1)),
        (" \t" + answer() + " \n", (1, 1)),  # 29: a line feed at the end costs the format
        (answered('[{"action": "click", "point": [200, 150], "input_text": "no input text"}]'), (1, 1)),  # 25
        (answer(point=(200.5, 150.25)), (1, 0)),
        (answer(point=(300.0, 150.0)), (0, 0)),  # 24
        (answered("[{'action': 'click', 'point': [ 200 , 150 ], 'input_text': 'x'}]"), (1, 1)),
        (answered("[{'action' : 'click', 'point': [200, 150], 'input_text': 'x'}]"), (1, 1)),
    ],
)
def test_right_answers_that_a_slip_would_cost(response, expected):
    assert parts(response) == expected


@pytest.mark.parametrize("text", ['"don\'t stop"', r"'don\'t stop'", "'don't stop'"])
def test_an_apostrophe_ends_no_text(text):
    response = answered(f"[{{'action': 'type', 'point': [-100, -100], 'input_text': {text}}}]")
    assert parts(response, target("type", "don't stop"))[0] == 1


@pytest.mark.parametrize(
    "point", ["[200]", "[]", "None", "[-5, 5]", "[x, y]", "[1, 2, 3]", "[５, ５]", "['1', '2']", "(5, 5)"]
)
def test_a_click_without_a_point_is_no_click_on_the_origin(point):
    response = answered(f"[{{'action': 'click', 'point': {point}, 'input_text': 'x'}}]")
    for place in ([10, 10], [-1, -1, 50, 50]):
        assert parts(response, {"action": "click", "gt_bbox": place, "input_text": ""})[0] == 0


def test_scrolling_by_a_single_letter_scores_without_the_format():
    assert parts(answer("scroll", NO_PLACE, "l"), target("scroll", "left")) == (1, 0)


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


@pytest.mark.parametrize(
    "truth",
    [
        "", "[]", "{", target("click", place=[]), target("click", place="x"), target("click", place=[1, 2, 3]),
        target("click", place=[300, 200, 100, 100]), target("click"), '{"action": "type", "gt_bbox": [1, 2]}',
        '{"action": null, "gt_bbox": [1, 2], "input_text": ""}', '{"action": 7, "gt_bbox": [1, 2], "input_text": ""}',
        '{"gt_bbox": [1, 2], "input_text": ""}', target("type", None), target("click", place=None),
        {"action": "type", "gt_bbox": [1, 2], "input_text": None}, {"action": "click", "gt_bbox": None},
        {"action": "click", "input_text": "x"}, '{"action": "click"}', {"action": "Click"},
        {"action": {"name": "click"}}, {"regions": [{"bbox": [1, 2, 3, 4]}, {"action": "click"}]},
        {"regions": [{"bbox": [1, 2, 3, 4]}, {"action": "CLICK"}]},
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*has no area as x1 y1 x2 y2")
def test_a_target_that_does_not_fit_is_an_error_and_no_silent_zero(truth):
    with pytest.raises(gr.TargetError, match="target of row 0"):
        GUI_R1.score(answer(), truth)
    scores = GUI_R1.score(answer(), truth, bad_target="abstain")
    assert (scores.valid.tolist(), scores.total.tolist()) == ([0], [0])


@pytest.mark.parametrize(
    "truth",
    [
        BOX, json.dumps(BOX), {**BOX, "gt_bbox": np.array([100, 100, 300, 200])}, {**BOX, "action": "Click", "id": "a"},
        {"action": "click", "gt_bbox": [100, 100, 300, 200]}, {"bbox": [100, 100, 300, 200]},
        {"bbox": [100, 100, 300, 200], "action": "click"},
        {**BOX, "gt_bbox": [0.1, 0.1, 0.3, 0.2], "space": "unit", "model_image_size": [1000, 1000]},
        {"regions": [{"bbox": [0, 0, 9, 9]}, {"bbox": [100, 100, 300, 200], "action": "click"}]},
        {"regions": [{"bbox": [100, 100, 300, 200]}, {"action": {"name": "type", "text": "x"}}]},
    ],
)  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(truth):
    scores = GUI_R1.score([answer(), answer(point=(301, 150))], [truth] * 2)
    assert scores.acc.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ({"action": "click", "input_text": "x"}, "field 'bbox': got nothing; expected 4 numbers"),
        ({"action": "click", "id": "a"}, "sample 'a', field 'bbox': got nothing"),
        (target("click", place=None), "field 'bbox': got nothing"),
        ({"action": "click", "point": [-5, 40]}, "expected coordinates in model_pixel from 0; name the right `space`"),
        ({"action": "click", "point": [-5, 40], "model_image_size": [90, 50]}, r"near\) 0..90 by 0..50, its image"),
    ],
)  # fmt: skip
def test_what_an_error_says(truth, message):
    with pytest.raises(gr.TargetError, match=message):
        GUI_R1.score(answer(), truth)


def test_a_row_keeps_what_else_it_says():
    with pytest.raises(gr.TargetError, match="target of sample 'abc', field 'bbox'"):
        GUI_R1.score(answer(), {"action": "click", "gt_bbox": [3, 2, 1, 5], "id": "abc"})


def test_a_response_without_an_action_says_no_action_as_in_the_source():
    assert parts(answered("[]"), target("no action")) == (1, 1)
    assert parts(answer(), target("no action")) == (0, 1)


def test_targets_without_a_place():
    truths = [{"action": {"name": "type", "text": "red hat"}}, {"action": {"name": "scroll", "direction": "up"}}]
    right = [answer("type", NO_PLACE, "red hat"), answer("scroll", NO_PLACE, "up")]
    wrong = [answer("type", NO_PLACE, "blue"), answer("scroll", NO_PLACE, "down")]
    assert GUI_R1.score(right + wrong, truths * 2).acc.tolist() == [1, 1, 0, 0]
    assert GUI_R1.score(right, [{"action": "type"}, {"action": "scroll"}]).acc.tolist() == [1, 1]


def test_a_missing_text_is_no_input_text():
    response = answered("[{'action': 'type', 'point': [-100, -100]}]")
    assert parts(response, target("type", "no input text")) == (1, 0)
    assert parts(response, target("type", "hello")) == (0, 0)


@pytest.mark.parametrize("beside", [[], [target("click", place=[60, 60])], [target("type", "hello")]])
def test_a_box_without_area_counts_with_its_border(beside):
    spot = target("click", place=[200, 150, 200, 150])
    line = target("click", place=[200, 150, 300, 150])
    answers = [answer(), answer(point=(201, 150)), answer(), answer(point=(300, 150)), answer(point=(250, 151))]
    scores = GUI_R1.score(answers + [""] * len(beside), [spot, spot, line, line, line, *beside])
    assert scores.acc.tolist()[:5] == [1, 0, 1, 1, 0]


def test_the_first_action_and_the_last_coordinate_of_the_first_answer_count():
    both = answered(f"[{item(point=(1, 1))}, {item('wait')}]")
    assert parts(both) == (1, 1)
    assert parts(answer(point=(1, 1)) + answer()) == (0, 1)
    assert parts(f"<think><answer>[{item()}]</answer></think>{answer('wait')}") == (1, 1)


def test_weights():
    built = gr.recipe("gui-r1", format_weight=0.0)
    assert built.score(answer(point=(1, 1)), BOX).total.tolist() == [0]
    assert [exploit.name for exploit in built.exploits] == ["single-letter", "any-argument", "far-click"]
    assert (GUI_R1.low, GUI_R1.high, GUI_R1.parts) == (0.0, 1.0, ("matched", "format"))
