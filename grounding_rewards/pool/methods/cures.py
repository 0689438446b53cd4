"""CurES: samples by the uncertainty of their pass rate, and rollouts by its standard deviation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.errors import PoolError
from grounding_rewards.plugins.named import ALLOCATION
from grounding_rewards.pool.methods import Method, setting
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers.options import Count, Positive


@dataclass(frozen=True)
class Cures(Method):
    """The weight exp(sqrt(p (1 - p)) / t), with p = (right + 1) / (n + 2) and t = (right + 1) / temperature.

    With the source's temperature of 0.01 the weights are nearly even, 1 to 1.005, and samples that are seldom right
    come first by little; whether the paper means that is not known.

    Source: CurES, arXiv 2510.01037 (its code at eccf298).

    >>> stats = SampleStats(np.array(list("abcde"), dtype=object), np.full(5, 4), np.arange(5))
    >>> weights = Cures()(stats)
    >>> (weights / weights.sum()).round(6)
    array([0.200359, 0.200084, 0.199946, 0.199849, 0.199762])
    """

    temperature: Positive = setting("the larger, the more uneven the weights; 100 at most", 0.01)

    @property
    def high(self) -> float:
        return float(np.exp(0.5 * self.temperature))

    def __call__(self, stats: SampleStats) -> Floats:
        p = (stats.num_correct + 1.0) / (stats.n + 2.0)
        return np.exp(np.sqrt(p * (1.0 - p)) * self.temperature / (stats.num_correct + 1.0))


@dataclass(frozen=True)
class CuresRollouts(Method):
    """Rollouts in proportion to s = sqrt(p (1 - p)) of the pass rate p: round(budget s / the sum of s).

    The source weighs s by the norms of gradients, which tables do not have; with equal norms it is this. Samples that
    are always or never right get none. Rounded numbers need not add up to the budget, as in the source;
    ``pool allocate --budget`` makes them.

    Source: CurES, arXiv 2510.01037 (its code at eccf298, with norms of 1).

    >>> stats = SampleStats(np.array(list("abcde"), dtype=object), np.full(5, 4), np.arange(5))
    >>> CuresRollouts(budget=40)(stats)
    array([ 0, 13, 15, 13,  0])
    """

    kind = ALLOCATION

    budget: Count = setting("rollouts of all samples together, before rounding")

    def __call__(self, stats: SampleStats) -> Ints:
        p = stats.num_correct / np.maximum(stats.n, 1)
        deviation = np.sqrt(p * (1.0 - p))
        if not deviation.any():
            raise PoolError("every sample is always or never right; expected one that is sometimes solved")
        numbers: Ints = np.round(self.budget * deviation / deviation.sum()).astype(np.int64)
        return numbers
