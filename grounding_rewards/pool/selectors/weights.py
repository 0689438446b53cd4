"""Selectors that weigh samples against one another, and the product of several selectors."""

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
from grounding_rewards.verifiers.contract import SELECTOR, why_invalid


@dataclass(frozen=True)
class Learnability:
    """p · (1 - p), p being the pass rate: the variance of a right or wrong answer, most where half of them are right.

    0 where all rollouts agree, and where none was scored: never-solved samples are left out.

    Args:
        unbiased: times n / (n - 1), for samples with different numbers of rollouts: the estimate of p (1 - p) from n
            rollouts is too low by this factor on average. 0 for one rollout, up to 0.5 for two.
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
        """Return the largest weight: that of one right of two where it is unbiased, else of half right."""
        return 0.25 * (2.0 if self.unbiased else 1.0) * (4.0 if self.scaled else 1.0)

    def __call__(self, stats: SampleStats) -> Floats:
        right, n = stats.num_correct.astype(np.float64), np.maximum(stats.n, 1)  # 0 of 0 right is 0 of 1
        fewer = np.maximum(n - 1, 1) if self.unbiased else n  # one rollout is all right or all wrong, so 0 above
        weights: Floats = right / n * ((stats.n - right) / fewer)
        return weights * 4.0 if self.scaled else weights


@dataclass(frozen=True)
class Every:
    """The product of several selectors' weights: a sample that one of them leaves out is out.

    Args:
        selectors: one or more, as objects, names or mappings with ``name`` and arguments.

    Raises:
        RecipeError: the list is empty, or a selector cannot be built.
        SelectorError: one of them breaks its contract; names it.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a", "a", "b", "b"], [1, 0, 0, 0])
    >>> Every([{"name": "min_rollouts", "n": 2}, "learnability"])(stats)
    array([0.25, 0.  ])
    """

    selectors: Sequence[Selector | str | Mapping[str, Any]]

    def __post_init__(self) -> None:
        if isinstance(self.selectors, str | Mapping) or not isinstance(self.selectors, Sequence) or not self.selectors:
            raise options.wrong(self, "selectors", "a list of one selector or more")
        object.__setattr__(self, "selectors", tuple(map(built, self.selectors)))  # a tuple has a hash

    @property
    def low(self) -> float:
        """Return the lowest product of bounds."""
        return min(self._corners())

    @property
    def high(self) -> float:
        """Return the highest product of bounds."""
        return max(self._corners())

    def __call__(self, stats: SampleStats) -> Floats:
        return reduce(_product, (select(stats, part) for part in self._built()), np.ones(len(stats)))

    def _built(self) -> tuple[Selector, ...]:
        return self.selectors  # type: ignore[return-value]

    def _corners(self) -> list[float]:
        bounds = [1.0, 1.0]
        for part in self._built():
            # All four: two negative bounds may have the highest product.
            corners = _product(np.array(bounds)[:, None], np.array([part.low, part.high], dtype=np.float64))
            bounds = [float(corners.min()), float(corners.max())]
        return bounds


def _product(one: Floats, other: Floats) -> Floats:
    """Return the product of weights, which is 0 only where a factor is: an underflow becomes the smallest float."""
    product: Floats = one * other
    lost = (product == 0.0) & (one != 0.0) & (other != 0.0)  # 0 would leave the sample out
    return np.where(lost, np.copysign(_SMALLEST, product), product)


_SMALLEST = np.nextafter(0.0, 1.0)


def sources_of(selector: object) -> tuple[str, ...]:
    """Return the sources that a selector, or one inside of it, names.

    >>> sources_of(Every([{"name": "source", "exclude": ["web"]}, "unsolved"]))
    ('web',)
    """
    if isinstance(selector, Every):
        return tuple(name for inner in selector.selectors for name in sources_of(inner))
    return (*selector.exclude, *selector.only) if isinstance(selector, Source) else ()


def built(spec: Selector | str | Mapping[str, Any]) -> Selector:
    """Return a selector, built where a name or a mapping specifies it.

    Raises:
        RecipeError: it is no selector.
    """
    if isinstance(spec, str | Mapping):
        return selector(spec)
    if wrong := why_invalid(spec, SELECTOR):
        raise RecipeError(f"selector {spec!r:.80} {wrong}")
    return spec
