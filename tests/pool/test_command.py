"""Numbers scaled to a budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.command import within_budget
from grounding_rewards.pool.draws import largest_remainder
from tests.pool.methods.test_dars import stats_of


@given(st.lists(st.integers(0, 70), min_size=1, max_size=12), st.integers(1, 500), st.randoms())
def test_it_is_the_rule_of_quotas_and_meets_the_budget(numbers, budget, random):
    assume(any(numbers))
    stats, column = stats_of([0] * len(numbers), 8), np.array(numbers)
    scaled = within_budget(stats, column, budget)
    assert scaled.tolist() == largest_remainder(numbers, budget)
    assert scaled.sum() == budget
    assert not scaled[column == 0].any()
    order = random.sample(range(len(numbers)), len(numbers))
    assert within_budget(stats.taken(order), column[order], budget).tolist() == scaled[order].tolist()


def test_large_numbers_do_not_overflow():
    scaled = within_budget(stats_of([0, 0], 8), np.array([2**61, 2**61]), 10**12)
    assert scaled.tolist() == [5 * 10**11] * 2


@pytest.mark.parametrize(
    ("numbers", "budget", "message"),
    [
        ([1], 0, "budget: got 0; expected a whole number from 1"),
        ([1], 1.5, "budget: got 1.5; expected a whole number from 1"),
        ([1], 10**20, "budget: got 100000000000000000000; expected 1e12 at most"),
        ([0], 3, "budget: got 3, and the method gives no sample any rollout"),
    ],
)
def test_bad_budgets(numbers, budget, message):
    with pytest.raises(PoolError, match=message):
        within_budget(stats_of([0], 8), np.array(numbers), budget)
