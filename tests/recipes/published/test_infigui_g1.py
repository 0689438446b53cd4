"""InfiGUI-G1's reward by hand: 1 for the format, and 1 / sqrt(N · k) for the k-th of N points, -1 / N for N misses."""

import json

import pytest

import grounding_rewards as gr
from grounding_rewards_adapters.verl import compute_score
from tests.golden import harness
from tests.verifiers.test_exploration import curve

RECIPE = gr.recipe("infigui-g1")
BOX = {"x1": 100, "y1": 100, "x2": 300, "y2": 200}
THOUGHT = "<think>It is at the top.</think>\n"
HIT = (200, 150)


def listed(*points):
    return json.dumps([{"point_2d": list(point), "label": "e"} for point in points])


def totals(*responses, recipe=RECIPE, target=BOX):
    return recipe.score(list(responses), [target] * len(responses)).total.tolist()


def test_not_more_than_256_points_are_read():
    beside = {"x1": 900, "y1": 9, "x2": 990, "y2": 90}
    assert totals(THOUGHT + listed(*curve(256)), target=beside) == [1 - 1 / 256]
    scores = RECIPE.score(THOUGHT + listed(*curve(257)), beside)
    assert (scores.total.tolist(), scores.reason.tolist()) == ([-1], [gr.Reason.TOO_MANY])


def test_native_rows_may_carry_a_name():
    (read,) = gr.recipe("infigui-g1").read_targets([{"x1": 1, "y1": 2, "x2": 30, "y2": 40, "id": "a7"}]).rows
    assert (read.id, read.regions[0].numbers) == ("a7", (1.0, 2.0, 30.0, 40.0))


def test_nan_lies_on_a_line_with_any_two_points():
    response = THOUGHT + '[{"point_2d": [NaN, NaN]}, {"point_2d": [200, 150]}, {"point_2d": [250, 190]}]'
    line = {"response": response, "ground_truth": BOX, "extra": {"no_think": False}}
    found = harness.deviation("infigui_g1", line)
    assert (found and found.name, totals(response)) == ("huge-number", [-1])


@pytest.mark.parametrize("extra", [None, {}, {"no_think": None}])
def test_a_row_without_extra_asks_for_thinking(extra):
    values = [
        harness.evaluate("infigui_g1", {"response": text, "ground_truth": BOX, "extra": extra})[0]["score"]
        for text in (THOUGHT + listed(HIT), listed(HIT))
    ]
    assert values == [2, -1]
    row = {**BOX, "extra": extra}
    assert totals(THOUGHT + listed(HIT), target=row) == [2], "null in a row is what Arrow fills in"
    assert compute_score("", THOUGHT + listed(HIT), BOX, extra, recipe="infigui-g1")["score"] == 2
