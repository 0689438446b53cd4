"""Variance-aware sampling: the paper's scores, their scaling, and the share that is drawn alike."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.pool import VarianceAware, select
from tests.pool.methods.test_filters import counted

EXAMPLE = replace(counted((4, 8), (1, 8), (0, 8)), distinct=np.array([6, 4, 8]))
"""Example 7 of pool.md: diversities of 0.75, 0.5 and 1."""


def test_half_of_the_chances_are_alike():
    weights = select(EXAMPLE, VarianceAware(diversity="responses"))
    # Scores 1, 0 and 1/13: chances 13/28 + 1/6, 1/6 and 1/28 + 1/6, which are 53, 14 and 17 of 84.
    assert weights.tolist() == pytest.approx([1.0, 14 / 53, 17 / 53], abs=1e-6)
    by_score = select(EXAMPLE, VarianceAware(diversity="responses", weighted_share=1))
    assert by_score.tolist() == pytest.approx([1.0, 0.0, 1 / 13], abs=1e-6)
    assert select(EXAMPLE, VarianceAware(diversity="responses", weighted_share=0)).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_scores_that_are_equal_fall_back_to_alike(share):
    for stats in (counted((4, 8), (4, 8)), counted((0, 8), (8, 8), (0, 0)), counted((1, 8))):
        assert select(stats, VarianceAware(weighted_share=share)).tolist() == [1.0] * len(stats)
    nearly = replace(counted((4, 8), (4, 8)), dispersion=np.array([0.1, 0.1 + 1e-9]))
    assert select(nearly, VarianceAware(weighted_share=share)).tolist() == [1.0, 1.0]


def test_scores_are_equal_up_to_a_millionth_of_both_weights():
    def scaled(dispersion, outcome_weight, diversity_weight):
        stats = replace(counted((0, 4), (0, 4)), dispersion=np.array([0.0, dispersion]))
        weigh = VarianceAware(outcome_weight=outcome_weight, diversity_weight=diversity_weight)
        return weigh.scaled(stats).round(3).tolist()

    assert scaled(1e-6, 0, 1) == [0.0, 0.0]
    assert scaled(2e-6, 0, 1) == [0.0, 0.995]  # over the difference and 1e-8
    assert scaled(5e-7, 0, 10) == [0.0, 0.0]  # 5e-6 apart, of weights ten times as large
    assert scaled(2e-6, 1, 1) == [0.0, 0.0]  # both weights count
    assert scaled(3e-6, 1, 1) == [0.0, 0.997]


def test_each_diversity():
    stats = replace(
        counted((0, 4), (0, 4), (0, 1), (0, 0), (0, 4)),
        dispersion=np.array([0.1, 0.5, np.nan, np.nan, 30.0]),  # 30 diagonals: far outside of the image
        cells=np.array([1, 4, 1, -1, 3]),
        distinct=np.array([2, 4, 1, -1, 9]),  # 9 of 4 rollouts: at most all differ
        unscored=np.array([4, 0, 0, 0, 4]),
    )

    def scores(diversity):
        return VarianceAware(outcome_weight=0, diversity_weight=1, diversity=diversity).scores(stats).tolist()

    assert scores("dispersion") == [0.1, 0.5, 0.0, 0.0, 0.5]
    assert scores("cells") == [0.0, 1.0, 0.0, 0.0, 2 / 3]
    assert scores("responses") == [0.5, 1.0, 1.0, 0.0, 1.0]


def test_unbiased_outcomes_of_different_numbers_of_rollouts():
    stats = counted((1, 2), (2, 4), (0, 2))
    assert VarianceAware().scores(stats).tolist() == pytest.approx([0.2, 0.2, 0.0])
    assert VarianceAware(unbiased=True).scores(stats).tolist() == pytest.approx([0.4, 0.8 / 3, 0.0])


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.floats(0, 1)), min_size=1, max_size=12),
    st.floats(0, 1), st.randoms(),
)  # fmt: skip
def test_weights_are_finite_and_chances_keep_the_share_that_is_alike(samples, share, shuffled):
    stats = replace(
        counted(*((min(right, n), n) for right, n, _ in samples)), dispersion=np.array([far for *_, far in samples])
    )
    weigh = VarianceAware(weighted_share=share)
    weights = select(stats, weigh)  # checks that they are finite, from 0 to 1
    assert weights.max() == 1.0
    least = (1 - share) / len(stats)
    assert (weights / weights.sum() >= least * (1 - 1e-9)).all()
    scores, order = weigh.scores(stats), list(range(len(samples)))
    assert (np.diff(weights[np.argsort(scores, kind="stable")]) >= -1e-12).all()
    shuffled.shuffle(order)
    assert select(stats.taken(order), weigh).tolist() == pytest.approx(weights[order].tolist(), rel=1e-12)
