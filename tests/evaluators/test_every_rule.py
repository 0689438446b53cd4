"""Each rule of whole-action benchmarks: no value stops it, and a right action in its own form is right."""

from __future__ import annotations

import time
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.actions import Act
from grounding_rewards.evaluators.judging import RULES, rules_of, step_rule
from grounding_rewards.evaluators.rule import Step

EVERY = {f"{benchmark} {rule.name}": rule for benchmark in RULES for rule in rules_of(benchmark)}
SIZE = (1080.0, 2400.0)
KEYS = (
    "action", "action_type", "arguments", "coordinate", "coordinate2", "candidate_bbox", "text", "button",
    "direction", "points", "app", "plan", "output", "scale", "nodes", "x", "y", "gpt_action", "gpt_value",
    "operation", "value", "bbox", "original_op", "click_point", "ground_truth_actions", "type", "params",
    "position", "metadata", "bboxes", "rel_bbox", "keys", "status", "alternative_options", "result_action_type",
    "result_touch_yx", "ui_positions",
)  # fmt: skip
WORDS = (
    "click", "type", "swipe", "open", "TYPE", "CLICK", "actions:\nCLICK", "pyautogui.click(x=0.5,y=0.5)", "(1, 2)",
    "pyautogui.write('a')", "<tool_call>{}</tool_call>", '{"action": "click"}', "{'action_type': 4}", "CLICK: (1, 2)",
    "up", "Back", "9" * 400,
)  # fmt: skip
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(10**400)
ODD: Any = st.recursive(
    PLAIN | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


def step(name: str, place: tuple[float, ...] = (), **arguments: Any) -> Step:
    return Step(Act(name, place, arguments), ((0.4, 0.3, 0.6, 0.4),) if place else (), SIZE)


AT = (0.5, 0.35)
STEPS = {
    **{name: step(name, AT) for name in ("click", "long_press", "double_click", "hover", "enter")},
    **{name: step(name) for name in ("back", "home", "recent", "wait", "finished")},
    **{way: step("scroll", direction=way) for way in ("up", "down", "left", "right")},
    "type": step("type", text="red hat"),
    "type there": step("type", AT, text="red hat"),
    "select": step("select", AT, text="red hat"),
    "open_app": step("open_app", app="Maps"),
    "key": step("key", keys=("ctrl", "v")),
    "drag": step("drag", AT, to=(0.6, 0.7)),
}
PHONE = "click, long_press, type, open_app, back, home, wait, up, down, left, right"
AITW = "click, type, back, home, finished, up, left"  # that of down is up, and of right left
CPM = "click, long_press, type, back, home, enter, up, down, left, right, finished"
COAT = "type, back, home, enter, up, down, left, right, finished"
ODYSSEY = "click, long_press, type, back, home, finished, up, down, left, right"
RIGHT = {
    "agentnetbench opencua": "click, double_click, hover, drag, type, key, finished, up, down",
    "aitw auto-gui": AITW,
    "aitw seeclick": AITW,
    "aitz coat": COAT,  # clicks are judged at (0, 0)
    "aitz coat-click": f"click, {COAT}",
    "androidcontrol agentcpm": CPM.replace(" long_press,", ""),
    "androidcontrol clawgui": PHONE,
    "androidcontrol gui-r1": "click, long_press, double_click, hover, type, open_app, up, down, left, right",
    "androidcontrol guievalkit": f"{CPM}, wait, open_app",
    "androidcontrol os-atlas": f"{PHONE}, finished",
    "androidcontrol ui-s1": PHONE,
    "androidcontrol ui-s1-reward": PHONE.removesuffix(", left, right") + ", finished",  # those two are not turned
    "androidcontrol uground": f"{PHONE}, finished, type there",
    **dict.fromkeys(("aitz agentcpm", "cagui agentcpm", "gui-odyssey agentcpm"), CPM),
    **dict.fromkeys(
        ("aitz guievalkit", "cagui guievalkit", "gui-odyssey guievalkit"), f"{CPM}, wait, open_app, recent"
    ),
    "gui-odyssey odyssey": ODYSSEY,
    "gui-odyssey os-atlas": ODYSSEY,
    "mind2web seeclick": "click, hover, enter, type there, select",
    "mind2web uground": "click, type there, select",
    "omniact os-atlas": "click, double_click, hover, type, key, finished, up, down",
    "omniact uground": "click, double_click, hover, drag, type, key, up, down",
}
SAME = {
    "agentnetbench opencua": {*permutations(("up", "down")), ("drag", "hover")},  # a drag moves first; more is ignored
    **{f"{each} guievalkit": {*permutations(("home", "recent"))} for each in ("aitz", "cagui", "gui-odyssey")},
    "androidcontrol gui-r1": {*permutations(("click", "long_press", "double_click", "hover"), 2)},  # of any type
    "androidcontrol ui-s1": {*permutations(("up", "down", "left", "right"), 2)},
    "androidcontrol uground": {("type there", "type")},
    "mind2web seeclick": {*permutations(("click", "hover", "enter"), 2)},
    "omniact uground": {*permutations(("up", "down"))},  # scrolls are not compared
}
"""Answers that are right for another gold, too."""


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=25)
@given(response=ODD, gold=ODD, size=st.sampled_from((None, SIZE)), options=st.dictionaries(st.sampled_from(KEYS), ODD))
def test_no_value_stops_a_rule(name: str, response: Any, gold: Any, size: Any, options: Any) -> None:
    rule = EVERY[name]
    answers = variants(rule.answer(STEPS["click"].act, SIZE), response)
    golds = variants(rule.gold(STEPS["click"]), gold)
    for said, wanted in product(answers, golds):
        assert set(rule.judge(said, wanted, size, options)[:3]) <= {None, True, False}


def variants(own: Any, odd: Any) -> list[Any]:
    return [own, odd, *([{**own, **odd}] if isinstance(own, dict) and isinstance(odd, dict) else [])]


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_action_in_its_own_form_is_right_and_another_is_not(name: str) -> None:
    rule, own = step_rule(*name.split()), RIGHT[name].split(", ")
    answers, golds = (
        {each: rule.answer(STEPS[each].act, SIZE) for each in own},
        {each: rule.gold(STEPS[each]) for each in own},
    )
    right = {pair for pair in product(own, own) if rule.judge(answers[pair[0]], golds[pair[1]], SIZE, {}).step}
    assert right == {(each, each) for each in own} | SAME.get(name, set())


@pytest.mark.parametrize("name", ["aitz agentcpm", "aitz guievalkit", "aitz coat"])
def test_an_end_that_says_that_it_failed_is_an_end(name: str) -> None:
    rule, failed = step_rule(*name.split()), step("finished", status="impossible")
    assert "impossible" in str(rule.answer(failed.act, SIZE))
    assert rule.judge(rule.answer(failed.act, SIZE), rule.gold(failed), SIZE, {}).step


@pytest.mark.parametrize("name", EVERY)
def test_long_answers_take_no_long_time(name: str) -> None:
    rule, pieces = EVERY[name], ("pyautogui.write('", "<tool_call>", "{", "[", "(", "actions:\n", '"a', "1,", "CLICK ")
    long = [piece * (100_000 // len(piece)) for piece in pieces]
    typed = [rule.answer(step("type", AT, text=text).act, SIZE) for text in ("a b" * 100_000, "é" * 300_000)]
    golds, start = [rule.gold(STEPS[each]) for each in ("click", "type there")], time.perf_counter()
    for response, gold in product([*long, *typed], golds):
        rule.judge(response, gold, SIZE, {})
    assert time.perf_counter() - start < 5
