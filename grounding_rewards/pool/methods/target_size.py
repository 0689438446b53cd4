"""Weights by the size of targets (GUI-G1): small ones are difficult."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.pool.methods import Method, setting
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Range


@dataclass(frozen=True)
class TargetSize(Method):
    """Weights by 1 / a, a being the target's share of the image: small targets weigh more.

    ``published``: 0.5 + (1 / a - min) / (max - min), least and most being those of all samples. ``mean``: 1 / a over
    its mean, clipped to ``smallest`` and ``largest`` and divided by the mean, so that m samples have the sum m.
    1 where a is 0 or unknown, and in ``published`` where all 1 / a are equal, within 1e-6 of the largest.

    Range: 0.5 to 1.5 in ``published``, else smallest / largest to largest / smallest.

    Source: GUI-G1, arXiv 2505.15810, appendix C.3, is ``published``, with the area of the target as its relative size;
        ``mean`` is our own form.

    >>> one = np.ones(3, dtype=np.int64)
    >>> stats = SampleStats(one, one, one, target_area=np.array([0.04, 0.01, 0.0025]))
    >>> TargetSize()(stats).round(3), TargetSize(form="published")(stats)
    (array([0.143, 0.571, 2.286]), array([0.5, 0.7, 1.5]))
    """

    smallest: Annotated[float, Range(1e-6, 1)] = setting("the smallest weight of mean before the division", 0.1)
    largest: Annotated[float, Range(1, 1e6)] = setting("the largest one", 10.0)
    form: Literal["mean", "published"] = setting("the formula", "mean")

    def __post_init__(self) -> None:
        super().__post_init__()
        for each in fields(self)[:2]:
            if self.form == "published" and getattr(self, each.name) != each.default:
                raise options.wrong(self, each.name, "none with form 'published'")

    @property
    def low(self) -> float:
        return 0.5 if self.form == "published" else self.smallest / self.largest

    @property
    def high(self) -> float:
        return 1.5 if self.form == "published" else self.largest / self.smallest

    def __call__(self, stats: SampleStats) -> Floats:
        stats.check_known("target_area", "target and image_size")
        weights, known = np.ones(len(stats)), stats.target_area > 0.0
        area = stats.target_area[known]
        if not len(area):
            return weights
        inverse = area.min() / area  # up to a factor; 1 / a may be infinite
        if self.form == "mean":
            clipped = np.clip(inverse / inverse.mean(), self.smallest, self.largest)
            weights[known] = clipped / clipped.mean()
        elif inverse.max() - inverse.min() > NO_SIGNAL:  # boxes of one size, at other places, differ by rounding
            weights[known] = 0.5 + (inverse - inverse.min()) / (inverse.max() - inverse.min())
        return weights
