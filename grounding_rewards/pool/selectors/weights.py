"""Selectors that weigh samples against one another, and one that joins several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError
from grounding_rewards.plugins.named import selector
from grounding_rewards.pool.selectors.bands import TRUTH, Source
from grounding_rewards.pool.selectors.protocol import Selector, select
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.contract import SELECTOR, complaint


@dataclass(frozen=True)
class Learnability:
    """p · (1 - p), p being the pass rate: the variance of a right or wrong answer, most where half of them are right.

    0 where all rollouts agree, and where none was scored; so it leaves out samples that are never solved.

    Args:
        unbiased: times n / (n - 1), for samples with different numbers of rollouts: n looks find p (1 - p) too low by
            this factor on average. 0 for a sample of one rollout. Up to 0.5 then, of two rollouts.
        scaled: times 4, so that half right has the weight 1.

    Range: 0 to 0.25; twice that where it is unbiased, and four times where it is scaled.

    Source: MMR1, arXiv 2509.21268, section 3 (outcome variance score), without its scaling by the data set's extremes.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 4 + ["b"] * 2, [1, 0, 0, 0, 1, 0])
    >>> Learnability()(stats), Learnability(unbiased=True)(stats)
    (array([0.1875, 0.25  ]), array([0.25, 0.5 ]))
    """

    unbiased: bool = False
    scaled: bool = False

    low = 0.0

    def __post_init__(self) -> None:
        options.choice(self, "unbiased", TRUTH)
        options.choice(self, "scaled", TRUTH)

    @property
    def high(self) -> float:
        """The weight of a sample of which half is right, of two rollouts where it is unbiased."""
        return 0.25 * (2.0 if self.unbiased else 1.0) * (4.0 if self.scaled else 1.0)

    def __call__(self, stats: SampleStats) -> Floats:
        """Weigh each sample."""
        right, n = stats.num_correct.astype(np.float64), np.maximum(stats.n, 1)
        fewer = np.maximum(n - 1, 1) if self.unbiased else n
        weights: Floats = right / n * ((stats.n - right) / fewer)
        return weights * 4.0 if self.scaled else weights


@dataclass(frozen=True)
class Every:
    """The product of several selectors' weights: what any of them leaves out is out.

    Args:
        selectors: one or more, as objects, names or mappings with ``name`` and arguments.

    Raises:
        RecipeError: there is none, or one cannot be built.
        SelectorError: one of them breaks its promises; names it.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a", "a", "b", "b"], [1, 0, 0, 0])
    >>> Every([{"name": "min_rollouts", "n": 2}, "learnability"])(stats)
    array([0.25, 0.  ])
    """

    selectors: Sequence[Selector | str | Mapping[str, Any]]

    def __post_init__(self) -> None:
        given = self.selectors
        if isinstance(given, str | Mapping) or not isinstance(given, Sequence) or not given:
            raise options.wrong(self, "selectors", "a list of one selector or more")
        object.__setattr__(self, "selectors", tuple(built(each) for each in given))

    @property
    def low(self) -> float:
        """The lowest product of bounds."""
        return min(self._corners())

    @property
    def high(self) -> float:
        """The highest."""
        return max(self._corners())

    def __call__(self, stats: SampleStats) -> Floats:
        """Weigh each sample."""
        return reduce(_product, (select(stats, each) for each in self._built()), np.ones(len(stats)))

    def _built(self) -> tuple[Selector, ...]:
        return self.selectors  # type: ignore[return-value]

    def _corners(self) -> list[float]:
        bounds = [1.0, 1.0]
        for each in self._built():
            corners = _product(np.array(bounds)[:, None], np.array([each.low, each.high], dtype=np.float64))
            bounds = [float(corners.min()), float(corners.max())]
        return bounds


def _product(one: Floats, other: Floats) -> Floats:
    """The product of weights; 0 only where one of them is, though others may be too small for a float.

    >>> _product(np.array([1e-200, 0.0, 0.5]), np.array([-1e-200, 0.5, 0.5])).tolist()
    [-5e-324, 0.0, 0.25]
    """
    found: Floats = one * other
    lost = (found == 0.0) & (one != 0.0) & (other != 0.0)
    return np.where(lost, np.copysign(_SMALLEST, found), found)


_SMALLEST = np.nextafter(0.0, 1.0)


def sources_of(selector: object) -> tuple[str, ...]:
    """The sources that a selector names, or those inside of it.

    >>> sources_of(Every([{"name": "source", "exclude": ["web"]}, "unsolved"]))
    ('web',)
    """
    if isinstance(selector, Every):
        return tuple(name for each in selector.selectors for name in sources_of(each))
    return (*selector.exclude, *selector.only) if isinstance(selector, Source) else ()


def built(given: Selector | str | Mapping[str, Any]) -> Selector:
    """A selector as it is, or from its name or mapping.

    Raises:
        RecipeError: it is none.
    """
    if isinstance(given, str | Mapping):
        return selector(given)
    if wrong := complaint(given, SELECTOR):
        raise RecipeError(f"selector {given!r:.80} {wrong}")
    return given
