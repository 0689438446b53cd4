"""Returns of trajectories: discounted sums of step rewards, and advantages of steps and episodes.

A trajectory is one task's demonstration, a step is its place in it, and a rollout is one attempt at the trajectory:
the rows of a rollout are one response to each step. Rows come in any order.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grounding_rewards.arrays import Floats, Ints, changes, numbered, packed, stable_order
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import RecipeError
from grounding_rewards.groups.spread import EPSILON, Codes, Names, codes_of, normalised

GAMMA = 0.5
"""The usual discount."""

Form = Literal["paper", "published"]

_FINITE = float(np.finfo(np.float64).max)


def step_returns(
    rewards: ArrayLike,
    matched: ArrayLike,
    trajectories: Names,
    steps: ArrayLike,
    rollouts: Names | None = None,
    *,
    gamma: float = GAMMA,
    form: Form = "paper",
) -> Floats:
    """Return the discounted sum of a rollout's rewards from each step on, up to its first step that did not match.

    R(t) = r(t) + gamma · R(t + 1) where step t matched and the rollout has a step t + 1 in the batch, else r(t). So
    the step that did not match counts, and those after it do not: there the policy was on a path of its own. A gap in
    the steps ends the sum, too, as it is unknown whether the missing step matched; steps may start at any number. In
    the form ``published`` the step that did not match counts for itself alone: the sum goes on where both matched.

    ``matched`` is True, or a number above 0, where a step did what the demonstration did, and ``rollouts`` is the
    attempt at its trajectory that each row belongs to: without it, the k-th row of the same step belongs to rollout k,
    and a trajectory whose steps have other numbers of rows is a RecipeError. ``gamma`` is from 0 to 1. Sums that no
    float holds are the largest, or the least.

    Source: UI-S1; ``paper`` is its equation 9, ``published`` the sum in its published code.

    >>> step_returns([1, 1, 0, 1], [1, 1, 0, 1], ["a"] * 4, [0, 1, 2, 3])
    array([1.5, 1. , 0. , 1. ])
    >>> step_returns([1, 0, 1, 1], [1, 0, 1, 1], ["a"] * 4, [0, 0, 1, 1])  # two rollouts of two steps
    array([1.5, 0. , 1. , 1. ])
    >>> [step_returns([1, 0.55], [1, 0], ["a"] * 2, [0, 1], form=form).tolist() for form in ("paper", "published")]
    [[1.275, 0.55], [1.0, 0.55]]
    """
    earned = _numbers("rewards", rewards)
    rows = len(earned)
    step = _whole("steps", steps, rows)
    goes_on = _numbers("matched", matched, rows) > 0
    if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not 0 <= gamma <= 1:
        raise RecipeError(f"gamma: got {gamma!r}; expected a number from 0 to 1")
    trajectory = codes_of("trajectories", trajectories, rows)
    rollout = _rollouts(trajectory, step, rollouts)
    order = np.argsort(packed(trajectory, rollout, step))  # in any order where two are equal, which is refused
    trajectory, rollout, step = trajectory[order], rollout[order], step[order]
    same = (trajectory[1:] == trajectory[:-1]) & (rollout[1:] == rollout[:-1])
    if (same & (step[1:] == step[:-1])).any():
        raise RecipeError("rollouts: two rows are the same step of one rollout; expected one row for each of its steps")
    linked = same & (step[1:] - step[:-1] == 1) & goes_on[order[:-1]]
    if form == "published":
        linked &= goes_on[order[1:]]
    returns = np.empty(rows)
    returns[order] = _discounted(earned[order], np.append(linked, False)[:rows], gamma)
    return np.clip(returns, -_FINITE, _FINITE)


def _discounted(earned: Floats, linked: NDArray[np.bool_], gamma: float) -> Floats:
    """Add gamma times the sum of the next row to each row that is linked to it."""
    chain: Codes = np.cumsum(~linked) - ~linked
    left = np.flatnonzero(~linked)[chain] - np.arange(len(earned))  # rows that follow in the same chain
    by_left = np.argsort(left, kind="stable")
    rows = np.split(by_left, np.cumsum(np.bincount(left))[:-1]) if len(left) else []
    with np.errstate(over="ignore", invalid="ignore"):
        for here in rows[1:]:  # those whose next row is summed already
            earned[here] += gamma * earned[here + 1]
    return earned


def step_and_episode_advantages(
    returns: ArrayLike,
    trajectories: Names,
    steps: ArrayLike,
    rollouts: Names | None = None,
    *,
    episode_weight: float = 1.0,
    step_weight: float = 1.0,
    epsilon: float = EPSILON,
) -> Floats:
    """Return A = w_e · A_episode + w_s · A_step, the advantage of a whole rollout and of its step among like steps.

    A_step is a row's return among the rows of the same step of the same trajectory. A_episode, the same for all rows of
    a rollout, is the return of its first step in the batch among those of the trajectory's other rollouts, each of
    which counts once. Either is (value - mean) / (std + epsilon) within its group, as GRPO has it, with the unbiased
    standard deviation (of m - 1); a group without variance, which a group of one is, has advantage 0.

    ``returns`` are (n,) values such as those of ``step_returns``, which has ``trajectories``, ``steps`` and
    ``rollouts``, and raises the same errors. ``epsilon`` is above 0; it and the weights are at most 1e12.

    >>> step_and_episode_advantages([1.5, 0.0, 1.0, 1.0], ["a"] * 4, [0, 0, 1, 1]).round(3)
    array([ 1.414, -1.414,  0.707, -0.707])
    """
    value = _numbers("returns", returns)
    rows = len(value)
    for name, weight in (("episode_weight", episode_weight), ("step_weight", step_weight), ("epsilon", epsilon)):
        number = isinstance(weight, int | float) and not isinstance(weight, bool) and abs(weight) <= COORDINATE_LIMIT
        if not number or (name == "epsilon" and weight <= 0):
            raise RecipeError(f"{name}: got {weight!r:.60}; expected a number{' above 0' * (name == 'epsilon')}")
    step, trajectory = _whole("steps", steps, rows), codes_of("trajectories", trajectories, rows)
    rollout = _rollouts(trajectory, step, rollouts)
    if not rows:
        return np.zeros(0)
    episode = numbered(trajectory, rollout)
    order = stable_order(packed(episode, step))
    first = order[changes(episode.take(order))]  # the first step of each episode
    of_episode = normalised(value[first], trajectory[first], epsilon)[episode]
    return episode_weight * of_episode + step_weight * normalised(value, numbered(trajectory, step), epsilon)


def step_and_task_advantages(
    rewards: Floats, returns: Floats, trajectories: Ints, steps: Ints, *, episode_weight: float, step_weight: float,
    epsilon: float,
) -> Floats:  # fmt: skip
    """Return A = w_e · A_task + w_s · A_step, as in UI-S1's published code.

    A_step is that of ``step_and_episode_advantages``; A_task is (r - mean) / (std + epsilon) of a row's own reward over
    all rows of its trajectory, of all steps and rollouts, and r / (1 + epsilon) where it is the only one.

    >>> once, both = {"episode_weight": 1.0, "step_weight": 1.0, "epsilon": 1e-6}, np.array([1, 0.55])
    >>> step_and_task_advantages(both, both, np.zeros(2, int), np.arange(2), **once).round(3)
    array([ 0.707, -0.707])
    """
    alone = np.bincount(trajectories, minlength=1)[trajectories] == 1
    of_task = np.where(alone, rewards / (1.0 + epsilon), normalised(rewards, trajectories, epsilon))
    return episode_weight * of_task + step_weight * normalised(returns, numbered(trajectories, steps), epsilon)


def _rollouts(trajectory: Codes, step: Codes, names: Names | None) -> Codes:
    """Return each row's rollout: by name, else the number of earlier rows of the same step of its trajectory."""
    if names is not None:
        return codes_of("rollouts", names, len(step))
    same = numbered(trajectory, step)
    rows, most = np.bincount(same)[same], np.zeros(len(same), dtype=np.int64)
    np.maximum.at(most, trajectory, rows)
    short = np.flatnonzero(rows < most[trajectory])
    if len(short):
        row = short[0]
        raise RecipeError(
            f"rollouts: step {step[row]} of the trajectory of row {row} has {rows[row]} rows and another of its steps "
            f"{most[trajectory[row]]}; expected as many, or the rollout of every row: rollouts=, and extras['rollout'] "
            "where a recipe is scored"
        )
    order = np.argsort(same, kind="stable")
    start = np.searchsorted(same[order], same[order])  # where the rows of each step begin
    codes = np.empty(len(step), dtype=np.int64)
    codes[order] = np.arange(len(step)) - start
    return codes


def _numbers(name: str, values: ArrayLike, rows: int | None = None) -> Floats:
    """Read (n,) finite numbers, one for each row where their number is known."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        numbers = np.full(1, np.nan)  # refused below, as what is not finite is
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise RecipeError(f"{name}: got {values!r:.80}; expected one finite number for each row")
    if rows not in (None, len(numbers)):
        raise RecipeError(f"{name}: got {len(numbers)}; expected one for each of {rows} rows")
    return numbers


def _whole(name: str, values: ArrayLike, rows: int) -> Codes:
    """Read (n,) whole numbers, one for each row."""
    if isinstance(values, np.ndarray) and values.shape == (rows,) and values.dtype.kind == "i":
        return values.astype(np.int64, copy=False)
    numbers = _numbers(name, values, rows)
    # Beyond 2**53 floats skip whole numbers, so that two steps could become one.
    if (numbers != np.floor(numbers)).any() or (np.abs(numbers) > 2.0**53).any():
        raise RecipeError(f"{name}: got {values!r:.80}; expected whole numbers")
    return numbers.astype(np.int64)
