"""DART's number of rollouts: cut above a pass rate of 0.6."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.pool.methods import ALLOCATION, method
from grounding_rewards.pool.methods.dart import Dart
from grounding_rewards.pool.methods.protocol import allocate
from tests.pool.methods.test_dars import stats_of


def test_five_of_eight_is_cut_and_three_of_five_is_not():
    stats = stats_of([0, 4, 5, 8, 3, 0], [8, 8, 8, 8, 5, 0])
    assert allocate(stats, method({"name": "dart", "cut": 3}, ALLOCATION)).tolist() == [8, 8, 5, 5, 8, 8]
    assert Dart(cut=3)(stats_of([600, 604], 1000)).tolist() == [8, 5]
    assert Dart(cut=1, rollouts=4, above=0.5)(stats).tolist() == [4, 4, 3, 3, 3, 4]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted), max_size=20), st.integers(1, 7))
def test_invariants(pairs, cut):
    stats = stats_of([right for right, _ in pairs], [n for _, n in pairs])
    numbers = allocate(stats, Dart(cut=cut)).tolist()
    assert numbers == [8 - cut if n and right / n > 0.6 else 8 for right, n in pairs]
