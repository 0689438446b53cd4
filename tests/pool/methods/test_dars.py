"""DARS by hand: pool.md's example of 8 rollouts, its limits and its edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.pool import SampleStats
from grounding_rewards.pool.methods import allocate
from grounding_rewards.pool.methods.dars import Dars


def stats_of(correct, n):
    right, size = np.asarray(correct, dtype=np.int64), np.broadcast_to(np.int64(n), len(correct))
    names = np.array([f"s{row:03}" for row in range(len(right))], dtype=np.object_)
    return SampleStats(sample_id=names, n=size, num_correct=right)


EIGHT = stats_of(range(9), 8)


def test_limits():
    assert Dars(most=100)(EIGHT).tolist()[:2] == [27, 11]  # 26.1, not capped
    assert Dars(most=10)(EIGHT).tolist()[:4] == [2, 2, 2, 1]
    assert Dars(most=100, form="hardness")(stats_of([0], 9)).tolist() == [72]
    assert Dars(form="hardness")(stats_of([0], 9)).tolist() == [55]  # 64 at most
    assert Dars(most=8)(EIGHT).tolist() == Dars(most=4)(EIGHT).tolist() == [0] * 9  # N is there already


def test_edges():
    assert Dars()(stats_of([0], 1)).tolist() == [0]  # 0.5 / 1 is half right
    assert Dars()(stats_of([0, 0], [0, 2])).tolist() == [0, 1]  # unscored: none; (1 - 0.75) / 0.375
    assert Dars()(stats_of([], 8)).tolist() == []
    assert Dars()(stats_of([1], 2_000_000)).tolist() == [0]  # more than most


def test_whole_numbers_are_not_rounded_up():
    """One right of 10: 2 · 0.9 · 5 / 0.18 = 50, which floats miss."""
    assert Dars(form="hardness")(stats_of([1, 2], 10)).tolist() == [40, 15]
    assert Dars(form="hardness", std=True)(stats_of([1, 2], 10)).tolist() == [20, 10]
    assert Dars(form="hardness")(stats_of([0], 6)).tolist() == [30]
    assert Dars(form="hardness", std=True, most=1000)(stats_of([8], 58)).tolist() == [87]


def test_one_of_a_million_counts_as_never_solved():
    dars = Dars(most=10**12)
    assert dars(stats_of([1], 200)).tolist() == [9851]  # a = 0.005: (100 - 1.99) / 0.00995
    assert dars(stats_of([1, 2], 10**6)).tolist() == [499_999_250_001, 124_999_250_001]  # a = 5e-7 and 2e-6


def test_the_number_of_rollouts_may_be_named():
    """With N = 8 and 4 rollouts of which one was right: (4 - 3) / 0.375."""
    assert Dars(rollouts=8)(stats_of([1], 4)).tolist() == [3]
    assert Dars()(stats_of([1], 4)).tolist() == [2]
    assert Dars(rollouts=8)(stats_of([0, 0], [0, 2])).tolist() == [0, 24]  # unscored: none


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted), min_size=1, max_size=20),
    st.sampled_from(["equal", "hardness"]),
    st.booleans(),
    st.integers(1, 200),
)
def test_invariants(pairs, form, std, most):
    stats = stats_of([right for right, _ in pairs], [n for _, n in pairs])
    dars = Dars(form=form, std=std, most=most)
    further = allocate(stats, dars)
    assert (further + stats.n <= np.maximum(most, stats.n)).all()
    assert not further[2 * stats.num_correct >= stats.n].any()
    order = np.arange(len(stats))[::-1]
    assert (dars(stats.taken(order)) == further[order]).all()
    assert (dars(replace(stats, sample_id=stats.sample_id[order])) == further).all()
