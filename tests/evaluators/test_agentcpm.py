"""AgentCPM-GUI's and GUIEvalKit's rules: forms of answers, borders, and golds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.actions import Act
from grounding_rewards.evaluators.compare import apart, middle
from grounding_rewards.evaluators.judging import step_rule
from grounding_rewards.evaluators.rule import STOPPED, Step, StepVerdict

CLICK: dict[str, Any] = {
    "result_action_type": 4, "result_touch_yx": "[0.5, 0.5]", "result_lift_yx": "[0.5, 0.5]", "ui_positions": "[]",
}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "agentcpm", "guievalkit"),
    [
        ({"POINT": [500, 500]}, True, True),
        ({"POINT": [500, 500], "duration": 200}, True, True),
        ({"POINT": [500, 500], "duration": 201}, False, False),
        ({"POINT": [500, 500], "STATUS": "start"}, True, True),
        ({"POINT": [500, 500], "STATUS": "finish"}, False, False),
        ({"POINT": [500, 500], "thought": "t"}, True, True),
        ({"POINT": [500, 500], "thought": 1}, None, None),
        ({"POINT": [500, 500], "PRESS": "BACK"}, None, None),
        ({"POINT": [500.5, 500]}, None, None),
        ({"POINT": [500, 1001]}, None, None),
        ({"POINT": [True, 500]}, None, None),
        ({"POINT": [float("nan"), 500]}, None, None),
        ({"POINT": [500, 500], "duration": 10**400}, False, False),
        ({"STATUS": "done"}, None, None),
        ({"TYPE": 1}, None, None),
        ({"CLEAR": None}, False, False),
        ({"CLEAR": 1}, None, None),
        ({"OPEN_APP": "Clock"}, None, False),
        ({"INPUT": {"point": [500, 500], "text": "red"}}, None, False),
        ({"to": [1, 2]}, None, None),
        ({"POINT": [500, 500], "to": [1]}, None, None),
        ({1: 2}, None, None),
    ],
)
def test_forms_of_answers(answer: object, agentcpm: bool | None, guievalkit: bool | None) -> None:
    verdict = step_rule("androidcontrol", "agentcpm").judge(answer, CLICK, None, {})
    assert verdict == (
        StepVerdict(agentcpm, agentcpm or None, agentcpm)
        if agentcpm is not None
        else StepVerdict(False, None, False, read=False)
    )
    other = step_rule("androidcontrol", "guievalkit").judge(answer, CLICK, None, {})
    assert other == (STOPPED if guievalkit is None else StepVerdict(guievalkit, guievalkit or None, guievalkit))


def test_a_long_press_of_android_control_is_a_click_in_the_rows_of_one() -> None:
    golds = [step_rule("androidcontrol", name).gold(Step(Act("long_press"))) for name in ("agentcpm", "guievalkit")]
    assert [each["result_action_type"] for each in golds] == [4, 0]


@pytest.mark.parametrize(
    ("benchmark", "boxes", "answer", "right"),
    [
        ("androidcontrol", [[0.0, 0.0, 0.1, 0.1]], [50, 50], True),  # among the five nearest to the gold
        ("cagui", [[0.0, 0.0, 0.1, 0.1]], [50, 50], False),  # does not hold it
        ("cagui", [[0.0, 0.0, 1.0, 1.0]], [50, 50], True),
        ("gui-odyssey", [[0.0, 0.0, 1.0, 1.0]], [50, 50], False),  # boxes are left out
        ("androidcontrol", [], [500, 460], True),
        ("androidcontrol", [], [500, 540], False),  # .54 - .5 is more than .04
        ("gui-odyssey", [], [500, 640], True),
        ("gui-odyssey", [], [500, 641], False),
    ],
)
def test_boxes_and_reach(benchmark: str, boxes: list[list[float]], answer: list[int], right: bool) -> None:
    for name in ("agentcpm", "guievalkit"):
        for gold in ({**CLICK, "ui_positions": boxes}, {**CLICK, "ui_positions": [], "bbox": boxes}):
            assert step_rule(benchmark, name).judge({"POINT": answer}, gold, None, {}).place is right


@pytest.mark.parametrize("key", ["result_action_type", "result_touch_yx", "ui_positions"])
@pytest.mark.parametrize("value", ["x", None, 2, [], {}, "[1", "[[1, 2]]", [["a"] * 4]], ids=str)
def test_a_gold_of_no_form_stops(key: str, value: object) -> None:
    for name in ("agentcpm", "guievalkit"):
        verdict = step_rule("cagui", name).judge({"POINT": [500, 900]}, {**CLICK, key: value}, None, {})
        empty = key == "ui_positions" and value in (None, [], {})
        assert verdict == (StepVerdict(True, False, False) if empty else STOPPED)


GRID = st.integers(2, 16)


@given(
    st.lists(st.tuples(GRID, GRID, st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=9),
    st.tuples(GRID, GRID), st.lists(st.tuples(GRID, GRID), min_size=1, max_size=5),
)  # fmt: skip
def test_the_recipe_action_expresses_the_rule(boxes: list[Any], gold: Any, answers: list[Any]) -> None:
    shares = [(x / 20, y / 20, (x + w) / 20, (y + h) / 20) for x, y, w, h in boxes if x + w < 20 and y + h < 20]
    right = (gold[0] / 20, gold[1] / 20)
    far = sorted(apart(middle(box), right) for box in shares)
    assume(all(b - a > 1e-9 for a, b in pairwise(far)))  # of boxes equally near either may count
    size = (1000.0, 1000.0)
    recipe = gr.recipe("action", response_space="thousandths", point_share=0.04, enlarge=1.2, nearest=5)
    regions = [{"bbox": [1000 * each for each in box]} for box in shares]
    target = {"regions": [*regions, {"point": [1000 * each for each in right]}], "image_size": size}
    clicks = [[50 * x + 1, 50 * y + 21] for x, y in answers]  # off every border
    rule = step_rule("androidcontrol", "agentcpm")
    row = rule.gold(Step(Act("click", right), tuple(shares), size))
    verdicts = [rule.judge({"POINT": click}, row, size, {}).step for click in clicks]
    assert recipe.score([str(click) for click in clicks], [target] * len(clicks)).acc.tolist() == verdicts
