"""Returns of steps: a step's reward together with those of the steps that follow it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import MISSING, RecipeError, TargetError
from grounding_rewards.groups.returns import GAMMA, step_returns
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers.options import Discount
from grounding_rewards.verifiers.terms import Term, Verifier, reads_of

NEEDS_TRAJECTORIES = frozenset({"trajectories"})
"""Adds up the steps of a rollout: every target has its ``trajectory`` and ``step``, and all steps are in one batch."""


@dataclass(frozen=True)
class StepReturn(Term):
    """The discounted sum of a rollout's rewards from each step on, up to its first step that did not match.

    R(t) = r(t) + gamma · R(t + 1) where step t matched and the batch has the rollout's step t + 1, else r(t): see
    ``returns.step_returns``. The rollout of its trajectory to which a row belongs is in ``extras["rollout"]``; without
    it the k-th row of a step is rollout k, and all steps of a trajectory must have as many rows (unless some rows of
    the batch cannot be used). A row whose target cannot be used belongs to none, and is worth its r alone.

    Args:
        reward: the verifier or composition that makes r.
        match: the one that is above 0 where a step matched.
        gamma: the discount, from 0 to below 1, so that the sum is bounded.

    Raises:
        RecipeError: an option does not fit; ``extras["rollout"]`` has another length than the responses, or names two
            rows of one step alike; or there is none, and the steps of a trajectory have unequal numbers of rows.
        TargetError: a target lacks its trajectory or step.
    """

    reward: Verifier
    match: Verifier
    gamma: Discount = GAMMA

    @property
    def low(self) -> float:
        """The lowest reward, for ever."""
        low = float(self.reward.low)
        return low / (1.0 - self.gamma) if low < 0 else low

    @property
    def high(self) -> float:
        """The highest reward, for ever."""
        high = float(self.reward.high)
        return high / (1.0 - self.gamma) if high > 0 else high

    @property
    def needs(self) -> frozenset[str]:
        return self.reward.needs | self.match.needs | NEEDS_TRAJECTORIES

    @property
    def reads(self) -> frozenset[str]:
        return reads_of(self.reward) | reads_of(self.match) | {"extras"}

    def __call__(self, rollouts: Rollouts) -> Floats:
        rewards, matched = self.reward(rollouts), self.match(rollouts) > 0
        usable = np.flatnonzero(rollouts.targets.valid)  # the others have no trajectory to belong to
        places = [_place(rollouts, row) for row in usable.tolist()]
        column = rollouts.extras.get("rollout")
        if column is not None and len(column) != len(rollouts):
            raise RecipeError(f"extras['rollout']: got {len(column)}; expected one for each of {len(rollouts)} rows")
        names = None if column is None else [column[row] for row in usable.tolist()]
        if names is None and len(usable) < len(rollouts):
            names = _occurrences(places)  # a row that cannot be used ends no run
        returns = rewards.copy()
        trajectories, steps = [trajectory for trajectory, _ in places], [step for _, step in places]
        returns[usable] = step_returns(rewards[usable], matched[usable], trajectories, steps, names, gamma=self.gamma)
        return np.clip(returns, self.low, self.high)  # a long sum may round beyond its limit


def _occurrences(places: Sequence[Hashable]) -> list[int]:
    """Count the earlier rows of the same step, for each row."""
    counts = Counter[Hashable]()
    earlier = []
    for place in places:
        earlier.append(counts[place])
        counts[place] += 1
    return earlier


def _place(rollouts: Rollouts, row: int) -> tuple[Hashable, int]:
    target = rollouts.targets.rows[row]
    trajectory, step = (target.trajectory, target.step) if target else (None, None)
    if trajectory is None or step is None:
        field = "trajectory" if trajectory is None else "step"
        expected = "its name, and the number of the step in it, because the recipe adds up the steps of trajectories"
        raise TargetError(rollouts.targets.sample(row), field, MISSING, expected)
    return trajectory, step
