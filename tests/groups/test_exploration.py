"""Counts of answers, their bonuses and the batch penalty, against numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.groups.exploration import answer_counts, batch_penalty, constant_bonus, mean_bonus, ucb_bonus

A, B = 7, 8


def test_no_answer_has_no_bonus_and_counts_in_the_group_alone():
    answers, group = [A, -1, -1, A], [0, 0, 0, 0]
    counts = answer_counts(answers, group)
    assert counts.tolist() == [2, 0, 0, 2]
    assert ucb_bonus(counts).tolist() == pytest.approx([0.5**0.5, 0, 0, 0.5**0.5])
    assert mean_bonus(counts, group).tolist() == [0.0] * 4
    assert constant_bonus(counts, 1).tolist() == pytest.approx([0.5**0.5 - 1, 0, 0, 0.5**0.5 - 1])
    assert batch_penalty(answers, group).tolist() == [-0.25, 0.0, 0.0, -0.25]


def test_groups_may_have_any_numbers():
    groups = [10**12, -5, 10**12, -5]
    assert mean_bonus([4, 1, 1, 0], groups).tolist() == [-0.25, 0.0, 0.25, 0.0]
    assert batch_penalty([A, A, A, B], groups).tolist() == [-0.5, 0.0, -0.5, 0.0]


def test_nothing_at_all():
    for values in (answer_counts([], []), ucb_bonus([]), mean_bonus([], []), batch_penalty([], [])):
        assert values.tolist() == []


rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-1, 3)), max_size=30)


@settings(max_examples=150)
@given(rows, st.randoms(use_true_random=False))
def test_against_counts_by_hand_in_any_order(some, random):
    random.shuffle(some)
    sample, moment, answer = np.array(some, dtype=np.int64).reshape(-1, 3).T
    counts = answer_counts(answer, sample, moment)
    group = 3 * sample + moment
    penalty, centred = batch_penalty(answer, group), mean_bonus(counts, group)
    for row, (s, m, a) in enumerate(some):
        expected = sum(s == s2 and a == a2 and m2 <= m for s2, m2, a2 in some) if a >= 0 else 0
        assert counts[row] == expected
        together = [a2 for s2, m2, a2 in some if (s2, m2) == (s, m)]
        assert penalty[row] == (-(together.count(a) - 1) / len(together) if a >= 0 else 0)
        assert centred[row] == 0 or a >= 0
    assert np.bincount(group, weights=centred) == pytest.approx(0, abs=1e-12), "bonuses of a group sum to 0"
    assert ((ucb_bonus(counts) >= 0) & (ucb_bonus(counts) <= 1)).all()
    assert ((penalty > -1) & (penalty <= 0)).all()
