"""Right answers of single rollouts, against all draws of k."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.checks.single_answers import SingleAnswers

COUNTS = st.lists(st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=6)


@given(COUNTS)
def test_pass_at_k_is_the_mean_over_all_draws_of_k(counts):
    correct, n = np.array(counts).T
    single = SingleAnswers.of(correct, n)
    k = min(of for _, of in counts)
    shares = []
    for right, of in counts:
        draws = list(combinations([True] * right + [False] * (of - right), k))
        shares.append(sum(map(any, draws)) / len(draws))
    assert (single.samples, single.rollouts, single.k) == (len(counts), sum(of for _, of in counts), k)
    assert single.pass_at_k == pytest.approx(np.mean(shares))
    assert single.accuracy == pytest.approx(np.mean([right / of for right, of in counts]))


def test_samples_without_a_valid_rollout_do_not_count():
    assert SingleAnswers.of(np.array([1, 0]), np.array([4, 0])) == SingleAnswers.of(np.array([1]), np.array([4]))
    nothing = SingleAnswers.of(np.array([0]), np.array([0]))
    assert nothing.to_dict() == {
        "samples": 0, "rollouts": 0, "accuracy": None, "interval": [0.0, 1.0], "k": 0, "pass_at_k": None,
    }  # fmt: skip
