"""InfiGUI-G1's reward by hand: 1 for the format, and 1 / sqrt(N · k) for the k-th of N points, -1 / N for N misses."""

import json
import math

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards_adapters.verl import compute_score
from tests.golden import harness
from tests.verifiers.test_exploration import curve

RECIPE = gr.recipe("infigui-g1")
PLAIN = gr.recipe("infigui-g1", no_think=True)
BOX = {"x1": 100, "y1": 100, "x2": 300, "y2": 200}
THOUGHT = "<think>It is at the top.</think>\n"
HIT, MISS, OTHER = (200, 150), (10, 20), (400, 7)


def listed(*points):
    return json.dumps([{"point_2d": list(point), "label": "e"} for point in points])


def totals(*responses, recipe=RECIPE, target=BOX):
    return recipe.score(list(responses), [target] * len(responses)).total.tolist()


@pytest.mark.parametrize(
    ("points", "total", "acc"),
    [
        ([HIT], 2, 1), ([(100, 100)], 2, 1), ([(300, 200)], 2, 1), ([(99, 150)], 0, 0), ([MISS], 0, 0),
        ([HIT, MISS], 1 + 1 / math.sqrt(2), 1), ([MISS, HIT], 1.5, 0), ([MISS, OTHER], 0.5, 0),
        ([HIT, HIT], 1 + 1 / math.sqrt(2), 1), ([MISS, OTHER, HIT], 4 / 3, 0), ([MISS, OTHER, (9, 9)], 2 / 3, 0),
        ([HIT, MISS, OTHER, (9, 9)], 1.5, 1), ([(200.5, 150.25)], 2, 1), ([(-200, 150)], 0, 0), ([(10**30, 2)], 0, 0),
    ],
)  # fmt: skip
def test_several_points(points, total, acc):
    for recipe, response in ((RECIPE, THOUGHT + listed(*points)), (PLAIN, listed(*points))):
        scores = recipe.score(response, BOX)
        assert scores.total.tolist() == pytest.approx([total], abs=1e-15)
        assert scores.acc.tolist() == [acc], "the first point is the one to click"
        assert scores.parts["format"].tolist() == [1]
        assert scores.parts["exploration"].tolist() == pytest.approx([total - 1], abs=1e-15)


def test_three_points_on_a_line_are_as_bad_as_no_format():
    scores = RECIPE.score(THOUGHT + listed(HIT, (10, 10), (20, 30), (30, 50)), BOX)
    assert (scores.total.tolist(), scores.acc.tolist()) == ([-1], [0])
    assert {name: part.tolist() for name, part in scores.parts.items()} == {"format": [0], "exploration": [-1]}
    assert scores.reason.tolist() == [gr.Reason.OK], "it was read"
    assert totals(THOUGHT + listed((1, 1), (2, 2), (3, 3.0000001))) == pytest.approx([2 / 3])


def test_what_cannot_be_read_costs_one():
    assert (
        totals("", listed(HIT), f"<think></think>{listed(HIT)}", f"{THOUGHT}{THOUGHT}{listed(HIT)}", THOUGHT)
        == [-1] * 5
    )
    assert totals(THOUGHT + "(200, 150)", THOUGHT + '{"point_2d": [200, 150]}', THOUGHT + "[1]", None) == [-1] * 4
    assert totals("", "(200, 150)", "[1]", "[[200, 150]]", recipe=PLAIN) == [-1] * 4


def test_one_unreadable_point_spoils_the_list():
    assert totals(f'{THOUGHT}[{{"point_2d": [200, 150]}}, {{"point_2d": "1, 2"}}]') == [-1]


def test_prose_around_the_list_does_not_matter():
    assert totals(f"{THOUGHT}Here: {listed(HIT)} done.", f"{THOUGHT}{listed(HIT)} {listed(MISS)}") == [2, 2]
    assert totals(f"Here:\n```json\n{listed(HIT)}\n```", f"{listed(MISS)} {listed(HIT)}", recipe=PLAIN) == [2, 0]


def test_without_thinking_the_thinking_is_text_like_any_other():
    assert totals(THOUGHT + listed(HIT), f"<think>{listed(MISS)}</think>{listed(HIT)}", recipe=PLAIN) == [2, 0]
    opened = gr.recipe("infigui-g1", no_think=True, thinking="open")
    assert totals(f"at the top, not {listed(MISS)}</think>{listed(HIT)}", listed(HIT), recipe=opened) == [2, -1]


# What peers.md (c) lists about this reward.


def test_spraying_points_scores_as_in_the_source():
    away = [(1000 + x, y) for x, y in curve(50)]
    assert totals(THOUGHT + listed(*away), THOUGHT + listed(MISS), THOUGHT + "[]") == pytest.approx([0.98, 0, 0])
    payoffs = {exploit.name: exploit.payoff for exploit in RECIPE.exploits}
    assert payoffs == pytest.approx({"spraying": 0.98, "no-points": 0.0})
    light = gr.recipe("infigui-g1", format_weight=0.1)
    assert {exploit.name: exploit.payoff for exploit in light.exploits} == pytest.approx(
        {"spraying": 0.08, "no-points": -0.9}
    )


def test_not_more_than_256_points_are_read():
    beside = {"x1": 900, "y1": 9, "x2": 990, "y2": 90}
    assert totals(THOUGHT + listed(*curve(256)), target=beside) == [1 - 1 / 256]
    scores = RECIPE.score(THOUGHT + listed(*curve(257)), beside)
    assert (scores.total.tolist(), scores.reason.tolist()) == ([-1], [gr.Reason.TOO_MANY])


def test_an_empty_list_says_that_nothing_fits():
    scores = RECIPE.score(THOUGHT + "[]", BOX)
    assert (scores.total.tolist(), scores.acc.tolist(), scores.reason.tolist()) == ([0], [0], [gr.Reason.REFUSED])


def test_right_answers_that_the_source_scores_as_wrong():
    bracketed = '[{"point_2d": [200, 150], "label": "a]"}]'
    assert totals(
        f" {THOUGHT}{listed(HIT)}", f"{THOUGHT}See [1]: {listed(HIT)}", THOUGHT + bracketed,
        THOUGHT + bracketed.replace("a]", "[[a"), f"{THOUGHT}See [1]: {bracketed}",
    ) == [2] * 5  # fmt: skip
    assert totals(f"See [1], [ii]: {listed(HIT)}", bracketed, recipe=PLAIN) == [2, 2]


def test_what_is_no_slip_stays_wrong():
    assert (
        totals(f"{THOUGHT}[{listed(HIT)}]", f"{THOUGHT}See [1: {listed(HIT)}", f"{THOUGHT}[{{}}] {listed(HIT)}")
        == [-1] * 3
    )
    assert totals(f"{THOUGHT}[{{'point_2d': [200, 150]}}]", f'{THOUGHT}[{{"point_2d": [200., 150.]}}]') == [-1] * 2


@pytest.mark.parametrize("target", [
    BOX, json.dumps(BOX), {key: np.float64(value) for key, value in BOX.items()}, {**BOX, "x1": 100.0},
    {"bbox": [100, 100, 300, 200]}, {"bbox": [100, 100, 300, 200], "x1": None},
    {"bbox": [200, 200, 600, 400], "space": "pixel", "image_size": [1000, 800], "model_image_size": [500, 400]},
])  # fmt: skip
def test_targets_in_the_sources_form_and_in_the_wire_form(target):
    assert totals(THOUGHT + listed((300, 200)), THOUGHT + listed((301, 200)), target=target) == [2, 0]


@pytest.mark.parametrize("target", [
    {}, {"x1": 1}, {**BOX, "y2": None}, None, [100, 100, 300], {**BOX, "x1": 301}, {**BOX, "x1": "100"},
    {**BOX, "z": 1},
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*has no area as x1 y1 x2 y2")
def test_bad_targets(target):
    with pytest.raises(gr.TargetError):
        RECIPE.score(THOUGHT + listed(HIT), target)
    scores = RECIPE.score([THOUGHT + listed(HIT)], [target], bad_target="abstain")
    assert (scores.total.tolist(), scores.acc.tolist(), scores.valid.tolist()) == ([0], [0], [0])


def test_any_of_several_boxes():
    target = {"regions": [[0, 0, 20, 30], [100, 100, 300, 200]]}
    assert totals(THOUGHT + listed(OTHER, HIT), THOUGHT + listed(MISS, OTHER), target=target) == pytest.approx(
        [1.5, 1 + 1 / math.sqrt(2)]
    )


def test_one_answer_can_be_asked_for():
    for answers, total in (("first", 0), ("last", 2), ("only", -1)):
        assert totals(THOUGHT + listed(MISS, HIT), recipe=gr.recipe("infigui-g1", answers=answers)) == [total]


def test_bounds_and_options():
    assert (RECIPE.low, RECIPE.high, RECIPE.parts) == (-1, 2, ("format", "exploration"))
    light = gr.recipe("infigui-g1", format_weight=0.25, no_think=True)
    assert (light.low, light.high) == (-1, 1.25)
    assert totals(listed(HIT), listed(MISS), "", recipe=light) == [1.25, -0.75, -1]
    assert light == gr.recipe(light.to_dict())


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
