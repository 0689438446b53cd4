"""Our own recipe for actions: 0.9 for the right action or refusal, 0.1 for an answer that can be read."""

import pytest

import grounding_rewards as gr

ACTION = gr.recipe("action", response_space="pixel")
BOX = {"bbox": [10, 10, 20, 20]}


def call(action, **arguments):
    fields = "".join(f', "{key}": {value}' for key, value in arguments.items())
    return f'<tool_call>{{"name": "computer_use", "arguments": {{"action": "{action}"{fields}}}}}</tool_call>'


CLICK = call("left_click", coordinate=[15, 15])


CLICK_AND_TYPE = "click(15, 15)\ntype(content='red hat')"
TYPE_ENTER = "pyautogui.write('red hat')\npyautogui.press('enter')"
TYPE = {"name": "type", "text": "red hat"}


@pytest.mark.parametrize(
    ("response", "target", "total", "reason"),
    [
        (CLICK_AND_TYPE, {**BOX, "action": ["click", TYPE]}, 1.0, "OK"),
        (CLICK_AND_TYPE, {**BOX, "action": TYPE}, 1.0, "OK"),
        (CLICK_AND_TYPE, {"regions": [{**BOX, "action": ["tap", TYPE]}, {"action": "wait"}]}, 1.0, "OK"),
        (CLICK_AND_TYPE.replace("15", "5"), {**BOX, "action": ["click", TYPE]}, 0.1, "OK"),
        (CLICK_AND_TYPE.replace("red", "blue"), {**BOX, "action": ["click", TYPE]}, 0.1, "OK"),
        ("click(15, 15)", {**BOX, "action": ["click", TYPE]}, 0.1, "OK"),
        ("type(content='red hat')", {**BOX, "action": ["click", TYPE]}, 0.1, "OK"),
        (CLICK_AND_TYPE, {**BOX, "action": "click"}, 0.0, "SEVERAL_ANSWERS"),
        (CLICK_AND_TYPE, {"action": TYPE}, 0.0, "SEVERAL_ANSWERS"),
        (f"{CLICK_AND_TYPE}\nwait()", {**BOX, "action": ["click", TYPE]}, 0.0, "SEVERAL_ANSWERS"),
        (TYPE_ENTER, {"action": [TYPE, {"name": "key", "keys": ["enter"]}]}, 1.0, "OK"),
        (f"pyautogui.click(15, 15)\n{TYPE_ENTER}", {**BOX, "action": ["click", TYPE, "enter"]}, 1.0, "OK"),
    ],
)
@pytest.mark.parametrize("rows", [1, 60])
def test_actions_in_order_are_one_step_where_the_target_asks_for_them(response, target, total, reason, rows):
    scores = ACTION.score([response, CLICK] * rows, [target, {**BOX, "action": "click"}] * rows)
    assert scores.total.tolist() == [total, 1.0] * rows
    assert (scores[0].reason, scores[1].reason) == (reason, "OK")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["blind-format", "mentioned-call"]),
        ({"format_weight": 0, "type_weight": 0.25, "text": "contains"},
         ["type-alone", "mentioned-call", "single-letter"]),
        ({"text": "f1", "text_threshold": 0.5}, ["blind-format", "mentioned-call", "part-of-the-text"]),
        ({"text": "f1"}, ["blind-format", "mentioned-call"]),
        ({"text": "ratio", "text_threshold": 0.8}, ["blind-format", "mentioned-call", "part-of-the-text"]),
        ({"text": "ratio", "text_threshold": 0.99}, ["blind-format", "mentioned-call"]),
        ({"scroll": "direction", "format_weight": 0}, ["mentioned-call", "scroll-anywhere"]),
        ({"dialect": "action_json"}, ["blind-format"]),
        ({"dialect": "action_calls"}, ["blind-format", "mentioned-call"]),
        ({"dialect": "ui_venus", "format_weight": 0}, []),
    ],
)  # fmt: skip
def test_rewards_for_nothing_are_listed_as_exploits(options, names):
    recipe = gr.recipe("action", response_space="unit", **options)
    assert [exploit.name for exploit in recipe.exploits] == names
