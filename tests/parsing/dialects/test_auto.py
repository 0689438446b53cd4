"""``auto``: answers in any form, by where they stand; each row may hold another form."""

import pickle

import numpy as np

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import AUTO, BARE_TUPLE, CROPPED, REFUSAL, FirstOf, parse
from grounding_rewards.rollouts import Reason
from tests.cases import cases
from tests.parsing.reading import read

CALL = '<tool_call>{"arguments": {"action": "left_click", "coordinate": [5, 6]}}</tool_call>'
POINT = '{"point_2d": [3, 4]}'


@cases(
    ("text", "expected", "dialect"),
    [
        ("(1, 2)", ([1, 2], "OK"), "bare_tuple"),
        ("(1, 2)\n<tool_response>\nok", (None, "NO_ANSWER"), None),
        ("(1, 2)\n<|im_start|>user\nagain", (None, "NO_ANSWER"), None),
        ("point:120,85", ([120, 85], "OK"), "bare_numbers"),
        ("point:120,8", (None, "MALFORMED"), None),
        ("point:5,8", ([5, 8], "OK"), "bare_numbers"),
        ("<answer>120, 85</answer>", ([120, 85], "OK"), "bare_numbers"),
        ("<answer>120, 85", (None, "MALFORMED"), None),
        ("120, 8", (None, "MALFORMED"), None),
        ("120, 8.", ([120, 8], "OK"), "bare_numbers"),
        (POINT, ([3, 4], "OK"), "json_2d"),
        (CALL, ([5, 6], "OK"), "tool_call"),
        ("refusal", (None, "REFUSED"), "refusal"),
        ("(-1, -1)", (None, "REFUSED"), "refusal"),
        (f"(1, 2) {POINT} {CALL}", (None, "SEVERAL_ANSWERS"), "bare_tuple"),
        (f"(3, 4) {POINT}", ([3, 4], "OK"), "bare_tuple"),
        ('<tool_call>{"arguments": {"action": "wait"}}</tool_call> (1, 2)', (None, "SEVERAL_ANSWERS"), "action_json"),
        (f"{CALL}{CALL}", ([5, 6], "OK"), "tool_call"),
        ("refusal (1, 2)", ([1, 2], "OK"), "bare_tuple"),
        ("the tool_call> failed", (None, "MALFORMED"), None),
        ("(x, y)", (None, "MALFORMED"), None),
        ("[512, 384]", ([512, 384], "OK"), "bare_list"),
        ("[100, 100, 300, 200]", ([200, 150], "OK"), "bare_list"),
        ("[1, 2] or (3, 4)", (None, "SEVERAL_ANSWERS"), "bare_list"),
        ("[1, 2],[3, 4]", ([2, 3], "OK"), "corner_lists"),
        ("(1, 2),(3, 4)", ([2, 3], "OK"), "corner_tuples"),
        ("(1, 2),(3, 4),(5, 6)", (None, "SEVERAL_ANSWERS"), "bare_tuple"),
        ("(1, 2) (3, 4)", (None, "SEVERAL_ANSWERS"), "bare_tuple"),
        ("[[1, 2], [3, 4]]", (None, "SEVERAL_ANSWERS"), "bare_list"),
        ("CLICK(box=[[1,2,3,4]])", ([2, 3], "OK"), "keyword_call"),
        ("{'action': 'click', 'coordinate': [1, 2]}", ([1, 2], "OK"), "json_coordinate"),
        ('{"POINT":[1,2]}', ([1, 2], "OK"), "json_compact"),
        ("{'action':'click','mean':[1,2],'variance':[3,4]}", ([1, 2], "OK"), "json_distribution"),
        ('{"type":"click","x":1,"y":2}', ([1, 2], "OK"), "json_xy"),
        ("Action: click(start_box='<|box_start|>(1,2)<|box_end|>')", ([1, 2], "OK"), "ui_tars"),
        ("drag(start_box='(1,2)', end_box='(3,4)')", ([1, 2], "OK"), "ui_tars"),
        ("<|box_start|>(1,2),(3,4)<|box_end|>", ([2, 3], "OK"), "box_tokens"),
        ("<point>1 2</point>", ([1, 2], "OK"), "point_tag"),
        ("<x>1</x><y>2</y>", ([1, 2], "OK"), "xy_tags"),
        ('<points coords="1 1 3 4">a</points>', ([3, 4], "OK"), "molmo"),
        ("(Image_0, (1, 2))", ([1, 2], "OK"), "cropped"),
        ("<crop>(Image_0, (1,2), (3,4))</crop>", ([2, 3], "OK"), "cropped"),
        ("pyautogui.click(1, 2)", ([1, 2], "OK"), "pyautogui"),
        ("click(x=1, y=2)", ([1, 2], "OK"), "keyword_call"),
        ("click(y=540, x=960)", ([960, 540], "OK"), "keyword_call"),
        ("pyautogui.click(y=540, x=960)", ([960, 540], "OK"), "pyautogui"),
        ('{"y": 540, "x": 960}', ([960, 540], "OK"), "json_xy"),
        ('{"action":"click","y":540,"x":960}', ([960, 540], "OK"), "json_xy"),
        ('{"type":"click","x":960,"button":"left","y":540}', ([960, 540], "OK"), "json_xy"),
        ('{"coordinate": null}', (None, "REFUSED"), "json_refusal"),
        ("Click(1, 2)", ([1, 2], "OK"), "click_call"),
        ("<answer>[-1, -1]</answer>", (None, "REFUSED"), "refusal"),
        ("[-1, -1, -1, -1]", (None, "REFUSED"), "bare_list"),
        ('{"point_2d": [-1, -1]}', (None, "REFUSED"), "json_2d"),
        ('{"foo": [1, 2]}', (None, "MALFORMED"), None),
        ('[{"point_2d": [0, 007]}]', ([0, 7], "OK"), "json_2d"),
        ('[{"point_2d": [0, a]}]', (None, "MALFORMED"), None),
        ("{x: 1, y: 2}", ([1, 2], "OK"), "json_xy"),
        ('{"bbox": {"x1": 1, "y1": 2, "x2": 3, "y2": 4}}', ([2, 3], "OK"), "json_coordinate"),
        ('{"bbox": {"x": 1, "y": 2, "width": 2, "height": 4}}', ([2, 4], "OK"), "json_coordinate"),
        ('{"action": "click", "params": {"x": 1, "y": 2}}', ([1, 2], "OK"), "json_coordinate"),
        ('{"action": "click", "args": [1, 2]}', ([1, 2], "OK"), "tool_call"),
        ('{"operation": "tap", "coordinate": [1, 2]}', ([1, 2], "OK"), "json_coordinate"),
        ('{"operation": "the OK button", "coordinate": [1, 2]}', ([1, 2], "OK"), "json_coordinate"),
        ('Click({"x": 1, "y": 2})', ([1, 2], "OK"), "click_call"),
        ("click(point={'x': 1, 'y': 2}, why='(3, 4)')", ([1, 2], "OK"), "ui_tars"),
        ('click({"x": 1, "y": 2', (None, "MALFORMED"), None),
        ("<click>1, 2</click>", ([1, 2], "OK"), "box_tokens"),
        ("<b>(1, 2)</b>", ([1, 2], "OK"), "bare_tuple"),
        ('<click x="1" y="2"/>', ([1, 2], "OK"), "xy_tags"),
        ('<img width="5" height="6"> (1, 2)', ([1, 2], "OK"), "bare_tuple"),
        (
            '<invoke name="click"><parameter name="x">1</parameter><parameter name="y">2</parameter></invoke>',
            ([1, 2], "OK"),
            "tool_call",
        ),
        ('<invoke name="click"><parameter name="x">1</parameter>', (None, "MALFORMED"), None),
        ("It is at x=1, y=2.", ([1, 2], "OK"), "bare_numbers"),
        ("x: 1 and y: 2, so (1, 2)", ([1, 2], "OK"), "bare_numbers"),
        ("It is at x=120, y=2", (None, "MALFORMED"), None),
        ("坐标：120，85", ([120, 85], "OK"), "bare_numbers"),
        ("action: click\nx: 1\ny: 2\n", ([1, 2], "OK"), "bare_numbers"),
        (r"\((1, 2)\)", ([1, 2], "OK"), "nested_list"),
        ("Scroll bars are left of the button at (1, 2)", ([1, 2], "OK"), "bare_tuple"),
        ("click(start_box='<|box_start|>(x1,y1)<|box_end|>')", (None, "MALFORMED"), None),
        ("[x1, y1, x2, y2]", (None, "MALFORMED"), None),
        ('{"arguments": {"action": "terminate"}}', (None, "NO_ANSWER"), None),
    ],
)
def test_what_is_read_and_in_which_form(text, expected, dialect):
    assert read(text, AUTO) == expected
    found = parse([text], AUTO, space=CoordSpace.PIXEL)
    assert (found.dialects[found.dialect[0]] if found.dialect[0] >= 0 else None) == dialect


def test_each_row_has_its_own_dialect():
    texts = ["(1, 2)", CALL, "none", POINT, "hm", ""]
    found = parse(texts, AUTO, space=CoordSpace.PIXEL)
    names = [found.dialects[index] if index >= 0 else None for index in found.dialect]
    assert names == ["bare_tuple", "tool_call", "refusal", "json_2d", None, None]
    assert [Reason(code).name for code in found.reason] == ["OK", "OK", "REFUSED", "OK", "NO_ANSWER", "EMPTY"]
    assert found.actions.tolist() == ["", "click", "", "", "", ""]


def test_all_answers_of_every_row_are_ragged():
    texts = ["(1, 2) (3, 4)", "none", POINT, "hm", CALL + CALL.replace("5", "7")]
    found = parse(texts, AUTO, space=CoordSpace.PIXEL, answers="all")
    assert found.offsets.tolist() == [0, 2, 2, 3, 3, 5]
    assert found.points.tolist() == [[1, 2], [3, 4], [3, 4], [5, 6], [7, 6]]
    assert found.xy[[0, 2, 4]].tolist() == [[1, 2], [3, 4], [5, 6]]


def test_an_order_of_ones_own():
    backwards = FirstOf((BARE_TUPLE, REFUSAL))
    assert backwards.names == ("bare_tuple", "refusal")
    assert read("(-1, -1)", backwards) == ([-1, -1], "OK")
    assert read("none", backwards) == (None, "REFUSED")
    nested = FirstOf((REFUSAL, FirstOf((FirstOf((BARE_TUPLE,), "c"),), "b")))
    assert nested.names == ("refusal", "bare_tuple")
    for rows in (1, 60):
        found = parse(["(1, 2)", "none", "hm"] * rows, nested, space=CoordSpace.PIXEL)
        assert found.dialect[:3].tolist() == [1, 0, -1]


SENTINELS = [
    ("[[-1,-1]]", "nested_list"),
    ("[[-100, -100]]", "nested_list"),
    ("<point>-1 -1</point>", "point_tag"),
    ("<point>-100 -100</point>", "point_tag"),
    ("<|box_start|>(-1,-1)<|box_end|>", "box_tokens"),
    ("click(start_box='(-1,-1)')", "ui_tars"),
    ("click(start_box='<|box_start|>(-100,-100)<|box_end|>')", "ui_tars"),
    ("pyautogui.click(x=-1, y=-1)", "pyautogui"),
    ("pyautogui.click(-100, -100)", "pyautogui"),
    ("click(y=-1, x=-1)", "keyword_call"),
    ("Click(-1, -1)", "click_call"),
    ("[-1.0, -1.0]", "bare_list"),
    ("[-100.0, -100.0]", "bare_list"),
    ("(-1.0, -1.)", "bare_tuple"),
    ("not there: (-1, -1)", "bare_tuple"),
    ('{"x": -1, "y": -1}', "json_xy"),
    ("<x>-1</x><y>-1</y>", "xy_tags"),
    ('{"point_2d": [-1.0, -1.0]}', "json_2d"),
]


@cases(("text", "dialect"), SENTINELS)
@cases("answers", ["only", "first", "last", "all"])
def test_a_sole_point_off_the_screen_refuses_in_every_dialect(text, dialect, answers):
    for rows in (1, 2, 60):
        found = parse(["(7, 8)", text][-rows:] * rows, AUTO, space=CoordSpace.PIXEL, answers=answers)
        assert Reason(found.reason[-1]) is Reason.REFUSED
        assert np.isnan(found.xy[-1]).all()
        assert (found.dialects[found.dialect[-1]], found.actions[-1]) == (dialect, "")  # no click
        assert rows == 1 or found.xy[0].tolist() == [7, 8]


@cases(
    ("text", "point"),
    [
        ("[[-1, -100]]", [-1, -100]), ("[[-100, -1]]", [-100, -1]), ("[-1.0, 5]", [-1, 5]), ("[5, -1.0]", [5, -1]),
        ("(-2, -2)", [-2, -2]), ("(1, 1)", [1, 1]), ("(100, 100)", [100, 100]), ("[-1.5, -1.5]", [-1.5, -1.5]),
        ("[-2, -2, 0, 0]", [-1, -1]), ("[-1, -1, -100, -100]", [-50.5, -50.5]),
    ],
)  # fmt: skip
def test_other_places_off_the_screen_and_boxes_do_not(text, point):
    assert read(text, AUTO) == (point, "OK")
    assert parse([text] * 60, AUTO, space=CoordSpace.PIXEL).xy.tolist() == [point] * 60


def test_one_of_several_answers_is_no_refusal():
    assert read("(-1, -1) (-2, -1)", AUTO) == (None, "SEVERAL_ANSWERS")
    found = parse(["(-1, -1) (5, 6)", "[[-1, -1]]"], AUTO, space=CoordSpace.PIXEL, answers="all")
    assert found.points.tolist() == [[-1, -1], [5, 6]]
    assert found.offsets.tolist() == [0, 2, 2]
    # Of several, the one that counts is all that is counted.
    assert read("(-1, -1) (5, 6)", AUTO, "first") == (None, "REFUSED")
    assert read("(-1, -1) (5, 6)", AUTO, "last") == ([5, 6], "OK")


def test_equal_ones_are_equal_and_pickle():
    again = pickle.loads(pickle.dumps(AUTO))
    assert again == AUTO
    assert read("(1, 2)", again) == ([1, 2], "OK")


def test_the_usual_form_of_one_dialect_is_not_that_of_all():
    texts = ["(Image_0, (1, 2))"] * 60
    assert parse(texts, CROPPED, space=CoordSpace.PIXEL).usual.all()
    assert parse(texts, AUTO, space=CoordSpace.PIXEL).usual is None
