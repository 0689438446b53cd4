"""Tool calls with a coordinate: Qwen2.5-VL, Qwen3-VL, SE-GUI, GroundNext, UI-Ins."""

import pytest

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import TOOL_CALL, parse
from grounding_rewards.rollouts import Reason
from tests.parsing.reading import read

QWEN = (
    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [512, 384]}}\n'
    "</tool_call>"
)


def action(text, answers="only"):
    return parse([text], TOOL_CALL, space=CoordSpace.PIXEL, answers=answers).actions[0]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("text", ['{"coordinate": [1, 2]}', "left_click(1, 2)", "arguments: {coordinate: [1, 2]}"])
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


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "computer_use", "arguments": {"action": "terminate", "status": "success"}}</tool_call>',
        "{'arguments': {'action': 'wait'}}", '<tool_call>{"name": "done", "arguments": {}}</tool_call>',
        '<tool_call>{"arguments": {"action": "key", "keys": ["ctrl", "c"]}}</tool_call>',
        '{"arguments": {"action": "wait"}} {"arguments": {"action": "terminate"}}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("rows", [1, 60])
def test_complete_calls_of_actions_without_a_place_are_no_answer(text, rows):
    found = parse([text] * rows, TOOL_CALL, space=CoordSpace.PIXEL)
    assert {Reason(code).name for code in found.reason} == {"NO_ANSWER"}
