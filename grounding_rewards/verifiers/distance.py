"""How close to the centre does the click land?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.columns import Rollouts
from grounding_rewards.spaces import Floats
from grounding_rewards.targets import Regions
from grounding_rewards.truth import RegionKind
from grounding_rewards.verifiers.base import NEEDS_NOTHING
from grounding_rewards.verifiers.hit import PolygonRule, inside_regions


@dataclass(frozen=True)
class InsideDistance:
    """1 - ||p - c|| / diagonal inside the target, 0.0 outside: a hit is worth 0.5 (corner) to 1.0 (centre).

    c is the centre of a box or circle and the mean of a polygon's corners; the diagonal is that of the bounding box.
    A hit on a box without extent is worth 1.0. Several places: the best one's score.

    Args:
        polygon: border rule of polygons, as in ``Hit``.
    """

    polygon: PolygonRule = "inclusive"

    low = 0.0
    high = 1.0
    needs = NEEDS_NOTHING

    def __call__(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        xy = rollouts.predictions.xy
        inside = inside_regions(xy, regions, self.polygon)
        diagonal = geometry.diagonal(regions.box)
        away = geometry.distance(xy[regions.row], _centres(regions)) / np.where(diagonal > 0, diagonal, 1.0)
        score = np.where(inside, 1.0 - np.minimum(away, 1.0), 0.0)
        return regions.best(score, len(rollouts))


def _centres(regions: Regions) -> Floats:
    polygons = regions.kind == RegionKind.POLYGON
    if not polygons.any():
        return regions.centre
    means = geometry.polygon_means(regions.vertices, regions.offsets)
    return np.where(polygons[:, None], means, regions.centre)
