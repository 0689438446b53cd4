"""Two judges: what the weak one solves is too easy, what the strong one misses is not to be trusted."""

import pytest

from grounding_rewards.errors import PoolError
from grounding_rewards.pool import sample_stats
from grounding_rewards.pool.selection.two_models import by_two_models

NAMES = ["a", "b", "c"]


def test_what_the_weak_one_misses_and_the_strong_one_solves():  # pool.md, example 4
    found = by_two_models(
        sample_stats(NAMES, [0, 0, 0]), sample_stats(NAMES, [1, 0, 0]), sample_stats(NAMES, [1, 1, 0])
    )
    assert found.keep.tolist() == [False, True, False]


def test_one_right_rollout_of_several_is_enough_and_what_is_not_measured_is_told():
    stats = sample_stats(["x", *NAMES], [0, 0, 0, 0])
    weak = sample_stats(["c", "a", "a", "b", "b"], [None, 0, 1, 0, 0])
    strong = sample_stats(["b", "b", "a", "c"], [0, 1, 1, 1])
    found = by_two_models(stats, weak, strong)
    assert found.measured.tolist() == [False, True, True, False]
    assert found.keep.tolist() == [False, False, True, False]


def test_a_judge_of_other_samples_is_an_error():
    stats, other = sample_stats(NAMES, [0, 0, 0]), sample_stats(["d-1"], [1])
    with pytest.raises(PoolError, match=r"the strong model has measured none of the samples.*'d-1'.*'a'"):
        by_two_models(stats, stats, other)
