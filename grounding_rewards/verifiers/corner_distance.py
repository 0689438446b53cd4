"""How far from the corners inside the target, and how far from the target outside?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers.alternatives import OfPlaces
from grounding_rewards.verifiers.base import NEEDS_SCREEN
from grounding_rewards.verifiers.screen import screens


@dataclass(frozen=True)
class CornerDistance(OfPlaces):
    """2 · (distance to the nearest corner) / diagonal inside the box; below 0 outside, by the distance to it.

    Inside, borders included: 1.0 at the centre, 0.0 at a corner, and nearly 1.0 at the middle of a long edge. Outside:
    -dist(p, box) / (the largest dist(q, box) of a corner q of the image), at least -1.0. No predicted point, or a box
    without width or height: -1.0. Circles and polygons count as their bounding boxes. Several places: the best one's
    score.

    Raises:
        TargetError: the recipe works in a pixel space, and a target's image size is unknown.

    Source: GroundCUA 81136d4, ``training/rl/recipe/groundnext/reward_clipped.py``.
    """

    low = -1.0
    high = 1.0
    needs = NEEDS_SCREEN

    def places(self, rollouts: Rollouts) -> Floats:
        """Score m places."""
        regions = rollouts.targets.regions
        size = screens(rollouts, type(self).__name__)
        upper, lower = regions.box[:, :2], regions.box[:, 2:]
        xy, extent = rollouts.predictions.xy.take(regions.row, axis=0), lower - upper
        margin = np.minimum(xy - upper, lower - xy)
        inside = np.minimum(margin[:, 0], margin[:, 1]) >= 0
        length = _length(np.where(inside[:, None], margin, np.minimum(margin, 0.0)))
        farthest = _length(np.maximum(np.maximum(upper, size - lower), 0.0))
        flat = np.minimum(extent[:, 0], extent[:, 1]) <= 0
        whole = np.maximum(np.where(inside & ~flat, _length(extent) / 2, farthest), _NEARLY_NOTHING)
        share = np.fmin(length / whole, 1.0)  # fmin takes the 1.0 where there is no point
        score = np.where(flat, -1.0, np.where(inside, share, -share))
        return score


_NEARLY_NOTHING = 1e-9
"""Stands for no distance at all, as from the image's corners to a box that covers them, so that it can divide."""


def _length(offsets: Floats) -> Floats:
    squares = offsets * offsets
    length: Floats = np.sqrt(squares[:, 0] + squares[:, 1])
    return length
