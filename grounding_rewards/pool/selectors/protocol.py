"""What a selector is, statistics of samples to weights, and how one is called."""

from __future__ import annotations

from typing import Protocol

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import SelectorError, short_repr
from grounding_rewards.plugins.named import NamedTerm
from grounding_rewards.plugins.registry import origin
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers.contract import SELECTOR, complaint, within


class Selector(Protocol):
    """n samples to n weights between ``low`` and ``high``; a weight of 0 leaves a sample out.

    A pool is drawn by weights from 0; those below are of use to whoever calls a selector alone.
    """

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    def __call__(self, stats: SampleStats) -> Floats: ...


def select(stats: SampleStats, selector: Selector) -> Floats:
    """The weight of each sample, checked: (m,) float64.

    Args:
        stats: m samples.
        selector: weighs them; build one with ``pool.selector("band", low_rate=0.2)``.

    Raises:
        SelectorError: it is none, it raised, or it returned something other than m finite weights within its bounds;
            names it, its plugin and the sample.

    >>> from grounding_rewards.pool import Band, Unsolved, sample_stats
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
    raise SelectorError(f"selector {called(selector)}{origin(selector)} {said}") from cause


def called(selector: object) -> str:
    """A selector in errors: by its place in code in full where a config named it so, for that ends with its name."""
    return selector.name if isinstance(selector, NamedTerm) else short_repr(selector)
