"""Budgets of allocations and figures of choices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.command import figures, within_budget
from grounding_rewards.pool.draws import largest_remainder
from tests.pool.methods.made import columns
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


def test_no_rollout_is_no_share_of_a_budget():
    with pytest.raises(PoolError, match="budget: got 3, and the method gives no sample any rollout"):
        within_budget(stats_of([0], 8), np.array([0]), 3)


def no_signal(acc, total, **more):
    return figures(columns(acc, total=total, **more))["no_signal"]


def test_a_rollout_that_was_not_scored_does_not_count_whatever_its_total():
    assert no_signal([1.0, 1.0, np.nan], [0.5, 0.5, 0.9]) == 1.0
    assert no_signal([np.nan], [0.5]) is None


def test_verdicts_stand_in_where_no_total_is_known_at_all():
    assert no_signal([1.0, 0.0, 1.0], [0.5, 0.5, np.nan]) == 1.0
    assert no_signal([1.0, 0.0], [np.nan, np.nan]) == 0.0


@pytest.mark.parametrize(("apart", "share"), [(0.0, 1.0), (1e-6, 1.0), (2e-6, 0.0)])
def test_totals_are_equal_up_to_a_millionth(apart, share):
    assert no_signal([1.0, 1.0], [0.0, apart]) == share


def test_samples_without_a_scored_rollout_have_no_pass_rate():
    some = figures(columns([1.0, 0.0, np.nan], sample=[0, 0, 2]))
    assert (some["rollouts"], some["samples"], some["mean_p"]) == (3, 2, 0.5)


def test_a_group_is_of_one_round_and_one_step_of_the_trainer():
    assert no_signal([1.0, 0.0], [1.0, 0.0], round=[1, 2]) == 1.0
    assert no_signal([1.0, 0.0], [1.0, 0.0], train_step=[1, 2]) == 1.0
