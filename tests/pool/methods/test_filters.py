"""Filters by hand, the product of several selectors, and weights by learnability."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.errors import SelectorError
from grounding_rewards.plugins.named import FunctionSelector
from grounding_rewards.pool import (
    Band,
    Every,
    Learnability,
    MeanBand,
    MinRollouts,
    SampleStats,
    Source,
    Spread,
    Unsolved,
    sample_stats,
    select,
    selector,
)
from grounding_rewards.pool.selection import next_pool
from grounding_rewards.testing import check_method
from tests.pool import made

IDS = ["all"] * 4 + ["half"] * 4 + ["none"] * 4 + ["new"] * 2
ACC = [1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, None, None]
STATS = sample_stats(IDS, ACC)


def counted(*pairs):
    """Samples with so many right rollouts of so many."""
    return made.counted(*zip(*pairs, strict=True), name="{}")


def grouped(*groups):
    """One sample a group of totals; a rollout is right where its total is above 0."""
    ids = [str(place) for place, group in enumerate(groups) for _ in group]
    totals = [total for group in groups for total in group]
    return sample_stats(ids, [float(total > 0) for total in totals], totals)


def test_unsolved_drops_what_every_scored_rollout_solves():
    assert select(STATS, Unsolved()).tolist() == [0.0, 1.0, 1.0, 1.0]
    assert select(sample_stats(["a", "a"], [1, None]), Unsolved()).tolist() == [0.0]


def test_the_edges_of_a_band_are_outside():  # pool.md, example 3
    found = select(counted((1, 8), (2, 8), (6, 8), (7, 8), (2, 10), (2, 3), (0, 0)), Band(0.2, 0.8))
    assert found.tolist() == [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0]


def test_a_band_may_include_its_edges_and_the_whole_one_keeps_what_is_partly_solved():
    assert select(STATS, Band()).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert select(STATS, Band(inclusive=True)).tolist() == [1.0, 1.0, 1.0, 0.0]
    assert select(STATS, Band(0.5, 1.0, inclusive=True)).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert select(STATS, Band(0.5, 0.5, inclusive=True)).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert select(STATS, Band(0.51, 0.99)).tolist() == [0.0, 0.0, 0.0, 0.0]


def test_a_confident_band_leaves_out_what_is_outside_for_sure():
    # Wilson: 0/8 [0, .3244]; 1/8 [.0224, .4709]; 8/8 [.6756, 1]; 0/16 [0, .1936]; 16/16 [.8064, 1]
    stats = counted((0, 8), (1, 8), (8, 8), (0, 16), (16, 16), (0, 0))
    assert select(stats, Band(0.2, 0.8, confident=True)).tolist() == [1.0, 1.0, 1.0, 0.0, 0.0, 1.0]
    assert select(stats, Band(0.4, 0.6, confident=True)).tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    edges = counted((0, 8), (8, 8))
    assert select(edges, Band(1.0, 1.0, confident=True)).tolist() == [0.0, 0.0]
    assert select(edges, Band(1.0, 1.0, confident=True, inclusive=True)).tolist() == [0.0, 1.0]


@given(st.integers(0, 16), st.integers(1, 16), st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_a_band_is_a_comparison(right, n, one, other, inclusive):
    right, low, high = min(right, n), min(one, other), max(one, other)
    if low == high and not inclusive:
        return
    rate, stats = right / n, counted((right, n))
    inside = low <= rate <= high if inclusive else low < rate < high
    assert select(stats, Band(low, high, inclusive=inclusive)).tolist() == [float(inside)]
    if inside:
        assert select(stats, Band(low, high, inclusive=inclusive, confident=True)).tolist() == [1.0]


@given(st.integers(1, 64), st.integers(1, 999))
def test_a_pass_rate_on_a_decimal_edge_is_on_it(n, edge):
    right = Fraction(edge, 1000) * n
    if right.denominator == 1:
        assert select(counted((int(right), n)), Band(edge / 1000, 1.0)).tolist() == [0.0]


def test_the_mean_of_a_group_as_easyr1_filters_it():  # pool.md, example 5
    groups = [[1.0] * 8, [0.0] * 8, [0.6] * 8, [1.0] + [0.0] * 7]
    assert select(grouped(*groups), MeanBand()).tolist() == [0.0, 0.0, 1.0, 1.0]
    dense = [[1.0] * 4 + [0.0] * 4, [0.75] * 4 + [0.0] * 4, [0.75] * 5 + [0.0] * 3]
    assert select(grouped(*dense), MeanBand(0.01, 0.49)).tolist() == [0.0, 1.0, 1.0]
    assert select(sample_stats(["a", "a", "b"], [0, 1, 1], [0, 1, None]), MeanBand()).tolist() == [1.0, 0.0]
    with pytest.raises(gr.errors.SelectorError, match=r"mean of sample 'a', as of all samples: got none"):
        select(sample_stats(["a", "a"], [0, 1]), MeanBand())
    assert select(grouped([-1.0, -0.5]), MeanBand(-1.0, 0.0)).tolist() == [1.0]


def test_the_spread_of_a_group_as_dapo_filters_it():  # pool.md, example 6
    groups = [[0.6] * 8, [0.1] * 3, [0.6], [1.0] + [0.0] * 7]
    assert select(grouped(*groups), Spread()).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert select(grouped(*groups), Spread(threshold=0.3)).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert select(grouped(*groups), Spread(threshold=0.35)).tolist() == [0.0, 0.0, 1.0, 0.0]
    assert select(grouped([0.0, 1e-6], [0.0, 2e-6]), Spread()).tolist() == [0.0, 1.0]
    names, acc = ["a", "a", "b", "c", "d", "d"], [0, 1, 1, None, 0, 1]
    assert select(sample_stats(names, acc, [None] * 4 + [0, 1]), Spread()).tolist() == [0.0, 1.0, 0.0, 1.0]
    with pytest.raises(gr.errors.SelectorError, match="spread of sample 'a', as of all samples: got none"):
        select(sample_stats(names, acc), Spread())


@given(st.floats(-1e6, 1e6), st.integers(2, 32))
def test_equal_totals_have_no_spread_whatever_their_mean(total, n):
    assert select(grouped([total] * n), Spread()).tolist() == [0.0]


def test_few_rollouts_and_sources_are_left_out():
    assert select(counted((1, 4), (0, 3), (0, 0)), MinRollouts(4)).tolist() == [1.0, 0.0, 0.0]
    one = np.ones(3, dtype=np.int64)
    stats = SampleStats(np.array(["a", "b", "c"], object), one, one, source=np.array(["web", "app", None], object))
    assert select(stats, Source(exclude=["web"])).tolist() == [0.0, 1.0, 1.0]
    assert select(stats, Source(only=["web", "mac"])).tolist() == [1.0, 0.0, 0.0]
    assert select(stats, Source()).tolist() == [1.0, 1.0, 1.0]


def test_learnability_by_right_rollouts_of_eight():  # pool.md, example 7
    stats = counted(*((right, 8) for right in range(9)), (0, 0))
    half = [0.0, 0.109375, 0.1875, 0.234375, 0.25]
    assert select(stats, Learnability(scaled=True)).tolist() == [4 * each for each in [*half, *half[-2::-1], 0.0]]


def test_learnability_without_bias_is_the_same_on_average_whatever_n():
    stats = counted((1, 2), (2, 4), (1, 1), (0, 1), (1, 8))
    assert select(stats, Learnability(unbiased=True)).tolist() == pytest.approx([0.5, 1 / 3, 0.0, 0.0, 0.125])
    # Of two looks at p = 0.5, one half is (0, 1) or (1, 0): mean 0.5 * 0.5 = 0.25 = p (1 - p).
    for right in range(10):  # the same to the last bit, so that they tie
        assert len({*select(counted((right, 10), (10 - right, 10)), Learnability(unbiased=True)).tolist()}) == 1
    assert Learnability(unbiased=True).high == 0.5
    assert Learnability(unbiased=True, scaled=True).high == 2.0


def test_every_is_the_product_of_weights_and_its_bounds_those_of_the_product():
    stats = counted((1, 4), (4, 4), (1, 2), (0, 4))
    several = Every([Unsolved(), {"name": "min_rollouts", "n": 3}, "learnability"])
    assert several.selectors == (Unsolved(), MinRollouts(3), Learnability())
    assert (several.low, several.high) == (0.0, 0.25)
    assert select(stats, several).tolist() == [0.1875, 0.0, 0.0, 0.0]
    assert (
        selector("every", selectors=[{"name": "unsolved"}, {"name": "min_rollouts", "n": 3}, "learnability"]) == several
    )
    assert pickle.loads(pickle.dumps(several)) == several
    signed = Every([FunctionSelector(negative, -2.0, 3.0), FunctionSelector(negative, -5.0, 1.0)])
    assert (signed.low, signed.high) == (-15.0, 10.0)


def negative(stats):
    return -1.0 + 0.0 * stats.n


def too_high(stats):
    return 2.0 + 0.0 * stats.n


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"Every\(selectors=\): got \[\]; expected a list of one selector or more"),
        ("unsolved", "expected a list of one selector or more"),
        (["unsolvde"], "unknown selector 'unsolvde'; did you mean 'unsolved'"),
        ([Band], "is a class: build it, such as Band"),
        ([len], "declares no low and no high"),
    ],
)
def test_what_cannot_be_multiplied_is_an_error(given, message):
    with pytest.raises(gr.RecipeError, match=message):
        Every(given)


def test_a_selector_inside_that_breaks_its_bounds_is_named():
    with pytest.raises(
        SelectorError, match=r"FunctionSelector.*too_high.* returned 2.0 for sample '0'; expected 0.0 to 1"
    ):
        select(counted((1, 2)), Every([FunctionSelector(too_high, 0.0, 1.0)]))


def tiny(stats):
    return stats.num_correct * 1e-200


def test_a_product_too_small_for_a_float_leaves_no_sample_out():
    stats = counted((1, 2), (0, 2))
    both = Every([FunctionSelector(tiny, 0.0, 1e-190), FunctionSelector(tiny, 0.0, 1e-190)])
    assert select(stats, both).tolist() == [5e-324, 0.0]
    assert next_pool(counted((1, 2), (1, 2)), seed=7, zero_share=0, selectors=[both]).kept.tolist() == [0, 1]
    signed = Every([both, FunctionSelector(negative, -1.0, 0.5)])
    assert (signed.low, signed.high) == (-5e-324, 5e-324)
    assert select(stats, signed).tolist() == [-5e-324, 0.0]


def test_a_product_below_0_keeps_the_promises_of_selectors():
    check_method(Every([FunctionSelector(negative, -2.0, 3.0)]))
