"""Filters: weights of 1 (keep) and 0 (leave out), and the product of several methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.plugins.named import selector
from grounding_rewards.pool.methods import Method, select, setting
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.stats.intervals import wilson
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Count, Length, Number, Share
from grounding_rewards.verifiers.terms import BOUNDS, why_invalid


@dataclass(frozen=True)
class Unsolved(Method):
    """Drop samples that are always solved. A sample of which no rollout was scored stays."""

    def __call__(self, stats: SampleStats) -> Floats:
        return np.where(stats.all_correct, 0.0, 1.0)


@dataclass(frozen=True)
class Band(Method):
    """Keep low_rate < pass rate < high_rate. A sample of which no rollout was scored is left out, unless confident.

    Source: open-r1, scripts/pass_rate_filtering; Wilson (1927) for the interval.

    >>> from grounding_rewards.pool import sample_stats
    >>> none_of_four = sample_stats(["a"] * 4, [0] * 4)
    >>> Band(0.2, 0.8)(none_of_four), Band(0.2, 0.8, confident=True)(none_of_four)
    (array([0.]), array([1.]))
    """

    low_rate: Share = setting("the pass rate below those that stay", 0.0)
    high_rate: Share = setting("the pass rate above them", 1.0)
    inclusive: bool = setting("keep the edges, too", False)
    confident: bool = setting("leave out only what the 95 % Wilson interval of the pass rate is outside of", False)

    def __post_init__(self) -> None:
        super().__post_init__()
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
class MeanBand(Method):
    """Keep low_mean < mean total < high_mean; equal totals between the two stay. Without totals it is a PoolError.

    Source: EasyR1, verl/trainer/ray_trainer.py, online_filtering.
    """

    low_mean: Number = setting("the mean below those that stay", 0.01)
    high_mean: Number = setting("the mean above them", 0.99)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low_mean >= self.high_mean:
            raise options.wrong(self, "low_mean", f"below high_mean, {self.high_mean}")

    def __call__(self, stats: SampleStats) -> Floats:
        stats.check_known("mean", "total")
        return np.where((stats.mean > self.low_mean) & (stats.mean < self.high_mean), 1.0, 0.0)


@dataclass(frozen=True)
class Spread(Method):
    """Keep highest - lowest total > 1e-6: DAPO's dynamic sampling. A group of one rollout stays, its signal unknown.

    Source: DAPO, arXiv 2503.14476, section 3.2; UI-S1, verl/trainer/ppo/dapo_ray_trainer.py, for the threshold.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 3 + ["b"] * 2, [1, 1, 1, 0, 1], total=[0.1, 0.1, 0.1, 0.0, 0.5])
    >>> Spread()(stats), Spread(threshold=0.3)(stats)
    (array([0., 1.]), array([0., 0.]))
    """

    threshold: Length = setting("the standard deviation (of n) must be above this as well; UI-S1 has 0.3", 0.0)

    def __call__(self, stats: SampleStats) -> Floats:
        stats.check_known("spread", "total")
        # Not by the deviation alone: that of equal floats need not be 0.
        apart = (stats.spread > NO_SIGNAL) & (np.sqrt(stats.variance) > self.threshold)
        return np.where(apart | (stats.n == 1), 1.0, 0.0)


@dataclass(frozen=True)
class MinRollouts(Method):
    """Keep samples with at least n scored rollouts."""

    n: Count = setting("the fewest scored rollouts")

    def __call__(self, stats: SampleStats) -> Floats:
        return np.where(stats.n >= self.n, 1.0, 0.0)


@dataclass(frozen=True)
class Source(Method):
    """Keep samples of some sources. A sample of an unknown source is none of them.

    >>> one = np.array([1, 1, 1])
    >>> Source(exclude=["web"])(SampleStats(one, one, one, source=np.array(["web", "app", None], dtype=object)))
    array([0., 1., 1.])
    """

    needs_one_of = ("exclude", "only")

    exclude: tuple[str, ...] = setting("sources that are left out", ())
    only: tuple[str, ...] = setting("the sources that stay; none named, all stay", ())

    def __post_init__(self) -> None:
        super().__post_init__()
        if set(self.exclude) & set(self.only):
            raise options.wrong(self, "exclude", f"other sources than only, {list(self.only)!r}")

    def __call__(self, stats: SampleStats) -> Floats:
        chosen = ~among(stats.source, self.exclude)
        return np.where(chosen & among(stats.source, self.only) if self.only else chosen, 1.0, 0.0)


@dataclass(frozen=True)
class Every(Method):
    """The product of several selectors' weights: a sample that one of them leaves out is out.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a", "a", "b", "b"], [1, 0, 0, 0])
    >>> Every([{"name": "min_rollouts", "n": 2}, "learnability"])(stats)
    array([0.25, 0.  ])
    """

    selectors: Sequence[Any] = setting("one or more, as objects, names or mappings with ``name`` and arguments")

    def __post_init__(self) -> None:
        if isinstance(self.selectors, str | Mapping) or not isinstance(self.selectors, Sequence) or not self.selectors:
            raise options.wrong(self, "selectors", "a list of one selector or more")
        object.__setattr__(self, "selectors", tuple(map(built, self.selectors)))  # a tuple has a hash

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple({name: None for part in self.selectors for name in getattr(part, "needs", ())})

    @property
    def low(self) -> float:
        return min(self._corners())

    @property
    def high(self) -> float:
        return max(self._corners())

    def __call__(self, stats: SampleStats) -> Floats:
        return reduce(_product, (select(stats, part) for part in self.selectors), np.ones(len(stats)))

    def _corners(self) -> list[float]:
        bounds = [1.0, 1.0]
        for part in self.selectors:
            # All four: two negative bounds may have the highest product.
            corners = _product(np.array(bounds)[:, None], np.array([part.low, part.high], dtype=np.float64))
            bounds = [float(corners.min()), float(corners.max())]
        return bounds


def _product(one: Floats, other: Floats) -> Floats:
    """Return the product of weights, which is 0 only where a factor is: an underflow becomes the smallest float."""
    product: Floats = one * other
    lost = (product == 0.0) & (one != 0.0) & (other != 0.0)  # 0 would leave the sample out
    return np.where(lost, np.copysign(np.nextafter(0.0, 1.0), product), product)


def among(names: NDArray[np.object_], some: Iterable[Any]) -> NDArray[np.bool_]:
    """Mark the names that are among some, (m,)."""
    wanted = frozenset(some)
    return np.fromiter((name in wanted for name in names.tolist()), dtype=np.bool_, count=len(names))


def sources_of(selector: object) -> tuple[str, ...]:
    """Return the sources that a selector, or one inside of it, names."""
    if isinstance(selector, Every):
        return tuple(name for inner in selector.selectors for name in sources_of(inner))
    return (*selector.exclude, *selector.only) if isinstance(selector, Source) else ()


def built(spec: Any) -> Any:
    """Return a selector, built where a name or a mapping specifies it."""
    if isinstance(spec, str | Mapping):
        return selector(spec)
    if wrong := why_invalid(spec, BOUNDS):
        raise RecipeError(f"selector {spec!r:.80} {wrong}")
    return spec
