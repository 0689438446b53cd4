"""UI-S1's targets: what is an error, and the wire form in the source's words."""

import json
import re

import pytest

import grounding_rewards as gr
from tests.recipes.published.test_ui_s1 import BOX, DOWN, LEFT, SIZES, UI_S1, UP, answer, click, native, swipe


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"action": "click"}, "point"), ({"action": "click", "coordinate": [1]}, "point"),
        ({"action": "click", "candidate_bbox": [1, 2, 3, 4]}, r"regions\[1\].point"),
        ({"action": "click", "coordinate": [1, 2], "candidate_bbox": [9, 9, 3, 4]}, r"regions\[0\].bbox"),
        ({"action": "type"}, "action.text"), ({"action": "open", "text": 5}, "action.text"),
        ({"action": "system_button"}, "action.button"), ({"action": "swipe"}, "action.direction"),
        ({"action": "swipe", "direction": "north"}, "action.direction"), ({"action": 5}, "action.name"),
        ({"action": "swipe", "coordinate": [0, 0], "coordinate2": [0, 0]}, "action.direction"),
        ({"text": "hello"}, "action.name"), ({}, "action.name"),
    ],
)  # fmt: skip
def test_a_target_that_lacks_something_is_an_error(wanted, field):
    with pytest.raises(gr.TargetError, match=rf"field '{field}"):
        UI_S1.read_targets([native(wanted)])


def test_clicks_need_both_sizes():
    with pytest.raises(gr.TargetError, match="image_size"):
        UI_S1.score(click(120, 300), native(BOX))


@pytest.mark.parametrize(
    ("target", "right"),
    [
        ({"bbox": [200, 560, 280, 640]}, click(143, 323)),
        ({"bbox": [200, 560, 280, 640], "action": "tap"}, click(143, 323)),
        ({"point": [500, 1000], "action": "long_press"}, click(250, 539, "long_press")),
        ({"action": {"name": "open_app", "app": "Clock"}}, answer(action="open", text="clock")),
        ({"action": {"name": "open", "text": "Clock"}}, answer(action="open", text="clock")),
        ({"action": "back"}, answer(action="system_button", button="Back")),
        ({"action": {"name": "press_home"}}, answer(action="system_button", button="Home")),
        ({"action": {"name": "scroll", "direction": "down"}}, swipe(*UP)),
        ({"action": {"name": "scroll", "direction": "right"}}, swipe(*LEFT)),
        ({"action": {"name": "swipe", "direction": "down"}}, swipe(*DOWN)),
        ({"bbox": [600, 1500, 700, 1600], "action": {"name": "swipe", "direction": "down"}}, swipe(*DOWN)),
        ({"point": [250, 400], "action": {"name": "swipe", "to": [250, 100]}}, swipe(*UP)),
        ({"action": "finished"}, answer(action="terminate", status="success")),
        ({"action": {"name": "key", "text": "tab"}}, answer(action="key", text="tab")),
        ({"action": {"name": "hotkey", "keys": ["ctrl", "c"]}}, answer(action="key", text="ctrl+c")),
        ({"regions": [{"bbox": [1, 1, 2, 2]}, {"action": {"name": "open_app", "app": "Clock"}}]},
         answer(action="open", text="clock")),
    ],
)  # fmt: skip
def test_targets_in_the_wire_form(target, right):
    responses = [right, json.dumps(target), answer(action="dance")]
    for form in (target, json.dumps(target)):
        scores = UI_S1.score(responses, [form] * 3, **SIZES)
        assert scores.total.tolist() == pytest.approx([1.0, 0.0, 0.19], abs=1e-12)


@pytest.mark.parametrize(
    "target",
    [
        {"action": {"name": "swipe"}}, {"action": {"name": "scroll", "direction": 5}}, {"action": {"name": "open_app"}},
        {"action": {"name": "hotkey"}}, {"action": {"name": "hotkey", "keys": 5}}, {"action": {"name": 5}},
        {"action": {"name": "swipe", "to": "up"}, "point": [1, 2]}, {"action": 5}, {"regions": 5, "action": "wait"},
        {"regions": [5]}, [1, 2, 3, 4], "wait", None, 5, {"check_options": 5},
    ],
)  # fmt: skip
def test_other_targets_are_errors(target):
    with pytest.raises(gr.TargetError):
        UI_S1.read_targets([target])


@pytest.mark.parametrize(
    ("action", "field"),
    [
        ({"name": "back", "text": 5}, "action.text"), ({"name": "back", "bogus": 1}, "action.bogus"),
        ({"name": "hotkey", "keys": {"a": 1}}, "action.keys"), ({"name": "hotkey", "keys": [1, 2]}, "action.keys"),
    ],
)  # fmt: skip
def test_an_action_of_the_wire_form_is_checked_before_it_is_rewritten(action, field):
    with pytest.raises(gr.TargetError, match=re.escape(f"field '{field}'")):
        gr.recipe("ui-s1").read_targets([{"action": action}])


@pytest.mark.parametrize("target", [{"action": "click"}, {"action": "tap"}, {"regions": [{"action": "click"}]}])
def test_a_click_without_a_place_is_an_error(target):
    with pytest.raises(gr.TargetError, match=r"bbox'?: got nothing"):
        gr.recipe("ui-s1").read_targets([target])
