"""Bootstrap intervals of means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats

_HELD = 1 << 22  # numbers in memory at once


@dataclass(frozen=True)
class Bootstrap:
    """Percentile intervals of means; multinomial draws of the distinct values' counts, which equal draws of samples.

    Args:
        draws: number of draws.
        seed: seed of the draws, so that the same values have the same interval.
        confidence: level of the interval, above 0 and below 1.

    >>> low, high = Bootstrap(2000, 0, 0.95).interval(np.array([0.0, 1.0] * 50))
    >>> 0.39 < low < 0.42, 0.58 < high < 0.61
    (True, True)
    """

    draws: int
    seed: int
    confidence: float

    def interval(self, values: Floats) -> tuple[float, float]:
        """Return the interval of the mean of (m,) values, in any order."""
        different, counts = np.unique(values, return_counts=True)
        rng, samples = np.random.default_rng(self.seed), len(values)
        at_once = max(1, _HELD // len(different))
        means = [
            rng.multinomial(samples, counts / samples, size=min(at_once, self.draws - start)) @ different / samples
            for start in range(0, self.draws, at_once)
        ]
        outside = (1 - self.confidence) / 2
        low, high = np.quantile(np.concatenate(means), [outside, 1 - outside])
        return float(low), float(high)
