"""DART's number of rollouts: cut above a pass rate of 0.6."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError, RecipeError
from grounding_rewards.pool.allocation import allocate
from grounding_rewards.pool.allocation.dart import Dart
from grounding_rewards.pool.methods import ALLOCATIONS, method
from tests.pool.allocation.test_dars import stats_of


def test_five_of_eight_is_cut_and_three_of_five_is_not():
    stats = stats_of([0, 4, 5, 8, 3, 0], [8, 8, 8, 8, 5, 0])
    assert allocate(stats, method({"name": "dart", "cut": 3}, ALLOCATIONS)).tolist() == [8, 8, 5, 5, 8, 8]
    assert Dart(cut=3)(stats_of([600, 604], 1000)).tolist() == [8, 5]
    assert Dart(cut=1, rollouts=4, above=0.5)(stats).tolist() == [4, 4, 3, 3, 3, 4]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted), max_size=20), st.integers(1, 7))
def test_invariants(pairs, cut):
    stats = stats_of([right for right, _ in pairs], [n for _, n in pairs])
    numbers = allocate(stats, Dart(cut=cut)).tolist()
    assert numbers == [8 - cut if n and right / n > 0.6 else 8 for right, n in pairs]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cut": 8}, r"Dart\(cut=\): got 8; expected less than rollouts, 8"),
        ({"cut": 0}, r"Dart\(cut=\): got 0; expected a whole number from 1"),
        ({"cut": True}, r"Dart\(cut=\): got True; expected a whole number from 1"),
        ({"cut": 2, "above": 1.5}, r"Dart\(above=\): got 1.5; expected a number from 0 to 1"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(RecipeError, match=message):
        Dart(**arguments)


def test_the_cut_has_no_default():
    with pytest.raises(PoolError, match="method dart: needs cut; it takes: cut, rollouts, above"):
        method("dart", ALLOCATIONS)
