"""Two judges: what the weak one solves is too easy, what the strong one misses is not to be trusted."""

import pytest

from grounding_rewards.errors import PoolError
from grounding_rewards.pool import sample_stats
from grounding_rewards.pool.selection import next_pool

NAMES = ["a", "b", "c"]
PARTLY = sample_stats([*NAMES, *NAMES, "x", "x"], [1, 1, 1, 0, 0, 0, 1, 0])


def kept(weak, strong):
    found = next_pool(PARTLY, seed=0, two_model=(weak, strong))
    return found.stats.sample_id[found.kept].tolist(), {step.name: step.removed for step in found.steps}


def test_what_the_weak_one_misses_and_the_strong_one_solves():  # pool.md, example 4
    names, steps = kept(sample_stats(NAMES, [1, 0, 0]), sample_stats(NAMES, [1, 1, 0]))
    assert (names, steps["not_judged"], steps["easy_for_weak"], steps["missed_by_strong"]) == (["b"], 1, 1, 1)


def test_one_right_rollout_of_several_is_enough_and_what_is_not_measured_is_removed():
    weak = sample_stats(["c", "a", "a", "b", "b"], [None, 0, 1, 0, 0])
    strong = sample_stats(["b", "b", "a", "c"], [0, 1, 1, 1])
    names, steps = kept(weak, strong)
    assert (names, steps["not_judged"], steps["easy_for_weak"]) == (["b"], 2, 1)


def test_a_judge_of_other_samples_is_an_error():
    with pytest.raises(PoolError, match=r"the strong model has measured none of the samples.*'d-1'.*'a'"):
        kept(sample_stats(NAMES, [0, 0, 0]), sample_stats(["d-1"], [1]))
