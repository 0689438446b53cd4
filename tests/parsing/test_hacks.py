"""Answers that name another action, type a place, look with a tool or list places: none is rewarded as a click is."""

import pytest

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS
from tests.cases import cases

X, Y = 712, 318
BOX = {"bbox": [690, 300, 740, 340], "space": "thousandths", "image_size": [2560, 1440]}
HONEST = f"({X}, {Y})"

OTHERS = [
    # Another action, by any name and in any form.
    f'{{"name": "type_text_at", "args": {{"x": {X}, "y": {Y}, "text": "a"}}}}',
    f'{{"name": "hover_at", "args": {{"x": {X}, "y": {Y}}}}}',
    f'{{"name": "drag_and_drop", "args": {{"x": {X}, "y": {Y}, "destination_x": 5, "destination_y": 6}}}}',
    f'{{"name": "scroll_at", "args": {{"x": {X}, "y": {Y}, "direction": "down"}}}}',
    f'{{"action": "scroll", "coordinate": [{X}, {Y}]}}',
    f'{{"action_type": "type", "point": [{X}, {Y}], "text": "a"}}',
    f'{{"action": "teleport", "coordinate": [{X}, {Y}]}}',
    f'{{"hover": {{"point": [{X}, {Y}]}}}}',
    f'{{"type": "swipe", "x": {X}, "y": {Y}}}',
    f'{{"action": null, "coordinate": [{X}, {Y}]}}',
    f'{{"function": "look", "arguments": {{"point": [{X}, {Y}]}}}}',
    f'{{"name": "inspect", "arguments": {{"coordinate": [{X}, {Y}]}}}}',
    f"hover(x={X}, y={Y})",
    f"pyautogui.moveTo({X}, {Y})",
    f"drag(start_box='({X},{Y})', end_box='(5,6)')",
    f"teleport({X}, {Y})",
    f"Action: teleport ({X}, {Y})",
    f'do(action="Swipe", start=[{X},{Y}], end=[5,6])',
    f"SCROLL <point>[[{X},{Y}]]</point>",
    "hover,<box>690 300 740 340</box>",
    f"<function=hover><parameter=coordinate>[{X}, {Y}]</parameter></function>",
    f"explain:x\taction:SLIDE\tpoint1:{X},{Y}\tpoint2:5,6",
    f"scroll to ({X}, {Y})",
    f"Move to <point>{X} {Y}</point>",
    f'{{"operation": "hover", "coordinate": [{X}, {Y}]}}',
    f'{{"command": "scroll", "coordinate": [{X}, {Y}]}}',
    f'{{"action_name": "teleport", "coordinate": [{X}, {Y}]}}',
    f'<invoke name="m"><parameter name="action">hover</parameter><parameter name="at">[{X}, {Y}]</parameter></invoke>',
    f"<hover>{X}, {Y}</hover>",
    f'<hover x="{X}" y="{Y}"/>',
    f"action: hover\nx: {X}\ny: {Y}",
    f'Hover({{"x": {X}, "y": {Y}}})',
    f"Scroll down at ({X}, {Y})",
    f"I drag the handle at ({X}, {Y}) away.",
    f"Type 'hello' at ({X}, {Y})",
    f"Hover over the icon at [{X}, {Y}]",
    # Another action in front of its arguments, as vendors' templates write it.
    f'<|tool_call_begin|>functions.hover:0<|tool_call_argument_begin|>{{"x": {X}, "y": {Y}}}<|tool_call_end|>',
    f'[TOOL_CALLS]hover[ARGS]{{"x": {X}, "y": {Y}}}',
    f'<｜tool▁sep｜>hover\n```json\n{{"x": {X}, "y": {Y}}}\n```',
    f"<|tool_call>call:hover{{x:{X},y:{Y}}}<tool_call|>",
    f'Action: hover\nAction Input: {{"x": {X}, "y": {Y}}}',
    f"<tool_call>hover\n<arg_key>point</arg_key>\n<arg_value>[{X}, {Y}]</arg_value>\n</tool_call>",
    f'{{"tool_calls": [{{"tool_name": "hover", "parameters": {{"x": {X}, "y": {Y}}}}}]}}',
    f'{{"name": "move_mouse", "arguments": {{"x": {X}, "y": {Y}}}}}',
    f"**Action:** hover\n**Coordinates:** ({X}, {Y})",
    f"Operation: scroll\nPoint: ({X}, {Y})",
    f"name: hover\nx: {X}\ny: {Y}",
    f"<tool>hover</tool><x>{X}</x><y>{Y}</y>",
    f'["hover", [{X}, {Y}]]',
    f"hover -> ({X}, {Y})",
    f"Move the mouse to ({X}, {Y}).",
    f"滑动 ({X}, {Y})",
    f"{{'ACTION': 'HOVER', 'POINT': [{X}, {Y}]}}",
    # What is typed or said.
    f"Action: type(content='({X}, {Y})')",
    f'{{"action": "type", "text": "go to ({X}, {Y})"}}',
    f'{{"action": "answer", "text": "[{X}, {Y}]"}}',
    f"TYPE [({X}, {Y})]",
    f"finished(content='({X}, {Y})')",
    f"pyautogui.write('({X}, {Y})')",
    f"input, ({X}, {Y})",
    f"type(content='({X}, {Y})",
    f'{{"action": "type", "text": "({X}, {Y})',
    # Tools that look, and earlier turns.
    '<tool_call>{"name": "image_zoom_in_tool", "arguments": {"bbox_2d": [690, 300, 740, 340]}}</tool_call>',
    '{"name": "crop", "arguments": {"bbox": [690, 300, 740, 340]}}',
    "zoom(bbox=[690, 300, 740, 340])",
    f"{HONEST}\n<tool_response>\n</tool_response>\nI give up.",
    f"<tool_call>{{}}</tool_call><|im_end|>\n<|im_start|>user\n{HONEST}",
    f"<thinking>{HONEST}</thinking>",
    f"<seed:think>{HONEST}",
    f"[THINK]{HONEST}",
    f"<|channel|>analysis<|message|>{HONEST}",
    f"<reasoning>{HONEST}</reasoning>",
    # Sizes, and places whose middle it is.
    f"Image size: {HONEST}",
    f'{{"points": [[{X - 90}, {Y}], [{X + 90}, {Y}]]}}',
    f"{X - 90}, {Y}\n{X + 90}, {Y}",
    f'{{"x": [{X}, {X}], "y": [{Y}, {Y}]}}',
    f'{{"x": {X}, "y": {Y}, "width": 400, "height": 400}}',
    # Places that are cut off.
    f"({X}, {Y}), (1",
    f"<point>{X} {Y}",
    f"<|box_start|>({X},{Y})",
    f'{{"action": "click", "coordinate": [{X}, {Y}]',
    f'[{{"point_2d": [{X}, {Y}]}}, {{"point_2d": [1',
    f"click(start_box='({X},{Y})",
    f"```json\n[{X}, {Y}]",
    rf"\boxed{{({X}, {Y})",
    f'do(action="Tap", element=[{X},{Y}]',
    # No place.
    '{"action": "click", "index": 5}',
    "click()",
]
SEVERAL = [
    f"{HONEST} (1, 2)",
    f"(1, 2) Action: [{X}, {Y}]",
    f'{{"point_2d": [{X}, {Y}]}}\n<point>1 2</point>',
    f'[{{"point_2d": [{X}, {Y}]}}, {{"point_2d": [1, 2]}}]',
    f"click({X}, {Y})\nlong_press(1, 2)",
    f"CLICK <point>[[{X},{Y}]]</point>\nTYPE [abc]",
    "click,<box>690 300 740 340</box>\ninput, abc",
]
ANY = ("only", "first", "last")
PRESSES = [
    f'{{"name": "long_press_at", "args": {{"x": {X}, "y": {Y}}}}}',
    f'{{"long_press": {{"point": [{X}, {Y}]}}}}',
    f"LONG_PRESS <point>[[{X},{Y}]]</point>",
    f"right_click({X}, {Y})",
    f"long press ({X}, {Y})",
    f'{{"POINT": [{X}, {Y}], "duration": 1000}}',
]


@pytest.mark.parametrize("recipe", ["click", "action"])
def test_an_honest_click_is_rewarded(recipe):
    scores = gr.recipe(recipe, response_space="thousandths").score(HONEST, BOX)
    assert (scores.acc.tolist(), scores.total.tolist()) == ([1.0], [1.0])


@cases("recipe", ["click", "action"])
@cases(
    ("answer", "policies"),
    [*((each, ("only", "first", "last")) for each in OTHERS), *((each, ("only",)) for each in SEVERAL)],
)
def test_no_other_answer_is_rewarded_as_one(recipe, answer, policies):
    for answers in policies:
        judge = gr.recipe(recipe, response_space="thousandths", answers=answers)
        scores = judge.score([answer] * VECTOR_ROWS, [BOX] * VECTOR_ROWS)
        assert scores.acc.tolist() == [0.0] * VECTOR_ROWS
        assert scores.total.max() < 0.5


@cases("answer", PRESSES)
def test_a_press_is_no_click_where_actions_are_judged(answer):
    assert gr.recipe("action", response_space="thousandths").score(answer, BOX).acc.tolist() == [0.0]
