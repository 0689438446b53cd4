"""Weights by the size of targets: small ones are difficult."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options


@dataclass(frozen=True)
class TargetSize:
    """Weight 1 / a over the mean of 1 / a, a being the target's share of the image: small targets weigh more.

    Weights are clipped to ``smallest`` and ``largest`` and divided by their mean, so that m samples have the sum m.
    1, the mean, where a is 0 or unknown.

    Args:
        smallest: the smallest weight before the division, from 1e-6 to 1.
        largest: the largest one, from 1 to 1e6.

    Raises:
        RecipeError: an option does not fit.
        PoolError: when called: a is unknown of all samples.

    Range: smallest / largest to largest / smallest.

    Source: GUI-G1, arXiv 2505.15810 (smaller targets weigh more: its text; a weight of samples in the loss: its code);
        the formula, with mean and clip, is our own form.

    >>> one = np.ones(3, dtype=np.int64)
    >>> TargetSize()(SampleStats(one, one, one, target_area=np.array([0.04, 0.01, 0.0025]))).round(3)
    array([0.143, 0.571, 2.286])
    """

    smallest: float = 0.1
    largest: float = 10.0

    def __post_init__(self) -> None:
        options.number(self, "smallest", 1e-6, 1.0)
        options.number(self, "largest", 1.0, 1e6)

    @property
    def low(self) -> float:
        """Return the smallest weight: one of the smallest among the largest."""
        return self.smallest / self.largest

    @property
    def high(self) -> float:
        """Return the largest weight: one of the largest among the smallest."""
        return self.largest / self.smallest

    def __call__(self, stats: SampleStats) -> Floats:
        stats.check_known("target_area", "target and image_size")
        weights = np.ones(len(stats))
        known = stats.target_area > 0.0
        area = stats.target_area[known]
        if len(area):
            inverse = area.min() / area  # up to a factor; 1 / a may be infinite
            clipped = np.clip(inverse / inverse.mean(), self.smallest, self.largest)
            weights[known] = clipped / clipped.mean()
        return weights
