"""Selectors by pools of easy, normal and hard samples, as prime-rl has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.pool.selection.quotas import draw
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options

AVERAGE = Literal["mean", "pass_rate"]


@dataclass(frozen=True)
class DifficultyPools:
    """Weight of the pool that a sample's average is in: hard up to 0.25, normal up to 0.75, easy above.

    A pool holds averages up to its upper bound, which counts as inside; the last one also holds all above it. The
    weights are those of drawing with replacement, one sample by one: a pool of many samples is drawn more often.

    Args:
        pools: upper bounds, ascending, and weights: 0.2 of hard, 1 of normal, 0.2 of easy samples as published.
        unseen: the weight of samples without a scored rollout.
        of: ``mean`` takes the mean total (the pass rate where no total is known), ``pass_rate`` the share of right
            rollouts.

    Raises:
        RecipeError: an option does not fit; names it.

    Source: prime-rl, orchestrator/curriculum (its code of August 2026, DifficultyPoolSampler).

    >>> from grounding_rewards.pool import sample_stats
    >>> DifficultyPools()(sample_stats(["a"] * 4 + ["b"] * 2 + ["c"], [1, 0, 0, 0, 1, 0, None]))
    array([0.2, 1. , 1. ])
    """

    pools: Sequence[tuple[float, float]] = ((0.25, 0.2), (0.75, 1.0), (1.0, 0.2))
    unseen: float = 1.0
    of: AVERAGE = "mean"

    def __post_init__(self) -> None:
        options.number(self, "unseen")
        options.choice(self, "of", AVERAGE)
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
        """Return the least weight of a pool."""
        return float(min(self.unseen, *(weight for _, weight in self.pools)))

    @property
    def high(self) -> float:
        """Return the largest weight of a pool."""
        return float(max(self.unseen, *(weight for _, weight in self.pools)))

    def __call__(self, stats: SampleStats) -> Floats:
        bounds, weights = np.array(self.pools, dtype=np.float64).T
        average = _average(stats, self.of)
        unseen = np.isnan(average)
        pool = np.searchsorted(
            bounds[:-1], np.where(unseen, bounds[0], average), side="left"
        )  # left: bounds are inside
        return np.where(unseen, float(self.unseen), weights[pool])


@dataclass(frozen=True)
class DifficultyBuffer:
    """1 for normal samples and 0 for easy and hard ones, some of which are put back.

    Easy is an average of ``easy_threshold`` or more, hard one of ``hard_threshold`` or less. Of the easy ones,
    round(easy_fraction * their number) are drawn by seed and names, and have the weight 1 again; so are hard ones.
    A sample without a scored rollout is normal.

    Args:
        easy_threshold: average from which samples are easy; None: none is.
        hard_threshold: average up to which samples are hard, below ``easy_threshold``; None: none is.
        easy_fraction: share of the easy ones to put back, from 0 to 1.
        hard_fraction: share of the hard ones.
        of: as in ``DifficultyPools``.
        seed: seed of the draws.

    Raises:
        RecipeError: an option does not fit; names it.

    Source: prime-rl, its buffer until June 2026 (its code: a half rounds to the even number, as there).

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 5 + ["b"] * 5 + ["c"] * 2, [1, 1, 1, 1, 0] + [1, 0, 0, 0, 0] + [1, 0])
    >>> DifficultyBuffer(0.8, 0.2)(stats), DifficultyBuffer(0.8, None)(stats)
    (array([0., 0., 1.]), array([0., 1., 1.]))
    """

    easy_threshold: float | None
    hard_threshold: float | None
    easy_fraction: float = 0.0
    hard_fraction: float = 0.0
    of: AVERAGE = "mean"
    seed: int = 0

    low = 0.0
    high = 1.0

    def __post_init__(self) -> None:
        for name in ("easy_threshold", "hard_threshold"):
            if getattr(self, name) is not None and not options.is_number(getattr(self, name)):
                raise options.wrong(self, name, "a number, or None for no such samples")
        if None not in (self.easy_threshold, self.hard_threshold) and self.easy_threshold <= self.hard_threshold:  # type: ignore[operator]
            raise options.wrong(self, "easy_threshold", f"above hard_threshold, {self.hard_threshold}")
        options.number(self, "easy_fraction", 0.0, 1.0)
        options.number(self, "hard_fraction", 0.0, 1.0)
        options.choice(self, "of", AVERAGE)
        options.whole(self, "seed", 0)

    def __call__(self, stats: SampleStats) -> Floats:
        average = _average(stats, self.of)  # NaN compares as neither
        nowhere = np.zeros(len(stats), dtype=np.bool_)
        easy = nowhere if self.easy_threshold is None else average >= self.easy_threshold
        hard = nowhere if self.hard_threshold is None else average <= self.hard_threshold
        weights = np.where(easy | hard, 0.0, 1.0)
        for name, inside, share in (("easy", easy, self.easy_fraction), ("hard", hard, self.hard_fraction)):
            weights[self._back(stats, np.flatnonzero(inside), share, name)] = 1.0
        return weights

    def _back(self, stats: SampleStats, rows: NDArray[np.int64], share: float, name: str) -> NDArray[np.int64]:
        return rows[draw(stats.sample_id[rows], round(len(rows) * share), seed=self.seed, purpose=f"{name} pool")]


def _average(stats: SampleStats, of: AVERAGE) -> Floats:
    """Return the average of each sample's scored rollouts; NaN without one."""
    if of == "pass_rate":
        return stats.pass_rate
    return np.where(np.isnan(stats.mean), stats.pass_rate, stats.mean)


def _is_pool(value: object) -> bool:
    """Return True for a pair of an upper bound and a weight."""
    pair = isinstance(value, list | tuple) and len(value) == 2 and all(map(options.is_number, value))
    return pair and value[1] >= 0  # type: ignore[index]
