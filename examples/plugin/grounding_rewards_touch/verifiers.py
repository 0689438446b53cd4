"""A finger is wide: a click near the border of a small button may land on its neighbour."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grounding_rewards import Rollouts
from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError


@dataclass(frozen=True)
class EdgeMargin:
    """min(d / margin, 1) for a point in the target's box, d being its distance to the nearest side; else 0.0.

    1.0 from ``margin`` on, 0.0 on the border, outside and without a predicted point. A polygon or circle counts as its
    bounding box. Several places: the best one's score.

    Args:
        margin: half a finger's width, in units of the recipe's space.

    Raises:
        RecipeError: ``margin`` is no number above 0.
    """

    margin: float = 8.0

    low = 0.0
    high = 1.0
    needs = frozenset[str]()
    reads = frozenset[str]()
    judges = frozenset({"bbox", "polygon", "circle"})

    def __post_init__(self) -> None:
        if not isinstance(self.margin, int | float) or not 0 < self.margin < math.inf:
            raise RecipeError(f"EdgeMargin(margin=): got {self.margin!r:.80}; expected a number above 0")

    def __call__(self, rollouts: Rollouts) -> Floats:
        """Score n rollouts."""
        regions = rollouts.targets.regions
        points = regions.each(rollouts.predictions.xy)
        inside = np.minimum(points - regions.box[:, :2], regions.box[:, 2:] - points).min(axis=1)
        scores = np.where(inside > 0, np.clip(inside / self.margin, 0.0, 1.0), 0.0)  # NaN is not above 0
        return regions.best(scores, len(rollouts))
