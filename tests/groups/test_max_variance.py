"""Subsets of the largest variance: worked examples, every subset of small groups, and invariants."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.groups.max_variance import max_variance

values = st.lists(
    st.one_of(st.sampled_from([0.0, 1.0]), st.integers(0, 100).map(lambda cents: cents / 100), st.floats(-5, 5)),
    min_size=1,
    max_size=8,
)


def chosen(numbers, m):
    numbers = np.array(numbers, dtype=float)
    return numbers[max_variance(numbers, np.zeros(len(numbers), dtype=int), m)]


@pytest.mark.parametrize(
    ("numbers", "m", "variance", "expected"),
    [
        ([0, 0.1, 0.5, 0.9, 1], 3, 0.2022, [0, 0.9, 1]),
        ([1] + [0] * 7, 4, 0.1875, [1, 0, 0, 0]),
        ([1] * 5 + [0] * 3, 4, 0.25, [1, 1, 0, 0]),
        ([0, 0, 0, 1, 1, 10], 3, 22.22, [0, 0, 10]),
        ([1.5, -0.5, -0.5, -0.5, 0.75**0.5, 0.75**0.5, -(0.75**0.5), -(0.75**0.5), 0, 0, 0, 0], 4, 1.0999,
         [1.5, 0.75**0.5, -(0.75**0.5), -(0.75**0.5)]),
        ([1.5, -0.5, -0.5, -0.5, 0.75**0.5, 0.75**0.5, -(0.75**0.5), -(0.75**0.5), 0, 0, 0, 0], 6, 0.8889,
         [1.5, -0.5, 0.75**0.5, 0.75**0.5, -(0.75**0.5), -(0.75**0.5)]),
    ],
)  # fmt: skip
def test_worked_examples(numbers, m, variance, expected):
    subset = chosen(numbers, m)
    assert subset.tolist() == expected
    assert round(float(subset.var()), 2 if variance > 20 else 4) == variance


def test_of_several_counts_of_low_values_the_smallest_is_taken_and_of_equal_values_the_first_rows():
    assert max_variance([1, 0.9, 0.5, 0.1, 0], np.zeros(5, dtype=int), 3).tolist() == [True, True, False, False, True]
    assert max_variance([1, 0.8, 0.5, 0.2, 0], np.zeros(5, dtype=int), 3).tolist() == [True, True, False, False, True]
    assert max_variance([0.6] * 5, np.zeros(5, dtype=int), 2).tolist() == [True, True, False, False, False]
    assert max_variance([1, 1, 0, 1, 0, 0], np.zeros(6, dtype=int), 2).tolist() == [True, False, True] + [False] * 3
    assert max_variance([0.1, 0.2, 0.3], np.zeros(3, dtype=int), 1).tolist() == [False, False, True]


def test_groups_are_chosen_apart_and_may_keep_other_numbers():
    rewards, groups = [0, 5, 1, 6, 7, np.nan, 0, 1, 2], np.array([0, 1, 0, 1, 1, 1, 3, 3, 3])
    assert max_variance(rewards, groups, 2).tolist() == [True, True, True, False, True, False, True, False, True]
    by_group = max_variance(rewards, groups, np.array([0, 1, 9, 3]))
    assert by_group.tolist() == [False, False, False, False, True, False, True, True, True]


def test_groups_of_one_size_may_keep_other_numbers():
    rewards, groups = [0, 1, 3, 0, 1, 3], np.array([0, 0, 0, 1, 1, 1])
    assert max_variance(rewards, groups, np.array([1, 2])).tolist() == [False, False, True, True, False, True]


def test_a_variance_that_is_larger_by_little_is_larger():
    few = max_variance([0, 0.1 - 1e-8, 0.5, 0.9, 1], np.zeros(5, dtype=int), 3)
    assert few.tolist() == [True, True, False, False, True]  # j = 2, though j = 1 is as good up to 1e-7


def test_unscored_rows_are_never_kept():
    assert max_variance([np.nan, 0.5, np.nan], np.zeros(3, dtype=int), 2).tolist() == [False, True, False]
    assert max_variance([], np.zeros(0, dtype=int), 2).tolist() == []


@given(values, st.integers(1, 8))
def test_no_subset_has_a_larger_variance(numbers, m):
    subset = chosen(numbers, m)
    assert len(subset) == min(m, len(numbers))
    best = max(np.var(each) for each in combinations(numbers, len(subset)))
    assert np.var(subset) == pytest.approx(best, rel=1e-9, abs=1e-15)


@given(values, st.integers(1, 8), st.randoms(), st.integers(-3, 3), st.sampled_from([-4.0, 0.25, 1.0, 1e9]))
def test_order_shifts_and_scales_change_no_variance(numbers, m, random, shift, scale):
    before = np.var(chosen(numbers, m))
    shuffled = random.sample(numbers, len(numbers))
    assert sorted(chosen(shuffled, m)) == sorted(chosen(numbers, m))
    changed = [scale * (number + shift) for number in numbers]
    assert np.var(chosen(changed, m)) == pytest.approx(scale**2 * before, rel=1e-9, abs=1e-12 * scale**2)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.3, 1.0, np.nan]), st.integers(0, 4)), max_size=24), st.integers(0, 5))
def test_one_call_is_a_call_for_each_group(rows, m):
    numbers, groups = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=int)
    kept = max_variance(numbers, groups, m)
    for group in set(groups.tolist()):
        of_group = groups == group
        alone = max_variance(numbers[of_group], np.zeros(of_group.sum(), dtype=int), m)
        assert kept[of_group].tolist() == alone.tolist()
        assert alone.sum() == min(m, (~np.isnan(numbers[of_group])).sum())


def test_many_groups_are_chosen_as_one_is(monkeypatch):
    numbers, groups = np.random.default_rng(0).random(60).round(1), np.arange(60) % 7
    whole = max_variance(numbers, groups, 3)
    monkeypatch.setattr("grounding_rewards.groups.max_variance._AT_ONCE", 10)
    assert max_variance(numbers, groups, 3).tolist() == whole.tolist()


@pytest.mark.parametrize("numbers", [[1e308, -1e308, 0.0, 5e307], [1e308, -1e308, 1e308], [5e-324, 0.0, 1e-323, 0.0]])
def test_the_largest_and_the_smallest_floats(numbers):
    assert max(numbers) in chosen(numbers, 2)
    assert min(numbers) in chosen(numbers, 2)
