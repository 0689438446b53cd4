"""prime-rl: pools of easy, normal and hard samples, and its older buffer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.pool.draws import draw
from grounding_rewards.pool.methods import Method, setting
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Length, Number, Share, Whole

Average = Literal["mean", "pass_rate"]
_OF = "the mean total (the pass rate where no total is known), or the pass rate"


@dataclass(frozen=True)
class DifficultyPools(Method):
    """Weight of the pool that a sample's average is in: hard up to 0.25, normal up to 0.75, easy above.

    A pool holds averages up to its upper bound; the last one also all above it. The weights are those of drawing with
    replacement, one sample by one: a pool of many samples is drawn more often.

    Source: prime-rl, orchestrator/curriculum (its code of August 2026, DifficultyPoolSampler).

    >>> from grounding_rewards.pool import sample_stats
    >>> DifficultyPools()(sample_stats(["a"] * 4 + ["b"] * 2 + ["c"], [1, 0, 0, 0, 1, 0, None]))
    array([0.2, 1. , 1. ])
    """

    pools: Sequence[Any] = setting("upper bounds, ascending, and weights", ((0.25, 0.2), (0.75, 1.0), (1.0, 0.2)))
    unseen: Length = setting("the weight of samples without a scored rollout", 1.0)
    of: Average = setting(_OF, "mean")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.pools, list | tuple) or not self.pools or not all(map(_is_pool, self.pools)):
            raise options.wrong(
                self, "pools", "pairs of an upper bound and a weight from 0, such as [[0.25, 0.2], [1, 1]]"
            )
        bounds = [bound for bound, _ in self.pools]
        if bounds != sorted(set(bounds)):
            raise options.wrong(self, "pools", "ascending upper bounds")
        object.__setattr__(self, "pools", tuple(tuple(pool) for pool in self.pools))  # a tuple has a hash

    @property
    def low(self) -> float:
        return float(min(self.unseen, *(weight for _, weight in self.pools)))

    @property
    def high(self) -> float:
        return float(max(self.unseen, *(weight for _, weight in self.pools)))

    def __call__(self, stats: SampleStats) -> Floats:
        bounds, weights = np.array(self.pools, dtype=np.float64).T
        average = _average(stats, self.of)
        unseen = np.isnan(average)
        pool = np.searchsorted(bounds[:-1], np.where(unseen, bounds[0], average), side="left")  # bounds are inside
        return np.where(unseen, float(self.unseen), weights[pool])


@dataclass(frozen=True)
class DifficultyBuffer(Method):
    """1 for normal samples and 0 for easy and hard ones, some of which are put back, drawn by seed and names.

    Source: prime-rl, its buffer until June 2026 (its code: a half rounds to the even number, as there).

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 5 + ["b"] * 5 + ["c"] * 2, [1, 1, 1, 1, 0] + [1, 0, 0, 0, 0] + [1, 0])
    >>> DifficultyBuffer(0.8, 0.2)(stats), DifficultyBuffer(0.8, None)(stats)
    (array([0., 0., 1.]), array([0., 1., 1.]))
    """

    easy_threshold: Number | None = setting("average from which samples are easy; None: none is")
    hard_threshold: Number | None = setting("average up to which samples are hard; None: none is")
    easy_fraction: Share = setting("share of the easy ones to put back", 0.0)
    hard_fraction: Share = setting("share of the hard ones", 0.0)
    of: Average = setting(_OF, "mean")
    seed: Whole = setting("seed of the draws", 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if None not in (self.easy_threshold, self.hard_threshold) and self.easy_threshold <= self.hard_threshold:  # type: ignore[operator]
            raise options.wrong(self, "easy_threshold", f"above hard_threshold, {self.hard_threshold}")

    def __call__(self, stats: SampleStats) -> Floats:
        average = _average(stats, self.of)  # NaN compares as neither
        easy = average >= (math.inf if self.easy_threshold is None else self.easy_threshold)
        hard = average <= (-math.inf if self.hard_threshold is None else self.hard_threshold)
        weights = np.where(easy | hard, 0.0, 1.0)
        for name, inside, share in (("easy", easy, self.easy_fraction), ("hard", hard, self.hard_fraction)):
            rows = np.flatnonzero(inside)
            back = draw(stats.sample_id[rows], round(len(rows) * share), seed=self.seed, purpose=f"{name} pool")
            weights[rows[back]] = 1.0
        return weights


def _average(stats: SampleStats, of: str) -> Floats:
    """Return the average of each sample's scored rollouts; NaN without one."""
    return stats.pass_rate if of == "pass_rate" else np.where(np.isnan(stats.mean), stats.pass_rate, stats.mean)


def _is_pool(value: Any) -> bool:
    """Return True for a pair of an upper bound and a weight."""
    pair = isinstance(value, list | tuple) and len(value) == 2 and all(map(options.is_number, value))
    return pair and value[1] >= 0
