"""``auto`` and ``auto_action``: answers in any form, by where they stand; each row may hold another form."""

import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import AUTO, AUTO_ACTION, BARE_TUPLE, JSON_POINT, REFUSAL, FirstOf, parse
from grounding_rewards.parsing.texts import compiled
from grounding_rewards.rollouts import Reason
from grounding_rewards.testing.hostile import ANSWER_FORMATS
from tests.cases import cases
from tests.parsing.acts import act, agree
from tests.parsing.fragments import ANSWERS, NUMERALS, SPACES, responses
from tests.parsing.reading import read
from tests.parsing.test_cases import changed, texts_of

CALL = '<tool_call>{"arguments": {"action": "left_click", "coordinate": [5, 6]}}</tool_call>'
POINT = '{"point_2d": [3, 4]}'


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
    texts = [POINT] * 60
    assert parse(texts, JSON_POINT, space=CoordSpace.PIXEL).usual.all()
    assert parse(texts, AUTO, space=CoordSpace.PIXEL).usual is None


def test_names_of_the_forms():
    assert AUTO.names == AUTO_ACTION.names == (
        "refusal", "json_refusal", "ui_tars", "pyautogui", "tool_call", "json_2d", "json_coordinate", "json_compact",
        "json_distribution", "json_xy", "box_tokens", "point_tag", "xy_tags", "molmo", "cropped", "keyword_call",
        "click_call", "corner_tuples", "bare_tuple", "nested_list", "corner_lists", "bare_list", "action_json",
        "action_calls", "action_os_atlas", "location_tokens", "bare_numbers",
    )  # fmt: skip


@cases(
    "text",
    [
        "<action>LongPress(box=(550,320)</action>", "Action: type(content='go to (550, 320)'",
        '{"action": "answer", "text": "it is at (550, 320)', "I LONG_PRESS <point>[[550,320]]</point>",
        "I right_click [550, 320]", "I would long press (550, 320).", "I do a double click at (550,320)",
        "Action: scroll to (550, 320)", "Action: Long press on the icon.\n(550, 320)", "Action: wait (550, 320)",
        "Action: press_back [550, 320]", "{'action': 'scroll' [550, 320]", '{"action": "scroll", "point": (550, 320)',
        "Then type [550, 320]", "Move to <point>550 320</point>", "PRESS_BACK [550, 320]",
        "I hover: (550, 320)", "Action: type(content=go to click(550, 320))",
        "OPEN_APP [550, 320] now", "print(scroll(a)) <point>550 320</point>",
        "LongPress {\"point_2d\": [550, 320]}",
        "<function=right_click> [550, 320]", '{"type": "scroll" [550, 320]', "type(content='click(550, 320)",
        "scroll(start_box='(550, 320)', click(550, 320)",
    ],
)  # fmt: skip
@cases("rows", [1, 60])
def test_the_place_of_another_action_is_no_click(text, rows):
    found = parse([text] * rows, AUTO_ACTION, space=CoordSpace.PIXEL)
    assert found.reason.tolist() == [gr.Reason.MALFORMED] * rows
    assert np.isnan(found.xy).all()
    assert set(found.actions.tolist()) == {""}


@cases(
    "text",
    [
        "Home (550, 320)", "The answer: (550, 320)", "Menu [550, 320]", "the Copy button: [550, 320]",
        "Action: Click on (550, 320)", "Action: Open the menu.\n[550, 320]", "Action: left click (550, 320)",
        "I select(ed) it: (550, 320)", "go to (550, 320)", "<answer>(550, 320)</answer>", "Action: (550, 320)",
        "(550, 320), as I cannot wait(", '{"point_2d": [550, 320], "label": "type"}', "Tap at (550, 320)",
        '{"label": "double click", "point_2d": [550, 320]}', "Scroll bars are on the right: [550, 320]",
        "<tool_call>\n<function=computer_use>\n<parameter=action>\nleft_click\n</parameter>\n<parameter=coordinate>\n"
        "[550, 320]\n</parameter>\n</function>\n</tool_call>",
    ],
)  # fmt: skip
@cases("rows", [1, 60])
def test_words_of_a_screen_name_no_action(text, rows):
    found = parse([text] * rows, AUTO_ACTION, space=CoordSpace.PIXEL)
    assert found.xy.tolist() == [[550, 320]] * rows
    assert set(found.actions.tolist()) <= {"", "click"}


@cases("policy", ["only", "first", "last", "all"])
def test_a_withdrawn_place_leaves_those_of_other_rows(policy):
    texts = ["[1, 2]", "I long press [3, 4]", "<point>5 6</point>", "[1, 2], [3, 4]", "I scroll to [1, 2] [3, 4]"] * 20
    agree(texts, AUTO_ACTION, policy, times=2)
    assert act(texts[4], AUTO_ACTION, policy) == "MALFORMED"


def test_several_answers_by_policy():
    text = f"{CALL} {{'action': 'wait'}}"
    assert act(text, AUTO_ACTION) == "SEVERAL_ANSWERS"
    assert act(text, AUTO_ACTION, "first") == act(text, AUTO_ACTION, "all") == ("click", [5, 6], {})
    assert act(text, AUTO_ACTION, "last") == ("wait", None, {})
    assert act("(1, 2) (3, 4)", AUTO_ACTION) == "SEVERAL_ANSWERS"
    several = parse(["Action: type(content='a')\nAction: type(content='b')"], AUTO_ACTION, space=CoordSpace.PIXEL)
    assert (several.actions.tolist(), several.arguments.column("text", 1).tolist()) == ([""], [None])


def test_unknown_names_are_reported():
    scores = gr.recipe("action", response_space="pixel").score(
        [
            '{"action": "teleport", "coordinate": [150, 150]}',
            "(150, 150)",
            '{"action": "tap", "coordinate": [150, 150]}',
        ],
        [{"bbox": [100, 100, 300, 200], "action": "click"}] * 3,
    )
    assert scores.acc.tolist() == [0, 1, 1]
    assert [gr.Reason(code).name for code in scores.reason] == ["UNKNOWN_ACTION", "OK", "OK"]


@cases("answers", ["only", "first", "last", "all"])
def test_all_forms_alone_and_in_a_batch(answers):
    known = [text for form in ANSWER_FORMATS for text in (form.right, form.broken)]
    agree([*dict.fromkeys([*known, *ANSWERS])], AUTO_ACTION, answers, times=2)


def usual(text, dialect):
    """The act of a text that is in a usual form; None of any other."""
    acts = [form.act(text) for form in dialect._usual if form.sign in text]
    return next((each for each in acts if each), None)


USUAL = [
    "({x}, {y})", "[{x}, {y}]", "[{x}, {y}, 700, 800]", "<point>{x} {y}</point>", "<point>{x}, {y}</point>",
    "<|box_start|>({x},{y}),(700,800)<|box_end|><|im_end|>", "pyautogui.click(x={x}, y={y})",
    "```python\npyautogui.doubleClick({x}, {y})\n```", '```json\n[{{"point_2d": [{x}, {y}], "label": "save"}}]\n```',
    '<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "click", "coordinate": [{x}, {y}]}}}}</tool_call>',
    "Thought: I press it.\nAction: click(start_box='({x},{y})')", "click(point='<point>{x} {y}</point>')",
    "Action: scroll(start_box='({x},{y})', direction='down')", '{{"action": "click", "coordinate": [{x}, {y}]}}',
    "<answer>[{{'action': 'click', 'point': [{x}, {y}], 'input_text': 'no input text'}}]</answer>",
    "[{{'action': 'long_press', 'coordinate': [{x}, {y}]}}]", "The button is at ({x}, {y}).",
    "It is at [{x}, {y}] there.",
]  # fmt: skip
USUAL_ACTIONS = [
    '<tool_call>{{"name": "mobile_use", "arguments": {{"action": "type", "text": "{text}"}}}}</tool_call>',
    '{{"action": "type", "text": "{text}"}}', "<answer>[{{'action': 'type', 'text': '{text}'}}]</answer>",
    "Thought: Type it.\nAction: type(content='{text}')", "Action: finished(content='{text}')", "Action: wait()",
    "press_back()",
]  # fmt: skip
TYPED = st.one_of(
    st.sampled_from(
        [*ANSWERS, *NUMERALS, "red hat", "（1，2）", "a, b", "user", "point: 5, 6", "SCROLL", "{", "click"]
    ),
    st.text(max_size=8),
)


@cases("form", [*USUAL, *USUAL_ACTIONS])
def test_the_usual_forms_are_taken(form):
    assert usual(form.format(x=512, y=38.5, text="red hat"), AUTO_ACTION)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([*USUAL, *USUAL_ACTIONS]), st.sampled_from(NUMERALS), st.sampled_from(NUMERALS), TYPED,
    st.sampled_from(SPACES), st.sampled_from(["only", "first", "last", "all"]),
)  # fmt: skip
def test_a_usual_form_says_what_the_careful_reading_says(form, x, y, text, blank, answers):
    text = form.format(x=x, y=y, text=text) + blank
    for dialect in (AUTO, AUTO_ACTION):
        if usual(text, dialect) or dialect.one(text, answers)[0] < 0:
            assert dialect.one(text, answers) == dialect.careful(text, answers)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ANSWERS) | responses | changed(texts_of("auto_action")))
def test_a_text_without_a_mark_holds_no_answer(text):
    for dialect in (AUTO, AUTO_ACTION):
        index, begun, _ = dialect.careful(text, "only")
        assert compiled(dialect._needs).search(text) or (index, begun) == (-1, False)


def test_an_unknown_action_has_its_place_among_all_answers():
    text = '{"action": "teleport", "coordinate": [1, 2]}'
    for rows in (1, 60):
        found = parse([text] * rows, AUTO_ACTION, space=CoordSpace.PIXEL, answers="all")
        assert (found.points.tolist(), found.offsets.tolist()) == ([[1, 2]] * rows, [*range(rows + 1)])


@cases("rows", [1, 60])
def test_off_the_screen_only_a_click_refuses(rows):
    texts = ["scroll(start_box='(-1,-1)')", "click(start_box='(-1,-1)')"]
    reasons = [parse([text] * rows, AUTO, space=CoordSpace.PIXEL).reason.tolist() for text in texts]
    assert reasons == [[gr.Reason.NO_ANSWER] * rows, [gr.Reason.REFUSED] * rows]


@cases("text", ["CLICK (5, 6)", "Action: tap on [5, 6]", "So:\nlong press: (5, 6)", "Click the button (5, 6)"])
def test_a_line_that_is_an_action_is_one_among_many(text):
    agree([text], AUTO)
    agree([text], AUTO_ACTION)
