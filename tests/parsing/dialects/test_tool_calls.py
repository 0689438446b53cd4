"""Tool calls with a coordinate, and the first of them as JSON: SE-GUI reads its numbers, GroundNext only whole ones."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import AUTO, FIRST_CALL, FIRST_CALL_INTEGERS, TOOL_CALL, parse
from grounding_rewards.parsing.readers import call_texts, coordinate, first_call, usual_call
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.rollouts import Predictions, Reason
from tests.cases import cases
from tests.parsing.fragments import responses
from tests.parsing.reading import read

QWEN = (
    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [512, 384]}}\n'
    "</tool_call>"
)


def action(text, answers="only"):
    return parse([text], TOOL_CALL, space=CoordSpace.PIXEL, answers=answers).actions[0]


@cases(
    ("text", "point", "name"),
    [
        (QWEN, [512, 384], "left_click"),
        (
            '<tool_call>{"name": "grounding", "arguments": {"action": "click", "coordinate": [5, 6]}}</tool_call>',
            [5, 6], "click",
        ),
        (
            '{"name": "computer_use", "arguments": {"coordinate": [5, 6], "action": "double_click"}}',
            [5, 6], "double_click",
        ),
        ("{'arguments': {'action': 'left_click', 'coordinate': [5.5, 6]}}", [5.5, 6], "left_click"),
        ('{"arguments":{"coordinate":[5,6]}}', [5, 6], ""),
        ('I will click. {"arguments": {\n "action" : "tap",\n "coordinate" : [ 5 ,\n 6 ]\n}}', [5, 6], "tap"),
        ('{"arguments": {"action": "type", "coordinate": [5, 6], "text": "(9, 9)"}}', [5, 6], "type"),
        (
            '{"name": "a", "arguments": {"action": "drag", "start_coordinate": [1, 2], "end_coordinate": [3, 4]}}',
            [1, 2], "drag",
        ),
        ('{"arguments": {"end_coordinate": [3, 4], "start_coordinate": [1, 2], "action": "drag"}}', [1, 2], "drag"),
    ],
)  # fmt: skip
def test_reads_coordinate_and_action_in_any_order(text, point, name):
    assert read(text, TOOL_CALL) == (point, "OK")
    assert action(text) == name


@cases(
    "text",
    [
        '<tool_call>{"arguments": {"action": "left_click", "coordinate": [512]}}</tool_call>',
        '<tool_call>{"arguments": {"action": "left_click", "coordinate": "512, 384"}}</tool_call>',
        '<tool_call>{"arguments": {"start_coordinate": [1], "end_coordinate": [3, 4]}}</tool_call>',
        '<tool_call>{"name": "computer_use", "arguments": {"action": "wait"',
        '{"arguments": {"action": "wait"}} {"arguments": {"coordinate": [1]}}',
        '<tool_call>{"arguments": {"coordinate": [1, 2]',
        '{"arguments": {"nested": {}, "coordinate": [1, 2]}}',
        "<tool_call></tool_call>",
    ],
)
def test_a_call_without_a_readable_coordinate_is_malformed(text):
    assert read(text, TOOL_CALL) == (None, "MALFORMED")


@cases("text", ['{"coordinate": [1, 2]}', "left_click(1, 2)", "arguments: {coordinate: [1, 2]}"])
def test_a_coordinate_outside_a_call_is_no_answer(text):
    assert read(text, TOOL_CALL) == (None, "NO_ANSWER")


def test_calls_without_a_coordinate_do_not_count_among_several():
    waits = '<tool_call>{"arguments": {"action": "wait"}}</tool_call>'
    assert read(waits + QWEN + waits, TOOL_CALL) == ([512, 384], "OK")
    assert read(waits + QWEN + waits, TOOL_CALL, "first") == ([512, 384], "OK")
    assert read(waits + QWEN + waits, TOOL_CALL, "last") == ([512, 384], "OK")
    assert action(waits + QWEN + waits) == "left_click"


def test_the_action_comes_from_the_call_that_counts():
    other = QWEN.replace("left_click", "right_click").replace("512", "1")
    assert read(QWEN + other, TOOL_CALL) == (None, "SEVERAL_ANSWERS")
    assert (read(QWEN + other, TOOL_CALL, "first"), action(QWEN + other, "first")) == (([512, 384], "OK"), "left_click")
    assert (read(QWEN + other, TOOL_CALL, "last"), action(QWEN + other, "last")) == (([1, 384], "OK"), "right_click")


@cases(
    "text",
    [
        '<tool_call>{"name": "computer_use", "arguments": {"action": "terminate", "status": "success"}}</tool_call>',
        "{'arguments': {'action': 'wait'}}", '<tool_call>{"name": "done", "arguments": {}}</tool_call>',
        '<tool_call>{"arguments": {"action": "key", "keys": ["ctrl", "c"]}}</tool_call>',
    ],
)  # fmt: skip
@cases("rows", [1, 60])
def test_complete_calls_of_actions_without_a_place_are_no_answer(text, rows):
    found = parse([text] * rows, AUTO, space=CoordSpace.PIXEL)
    assert {Reason(code).name for code in found.reason} == {"NO_ANSWER"}


CALL = (
    '<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": {}}}}}\n</tool_call>'
)
DIALECTS = [FIRST_CALL, FIRST_CALL_INTEGERS]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@cases(
    ("text", "point"),
    [
        (CALL.format("[200, 150]"), [200, 150]),
        (CALL.format("[200,150]"), [200, 150]),
        (CALL.format("[ 200 ,\n\t150 ]"), [200, 150]),
        (CALL.format("[-200, 0]"), [-200, 0]),
        (CALL.format("[-0, 150]"), [0, 150]),
        (f"It is here: {CALL.format('[1, 2]')} (5, 5)", [1, 2]),
        (f"<think>[9, 9]</think>{CALL.format('[1, 2]')}", [1, 2]),
        (CALL.format("[1, 2]") + CALL.format("[3, 4]"), [1, 2]),
        (CALL.format("[1, 2]") + "<tool_call>", [1, 2]),
        ('<tool_call>{"arguments": {"coordinate": [1, 2]}}</tool_call>', [1, 2]),
        ('<tool_call>{"arguments": {"coordinate": [1, 2], "text": "}]"}, "name": 5}</tool_call>', [1, 2]),
        ('<tool_call>{"arguments": {"coordinate": [1, 2], "coordinate": [3, 4]}}</tool_call>', [3, 4]),
        ('<tool_call>{"arguments": {"action": "terminate", "coordinate": [1, 2]}}</tool_call>', [1, 2]),
        (CALL.format("[" + "9" * 400 + ", -" + "9" * 4000 + "]"), [1e12, -1e12]),
    ],
)
def test_reads_the_first_call(dialect, text, point):
    assert read(text, dialect, "first", "read") == (point, "OK")


@cases("numbers", ["[200.0, 150.0]", "[200.5, 1]", "[1, 2e1]", "[1e300, 5]"])
def test_numbers_may_have_decimals_or_not(numbers):
    x, y = (min(float(number), 1e12) for number in numbers[1:-1].split(","))
    assert read(CALL.format(numbers), FIRST_CALL, "first") == ([x, y], "OK")
    assert read(CALL.format(numbers), FIRST_CALL_INTEGERS, "first") == (None, "MALFORMED")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@cases(
    "text",
    [
        *map(CALL.format, (
            "[200]", "[200, 150, 7]", "[]", "[x, y]", "[200 150]", '["200", "150"]', "[true, false]", "[null, 1]",
            "[NaN, NaN]", "[Infinity, 1]", "[1e999, 1]", "[0200, 1]", "[+200, 1]", "[2_00, 1]", "[.5, 1]", "[5., 1]",
            "[200, 150], [1, 1]", "[[1, 2]]", '{"x": 1, "y": 2}', '"200, 150"', "[２００, １５０]", "[200，150]",
            "[200,\xa0150]", "[" + "9" * 5000 + ", 1]", "[" * 60000,
        )),
        CALL.format("[200, 150]")[:-1], "<tool_call>", "<tool_call></tool_call>", "<tool_call>{}</tool_call>",
        "<tool_call>[1, 2]</tool_call>", "<tool_call>7</tool_call>", '<tool_call>{"arguments": null}</tool_call>',
        '<tool_call>{"arguments": [1, 2]}</tool_call>', '<tool_call>{"arguments": {"point": [1, 2]}}</tool_call>',
        f"<tool_call>[{CALL.format('[1, 2]')[11:-12]}]</tool_call>", CALL.format("[1, 2]").replace('"', "'"),
        "<tool_call>x</tool_call>" + CALL.format("[1, 2]"), "<tool_call>" + CALL.format("[1, 2]"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_malformed_and_not_skipped(dialect, text):
    assert read(text, dialect, "first") == (None, "MALFORMED")


@cases("text", ["x", "[200, 150]", "</tool_call>", "<TOOL_CALL>[1, 2]</TOOL_CALL>", "tool_call>{}"])
def test_without_a_call_there_is_no_answer(text):
    assert read(text, FIRST_CALL, "first") == (None, "NO_ANSWER")


def test_calls_and_their_json():
    assert call_texts("<tool_call><tool_call>a</tool_call></tool_call><tool_call>b</tool_call>") == [
        "<tool_call>a",
        "b",
    ]
    assert call_texts("</tool_call><tool_call>") == []
    assert first_call("<tool_call> [1, null] </tool_call>") == [1, None]
    assert coordinate({"arguments": {"coordinate": [True, 1]}}) is None
    assert coordinate({"arguments": {"coordinate": [1, 2.0]}}, (int,)) is None


numerals = st.sampled_from(
    ["0", "7", "512", "-3", "-0", "007", "1.5", "2.", ".5", "1e2", "9" * 15, "9" * 16, "9" * 400, "true", "x", ""]
)
pairs = st.builds("[{}{}{}]".format, numerals, st.sampled_from([",", ", ", " ,", "\n,", ";", ""]), numerals)
objects = st.builds(
    '{{"name":{}"{}",{}"arguments": {{"action": "{}", "coordinate":{}{}}}}}'.format,
    st.sampled_from(["", " ", "  "]), st.sampled_from(["computer_use", "a b", 'a\\"', "<", "</tool_call>"]),
    st.sampled_from(["", " "]), st.sampled_from(["left_click", "", "\\u00e9", "\t"]), st.sampled_from(["", " "]), pairs,
)  # fmt: skip
tags = st.sampled_from(
    ["<tool_call>", "</tool_call>", "<tool_call>\n", "\n</tool_call>", "<", "<think>", "x", "\xa0", ""]
)
calls = st.builds("{}{}{}".format, tags, st.one_of(objects, pairs), tags)
texts = st.lists(st.one_of(calls, tags, responses), min_size=1, max_size=4).map("".join)


@settings(max_examples=500, deadline=None)
@given(texts)
@example(CALL.format("[1, 2]"))
def test_where_the_pattern_matches_both_readers_find_its_place(text):
    found = re.search(usual_call("[A-Za-z_]*"), text)
    for dialect in DIALECTS:
        answer = dialect.read(text)
        if found:
            assert answer == [[min(int(found[name]), 10**12) for name in "xy"]]
        elif answer:
            assert len(answer[0]) == 2
            assert all(abs(number) <= 1e12 for number in answer[0])


def test_the_pattern_takes_the_usual_forms():
    for text in (CALL.format("[200, 150]"), CALL.format("[0,999999999999999]"), f"Here: {CALL.format('[1, 2]')} done"):
        assert re.search(usual_call("[A-Za-z_]*"), text)
    assert not re.search(usual_call("mobile_use"), CALL.format("[1, 2]"))


@settings(max_examples=150, deadline=None)
@given(st.lists(texts, min_size=1, max_size=4), st.sampled_from(DIALECTS), st.sampled_from(["first", "only", "all"]))
def test_one_text_and_many_read_alike(some, dialect, answers):
    many = found(some * VECTOR_ROWS, dialect, answers)
    for row, text in enumerate(some):
        alone = found([text], dialect, answers)
        assert many.xy[row].tobytes() == alone.xy[0].tobytes()
        assert (many.reason[row], many.dialect[row]) == (alone.reason[0], alone.dialect[0])


def found(some, dialect, answers) -> Predictions:
    return parse(some, dialect, space=CoordSpace.PIXEL, answers=answers, thinking="read")
