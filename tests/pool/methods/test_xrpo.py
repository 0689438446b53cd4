"""XRPO by hand: priorities of the worked example, and greedy turns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError, RecipeError
from grounding_rewards.pool import sample_stats
from grounding_rewards.pool.methods import ALLOCATION, allocate, method
from grounding_rewards.pool.methods.xrpo import Xrpo
from tests.pool.methods.test_dars import stats_of

EXAMPLE = {"alpha": 0.05, "exploration": 0.1, "total": 12}


def near(value):
    return pytest.approx(value, abs=5e-5)


def test_totals_have_a_deviation_of_their_own():
    """Totals of 0.5 and 0, two of each: half the deviation of 1 and 0; equal ones have none, whatever floats say."""
    totals = [0.5, 0.5, 0, 0, 0.1, 0.1, 0.1]
    stats = sample_stats(["a"] * 4 + ["b"] * 3, [1, 1, 0, 0, 1, 1, 0], totals)
    xrpo = method({"name": "xrpo", "budget": 1, "of": "total", **EXAMPLE}, ALLOCATION)
    assert xrpo.priority(stats).tolist() == [near(0.2018 / 2 + 0.0801), near(0.1 * np.sqrt(np.log(13) / 3))]
    equal = sample_stats(["a"] * 3 + ["b"] * 3, [0] * 6, [0.0] * 3 + [0.1] * 3)  # in floats 0.1 varies by 2e-34
    assert Xrpo(budget=1, alpha=0.05, exploration=0, total=0, of="total")(equal).tolist() == [1, 0]
    bare = sample_stats(["a", "b", "b"], [None, 1, 0])
    with pytest.raises(PoolError, match=r"sample 'b': its rollouts have no total; expected one in each, or of='acc'"):
        xrpo(bare)


def test_samples_without_two_rollouts_come_first_by_name():
    stats = sample_stats(["c", "b", "b", "a", "d"], [1, 1, 0, None, 0])  # 1, 2, 0 and 1 scored rollouts
    by_name = {}
    for budget in (0, 1, 2, 3, 4, 5):
        numbers = Xrpo(budget=budget, **EXAMPLE)(stats)
        by_name[budget] = dict(zip(stats.sample_id.tolist(), numbers.tolist(), strict=True))
    assert by_name[0] == {"a": 0, "b": 0, "c": 0, "d": 0}
    assert by_name[1] == {"a": 1, "b": 0, "c": 0, "d": 0}
    assert by_name[3] == {"a": 2, "b": 0, "c": 1, "d": 0}
    assert by_name[4] == {"a": 2, "b": 0, "c": 1, "d": 1}
    assert by_name[5] == {"a": 2, "b": 1, "c": 1, "d": 1}
    assert np.isinf(Xrpo(budget=1, **EXAMPLE).priority(stats)).tolist() == [True, False, True, True]


def test_equal_priorities_go_by_rollouts_and_by_name():
    settings = {"alpha": 0.05, "total": 0}
    stats = stats_of([0, 0, 0], 4)  # no spread, no exploration: all 0
    assert Xrpo(budget=4, exploration=0, **settings)(stats).tolist() == [2, 1, 1]
    names = np.array(["b", "c", "a"], dtype=np.object_)
    assert Xrpo(budget=4, exploration=0, **settings)(replace(stats, sample_id=names)).tolist() == [1, 1, 2]


def test_turns_of_several_rollouts_end_with_the_rest():
    stats = stats_of([2, 1, 0], 4)
    assert Xrpo(budget=7, per_turn=4, **EXAMPLE)(stats).tolist() == [4, 3, 0]
    assert Xrpo(budget=7, per_turn=100, **EXAMPLE)(stats).tolist() == [7, 0, 0]
    # After a turn of three the second has 7 rollouts and a priority of 0.105, after another one 10 and 0.072.
    assert Xrpo(budget=9, per_turn=3, **EXAMPLE)(stats_of([0, 1], 4)).tolist() == [3, 6]


def test_there_are_ten_million_turns_at_most():
    assert Xrpo(budget=10**7, **EXAMPLE).per_turn == 1
    with pytest.raises(
        RecipeError, match=r"budget=\): got 10000001; expected 10,000,000 turns at most: raise per_turn, 1"
    ):
        Xrpo(budget=10**7 + 1, **EXAMPLE)
    assert Xrpo(budget=10**7 + 1, per_turn=2, **EXAMPLE).budget == 10**7 + 1


def naive(stats, xrpo):
    """One rollout after the other to the highest priority, each time of all samples."""
    further = np.zeros(len(stats), dtype=np.int64)
    deviation = xrpo._deviations(stats)
    for _ in range(xrpo.budget):
        n = stats.n + further
        waits = [(n[row] >= 2, stats.sample_id[row] if n[row] < 2 else "") for row in range(len(stats))]
        priority = [xrpo._priority(n[[row]], deviation[[row]])[0] if n[row] >= 2 else 0.0 for row in range(len(stats))]
        first = min(range(len(stats)), key=lambda row: (waits[row], -priority[row], n[row], stats.sample_id[row]))
        further[first] += 1
    return further


PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted), min_size=1, max_size=8)


@given(PAIRS, st.integers(0, 30), st.sampled_from([0.0, 0.1, 2.0]), st.sampled_from([0.01, 0.05, 1.0]), st.randoms())
def test_invariants(pairs, budget, exploration, alpha, random):
    stats = stats_of([right for right, _ in pairs], [n for _, n in pairs])
    xrpo = Xrpo(budget=budget, alpha=alpha, exploration=exploration, total=12)
    further = allocate(stats, xrpo)
    assert further.sum() == budget
    assert further.tolist() == naive(stats, xrpo).tolist()
    order = random.sample(range(len(stats)), len(stats))
    assert xrpo(stats.taken(order)).tolist() == further[order].tolist()
    assert Xrpo(budget=budget, alpha=alpha, exploration=exploration, total=12, per_turn=4)(stats).sum() == budget


def test_a_budget_needs_a_sample():
    assert Xrpo(budget=0, **EXAMPLE)(sample_stats([], [])).tolist() == []
    with pytest.raises(PoolError, match="budget: got 3, and no sample to spend it on"):
        Xrpo(budget=3, **EXAMPLE)(sample_stats([], []))
