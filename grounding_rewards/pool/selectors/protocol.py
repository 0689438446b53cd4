"""Protocol of selectors, and the call that checks their weights."""

from __future__ import annotations

from typing import Protocol

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError, SelectorError, short_repr
from grounding_rewards.plugins.named import NamedTerm
from grounding_rewards.plugins.registry import origin
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers.contract import SELECTOR, checked_scores, why_invalid


class Selector(Protocol):
    """Map from n samples to n weights between ``low`` and ``high``; a weight of 0 leaves a sample out.

    A pool is drawn by weights from 0; negative ones are only for callers of a selector alone.
    """

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    def __call__(self, stats: SampleStats) -> Floats: ...


def select(stats: SampleStats, selector: Selector) -> Floats:
    """Return the weight of each sample, checked: (m,) float64.

    Args:
        stats: m samples.
        selector: weighs them; build one with ``pool.selector("band", low_rate=0.2)``.

    Raises:
        SelectorError: it is no selector, raised, or did not return m finite weights within its bounds;
            names it, its plugin and the sample.

    >>> from grounding_rewards.pool import Band, Unsolved, sample_stats
    >>> stats = sample_stats(["easy", "easy", "new", "hard", "hard"], [1, 1, None, 0, 1])
    >>> select(stats, Unsolved()).tolist(), select(stats, Band(0.25, 0.75)).tolist()
    ([0.0, 1.0, 1.0], [0.0, 0.0, 1.0])
    """
    problem, cause = why_invalid(selector, SELECTOR), None
    label = f"selector {name_of(selector)}{origin(selector)}"
    if not problem:
        try:
            returned = selector(stats)
        except PoolError as error:  # a refusal of these samples, in the selector's own words
            raise SelectorError(f"{label}: {error}") from error
        except (Exception, SystemExit) as error:  # a selector is anybody's code; exit() must not end the run
            problem, cause = f"raised {type(error).__name__}: {error}", error
    if not problem:
        try:
            return checked_scores(returned, selector.low, selector.high, len(stats), stats.named)
        except ValueError as error:
            problem = str(error)
    raise SelectorError(f"{label} {problem}") from cause


def name_of(selector: object) -> str:
    """Return the name of a selector for errors: the place in code that a config names, in full, else its repr."""
    return selector.name if isinstance(selector, NamedTerm) else short_repr(selector)
