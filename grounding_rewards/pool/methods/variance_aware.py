"""Variance-aware sampling (MMR1): weights by the variance of outcomes and the diversity of answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.pool.methods import Method, setting
from grounding_rewards.pool.methods.answers import different_share
from grounding_rewards.pool.methods.learnability import Learnability
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Length, Share


@dataclass(frozen=True)
class VarianceAware(Method):
    """Draw a share of samples by score v = outcome_weight · p (1 - p) + diversity_weight · D, and the rest alike.

    The scores of m samples are scaled to s = (v - min) / (max - min + 1e-8); the weight is weighted_share · s / sum of
    s + (1 - weighted_share) / m, the chance of a sample, over the largest of them. Scores that are all equal, no more
    than 1e-6 apart, make all weights 1. An unknown D counts as 0, and so does p (1 - p) where nothing was scored.

    Source: MMR1, arXiv 2509.21268, section 3 (score, shares and defaults from its text, scaling from its code); all
        three D are our own form, for the paper's compare texts.

    >>> stats = SampleStats(*np.array([[0, 1, 2], [8, 8, 8], [4, 1, 0]]), distinct=np.array([6, 4, 8]))
    >>> VarianceAware(diversity="responses").scores(stats), VarianceAware(diversity="responses")(stats).round(3)
    (array([0.35  , 0.1875, 0.2   ]), array([1.   , 0.264, 0.321]))
    """

    outcome_weight: Length = setting("weight of the outcomes' variance", 0.8)
    diversity_weight: Length = setting("weight of D; not both 0", 0.2)
    diversity: Literal["dispersion", "cells", "responses"] = setting(
        "D: how far clicks lie apart (0.5 at most), (M - 1) / (n - 1) answers, or the share of different responses",
        "dispersion",
    )
    weighted_share: Share = setting("the share that goes by score; at 1 the lowest score is left out", 0.5)
    unbiased: bool = setting("times n / (n - 1), as in learnability", False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.outcome_weight == self.diversity_weight == 0:
            raise options.wrong(self, "outcome_weight", "a number above 0, for diversity_weight is 0")

    def scores(self, stats: SampleStats) -> Floats:
        """Return v, (m,)."""
        if self.diversity == "dispersion":
            diversity = np.minimum(stats.dispersion, 0.5)  # half of the clicks in each of two opposite corners
        elif self.diversity == "cells":
            diversity = different_share(stats)
        else:
            diversity = np.minimum(np.maximum(stats.distinct, 0) / np.maximum(stats.n, 1), 1.0)
        outcomes = Learnability(unbiased=self.unbiased)(stats)
        return self.outcome_weight * outcomes + self.diversity_weight * np.where(np.isnan(diversity), 0.0, diversity)

    def scaled(self, stats: SampleStats) -> Floats:
        """Return s, (m,), from 0 to 1; 0 for all where scores are all equal."""
        scores = self.scores(stats)
        if not len(scores):
            return scores
        above = scores - scores.min()
        # Relative, for only the ratio of the two weights counts, up to the epsilon.
        alike = above.max() <= NO_SIGNAL * (self.outcome_weight + self.diversity_weight)
        return np.zeros(len(scores)) if alike else above / (above.max() + 1e-8)

    def __call__(self, stats: SampleStats) -> Floats:
        scaled = self.scaled(stats)
        if scaled.sum() == 0.0:
            return np.ones(len(stats))
        chances = self.weighted_share * scaled / scaled.sum() + (1.0 - self.weighted_share) / len(stats)
        weights: Floats = chances / chances.max()
        return weights
