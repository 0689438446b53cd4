"""Values on an edge: on which side of a threshold they count, and in which order rows come."""

from functools import partial

import numpy as np
import pytest

from grounding_rewards.errors import SelectorError
from grounding_rewards.plugins.named import FunctionSelector
from grounding_rewards.pool import MeanBand, SampleStats, Spread, sample_stats, select, selector
from grounding_rewards.pool.curriculum import StageGate, command
from grounding_rewards.pool.curriculum.command import check_bands, declared_bands
from grounding_rewards.pool.curriculum.stages import Curriculum, Progress, RateBand, Stage, stage_sets
from grounding_rewards.pool.selection import next_pool
from grounding_rewards.pool.temperature import sweep
from grounding_rewards.stats import intervals
from tests.pool.made import counted


def of_ten(*right):
    """Samples s0, s1, ... with so many right rollouts of ten."""
    return counted(right, 10)


def grouped(*totals):
    """One sample with these totals."""
    return sample_stats(["a"] * len(totals), [0] * len(totals), total=totals)


@pytest.mark.parametrize(("total", "weight"), [(0.25, 0.0), (0.5, 1.0), (0.75, 0.0)])
def test_both_edges_of_a_band_of_means_are_outside(total, weight):
    assert MeanBand(0.25, 0.75)(grouped(total, total)).tolist() == [weight]


@pytest.mark.parametrize(("threshold", "weight"), [(0.24, 1.0), (0.25, 0.0)])
def test_a_deviation_must_be_above_the_threshold(threshold, weight):
    assert Spread(threshold)(grouped(0.0, 0.5)).tolist() == [weight]


def test_an_own_selector_may_give_one_weight_to_all(tmp_path):
    (tmp_path / "own.py").write_text("def same(stats):\n    return [2.0] * len(stats)\n")
    own = selector(f"{tmp_path / 'own.py'}:same", low=2, high=2)
    assert select(of_ten(0, 5), own).tolist() == [2.0, 2.0]


def test_a_selector_that_exits_ends_no_program():
    def leave(stats):
        raise SystemExit(3)

    with pytest.raises(SelectorError, match="raised SystemExit: 3"):
        select(of_ten(5), FunctionSelector(leave, 0.0, 1.0))


def test_a_pool_has_its_rows_in_their_order():
    assert next_pool(of_ten(5, 0, 5, 5, 5), seed=0, suspects=False).kept.tolist() == [0, 1, 2, 3, 4]


def test_a_sample_that_one_judge_has_not_measured_is_not_judged():
    stats, both = of_ten(5, 5, 5), sample_stats(["s0", "s1"], [0, 0])
    strong = sample_stats(["s1", "s2"], [1, 1])
    steps = {step.name: step.removed for step in next_pool(stats, seed=0, two_model=(both, strong)).steps}
    assert (steps["not_judged"], steps["missed_by_strong"]) == (2, 0)


def test_exactly_the_tolerance_or_the_margin_is_not_lost():
    curve = {0.5: of_ten(8, 8), 1.0: of_ten(7, 7)}
    assert sweep(curve, rule="tolerance", tolerance=0.1)["chosen"] == 1.0
    assert sweep(curve, margin=0.1)["chosen"] == 1.0
    assert sweep(curve, margin=0.09)["chosen"] == 0.5


def test_temperatures_are_compared_with_the_lowest_of_equally_good_ones_or_the_lowest_of_all():
    curve = {0.0: of_ten(4, 4), 0.5: of_ten(8, 2), 1.0: of_ten(8, 2)}
    assert sweep(curve)["compared_with"] == 0.5
    assert sweep(curve, rule="tolerance")["compared_with"] == 0.0


def test_an_interval_is_the_same_however_many_draws_are_held_at_once(monkeypatch):
    values, drawing = np.array([0.0, 1.0] * 4), intervals.Bootstrap(10, 0, 0.5)
    whole = drawing.interval(values)
    monkeypatch.setattr(intervals, "_HELD", 6)
    assert drawing.interval(values) == whole


@pytest.mark.parametrize("rate", [0.2, 0.4])
def test_a_declared_band_has_both_its_edges_inside(rate):
    counts = {"a": {"easy": (9, 10), "hard": (int(10 * rate), 10)}}
    found = check_bands(counts, {"easy": (0.5, 1.0), "hard": (0.2, 0.4)})
    assert found["overall"]["bands"][1]["inside"]


def test_intervals_that_touch_are_not_apart(monkeypatch):
    monkeypatch.setattr(command, "wilson", partial(intervals.wilson, z=1.0))
    found = check_bands({"a": {"easy": (1, 1), "hard": (0, 1)}}, dict.fromkeys(("easy", "hard"), (0.0, 1.0)))
    assert found["problems"] == [
        "all types: easy and hard are not apart: the intervals of easy 1.000 [0.500, 1.000] and hard 0.000 "
        "[0.000, 0.500] overlap"
    ]


def test_a_gate_may_stand_at_0_and_1_and_then_nothing_passes_it():
    gate = StageGate(success_above=1.0, failure_below=0.0, last_k=2)
    assert [gate.decide([result] * 2) for result in (0, 1)] == ["stay", "stay"]


@pytest.mark.parametrize("at", [0.7, 0.8, 0.9])
def test_a_mean_on_a_threshold_passes_no_gate_however_floats_add(at):
    for last_k in range(1, 60):
        assert StageGate(at, 0.0, last_k).decide([at] * last_k) == "stay"
        assert StageGate(1.0, at, last_k).decide([at] * last_k) == "stay"


def test_parts_of_samples_add_up_to_an_epoch():
    now, moves = Progress(), []
    for _ in range(10):
        now, move = now.after([], gate=None, epochs=[1, 1], samples=0.1, size=1)  # ten of them are below 1 as floats
        moves.append(move)
    assert moves == ["stay"] * 9 + ["up"]


def test_a_stage_has_its_rows_in_their_order_and_all_others_are_outside():
    bands = RateBand("hard", 0.1, 0.4), RateBand("easy", 0.6, 0.9)
    plan = Curriculum(bands, (Stage("all", ("hard", "easy")),), min_rollouts=10)
    stats = SampleStats(np.array([*"abcd"], dtype=object), np.array([10, 10, 10, 1]), np.array([8, 2, 0, 0]))
    found = stage_sets(stats, plan)
    assert (found.sets[0].rows.tolist(), found.outside.tolist()) == ([0, 1], [2, 3])


def test_a_column_called_band_declares_bands(tmp_path):
    (tmp_path / "r.jsonl").write_text('{"sample_id": "a", "acc": 1, "band": "easy"}\n')
    assert declared_bands(tmp_path / "r.jsonl")[1] == ["easy"]
