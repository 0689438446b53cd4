"""What a selector is, and those that come with the package: statistics of samples to weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from grounding_rewards.errors import SelectorError
from grounding_rewards.plugins import origin, shown
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.promises import SELECTOR, complaint, within
from grounding_rewards.spaces import Floats
from grounding_rewards.verifiers import options


class Selector(Protocol):
    """n samples to n weights between ``low`` and ``high``; a weight of 0 leaves a sample out."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    def __call__(self, stats: SampleStats) -> Floats: ...


@dataclass(frozen=True)
class Unsolved:
    """0 where every scored rollout was right, else 1: drop what the policy can do already.

    A sample of which no rollout was scored stays.
    """

    low = 0.0
    high = 1.0

    def __call__(self, stats: SampleStats) -> Floats:
        """Weigh each sample."""
        return np.where((stats.n > 0) & (stats.num_correct == stats.n), 0.0, 1.0)


@dataclass(frozen=True)
class Band:
    """1 where low_rate <= pass rate <= high_rate, else 0: neither too hard nor too easy.

    Both edges are inside. A sample of which no rollout was scored has no pass rate, and is left out.

    Args:
        low_rate: the lowest pass rate that stays.
        high_rate: the highest.

    Raises:
        RecipeError: they are no numbers from 0 to 1 in order.
    """

    low_rate: float = 0.0
    high_rate: float = 1.0

    low = 0.0
    high = 1.0

    def __post_init__(self) -> None:
        options.number(self, "low_rate", 0.0, 1.0)
        options.number(self, "high_rate", 0.0, 1.0)
        if self.low_rate > self.high_rate:
            raise options.wrong(self, "low_rate", f"at most high_rate, {self.high_rate}")

    def __call__(self, stats: SampleStats) -> Floats:
        """Weigh each sample."""
        rate = stats.pass_rate
        return ((rate >= self.low_rate) & (rate <= self.high_rate)).astype(np.float64)


@dataclass(frozen=True)
class FunctionSelector:
    """A plain function as a selector."""

    fn: Callable[[SampleStats], Floats]
    low: float
    high: float

    def __call__(self, stats: SampleStats) -> Floats:
        """Weigh each sample."""
        return self.fn(stats)


def select(stats: SampleStats, selector: Selector) -> Floats:
    """The weight of each sample, checked: (m,) float64.

    Args:
        stats: m samples.
        selector: weighs them; build one with ``pool.selector("band", low_rate=0.2)``.

    Raises:
        SelectorError: it is none, it raised, or it returned something other than m finite weights within its bounds;
            names it, its plugin and the sample.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["easy", "easy", "new", "hard", "hard"], [1, 1, None, 0, 1])
    >>> select(stats, Unsolved()).tolist(), select(stats, Band(0.25, 0.75)).tolist()
    ([0.0, 1.0, 1.0], [0.0, 0.0, 1.0])
    """
    said, cause = complaint(selector, SELECTOR), None
    if not said:
        try:
            returned = selector(stats)
        except (Exception, SystemExit) as error:
            said, cause = f"raised {type(error).__name__}: {error}", error
    if not said:
        try:
            return within(returned, selector.low, selector.high, len(stats), stats.named)
        except ValueError as error:
            said = str(error)
    raise SelectorError(f"selector {shown(selector)}{origin(selector)} {said}") from cause
