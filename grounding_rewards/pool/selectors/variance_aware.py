"""Variance-aware sampling: weights by the variance of outcomes and the diversity of answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.pool.selectors.answers import different_share
from grounding_rewards.pool.selectors.bands import TRUTH
from grounding_rewards.pool.selectors.weights import Learnability
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options

Diversity = Literal["dispersion", "cells", "responses"]

_CORNERS = 0.5
"""Largest dispersion of clicks inside of an image: half of them in each of two opposite corners."""

_EPSILON = 1e-8


@dataclass(frozen=True)
class VarianceAware:
    """Draw a share of samples by score v = outcome_weight · p (1 - p) + diversity_weight · D, and the rest alike.

    p is the pass rate, D the diversity of the rollouts. The scores of m samples are scaled to s = (v - min) / (max -
    min + 1e-8); the weight is weighted_share · s / sum of s + (1 - weighted_share) / m, the chance of a sample, over
    the largest of them. Scores that are all equal, which is no more than 1e-6 apart, make all weights 1.

    Args:
        outcome_weight: weight of the outcomes' variance.
        diversity_weight: weight of D; not both 0.
        diversity: D. ``dispersion``: how far clicks lie apart, as in ``SampleStats``, 0.5 at most; ``cells``: (M - 1) /
            (n - 1) for M different answers of n rollouts; ``responses``: the share of different responses.
        weighted_share: the share that goes by score. At 1 a sample of the lowest score is left out.
        unbiased: times n / (n - 1), as in ``Learnability``, for samples with different numbers of rollouts.

    An unknown D counts as 0, and so does p (1 - p) where nothing was scored.

    Raises:
        RecipeError: an option does not fit.

    Source: MMR1, arXiv 2509.21268, section 3 (score, shares and defaults from its text, scaling from its code); all
        three D are our own form, for the paper's compare texts.

    >>> stats = SampleStats(*np.array([[0, 1, 2], [8, 8, 8], [4, 1, 0]]), distinct=np.array([6, 4, 8]))
    >>> VarianceAware(diversity="responses").scores(stats), VarianceAware(diversity="responses")(stats).round(3)
    (array([0.35  , 0.1875, 0.2   ]), array([1.   , 0.264, 0.321]))
    """

    outcome_weight: float = 0.8
    diversity_weight: float = 0.2
    diversity: Diversity = "dispersion"
    weighted_share: float = 0.5
    unbiased: bool = False

    low = 0.0
    high = 1.0

    def __post_init__(self) -> None:
        options.number(self, "outcome_weight")
        options.number(self, "diversity_weight")
        options.choice(self, "diversity", Diversity)
        options.number(self, "weighted_share", 0.0, 1.0)
        options.choice(self, "unbiased", TRUTH)
        if self.outcome_weight == self.diversity_weight == 0:
            raise options.wrong(self, "outcome_weight", "a number above 0, for diversity_weight is 0")

    def scores(self, stats: SampleStats) -> Floats:
        """Return v, (m,)."""
        outcomes = Learnability(unbiased=self.unbiased)(stats)
        return self.outcome_weight * outcomes + self.diversity_weight * self._diversity(stats)

    def scaled(self, stats: SampleStats) -> Floats:
        """Return s, (m,), from 0 to 1; 0 for all where scores are all equal."""
        scores = self.scores(stats)
        if not len(scores):
            return scores
        above = scores - scores.min()
        apart = above.max()
        # Relative, for only the ratio of the two weights counts, up to the epsilon.
        alike = apart <= NO_SIGNAL * (self.outcome_weight + self.diversity_weight)
        return np.zeros(len(scores)) if alike else above / (apart + _EPSILON)

    def __call__(self, stats: SampleStats) -> Floats:
        scaled = self.scaled(stats)
        total = scaled.sum()
        if total == 0.0:
            return np.ones(len(stats))
        chances = self.weighted_share * scaled / total + (1.0 - self.weighted_share) / len(stats)
        weights: Floats = chances / chances.max()
        return weights

    def _diversity(self, stats: SampleStats) -> Floats:
        if self.diversity == "dispersion":
            diversity = np.minimum(stats.dispersion, _CORNERS)
        elif self.diversity == "cells":
            diversity = different_share(stats)
        else:
            diversity = np.minimum(np.maximum(stats.distinct, 0) / np.maximum(stats.n, 1), 1.0)
        return np.where(np.isnan(diversity), 0.0, diversity)
