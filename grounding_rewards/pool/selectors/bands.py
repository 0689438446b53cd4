"""Selectors with weights of 1 (keep) and 0 (leave out)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.stats.intervals import wilson
from grounding_rewards.verifiers import options

TRUTH = Literal[True, False]


class _KeepOrLeave:
    low = 0.0
    high = 1.0


@dataclass(frozen=True)
class Unsolved(_KeepOrLeave):
    """0 where every scored rollout was right, else 1: drop what the policy can do already.

    A sample of which no rollout was scored stays.
    """

    def __call__(self, stats: SampleStats) -> Floats:
        return np.where(stats.all_correct, 0.0, 1.0)


@dataclass(frozen=True)
class Band(_KeepOrLeave):
    """1 where low_rate < pass rate < high_rate, else 0: neither too hard nor too easy.

    Both edges are outside, so that the whole band keeps the samples that are partly solved. A sample of which no
    rollout was scored has no pass rate, and is left out.

    Args:
        low_rate: the pass rate below those that stay.
        high_rate: the pass rate above them.
        inclusive: include the edges: 1 where low_rate <= pass rate <= high_rate.
        confident: leave out only samples whose 95 % Wilson interval of the pass rate is outside: where it ends
            at low_rate or below, or begins at high_rate or above (below and above, where edges are inside). A sample
            of which no rollout was scored stays.

    Raises:
        RecipeError: they are not numbers from 0 to 1 in order, or nothing is between them.

    Source: open-r1, scripts/pass_rate_filtering; Wilson (1927) for the interval.

    >>> from grounding_rewards.pool import sample_stats
    >>> none_of_four = sample_stats(["a"] * 4, [0] * 4)
    >>> Band(0.2, 0.8)(none_of_four), Band(0.2, 0.8, confident=True)(none_of_four)
    (array([0.]), array([1.]))
    """

    low_rate: float = 0.0
    high_rate: float = 1.0
    inclusive: bool = False
    confident: bool = False

    def __post_init__(self) -> None:
        options.number(self, "low_rate", 0.0, 1.0)
        options.number(self, "high_rate", 0.0, 1.0)
        for name in ("inclusive", "confident"):
            options.choice(self, name, TRUTH)
        if self.low_rate > self.high_rate:
            raise options.wrong(self, "low_rate", f"at most high_rate, {self.high_rate}")
        if self.low_rate == self.high_rate and not (self.inclusive or self.confident):
            raise options.wrong(self, "low_rate", "below high_rate, or inclusive: true for one pass rate")

    def __call__(self, stats: SampleStats) -> Floats:
        least, most = wilson(stats.num_correct, stats.n) if self.confident else (stats.pass_rate, stats.pass_rate)
        if self.inclusive:
            return np.where((most >= self.low_rate) & (least <= self.high_rate), 1.0, 0.0)
        return np.where((most > self.low_rate) & (least < self.high_rate), 1.0, 0.0)


@dataclass(frozen=True)
class MeanBand(_KeepOrLeave):
    """1 where low_mean < mean total < high_mean, else 0: filter groups online by their mean, as EasyR1 does.

    Equal totals strictly between the two stay, though they carry no signal: ``spread`` leaves them out. A sample
    without totals is left out; where no sample has any, it is a PoolError.

    Args:
        low_mean: the mean below those that stay, of any sign.
        high_mean: the mean above them.

    Raises:
        RecipeError: they are not numbers, or nothing is between them.

    Source: EasyR1, verl/trainer/ray_trainer.py, online_filtering.
    """

    low_mean: float = 0.01
    high_mean: float = 0.99

    def __post_init__(self) -> None:
        options.number(self, "low_mean", -math.inf)
        options.number(self, "high_mean", -math.inf)
        if self.low_mean >= self.high_mean:
            raise options.wrong(self, "low_mean", f"below high_mean, {self.high_mean}")

    def __call__(self, stats: SampleStats) -> Floats:
        stats.check_known("mean", "total")
        return np.where((stats.mean > self.low_mean) & (stats.mean < self.high_mean), 1.0, 0.0)


@dataclass(frozen=True)
class Spread(_KeepOrLeave):
    """1 where highest - lowest total > 1e-6, else 0: DAPO's dynamic sampling, drop groups without signal.

    A group of one rollout stays, for its signal is unknown. Another sample without totals is left out; where no sample
    has any, it is a PoolError.

    Args:
        threshold: their standard deviation, divided by their number, must be above this as well; UI-S1 has 0.3.

    Raises:
        RecipeError: the threshold is not a number from 0.

    Source: DAPO, arXiv 2503.14476, section 3.2; UI-S1, verl/trainer/ppo/dapo_ray_trainer.py, for the threshold.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 3 + ["b"] * 2, [1, 1, 1, 0, 1], total=[0.1, 0.1, 0.1, 0.0, 0.5])
    >>> Spread()(stats), Spread(threshold=0.3)(stats)
    (array([0., 1.]), array([0., 0.]))
    """

    threshold: float = 0.0

    def __post_init__(self) -> None:
        options.number(self, "threshold")

    def __call__(self, stats: SampleStats) -> Floats:
        stats.check_known("spread", "total")
        # Not by the deviation alone: that of equal floats need not be 0.
        apart = (stats.spread > NO_SIGNAL) & (np.sqrt(stats.variance) > self.threshold)
        return np.where(apart | (stats.n == 1), 1.0, 0.0)


@dataclass(frozen=True)
class MinRollouts(_KeepOrLeave):
    """1 where at least n rollouts were scored, else 0: leave out samples with too few.

    Args:
        n: the fewest scored rollouts, from 1.

    Raises:
        RecipeError: it is not a whole number from 1.
    """

    n: int

    def __post_init__(self) -> None:
        options.whole(self, "n", 1)

    def __call__(self, stats: SampleStats) -> Floats:
        return np.where(stats.n >= self.n, 1.0, 0.0)


@dataclass(frozen=True)
class Source(_KeepOrLeave):
    """1 for samples of some sources, else 0.

    Args:
        exclude: sources that are left out.
        only: the sources that stay; none named, all stay. A sample of an unknown source is none of them.

    Raises:
        RecipeError: they are not lists of texts, or a source is in both.

    >>> from grounding_rewards.pool import SampleStats
    >>> one = np.array([1, 1, 1])
    >>> Source(exclude=["web"])(SampleStats(one, one, one, source=np.array(["web", "app", None], dtype=object)))
    array([0., 1., 1.])
    """

    needs_one_of: ClassVar[tuple[str, ...]] = ("exclude", "only")

    exclude: Sequence[str] = ()
    only: Sequence[str] = ()

    def __post_init__(self) -> None:
        options.names(self, "exclude")
        options.names(self, "only")
        if set(self.exclude) & set(self.only):
            raise options.wrong(self, "exclude", f"other sources than only, {list(self.only)!r}")

    def __call__(self, stats: SampleStats) -> Floats:
        chosen = ~among(stats.source, self.exclude)
        return np.where(chosen & among(stats.source, self.only) if self.only else chosen, 1.0, 0.0)


def among(names: NDArray[np.object_], some: Sequence[str]) -> NDArray[np.bool_]:
    """Mark the names that are among some, (m,).

    >>> among(np.array(["a", None], dtype=object), ["a"])
    array([ True, False])
    """
    wanted = frozenset(some)
    return np.fromiter((name in wanted for name in names.tolist()), dtype=np.bool_, count=len(names))
