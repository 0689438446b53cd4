"""Samples solved about half of the time first: by pass rate, by a screening, and by an item response fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.methods import Method, setting
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers.options import Range

HARDEST = 100.0


@dataclass(frozen=True)
class Learnability(Method):
    """p (1 - p), p being the pass rate: 0 where all rollouts agree, and where none was scored.

    Range: 0 to 0.25; twice that where it is unbiased, and four times where it is scaled.

    Source: MMR1, arXiv 2509.21268, section 3 (outcome variance score), without its scaling by the data set's extremes.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 4 + ["b"] * 2, [1, 0, 0, 0, 1, 0])
    >>> Learnability()(stats), Learnability(unbiased=True)(stats)
    (array([0.1875, 0.25  ]), array([0.25, 0.5 ]))
    """

    unbiased: bool = setting("times n / (n - 1), for samples with different numbers of rollouts; 0 for one", False)
    scaled: bool = setting("times 4, so that half right has the weight 1", False)

    @property
    def high(self) -> float:
        return 0.25 * (2.0 if self.unbiased else 1.0) * (4.0 if self.scaled else 1.0)

    def __call__(self, stats: SampleStats) -> Floats:
        weights = outcome_variance(stats, fewer=int(self.unbiased))
        return weights * 4.0 if self.scaled else weights


@dataclass(frozen=True)
class Screening(Method):
    """1 - p^n - (1 - p)^n: the chance that n rollouts of a sample with pass rate p differ; 0 where none was scored.

    Source: SPEED-RL, Zanette-Labs (4 is from its published script; the formula follows from its rule).

    >>> from grounding_rewards.pool import sample_stats
    >>> Screening()(sample_stats(["a"] * 4 + ["b"] * 4, [1, 0, 0, 0, 1, 1, 0, 0])).round(4)
    array([0.6797, 0.875 ])
    """

    rollouts: Annotated[int, Range(2, whole=True)] = setting("n of the screening", 4)

    def __call__(self, stats: SampleStats) -> Floats:
        right = np.where(stats.mixed, stats.num_correct / np.maximum(stats.n, 1), 0.5)
        # log1p and expm1: of a small pass rate the plain difference would be rounding alone.
        chance = -np.expm1(self.rollouts * np.log1p(-right)) - right**self.rollouts
        return np.where(stats.mixed, np.clip(chance, 0.0, 1.0), 0.0)


@dataclass(frozen=True)
class ItemResponse(Method):
    """4 a (1 - a) with the accuracy a = 1 - difficulty / 100 of an item response fit; 0 where it is unknown.

    Source: SEELE, arXiv 2509.06923, section 4 (its text: the bound E[a (1 - a)] / (2 beta) on the descent of the loss);
    the scale of 0 to 1 and the use as a weight of samples are our own form.

    >>> four, difficulty = np.array([4, 4]), np.array([50.0, 90.0])
    >>> ItemResponse()(SampleStats(np.array(["a", "b"], dtype=object), four, four, item_difficulty=difficulty))
    array([1.  , 0.36])
    """

    def __call__(self, stats: SampleStats) -> Floats:
        accuracy = 1.0 - difficulties(stats) / HARDEST
        known = ~np.isnan(accuracy)
        if len(known) and not known.any():
            raise PoolError(
                "no sample has a difficulty; `grounding-rewards pool stats ROLLOUTS --item-response policy --out FILE` "
                "measures it: select from FILE"
            )
        return np.where(known, np.clip(4.0 * accuracy * (1.0 - accuracy), 0.0, 1.0), 0.0)


def outcome_variance(stats: SampleStats, fewer: int = 0) -> Floats:
    """Return p (1 - p) n / (n - fewer), (m,), which k and n - k right ones share to the last bit; 0 without any."""
    n = np.maximum(stats.n, 1)  # 0 of 0 right is 0 of 1, and one rollout is all right or all wrong
    right, wrong = stats.num_correct, stats.n - stats.num_correct
    variance: Floats = np.minimum(right, wrong) / n * (np.maximum(right, wrong) / np.maximum(n - fewer, 1))
    return variance


def difficulties(stats: SampleStats) -> Floats:
    """Return ``item_difficulty``, NaN where unknown; one that is not from 0 to 100 is a PoolError."""
    found = stats.item_difficulty
    for row in np.flatnonzero(~(np.isnan(found) | ((found >= 0) & (found <= HARDEST))))[:1]:
        raise PoolError(f"item_difficulty of {stats.named(row)}: got {found[row]:g}; expected 0 to 100, or none")
    return found
