"""Discounted returns and advantages of trajectories."""

import math
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import RecipeError
from grounding_rewards.groups.returns import (
    EPSILON,
    step_and_episode_advantages,
    step_and_task_advantages,
    step_returns,
)


def test_steps_may_start_anywhere():
    assert step_returns([1, 1], [1, 1], ["a"] * 2, [7, 8], gamma=1.0).tolist() == [2, 1]
    assert step_returns([1, 1], [1, 1], ["a"] * 2, [-1, 0], gamma=1.0).tolist() == [2, 1]
    far = np.array([-(2**63), 2**60, 2**60 + 1, 2**63 - 1])  # whole numbers that floats skip
    assert step_returns([1] * 4, [1] * 4, ["a"] * 4, far, gamma=1.0).tolist() == [1, 2, 1, 1]


def test_discounts_of_0_and_1():
    args = [1.0, 1.0, 1.0], [1, 1, 1], [4, 4, 4], [0, 1, 2]
    assert step_returns(*args, gamma=0).tolist() == [1, 1, 1]
    assert step_returns(*args, gamma=1).tolist() == [3, 2, 1]


def advantages(rewards, _, *names):
    return step_and_episode_advantages(rewards, *names)


@pytest.mark.parametrize("call", [step_returns, advantages])
def test_short_rollouts_have_to_be_named(call):
    # Which of the two attempts at step 0 went on to step 1?
    with pytest.raises(RecipeError, match=r"rollouts: step 1 of .* row 2 has 1 rows .* 2; .*extras\['rollout'\]"):
        call([1, 5, 20], [0, 1, 1], ["a"] * 3, [0, 0, 1])
    with pytest.raises(RecipeError, match="step 4 of the trajectory of row 0 has 1 rows"):
        call([1, 5, 20, 7], [0, 1, 1, 1], ["b", "b", "a", "b"], [4, 5, 4, 5])
    call([1, 5, 20], [0, 1, 1], ["a", "a", "b"], [0, 0, 1])


def test_a_step_twice_in_one_rollout_is_an_error():
    with pytest.raises(RecipeError, match="same step of one rollout"):
        step_returns([1, 1], [1, 1], ["a"] * 2, [0, 0], ["r", "r"])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 2], [1], ["a"] * 2, [0, 1]), {}, "matched: got 1; expected one for each of 2 rows"),
        (([1], [1], ["a"] * 2, [0]), {}, "trajectories: got 2; expected one for each of 1 rows"),
        (([1], [1], ["a"], [0, 1]), {}, "steps: got 2"),
        (([1], [1], ["a"], [0], []), {}, "rollouts: got 0"),
        (([1], [1], ["a"], [0.5]), {}, "steps: .* expected whole numbers"),
        (([math.nan], [1], ["a"], [0]), {}, "rewards: .* finite"),
        ((["x"], [1], ["a"], [0]), {}, "rewards: .* finite"),
        (([10**400], [1], ["a"], [0]), {}, "rewards: .* finite"),
        (([1], [None], ["a"], [0]), {}, "matched: .* finite"),
        (([1], [1], [["a"]], [0]), {}, r"trajectories: got \[\['a'\]\]; expected texts or numbers"),
        (([1], [1], ["a"], [0], [{}]), {}, "rollouts: .* expected texts or numbers"),
        (([1], [1], ["a"], [0]), {"gamma": 1.5}, "gamma: got 1.5"),
        (([1], [1], ["a"], [0]), {"gamma": True}, "gamma: got True"),
        (([1], [1], ["a"], [0]), {"gamma": math.nan}, "gamma: got nan"),
    ],
)
def test_what_does_not_fit_is_an_error(arguments, options, message):
    with pytest.raises(RecipeError, match=message):
        step_returns(*arguments, **options)


def test_no_rows():
    assert step_returns([], [], [], []).shape == (0,)
    assert step_and_episode_advantages([], [], []).shape == (0,)


ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 4), st.booleans(), st.integers(-8, 8)), min_size=1, max_size=24
)


def columns(rows):
    trajectories, steps, matched, rewards = zip(*rows, strict=True)
    return [reward / 8 for reward in rewards], list(matched), list(trajectories), list(steps)


def kth(rows):
    """Return for each row the number of earlier rows of the same step of the same trajectory."""
    return [sum(other[:2] == row[:2] for other in rows[:index]) for index, row in enumerate(rows)]


@given(ROWS)
def test_returns_are_what_a_loop_over_each_rollout_gives(rows):
    rollouts, expected = kth(rows), []
    place = {(*row[:2], rollout): row for row, rollout in zip(rows, rollouts, strict=True)}
    for (trajectory, step, _, _), rollout in zip(rows, rollouts, strict=True):
        total, factor, at = 0.0, 1.0, step
        while (trajectory, at, rollout) in place:
            _, _, matched, reward = place[trajectory, at, rollout]
            total, factor, at = total + factor * reward / 8, factor * 0.5, at + 1
            if not matched:
                break
        expected.append(total)
    found = step_returns(*columns(rows), rollouts, gamma=0.5).tolist()
    assert found == pytest.approx(expected, abs=1e-12)
    rows_of = Counter(row[:2] for row in rows)
    if len({(trajectory, count) for (trajectory, _), count in rows_of.items()}) == len({row[0] for row in rows}):
        assert step_returns(*columns(rows), gamma=0.5).tolist() == found
    else:
        with pytest.raises(RecipeError, match="rollouts"):
            step_returns(*columns(rows), gamma=0.5)


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter_once_rollouts_are_named(rows, random):
    rewards, matched, trajectories, steps = columns(rows)
    rollouts, order = kth(rows), list(range(len(rows)))
    random.shuffle(order)
    mixed = [[column[index] for index in order] for column in (rewards, matched, trajectories, steps, rollouts)]
    found = step_returns(rewards, matched, trajectories, steps, rollouts)
    assert step_returns(*mixed).tolist() == found[order].tolist()
    advantages = step_and_episode_advantages(found, trajectories, steps, rollouts)
    again = step_and_episode_advantages(found[order], *mixed[2:])
    assert again.tolist() == pytest.approx(advantages[order].tolist(), abs=1e-6)


@given(ROWS)
def test_advantages_of_a_group_add_up_to_0(rows):
    _, _, trajectories, steps = columns(rows)
    values = [row[3] for row in rows]
    found = step_and_episode_advantages(values, trajectories, steps, kth(rows), episode_weight=0.0)
    for group in set(zip(trajectories, steps, strict=True)):
        mine = [value for value, *key in zip(found, trajectories, steps, strict=True) if tuple(key) == group]
        assert sum(mine) == pytest.approx(0.0, abs=1e-6)


def test_both_levels_are_normalised_and_weighted():
    args = [1.5, 0.0, 1.0, 0.0], ["a"] * 4, [0, 0, 1, 1]
    first = 0.75 / (1.5 / math.sqrt(2) + EPSILON)
    second = 0.5 / (1.0 / math.sqrt(2) + EPSILON)
    episodes = step_and_episode_advantages(*args, step_weight=0.0)
    assert episodes.tolist() == pytest.approx([first, -first, first, -first], abs=1e-12)
    of_steps = step_and_episode_advantages(*args, episode_weight=0.0)
    assert of_steps.tolist() == pytest.approx([first, -first, second, -second], abs=1e-12)
    both = step_and_episode_advantages(*args, episode_weight=2.0, step_weight=0.5)
    assert both.tolist() == pytest.approx((2.0 * episodes + 0.5 * of_steps).tolist(), abs=1e-12)


def test_an_episode_counts_once_however_long_it_is():
    # Rollout 0 has three steps and rollout 1 one: the mean of the episodes is (1 + 0) / 2.
    found = step_and_episode_advantages([1, 1, 1, 0], ["a"] * 4, [0, 1, 2, 0], [0, 0, 0, 1], step_weight=0.0)
    assert found.tolist() == pytest.approx([0.5 / (math.sqrt(0.5) + EPSILON)] * 3 + [-0.5 / (math.sqrt(0.5) + EPSILON)])


@pytest.mark.parametrize("values", [[1.0], [1.0, 1.0], [0.1 + 0.2, 0.3]])
def test_a_group_without_variance_has_no_advantage(values):
    rows = len(values)
    assert step_and_episode_advantages(values, ["a"] * rows, [0] * rows).tolist() == [0.0] * rows


@pytest.mark.parametrize("high", [1e308, 1e200])
def test_the_largest_returns_stay_finite(high):
    advantages = step_and_episode_advantages([high, -high], ["a"] * 2, [0, 0], episode_weight=0.0)
    assert advantages.tolist() == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5)], rel=1e-12)
    small = step_and_episode_advantages([1, 0, high, -high], ["a", "a", "b", "b"], [0] * 4, episode_weight=0.0)
    alone = step_and_episode_advantages([1, 0], ["a"] * 2, [0] * 2, episode_weight=0.0)
    assert small[:2].tolist() == alone.tolist()
    for sign in (1, -1):
        sums = step_returns([sign * 1e308] * 3, [1] * 3, ["a"] * 3, [0, 1, 2], gamma=1.0)
        assert sums.tolist() == [sign * sys.float_info.max, sign * sys.float_info.max, sign * 1e308]


@pytest.mark.parametrize(
    "options",
    [{"epsilon": 0.0}, {"epsilon": math.nan}, {"epsilon": "x"}, {"epsilon": None}, {"epsilon": True},
     {"episode_weight": math.inf}, {"episode_weight": "1"}, {"step_weight": 10**400}, {"step_weight": -1e300}],
)  # fmt: skip
def test_options_that_do_not_fit(options):
    with pytest.raises(RecipeError, match=next(iter(options))):
        step_and_episode_advantages([1, 2], ["a"] * 2, [0, 0], **options)


def test_names_of_trajectories_may_be_an_array():
    found = step_returns(np.array([1.0, 1.0]), np.array([True, True]), np.array(["a", "a"]), np.array([0, 1]))
    assert found.tolist() == [1.5, 1.0]


def test_the_published_form_by_hand():
    """Three rollouts of one task: all right, a miss at step 1, and one that ends with its miss at step 0."""
    rewards, matched = np.array([1, 1, 1, 1, 0.55, 1, 0.55]), [1, 1, 1, 1, 0, 1, 0]
    steps, task = np.array([0, 1, 2, 0, 1, 2, 0]), np.zeros(7, dtype=np.int64)
    returns = step_returns(rewards, matched, task, steps, [0, 0, 0, 1, 1, 1, 2], form="published")
    assert returns.tolist() == [1.75, 1.5, 1, 1, 0.55, 1, 0.55]
    once = {"episode_weight": 1.0, "step_weight": 1.0, "epsilon": 1e-6}
    advantages = step_and_task_advantages(rewards, returns, task, steps, **once)
    assert advantages.round(4).tolist() == [1.6578, 1.2926, 0.5855, 0.4206, -2.1709, 0.5855, -2.3711]
    alone = step_and_task_advantages(np.array([0.5]), np.array([0.5]), task[:1], steps[:1], **once)
    assert alone.tolist() == [0.5 / (1 + 1e-6)]
