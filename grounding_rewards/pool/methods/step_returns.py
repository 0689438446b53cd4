"""Returns of steps in trajectories, and advantages made of them, as columns of a rollout table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats, Ints, begins, numbered
from grounding_rewards.errors import PoolError
from grounding_rewards.groups.returns import (
    GAMMA,
    Form,
    step_and_episode_advantages,
    step_and_task_advantages,
    step_returns,
)
from grounding_rewards.groups.spread import EPSILON
from grounding_rewards.plugins.named import CHOICE
from grounding_rewards.pool.methods import Choice, Method, setting
from grounding_rewards.pool.rollouts import RolloutColumns, ranks, rewards_of
from grounding_rewards.verifiers.options import Number, Positive, Share


@dataclass(frozen=True)
class StepReturns(Method):
    """Keep every scored rollout, with columns ``step_return`` and ``advantage`` of its place in a trajectory.

    ``paper``: R(t) = r(t) + gamma · R(t + 1) where step t is right (``acc``) and its attempt has a scored step t + 1,
    else r(t); A = w_e · A_episode + w_s · A_step, A_episode comparing the attempts' first returns. ``published``: the
    sum goes on where step t + 1 is right, too, and A_episode compares the rollout's own reward with those of all
    rollouts of the trajectory in its round. Both are in ``groups.returns``.

    The k-th rollout of each step of a trajectory, by its number within its round, is of the k-th attempt at it; so
    every step of a trajectory has as many rollouts a round, and of numbers that several steps share, each step has the
    same. A rollout that was not scored is left out and ends the sum of the step before it.

    Source: UI-S1, ``paper`` is its equation 9 with episodes as there, ``published`` its code (MobileAgent 11cea57); how
    rollouts make attempts is our own form.
    """

    kind, needs = CHOICE, ("total", "trajectory", "step")

    gamma: Share = setting("the discount", GAMMA)
    episode_weight: Number = setting("w_e", 1.0)
    step_weight: Number = setting("w_s", 1.0)
    epsilon: Positive = setting("added to standard deviations", EPSILON)
    form: Form = setting("the paper's formulas, or those of its published code", "paper")

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        for name, column in (("trajectory", rollouts.trajectory), ("step", rollouts.step)):
            for row in np.flatnonzero(column < 0)[:1]:
                raise PoolError(f"{rollouts.named(row)}: got no {name}; expected one in each rollout for step returns")
        order = np.argsort(rollouts.trajectory, kind="stable")
        scored, columns = ~np.isnan(rewards_of(rollouts)), np.empty((2, len(rollouts)))
        for rows in np.split(order, begins(rollouts.trajectory[order])[1:]):
            columns[:, rows[scored[rows]]] = self._columns(rollouts.rows(rows))
        kept = np.flatnonzero(scored)
        return Choice(kept, dict(zip(("step_return", "advantage"), columns[:, kept], strict=True)))

    def _columns(self, rollouts: RolloutColumns) -> tuple[Floats, Floats]:
        """Return the step returns and advantages of the scored rollouts of some trajectories."""
        trajectory = numbered(rollouts.trajectory, rollouts.round)
        place = numbered(trajectory, rollouts.step)
        _check_samples(rollouts, place)
        attempt = _attempts(rollouts, trajectory, place)
        rewards = rewards_of(rollouts)
        kept = np.flatnonzero(~np.isnan(rewards))
        names = trajectory[kept], rollouts.step[kept], attempt[kept]
        returns = step_returns(rewards[kept], rollouts.acc[kept], *names, gamma=self.gamma, form=self.form)
        weights = {name: getattr(self, name) for name in ("episode_weight", "step_weight", "epsilon")}
        if self.form == "published":
            return returns, step_and_task_advantages(rewards[kept], returns, *names[:2], **weights)
        return returns, step_and_episode_advantages(returns, *names, **weights)


def _check_samples(rollouts: RolloutColumns, place: Ints) -> None:
    """Check that a step of a trajectory is one sample."""
    first = _firsts(place)
    for row in np.flatnonzero(rollouts.sample != rollouts.sample[first[place]])[:1]:
        raise PoolError(
            f"{rollouts.named(row)} and {rollouts.named(first[place[row]])} are both step {rollouts.step[row]} of one "
            "trajectory; expected one sample for each step"
        )


def _firsts(place: Ints) -> Ints:
    """Return the first row of each place."""
    first = np.zeros(place.max(initial=-1) + 1, dtype=np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]  # the first row of each is written last
    return first


def _attempts(rollouts: RolloutColumns, trajectory: Ints, place: Ints) -> Ints:
    """Return the number of earlier rollouts of the same step, which is that of the attempt."""
    count = np.bincount(place)
    most = np.zeros(len(count), dtype=np.int64)
    np.maximum.at(most, trajectory, count[place])
    for row in np.flatnonzero(count[place] < most[trajectory])[:1]:
        raise PoolError(
            f"{rollouts.named(row)}: step {rollouts.step[row]} of its trajectory has {count[place[row]]} rollouts in "
            f"round {rollouts.round[row]}, another one {most[trajectory[row]]}; expected as many of each step, so that "
            "the k-th of each are one attempt"
        )
    _check_numbers(rollouts, trajectory, place)
    return ranks(place)  # rollouts are in the order of their numbers


def _check_numbers(rollouts: RolloutColumns, trajectory: Ints, place: Ints) -> None:
    """Check that, where steps of a trajectory share numbers, they share all: else a rollout is missing."""
    known = np.flatnonzero(rollouts.rollout >= 0)
    pair = numbered(trajectory[known], rollouts.rollout[known])
    shared = np.bincount(pair)[pair]  # steps with this number
    steps = np.bincount(trajectory[_firsts(place)])[trajectory[known]]
    sharing = np.zeros(trajectory.max(initial=-1) + 1, dtype=np.bool_)
    sharing[trajectory[known[shared > 1]]] = True
    for row in known[np.flatnonzero(sharing[trajectory[known]] & (shared < steps))][:1]:
        raise PoolError(
            f"{rollouts.named(row)}: other steps of its trajectory have no rollout {rollouts.rollout[row]} in round "
            f"{rollouts.round[row]}; expected the same numbers for each step, or numbers that no two steps share"
        )
