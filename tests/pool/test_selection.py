"""The next pool: its steps, samples set aside, and choices by two models."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError, SelectorError
from grounding_rewards.plugins.named import FunctionSelector
from grounding_rewards.pool import Band, SampleStats, sample_stats
from grounding_rewards.pool.draws import zero_quota
from grounding_rewards.pool.selection import next_pool, suspects


def counted(*kinds):
    """Statistics of (name, how many samples, right rollouts of eight) and perhaps their source."""
    rows = [
        (f"{name}{number}", right, source)
        for name, samples, right, source in ((*kind, None)[:4] for kind in kinds)
        for number in range(samples)
    ]
    names, right, source = (list(column) for column in zip(*rows, strict=True))
    n = np.full(len(rows), 8)
    return SampleStats(np.array(names, object), n, np.array(right), source=np.array(source, object))


def ids(found, rows):
    return sorted(found.stats.sample_id[rows].tolist())


GELATO = (("easy", 8, 8), ("part", 12, 3), ("zero", 30, 0))
IDS = [f"{name}{row}" for name, samples, _ in GELATO for row in range(samples)]


@pytest.mark.parametrize(
    ("positive", "zeros", "zero", "shortfall", "share"),
    [(12, 30, 3, 0, 0.2), (10, 30, 3, 0, 3 / 13), (77, 30, 19, 0, 19 / 96), (80, 5, 5, 15, 5 / 85)],
)
def test_the_published_step(positive, zeros, zero, shortfall, share):  # pool.md, example 1
    stats = counted(("easy", 8, 8), ("part", positive, 3), ("zero", zeros, 0))
    found = next_pool(stats, seed=7)
    assert (len(found.positive), len(found.zero), found.shortfall) == (positive, zero, shortfall)
    said = found.to_json()
    assert said["dropped_all_correct"] == len(found.easy) == 8
    assert said["zero_share_actual"] == pytest.approx(share)
    assert (said["kept"], said["zero"], said["positive"]) == (positive + zero, zero, positive)
    assert (said["shortfall"], said["zero_quota"]) == (shortfall, zero + shortfall)


def test_each_step_says_what_it_did_by_source():
    stats = counted(("a", 2, 8, "web"), ("b", 3, 4, "app"), ("c", 5, 0, "web"), ("d", 4, 4, "old"), ("e", 1, 4))
    found = next_pool(stats, seed=0, exclude_sources=["old"], zero_share=0.5, band=Band(0.0, 0.9, inclusive=True))
    assert [(step.name, step.removed, step.kept) for step in found.steps] == [
        ("unscored", 0, 15), ("exclude_source", 4, 11), ("all_correct", 2, 9), ("suspects", 0, 9), ("band", 0, 9),
        ("zero_share", 1, 8),
    ]  # fmt: skip
    assert vars(found.steps[1]) == {
        "name": "exclude_source",
        "removed": 4,
        "removed_zero": 0,
        "kept": 11,
        "params": {"sources": ["old"]},
        "per_source": {"(none)": [1, 1], "app": [3, 3], "old": [4, 0], "web": [7, 7]},
    }
    assert [step.removed_zero for step in found.steps] == [0, 0, 0, 0, 0, 1]
    assert found.steps[-1].per_source == {"(none)": [1, 1], "app": [3, 3], "web": [5, 4]}


def test_few_rollouts_and_none_that_is_scored():
    stats = sample_stats(["a", "a", "b", "c", "c", "d"], [1, 0, 1, None, None, 0])
    found = next_pool(stats, seed=0, min_rollouts=2)
    assert ids(found, found.kept) == ["a"]
    assert [(step.name, step.removed) for step in found.steps if step.removed] == [("unscored", 1), ("min_rollouts", 2)]
    assert len(found.easy) == 0  # one right rollout of one is not enough to call b solved
    assert found.to_json()["rollouts"] == 6


def test_a_limit_draws_positive_samples_with_their_zeros():
    found = next_pool(counted(*GELATO), seed=7, limit=10)
    assert (len(found.positive), len(found.zero)) == (8, 2)
    assert [step.name for step in found.steps][-2:] == ["limit", "zero_share"]
    assert [(step.removed, step.kept) for step in found.steps][-2:] == [(4, 38), (28, 10)]
    assert set(found.positive) < set(next_pool(counted(*GELATO), seed=7, limit=14).positive)
    assert len(next_pool(counted(*GELATO), seed=7, limit=999).kept) == 15


def by_name(*names):
    def weigh(stats):
        return np.array([9.0 if name.startswith(names) else 1.0 for name in stats.sample_id.tolist()])

    return FunctionSelector(weigh, 0.0, 9.0)


def test_the_weights_of_several_selectors_multiply():
    stats = counted(("ab", 10, 4), ("a", 10, 4), ("b", 10, 4), ("c", 10, 4))
    taken = np.zeros(4)
    for seed in range(60):
        found = next_pool(stats, seed=seed, limit=1, zero_share=0, selectors=[by_name("ab", "a"), by_name("ab", "b")])
        taken[found.kept.item() // 10] += 1
    # "ab" and "a" begin with "a": 9 and 9; of these "ab" has 81, "a" 9, "b" 9 and "c" 1 of 100
    assert taken[0] > 36
    assert taken[3] < 5


def test_a_product_that_no_float_holds_leaves_nothing_out():
    def tiny(stats):
        return np.where(stats.num_correct == 4, 1e-200, 1e-190)

    chosen = [FunctionSelector(tiny, 0.0, 1.0)] * 3
    found = next_pool(counted(("a", 5, 4), ("b", 5, 2)), seed=1, limit=5, zero_share=0, selectors=chosen)
    assert ids(found, found.kept) == [f"b{row}" for row in range(5)]


def test_selectors_are_recorded_with_all_their_arguments():
    given = [
        {"name": "every", "selectors": ["unsolved", {"name": "learnability"}, Band(0.1, 0.9)]},
        FunctionSelector(lambda stats: stats.n, 0, 9),
    ]
    found = next_pool(counted(*GELATO), seed=1, zero_share=0, band=Band(0, 0.5), selectors=given).to_json()
    assert json.loads(json.dumps(found)) == found
    assert [step["params"] for step in found["steps"][3:6]] == [
        {"low_rate": 0, "high_rate": 0.5, "inclusive": False, "confident": False},
        {
            "selector": {
                "name": "every",
                "selectors": [
                    {"name": "unsolved"},
                    {"name": "learnability", "unbiased": False, "scaled": False},
                    "Band(low_rate=0.1, high_rate=0.9, inclusive=False, confident=False)",
                ],
            }
        },
        {
            "selector": "FunctionSelector(fn=<function test_selectors_are_recorded_with_all_their_arguments.<locals>."
            "<lambda>>, low=0, high=9)"
        },
    ]


def test_numbers_of_numpy_and_iterators_are_arguments():
    options = {"seed": np.int64(7), "min_rollouts": np.int64(8), "limit": np.int32(10), "zero_share": "1/5"}
    found = next_pool(counted(*GELATO), **options, selectors=iter(["unsolved"]), available=iter(IDS), band=Band(0, 0.9))
    assert (len(found.kept), found.zero_share) == (8, 0.2)
    assert json.loads(json.dumps(found.to_json()))["seed"] == 7


def test_a_control_is_drawn_from_all_that_are_measured_with_a_seed_of_its_own():
    stats = counted(("easy", 50, 8, "a"), ("part", 12, 3, "a"), ("zero", 30, 0, "a"), ("out", 20, 4, "b"))
    found = next_pool(stats, seed=7, control=True, exclude_sources=["b"])
    assert len(found.control) == len(found.kept) == 15
    assert any(name.startswith("easy") for name in ids(found, found.control))
    assert not any(name.startswith("out") for name in ids(found, found.control))
    assert found.control.tolist() == next_pool(stats, seed=7, control=True, exclude_sources=["b"]).control.tolist()
    assert found.control.tolist() != next_pool(stats, seed=8, control=True, exclude_sources=["b"]).control.tolist()
    assert next_pool(stats, seed=7).control is None


def test_only_what_can_be_had_is_drawn_from():
    stats = counted(*GELATO)
    there = [f"part{row}" for row in range(8)] + ["zero3", "zero4", "easy1", "elsewhere"]
    found = next_pool(stats, seed=7, available=there, control=True)
    assert ids(found, found.kept) == sorted([*there[:8], "zero3", "zero4"])
    assert ids(found, found.easy) == ["easy1"]
    assert set(ids(found, found.control)) < set(there)
    assert (found.steps[0].name, found.steps[0].removed) == ("not_in_data", 39)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"min_rollouts": 9},
            "no sample left to train on: 50 samples; left out: 50 with fewer than 9 scored rollouts. Positive",
        ),
        ({"available": []}, "no sample left to train on: 50 samples; left out: 50 not in the data"),
        (
            {"band": Band(0.0, 0.2, inclusive=True)},
            "30 never-solved samples and no positive one left to train on: 50 samples; left out: 8 always solved, 12",
        ),
        ({"limit": 4, "zero_share": 0.9}, "limit: got 4; at zero_share 0.9 not one positive.*expected 10 or more"),
        ({"limit": 0}, "limit: got 0; expected a whole number from 1"),
        ({"min_rollouts": 0}, "min_rollouts: got 0; expected a whole number from 1"),
        ({"seed": -1}, "seed: got -1; expected a whole number from 0"),
        ({"exclude_sources": ["web"]}, r"exclude_sources: no sample is from 'web'\. No sample has a source"),
        ({"selectors": "unsolved"}, "selectors: got 'unsolved'; expected a list"),
        ({"selectors": {"name": "unsolved"}}, "selectors: got {'name': 'unsolved'}; expected a list"),
        ({"selectors": Band()}, r"selectors: got Band\(.*; expected a list"),
        ({"available": "part0"}, "available: got 'part0'; expected a list"),
        ({"exclude_sources": "web"}, "exclude_sources: got 'web'; expected a list"),
    ],
)
def test_what_leaves_no_pool_is_an_error(options, message):
    with pytest.raises(PoolError, match=message):
        next_pool(counted(*GELATO), **{"seed": 7, **options})


def below(stats):
    return np.full(len(stats), -1.0)


def test_a_weight_below_zero_is_an_error():
    with pytest.raises(SelectorError, match=r"returned -1.0 for sample 'part0'; expected 0 or more"):
        next_pool(counted(*GELATO), seed=0, selectors=[FunctionSelector(below, -1.0, 0.0)])


KINDS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from(["web", "app", None])), min_size=1)


@settings(max_examples=150)
@given(
    KINDS, st.sampled_from([0.0, 0.2, 0.3, 0.5, 0.9]), st.one_of(st.none(), st.integers(1, 30)), st.booleans(),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_what_holds_of_every_pool(kinds, share, limit, steered, random):
    n = np.array([max(one, other) for one, other, _ in kinds])
    right = np.array([min(one, other) for one, other, _ in kinds])
    names = np.array([f"s{row}" for row in range(len(kinds))], object)
    stats = SampleStats(names, n, right, source=np.array([source for *_, source in kinds], object))
    options = {"seed": 3, "zero_share": share, "limit": limit, "control": True}
    options["selectors"] = [FunctionSelector(rollouts, 0.0, 8.0)] if steered else []
    try:
        found = next_pool(stats, **options)
    except PoolError:
        assert not stats.mixed.any() or limit is not None
        return
    assert len(set(found.kept.tolist())) == len(found.kept) == len(found.zero) + len(found.positive)
    assert not stats.all_correct[found.kept].any()
    assert stats.none_correct[found.zero].all()
    assert stats.mixed[found.positive].all()
    assert found.easy.tolist() == np.flatnonzero(stats.all_correct).tolist()
    assert found.quota == zero_quota(len(found.positive), share)
    assert len(found.zero) == min(found.quota, int(stats.none_correct.sum()))
    assert limit is not None or found.positive.tolist() == np.flatnonzero(stats.mixed).tolist()
    assert limit is None or len(found.kept) <= limit
    assert len(set(found.control.tolist())) == len(found.kept)
    for step, after in zip(found.steps, [*found.steps[1:], None], strict=True):
        assert sum(came for came, _ in step.per_source.values()) == step.kept + step.removed
        assert sum(left for _, left in step.per_source.values()) == step.kept
        assert after is None or after.kept + after.removed == step.kept
    assert found.steps[-1].kept == len(found.kept)
    order = list(range(len(kinds)))
    random.shuffle(order)
    other = next_pool(stats.taken(order), **options)
    for rows in ("kept", "easy", "control"):
        assert ids(other, getattr(other, rows)) == ids(found, getattr(found, rows))
    assert other.to_json() == found.to_json()


def rollouts(stats):
    return stats.n.astype(np.float64)


def seen(*rows):
    """Samples of (n, num_correct, clicks, dispersion, target_diagonal)."""
    n, right, clicks, dispersion, diagonal = map(np.array, zip(*rows, strict=True))
    names = np.array([str(row) for row in range(len(rows))], dtype=object)
    return SampleStats(names, n, right, clicks=clicks, dispersion=dispersion, target_diagonal=diagonal)


def test_never_solved_and_the_clicks_agree():
    stats = seen(
        (8, 0, 8, 0.02, 0.04),  # at both limits
        (8, 0, 8, 0.0201, 0.5),  # too wide for any screen
        (8, 0, 8, 0.011, 0.02),  # wider than half of its small target
        (8, 0, 8, 0.02, np.nan),  # a target whose size nobody knows
        (8, 0, 8, np.nan, 0.5),  # no dispersion is known
        (8, 1, 8, 0.0, 0.5),  # solved once
        (3, 0, 8, 0.0, 0.5),  # hardly scored
        (8, 0, 3, 0.0, 0.5),  # hardly a click
        (4, 0, 4, 0.0, 0.5),
        (0, 0, 8, 0.0, 0.5),  # never scored
    )
    assert np.flatnonzero(suspects(stats)).tolist() == [0, 3, 8]


def test_rows_without_clicks_are_no_suspects():
    assert suspects(sample_stats(["a"] * 8, [0] * 8)).tolist() == [False]
    assert suspects(sample_stats([], [])).tolist() == []


NAMES = ["a", "b", "c"]
PARTLY = sample_stats([*NAMES, *NAMES, "x", "x"], [1, 1, 1, 0, 0, 0, 1, 0])


def kept(weak, strong):
    found = next_pool(PARTLY, seed=0, two_model=(weak, strong))
    return found.stats.sample_id[found.kept].tolist(), {step.name: step.removed for step in found.steps}


def test_what_the_weak_one_misses_and_the_strong_one_solves():  # pool.md, example 4
    names, steps = kept(sample_stats(NAMES, [1, 0, 0]), sample_stats(NAMES, [1, 1, 0]))
    assert (names, steps["not_judged"], steps["easy_for_weak"], steps["missed_by_strong"]) == (["b"], 1, 1, 1)


def test_one_right_rollout_of_several_is_enough_and_what_is_not_measured_is_removed():
    weak = sample_stats(["c", "a", "a", "b", "b"], [None, 0, 1, 0, 0])
    strong = sample_stats(["b", "b", "a", "c"], [0, 1, 1, 1])
    names, steps = kept(weak, strong)
    assert (names, steps["not_judged"], steps["easy_for_weak"]) == (["b"], 2, 1)


def test_a_judge_of_other_samples_is_an_error():
    with pytest.raises(PoolError, match=r"the strong model has measured none of the samples.*'d-1'.*'a'"):
        kept(sample_stats(NAMES, [0, 0, 0]), sample_stats(["d-1"], [1]))
