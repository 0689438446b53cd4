"""Weights by the size of targets: small ones are difficult."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options

Form = Literal["mean", "published"]
_CLIP = 0.1, 10.0


@dataclass(frozen=True)
class TargetSize:
    """Weights by 1 / a, a being the target's share of the image: small targets weigh more.

    ``published``: 0.5 + (1 / a - min) / (max - min), least and most being those of all samples. ``mean``: 1 / a over
    its mean, clipped to ``smallest`` and ``largest`` and divided by the mean, so that m samples have the sum m.
    1 where a is 0 or unknown, and in ``published`` where all a are equal.

    Args:
        smallest: the smallest weight before the division, from 1e-6 to 1; of ``mean`` alone.
        largest: the largest one, from 1 to 1e6; of ``mean`` alone.
        form: ``mean`` or ``published``.

    Raises:
        RecipeError: an option does not fit.
        PoolError: when called: a is unknown of all samples.

    Range: 0.5 to 1.5 in ``published``, else smallest / largest to largest / smallest.

    Source: GUI-G1, arXiv 2505.15810, appendix C.3, is ``published``, with the area of the target as its relative size;
        ``mean`` is our own form.

    >>> one = np.ones(3, dtype=np.int64)
    >>> stats = SampleStats(one, one, one, target_area=np.array([0.04, 0.01, 0.0025]))
    >>> TargetSize()(stats).round(3), TargetSize(form="published")(stats)
    (array([0.143, 0.571, 2.286]), array([0.5, 0.7, 1.5]))
    """

    smallest: float = _CLIP[0]
    largest: float = _CLIP[1]
    form: Form = "mean"

    def __post_init__(self) -> None:
        options.number(self, "smallest", 1e-6, 1.0)
        options.number(self, "largest", 1.0, 1e6)
        options.choice(self, "form", Form)
        for name, default in zip(("smallest", "largest"), _CLIP, strict=True):
            if self.form == "published" and getattr(self, name) != default:
                raise options.wrong(self, name, "none with form 'published'")

    @property
    def low(self) -> float:
        """Return the smallest weight: one of the smallest among the largest."""
        return 0.5 if self.form == "published" else self.smallest / self.largest

    @property
    def high(self) -> float:
        """Return the largest weight: one of the largest among the smallest."""
        return 1.5 if self.form == "published" else self.largest / self.smallest

    def __call__(self, stats: SampleStats) -> Floats:
        stats.check_known("target_area", "target and image_size")
        weights = np.ones(len(stats))
        known = stats.target_area > 0.0
        area = stats.target_area[known]
        if len(area):
            inverse = area.min() / area  # up to a factor; 1 / a may be infinite
            weights[known] = _published(inverse) if self.form == "published" else self._of_mean(inverse)
        return weights

    def _of_mean(self, inverse: Floats) -> Floats:
        clipped = np.clip(inverse / inverse.mean(), self.smallest, self.largest)
        weights: Floats = clipped / clipped.mean()
        return weights


def _published(inverse: Floats) -> Floats:
    low, high = inverse.min(), inverse.max()
    return 0.5 + (inverse - low) / (high - low) if high > low else np.ones(len(inverse))
