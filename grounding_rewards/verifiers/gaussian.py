"""Gaussian scores: the answer's density under a Gaussian of the target's place and size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers.options import Length, Positive, Range
from grounding_rewards.verifiers.terms import OfPlaces

_NARROWEST = 1e-100
"""Gaussians narrower than this count as points; squares of smaller numbers would be 0."""


Digits = Annotated[int, Range(0, 15, whole=True)]


@dataclass(frozen=True)
class _Gaussian(OfPlaces):
    alpha: Positive = 0.5
    least: Length = 0.0
    digits: Digits | None = None

    def _sigma(self, box: Floats) -> Floats:
        """Return σ along x and y: (n, 2)."""
        sigma = self.alpha * np.abs(box[:, 2:] - box[:, :2])
        return np.maximum(sigma, self.least) if self.least else sigma

    def _rounded(self, score: Floats) -> Floats:
        # fmax reads a NaN, which a row without an answer has, as 0.0.
        score = np.fmax(score, 0.0)
        return score if self.digits is None else score.round(self.digits)


@dataclass(frozen=True)
class GaussianPoint(_Gaussian):
    """exp(-½ [(x - cx)² / σx² + (y - cy)² / σy²]), σ = alpha · width and alpha · height of the target's box.

    (x, y) is the predicted point, or the centre of a predicted box, and (cx, cy) the centre of the target's box, or of
    the bounding box of a polygon or circle. From 1.0 at the centre, with alpha 0.5, through 0.607 in the middle of an
    edge and 0.368 at a corner towards 0.0 far away; without a predicted point 0.0. A target without extent along an
    axis scores only where the point is exactly there. Several places: the best one's score.

    Args:
        alpha: σ as a share of the target's sides; above 0.
        least: the smallest σ, for boxes of a few pixels, in units of the recipe's space.
        digits: round to so many decimals.

    Source: GUI-G2 5c5c365, ``src/gui_g2/src/open_r1/gaussian_grpo.py``, "gaussian point reward".
    """

    def places(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        off = regions.each(rollouts.predictions.xy) - regions.centre
        off = off / np.maximum(self._sigma(regions.box), _NARROWEST)
        score = np.exp(-0.5 * (off[:, 0] * off[:, 0] + off[:, 1] * off[:, 1]))
        return self._rounded(score)


@dataclass(frozen=True)
class GaussianCoverage(_Gaussian):
    """Bhattacharyya coefficient of two Gaussians, one about the predicted box and one about the target's.

    ∫ √(p · q) = Π over both axes √(2 σ τ / (σ² + τ²)) · exp(-d² / (4 (σ² + τ²))), with σ and τ = alpha times the sides
    of the predicted and the target's box, and d the distance of their centres. 1.0 for equal boxes, towards 0.0 for
    boxes far apart or of very different size. A box without extent along an axis covers only its equal there: 1 where
    both have none and lie in one place, else 0. The order of a box's corners does not matter. 0.0 without a predicted
    box. A circle or polygon counts as its bounding box. Several places: the best one's score.

    Args:
        alpha: σ as a share of a box's sides; above 0.
        least: the smallest σ, for boxes of a few pixels, in units of the recipe's space.
        digits: round to so many decimals.

    Source: GUI-G2 5c5c365, ``src/gui_g2/src/open_r1/gaussian_grpo.py``, "gaussian plane reward"; there with 1e-8 added
    to determinants, which makes the coefficient of small boxes anything up to infinity.
    """

    def places(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        box = regions.each(rollouts.predictions.box)
        sigma, tau = self._sigma(box), self._sigma(regions.box)
        spread = sigma * sigma + tau * tau
        alike, off = 2.0 * sigma * tau, geometry.centre(box) - regions.centre
        off = off * off
        if np.count_nonzero(flat := spread < _NARROWEST * _NARROWEST):
            spread = np.where(flat, 1.0, spread)
            alike, off = np.where(flat, off == 0, alike), np.where(flat, 0.0, off)
        alike, off = alike / spread, off / spread
        score = np.sqrt(alike[:, 0] * alike[:, 1]) * np.exp(-0.25 * (off[:, 0] + off[:, 1]))
        return self._rounded(np.minimum(score, 1.0))  # of nearly equal boxes it may round beyond 1
