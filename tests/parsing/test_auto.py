"""``auto`` and ``auto_action``: answers in any form, by where they stand; each row may hold another form."""

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import AUTO, AUTO_ACTION, BARE_TUPLE, JSON_POINT, REFUSAL, FirstOf, parse
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
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


def test_equal_ones_are_equal_and_pickle():
    again = pickle.loads(pickle.dumps(AUTO))
    assert again == AUTO
    assert read("(1, 2)", again) == ([1, 2], "OK")


def test_the_usual_form_of_one_dialect_is_not_that_of_all():
    texts = [POINT] * VECTOR_ROWS
    assert parse(texts, JSON_POINT, space=CoordSpace.PIXEL).usual.all()
    assert parse(texts, AUTO, space=CoordSpace.PIXEL).usual is None


def test_names_of_the_forms():
    assert AUTO.names == AUTO_ACTION.names == (
        "refusal", "json_refusal", "ui_tars", "pyautogui", "tool_call", "json_2d", "json_coordinate", "json_compact",
        "json_distribution", "json_xy", "box_tokens", "point_tag", "xy_tags", "molmo", "cropped", "keyword_call",
        "click_call", "corner_tuples", "bare_tuple", "nested_list", "corner_lists", "bare_list", "action_json",
        "action_calls", "action_os_atlas", "location_tokens", "bare_numbers",
    )  # fmt: skip


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


def test_prose_that_only_places_its_target_is_taken():
    assert usual("The middle icon, right of the long list in the top right corner (512, 38)", AUTO)
    assert not usual("Right click the icon (512, 38)", AUTO)
    assert not usual("Long tap the icon (512, 38)", AUTO)


@settings(max_examples=300)
@given(
    st.sampled_from([*USUAL, *USUAL_ACTIONS]), st.sampled_from(NUMERALS), st.sampled_from(NUMERALS), TYPED,
    st.sampled_from(SPACES), st.sampled_from(["only", "first", "last", "all"]),
)  # fmt: skip
def test_a_usual_form_says_what_the_careful_reading_says(form, x, y, text, blank, answers):
    text = form.format(x=x, y=y, text=text) + blank
    for dialect in (AUTO, AUTO_ACTION):
        if usual(text, dialect) or dialect.one(text, answers)[0] < 0:
            assert dialect.one(text, answers) == dialect.careful(text, answers)


@settings(max_examples=300)
@given(st.sampled_from(ANSWERS) | responses | changed(texts_of("auto_action")))
def test_a_text_without_a_mark_holds_no_answer(text):
    for dialect in (AUTO, AUTO_ACTION):
        index, begun, _ = dialect.careful(text, "only")
        assert compiled(dialect._needs).search(text) or (index, begun) == (-1, False)
