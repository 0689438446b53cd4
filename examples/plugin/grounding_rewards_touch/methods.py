"""Methods of selection, one of each kind: what to train on next, what to roll out again, and which rollouts to keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.pool import Choice, Method, RolloutColumns, SampleStats, setting
from grounding_rewards.verifiers.options import Count


@dataclass(frozen=True)
class Learnable(Method):
    """4 · p · (1 - p), p being the sample's pass rate: 1.0 where half of the rollouts were right, 0.0 where all agree.

    A sample of which no rollout was scored gets 1.0: nothing speaks against it.
    """

    def __call__(self, stats: SampleStats) -> Floats:
        """Weigh each sample."""
        rate = stats.pass_rate
        return np.where(np.isnan(rate), 1.0, 4.0 * rate * (1.0 - rate))


@dataclass(frozen=True)
class TopUp(Method):
    """Further rollouts up to a number, for samples of which none was right yet."""

    kind = "allocation"

    most: Count = setting("rollouts of a sample in all", 16)

    def __call__(self, stats: SampleStats) -> Ints:
        """Return the number of further rollouts of each sample."""
        return np.where(stats.num_correct == 0, np.maximum(self.most - stats.n, 0), 0)


@dataclass(frozen=True)
class Firsts(Method):
    """Keep the first rollouts of each sample in each round, by their numbers."""

    kind, samples_apart = "choice", True

    keep: Count = setting("rollouts that stay of a sample in a round", 4)

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        """Return the rollouts that stay."""
        return Choice(np.flatnonzero(rollouts.rollout < self.keep))
