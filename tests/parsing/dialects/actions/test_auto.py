"""``auto_action``: actions however they are written, then places, which are clicks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import (
    ACTION_BLINK,
    ACTION_CALLS,
    ACTION_COMPACT,
    ACTION_JSON,
    ACTION_OS_ATLAS,
    AUTO,
    AUTO_ACTION,
    BTL_UI,
    JSON_COMPACT,
    parse,
)  # fmt: skip
from grounding_rewards.parsing.texts import compiled
from grounding_rewards.testing.formats import ANSWER_FORMATS
from tests.cases import cases
from tests.parsing.acts import act, agree, which
from tests.parsing.dialects.actions import test_btl_ui, test_calls, test_compact, test_json_actions, test_os_atlas
from tests.parsing.fragments import ANSWERS, NUMERALS, SPACES, responses

CALL = '<tool_call>{"arguments": {"action": "left_click", "coordinate": [5, 6]}}</tool_call>'


def test_names_of_the_forms():
    assert AUTO.names == AUTO_ACTION.names == (
        "refusal", "json_refusal", "ui_tars", "pyautogui", "tool_call", "json_2d", "json_coordinate", "json_compact",
        "json_distribution", "json_xy", "box_tokens", "point_tag", "xy_tags", "molmo", "cropped", "keyword_call",
        "click_call", "corner_tuples", "bare_tuple", "nested_list", "corner_lists", "bare_list", "action_json",
        "action_calls", "action_os_atlas", "location_tokens", "bare_numbers",
    )  # fmt: skip


MODULES = (test_btl_ui, test_json_actions, test_compact, test_calls, test_os_atlas)
EVERY = [(text, expected) for module in MODULES for text, expected in module.READ]
NEEDY = ("click", None, {})
"""A click without a place, which is malformed here."""


@cases(("text", "expected"), EVERY)
def test_every_form_of_every_dialect(text, expected):
    assert act(text, AUTO_ACTION) == ("MALFORMED" if expected == NEEDY else expected)


@cases(
    ("text", "expected", "dialect"),
    [
        ("(1, 2)", ("", [1, 2], {}), "bare_tuple"),
        ("[1, 2]", ("", [1, 2], {}), "bare_list"),
        ('{"point_2d": [3, 4]}', ("", [3, 4], {}), "json_2d"),
        ('{"coordinate": [3, 4]}', ("", [3, 4], {}), "json_coordinate"),
        ('{"x": 3, "y": 4}', ("", [3, 4], {}), "json_xy"),
        ("<point>1 2</point>", ("", [1, 2], {}), "point_tag"),
        ("refusal", "REFUSED", "refusal"),
        ("[-1, -1]", "REFUSED", "refusal"),
        ('{"point_2d": [-1, -1]}', "REFUSED", "json_2d"),
        ('{"point_2d": null}', "REFUSED", "json_refusal"),
        ("{'action': 'click', 'coordinate': [-100, -100]}", "REFUSED", "json_coordinate"),
        ("click(start_box='(-1,-1)')", "REFUSED", "ui_tars"),
        ('{"POINT": [-1, -1]}', "REFUSED", "json_compact"),
        ("{'action': 'type', 'point': [-100, -100], 'input_text': 'a'}", ("type", None, {"text": "a"}), "action_json"),
        ("hm", "NO_ANSWER", None),
        ("", "EMPTY", None),
        ("{'action': 'click', 'coordinate': ['1', '2']}", ("click", [1, 2], {}), "json_coordinate"),
        ("{'action': 'click', 'coordinate': ['1', 'b']}", "MALFORMED", None),
        ("(x, y)", "MALFORMED", None),
        # Which is the action, and which is what it says?
        ('{"action": "type", "text": "click(1, 2)"}', ("type", None, {"text": "click(1, 2)"}), "action_json"),
        ("type(content='(1, 2)')", ("type", None, {"text": "(1, 2)"}), "action_calls"),
        ('{"TYPE": "wait()"}', ("type", None, {"text": "wait()"}), "action_json"),
        (f"I first thought of click(1, 2). {CALL}", "SEVERAL_ANSWERS", "click_call"),
        (f"[1, 2] {CALL}", "SEVERAL_ANSWERS", "bare_list"),
        (
            '{"name": "drag_and_drop", "args": {"x": 1, "y": 2, "destination_x": 3, "destination_y": 4}}',
            ("drag", [1, 2], {"to": [3, 4]}),
            "tool_call",
        ),
        ("Long press the icon at (5, 6).", ("long_press", [5, 6], {}), "bare_tuple"),
        ("I drag from [5, 6]", ("drag", [5, 6], {}), "bare_list"),
        ("click(1, 2)\ntype(content='a')", ("type", [1, 2], {"text": "a", "clicked": True}), "click_call"),
        (
            "tap(1, 2)\ntype(content='a')\npress_enter()",
            ("type", [1, 2], {"text": "a\n", "clicked": True}),
            "click_call",
        ),
        ("type(content='a')\nclick(1, 2)", "SEVERAL_ANSWERS", "action_calls"),
        ("right_click(1, 2)\ntype(content='a')", "SEVERAL_ANSWERS", "click_call"),
        ('{"action": "type", "text": "（1，2）"}', ("type", None, {"text": "（1，2）"}), "action_json"),
        ('看（图）{"action": "type", "text": "【a】"}', ("type", None, {"text": "【a】"}), "action_json"),
        ("点击（5，6）", ("", [5, 6], {}), "bare_tuple"),
        # What breaks the object: the place can still be read.
        ("{'action': 'click', 'coordinate': [5, 6], 'reason': it is}", ("click", [5, 6], {}), "json_coordinate"),
        # Behind a line of "Action:" and a call, or in OS-Atlas's text, an object is no answer.
        ('Thought: In it is {"action": "wait"}.\nAction: click(1, 2)', ("click", [1, 2], {}), "click_call"),
        (
            'Action: type(content=\'{"action": "wait"}\')',
            ("type", None, {"text": '{"action": "wait"}'}),
            "action_calls",
        ),
        ('Action: type(content=\'{"TYPE": "a"}\')', ("type", None, {"text": '{"TYPE": "a"}'}), "action_calls"),
        ('Action: type(content=\'{"action": "type", "text": "a"}\'', "MALFORMED", None),
        (f"Action: Click on (it).\n{CALL}", ("click", [5, 6], {}), "tool_call"),
        ('TYPE [{"action": "wait"}]', ("type", None, {"text": '{"action": "wait"}'}), "action_os_atlas"),
        ("actions:\nTYPE [click(1, 2)]", ("type", None, {"text": "click(1, 2)"}), "action_os_atlas"),
        ("TYPE [550, 320]", ("type", None, {"text": "550, 320"}), "action_os_atlas"),
        # The type of an element, and the word "to".
        ('{"type":"input","point_2d":[550,320]}', ("", [550, 320], {}), "json_2d"),
    ],
)
def test_the_first_dialect_that_finds_an_answer_counts(text, expected, dialect):
    assert (act(text, AUTO_ACTION), which(text, AUTO_ACTION)) == (expected, dialect)


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


def test_an_action_that_a_place_names_itself_is_kept():
    text = "{'action': 'scroll', 'coordinate': [5, 6], 'reason': it is}"
    assert (act(text, AUTO_ACTION), which(text, AUTO_ACTION)) == (("scroll", [5, 6], {}), "json_coordinate")


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
    agree([*dict.fromkeys([*known, *ANSWERS, *(text for text, *_ in EVERY)])], AUTO_ACTION, answers, times=2)


MIXED = st.one_of(responses, test_json_actions.objects(), test_calls.TEXTS, test_compact.TEXTS, test_os_atlas.TEXTS)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(MIXED, min_size=1, max_size=6), st.sampled_from(["only", "first", "last", "all"]),
       st.sampled_from(["closed", "open", "read"]))  # fmt: skip
def test_alone_and_in_a_batch_whatever_the_text(texts, answers, thinking):
    agree(texts, AUTO_ACTION, answers, thinking)


LINKS = st.one_of(test_btl_ui.links, st.builds("{}<link>{}</link>{}".format, responses, responses, responses))
DIALECTS = [
    (ACTION_CALLS, test_calls.TEXTS, test_calls), (ACTION_JSON, test_json_actions.objects(), test_json_actions),
    (ACTION_COMPACT, test_compact.TEXTS, test_compact), (JSON_COMPACT, test_compact.TEXTS, test_compact),
    (ACTION_OS_ATLAS, test_os_atlas.TEXTS, test_os_atlas), (ACTION_BLINK, LINKS, test_btl_ui),
    (BTL_UI, LINKS, test_btl_ui),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "texts", "module"), DIALECTS, ids=lambda each: getattr(each, "name", ""))
def test_each_dialect_reads_alike_alone_and_in_a_batch(dialect, texts, module):
    for answers in ("only", "first", "last", "all"):
        agree([text for text, _ in module.READ], dialect, answers)

    @settings(max_examples=60, deadline=None)
    @given(st.lists(texts | responses, min_size=1, max_size=4), st.sampled_from(["only", "first", "last", "all"]))
    def whatever_the_text(some, answers):
        agree(some, dialect, answers)

    whatever_the_text()


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
@given(st.one_of(MIXED, st.sampled_from(ANSWERS)))
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
