"""Selector of the samples to train on next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.pool import SampleStats


@dataclass(frozen=True)
class Learnable:
    """4 · p · (1 - p), p being the sample's pass rate: 1.0 where half of the rollouts were right, 0.0 where all agree.

    A sample of which no rollout was scored gets 1.0: nothing speaks against it.
    """

    low = 0.0
    high = 1.0

    def __call__(self, stats: SampleStats) -> Floats:
        """Weigh each sample."""
        rate = stats.pass_rate
        return np.where(np.isnan(rate), 1.0, 4.0 * rate * (1.0 - rate))
