"""Bands, stages, the gate between them, what each stage holds, and the check of declared bands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.errors import GroundingRewardsError, PoolError
from grounding_rewards.pool import SampleStats, sample_stats
from grounding_rewards.pool.curriculum import StageGate
from grounding_rewards.pool.curriculum.command import check_bands, check_stats
from grounding_rewards.pool.curriculum.stages import (
    BETWEEN,
    UNMEASURED,
    Curriculum,
    Progress,
    RateBand,
    Stage,
    assign,
    from_plain,
    stage_sets,
    stage_weights,
)
from tests.pool.made import counted

BANDS = RateBand("easy", 0.9, 1.0), RateBand("medium", 0.6, 0.8), RateBand("hard", 0.3, 0.5)
RANGES = dict.fromkeys(("easy", "medium", "hard"), (0.0, 1.0))


def of_rates(*counts: tuple[int, int], **columns: Any) -> SampleStats:
    """Samples a0, a1, ... with so many right rollouts of so many."""
    return counted(*np.array(counts, dtype=np.int64).reshape(-1, 2).T, name="a{}", **columns)


def plan(*stages: Stage, **more: Any) -> Curriculum:
    return Curriculum(BANDS, stages or (Stage("all", ("easy", "medium", "hard")),), **more)


@pytest.mark.parametrize(
    ("results", "move"),
    [
        ([0.71] * 20, "up"), ([0.71] * 19, "stay"), ([0.70] * 20, "stay"), ([0.29] * 20, "down"), ([0.30] * 20, "stay"),
        ([1] * 14 + [0] * 6, "stay"), ([1] * 15 + [0] * 5, "up"), ([1] * 6 + [0] * 14, "stay"),
        ([1] * 5 + [0] * 15, "down"), ([0] * 100 + [1] * 20, "up"), ([1] * 100 + [0] * 20, "down"), ([], "stay"),
    ],
)  # fmt: skip
def test_a_gate_looks_at_the_last_results_and_is_strict(results: list[float], move: str) -> None:
    assert StageGate(0.70, 0.30, last_k=20).decide(results) == move


def test_rollouts_that_were_not_scored_do_not_count_for_a_gate() -> None:
    gate = StageGate(0.7, 0.3, last_k=4)
    assert gate.decide([1, None, float("nan"), 1, 1]) == "stay"
    assert gate.decide([1, None, float("nan"), 1, 1, np.float64(1.0)]) == "up"
    with pytest.raises(PoolError, match="expected a number from 0 to 1, or None where not scored"):
        gate.decide([1.5])
    with pytest.raises(PoolError, match="result: got '1'; expected"):
        gate.decide(["1"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "bad", [{"success_above": 0.3}, {"failure_below": -0.1}, {"success_above": "0.9"}, {"last_k": 0}, {"last_k": 2.5}]
)
def test_a_gate_that_makes_no_sense_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(GroundingRewardsError, match=r"StageGate\(.*=\): got .*; expected "):
        StageGate(**bad)


def test_progress_moves_a_stage_at_a_time_and_begins_anew() -> None:
    gate, epochs = StageGate(0.7, 0.3, last_k=4), [1, 1]
    now, move = Progress().after([0, 0, 0, 0], gate=gate, epochs=epochs)
    assert (now.stage, now.results, move) == (0, (0.0, 0.0, 0.0, 0.0), "stay")  # down from the first
    now, move = now.after([1, 1, 1], gate=gate, epochs=epochs, samples=2)
    assert (now, move) == (Progress(1), "up")
    now, move = Progress(1).after([1, 1, 1, 1], gate=gate, epochs=epochs)
    assert (now.stage, move) == (1, "stay")  # up from the last
    now, move = now.after([0, 0, 0], gate=gate, epochs=epochs)
    assert (now, move) == (Progress(0), "down")


def test_progress_keeps_the_results_that_count_and_no_more() -> None:
    gate = StageGate(0.7, 0.3, last_k=4)
    now, _ = Progress().after([0.25, 0.5, 0.5, 0.5, 0.5, None], gate=gate, epochs=[1, 1])
    assert now.results == (0.5, 0.5, 0.5, 0.5)


def test_progress_without_a_gate_counts_epochs() -> None:
    now, moves = Progress(), []
    for _ in range(6):
        now, move = now.after([0, 1], gate=None, epochs=[2, 1], samples=1.5, size=3)
        moves.append(move)
    assert (now, moves) == (Progress(1, (), 3.0), ["stay", "stay", "stay", "up", "stay", "stay"])


def test_bands_hold_their_edges_and_a_shared_edge_is_of_the_easier() -> None:
    stats = of_rates((9, 10), (4, 5), (3, 5), (1, 2), (3, 10), (17, 20), (2, 10), (0, 0))
    assert assign(stats, plan()).tolist() == [0, 1, 1, 2, 2, BETWEEN, BETWEEN, UNMEASURED]
    assert assign(stats, plan(min_rollouts=5)).tolist()[3] == UNMEASURED
    touching = Curriculum((RateBand("low", 0.0, 0.5), RateBand("high", 0.5, 1.0)), (Stage("s", ("low",)),))
    assert assign(of_rates((1, 2), (0, 2)), touching).tolist() == [1, 0]


def test_quotas_are_largest_remainders() -> None:
    stats = of_rates(*[(10, 10)] * 100, *[(7, 10)] * 50, *[(4, 10)] * 10)
    stage = Stage("mix", ("easy", "medium", "hard"), (100, 50, 10), size=20)
    (found,) = stage_sets(stats, plan(stage), seed=7).sets
    assert [quota["taken"] for quota in found.quotas] == [13, 6, 1]
    assert np.bincount(assign(stats, plan())[found.rows]).tolist() == [13, 6, 1]
    (unsized,) = stage_sets(stats, plan(Stage("mix", ("easy", "hard"), (0.7, 0.1))), seed=7).sets
    assert [(quota["asked"], quota["taken"]) for quota in unsized.quotas] == [(70, 70), (10, 10)]
    (by_count,) = stage_sets(stats, plan(Stage("mix", ("easy", "medium", "hard"), size=16)), seed=7).sets
    assert [quota["taken"] for quota in by_count.quotas] == [10, 5, 1]


def test_no_sample_is_taken_twice_and_the_shortfall_is_reported() -> None:
    stats = of_rates(*[(10, 10)] * 9, *[(4, 10)] * 2, (2, 10))
    found = stage_sets(stats, plan(Stage("mix", ("easy", "hard"), (1, 1), size=10)))
    (mix,) = found.sets
    assert [(quota["asked"], quota["taken"], quota["shortfall"]) for quota in mix.quotas] == [(5, 5, 0), (5, 2, 3)]
    assert len(set(mix.rows.tolist())) == len(mix.rows) == 7
    assert found.outside.tolist() == [11]
    assert found.counts == {"easy": 9, "medium": 0, "hard": 2, "between": 1, "unmeasured": 0}
    with pytest.raises(PoolError, match=r"stage 's' has no samples \(in its bands: easy 9, medium 0\); widen"):
        stage_sets(stats, plan(Stage("s", ("easy", "medium"), (1, 1))))
    with pytest.raises(PoolError, match=r"stage 's' has no samples \(in its bands: medium 0\); widen"):
        stage_sets(stats, plan(Stage("s", ("medium",), size=5)))


def test_weights_give_each_band_its_share() -> None:
    stats = of_rates(*[(10, 10)] * 4, *[(7, 10)] * 2, (0, 10))
    stages = Stage("mix", ("easy", "medium"), (1, 3), size=1), Stage("all", ("easy", "medium", "hard"))
    mix, whole = stage_weights(stats, plan(*stages))[1]
    assert mix.tolist() == [0.0625] * 4 + [0.375] * 2 + [0.0]
    assert whole.tolist() == [pytest.approx(1 / 6)] * 6 + [0.0]
    lacking = stage_weights(stats, plan(Stage("lacking", ("easy", "hard"), (1, 1))))[1][0]
    assert lacking.tolist() == [0.25] * 4 + [0.0] * 3


@st.composite
def pools(draw: Any) -> tuple[SampleStats, Curriculum]:
    counts = draw(st.lists(st.integers(0, 10).map(lambda right: (right, 10)), min_size=1, max_size=40))
    shares = draw(st.lists(st.integers(1, 5), min_size=3, max_size=3))
    size = draw(st.integers(1, 30))
    return of_rates((10, 10), (7, 10), (4, 10), *counts), plan(
        Stage("s", ("easy", "medium", "hard"), tuple(shares), size=size)
    )


@given(pools(), st.integers(0, 9), st.randoms())
@settings(max_examples=60)
def test_quotas_are_met_within_one_and_the_order_of_rows_changes_nothing(pool: Any, seed: int, shuffled: Any) -> None:
    stats, curriculum = pool
    (stage,) = curriculum.stages
    (found,) = stage_sets(stats, curriculum, seed).sets
    assert sum(quota["asked"] for quota in found.quotas) == stage.size
    for quota, share in zip(found.quotas, stage.shares, strict=True):
        assert abs(quota["asked"] - stage.size * share / sum(stage.shares)) < 1
        assert quota["taken"] == min(quota["asked"], quota["available"])
    assert len(set(found.rows.tolist())) == len(found.rows) == sum(quota["taken"] for quota in found.quotas)
    order = list(range(len(stats)))
    shuffled.shuffle(order)
    again = stage_sets(stats.taken(order), curriculum, seed).sets[0]
    assert set(stats.taken(order).sample_id[again.rows]) == set(stats.sample_id[found.rows])


def test_another_seed_draws_others_and_stages_draw_for_themselves() -> None:
    stats = of_rates(*[(10, 10)] * 200)
    stages = Stage("a", ("easy",), size=50), Stage("b", ("easy",), size=50)
    first, second = stage_sets(stats, plan(*stages), seed=1).sets
    assert first.rows.tolist() != second.rows.tolist()
    assert first.rows.tolist() != stage_sets(stats, plan(*stages), seed=2).sets[0].rows.tolist()


def test_bands_in_order_whose_intervals_touch_fail() -> None:
    assert check_bands({"B": {"easy": (95, 100), "medium": (70, 100), "hard": (40, 100)}}, RANGES)["passed"]
    few = check_bands({"B": {"easy": (7, 8), "medium": (5, 8), "hard": (0, 80)}}, RANGES)["problems"]
    assert few == [
        "all types: easy and medium are not apart: the intervals of easy 0.875 [0.529, 0.978] and medium 0.625 "
        "[0.306, 0.863] overlap"
    ]


def test_each_type_is_checked_and_a_missing_band_is_named() -> None:
    good, bad = {"easy": (95, 100), "hard": (40, 100)}, {"easy": (4, 10), "hard": (9, 10)}
    found = check_bands({"B": good, "D": bad, "C": {"easy": (0, 0)}}, RANGES)
    assert [problem.partition(":")[0] for problem in found["problems"]] == ["type 'D'"]
    missing = {kind: check["missing"] for kind, check in found["types"].items()}
    assert missing == {"B": ["medium"], "C": [*RANGES], "D": ["medium"]}
    assert not check_bands({"B": {"easy": (9, 10)}}, RANGES)["passed"]


def test_declared_bands_are_counted_over_rollouts() -> None:
    kinds = np.array(["x", "x", "y", None], dtype=object)
    stats = of_rates((95, 100), (40, 100), (90, 100), (0, 100), source=kinds)
    found = check_stats(stats, ["easy", "hard", "easy", None], plan(Stage("s", ("easy", "hard"))))
    together = {band["band"]: (band["correct"], band["n"], band["inside"]) for band in found["overall"]["bands"]}
    assert together == {"easy": (185, 200, True), "medium": (0, 0, None), "hard": (40, 100, True)}
    assert found["passed"]
    with pytest.raises(PoolError, match="sample 'a1' declares the band 'hrad'; expected one of easy, medium, hard"):
        check_stats(stats, ["easy", "hrad", None, None], plan())
    with pytest.raises(PoolError, match="no sample declares a band"):
        check_stats(stats, [None] * 4, plan())


GOOD = {"bands": {"easy": [0.9, 1], "hard": [0.3, 0.5]}, "stages": [{"name": "a", "bands": ["easy"]}]}


def with_stage(**changes: Any) -> dict[str, Any]:
    return {**GOOD, "stages": [{"name": "a", "bands": ["easy"], **changes}]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "stages file: got []; expected a mapping"),
        ({**GOOD, "gates": {}}, "stages file: unknown key 'gates'; did you mean 'gate'?"),
        ({"bands": {"easy": [0, 1]}}, "stages file: no 'stages'; there are: bands, stages, gate, min_rollouts"),
        ({**GOOD, "bands": {"easy": 0.9}}, "band 'easy': got 0.9; expected [LOWEST, HIGHEST]"),
        ({**GOOD, "bands": {"easy": [0.9, 1.1]}}, "band 'easy': got [0.9, 1.1]; expected [LOWEST, HIGHEST]"),
        ({**GOOD, "bands": {"easy": [0.4, 1], "hard": [0.3, 0.5]}}, "bands 'easy' and 'hard' overlap: [0.4, 1]"),
        ({**GOOD, "stages": {"a": 1}}, "stages: got {'a': 1}; expected a list"),
        ({**GOOD, "stages": []}, "stages: got []; expected one or more"),
        ({**GOOD, "stages": [1]}, "stages[0]: got 1; expected a mapping"),
        ({**GOOD, "min_rollouts": 0}, "stages file: Curriculum(min_rollouts=): got 0; expected a whole number from 1"),
        ({**GOOD, "gate": {"last_k": 3}}, "gate: no 'success_above'"),
        (with_stage(bands=["esay"]), "stage 'a': got the band 'esay'; there are: easy, hard"),
        (with_stage(bands={"easy": 0}), "stage 'a', shares: got (0,); expected a number above 0"),
        (with_stage(bands=[]), "stage 'a', bands: got []; expected the names of one band or more"),
        (with_stage(size=0), "stages[0]: Stage(size=): got 0; expected a whole number from 1"),
        (with_stage(epochs=True), "stages[0]: Stage(epochs=): got True; expected a whole number from 1"),
        ({**GOOD, "bands": {"between": [0, 1]}}, "band 'between': samples in no band are counted by this name"),
        ({**GOOD, "bands": {"unmeasured": [0, 1]}}, "band 'unmeasured': samples in no band are counted"),
        ({**GOOD, "bands": {"": [0, 1]}}, "band: got the name ''; expected a text"),
        ({**GOOD, "bands": {5: [0, 1]}}, "band: got the name 5; expected a text"),
        ({**GOOD, "bands": {"\ud800": [0, 1]}}, "band: got the name '\\ud800'; expected a text"),
        (with_stage(name="\ud800"), "stage: got the name '\\ud800'; expected a text"),
        (with_stage(name=["a"]), "stage: got the name ['a']; expected a text"),
        (with_stage(bands=[{"easy": 1}]), "stage 'a', bands: got the name {'easy': 1}; expected a text"),
        (with_stage(epoch=2), "stages[0]: unknown key 'epoch'; did you mean 'epochs'?"),
    ],
)
def test_stages_that_cannot_be_read_say_where(given: Any, said: str) -> None:
    with pytest.raises(PoolError) as caught:
        from_plain(given)
    assert said in str(caught.value)


def test_a_curriculum_and_its_plain_form_are_one() -> None:
    given = {
        **GOOD,
        "stages": [
            {"name": "a", "bands": {"easy": 2, "hard": 1}, "size": 9, "epochs": 2},
            {"name": "b", "bands": ["hard"]},
        ],
        "gate": {"success_above": 0.8, "failure_below": 0.2, "last_k": 64},
        "min_rollouts": 4,
    }
    found = from_plain(given)
    assert found.stages[0] == Stage("a", ("easy", "hard"), (2, 1), 9, 2)
    assert assign(sample_stats(["a"] * 4, [1] * 4), found).tolist() == [0]
