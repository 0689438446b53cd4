"""How close to the centre does the click land?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.regions import Regions
from grounding_rewards.targets.target import RegionKind
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.alternatives import OfPlaces
from grounding_rewards.verifiers.base import NEEDS_SCREEN
from grounding_rewards.verifiers.hit import (
    CIRCLE,
    POINT,
    POLYGON,
    PolygonRule,
    check_reach,
    inside_regions,
    near_points,
)
from grounding_rewards.verifiers.screen import screens

Power = Literal[1, 2]


@dataclass(frozen=True)
class InsideDistance(OfPlaces):
    """1 - ||p - c|| / diagonal inside the target, 0.0 outside: a hit is worth 0.5 (corner) to 1.0 (centre).

    c is the centre of a box or circle and the mean of a polygon's corners; the diagonal is that of the bounding box.
    A hit on a box without extent is worth 1.0. Several places: the best one's score.

    Args:
        polygon: border rule of polygons, as in ``Hit``: ``"half_open"`` has left and top edges in, right and bottom
            edges out.
    """

    polygon: PolygonRule = "inclusive"

    low = 0.0
    high = 1.0

    def __post_init__(self) -> None:
        options.choice(self, "polygon", PolygonRule)

    def places(self, rollouts: Rollouts) -> Floats:
        """Score m places."""
        regions = rollouts.targets.regions
        xy = rollouts.predictions.xy
        inside = inside_regions(xy, regions, self.polygon)
        away = geometry.distance(regions.each(xy), _centres(regions))
        diagonal = geometry.diagonal(regions.box)
        if np.count_nonzero(diagonal) < len(diagonal):
            diagonal = np.where(diagonal > 0, diagonal, 1.0)
        # fmin reads a NaN, which a row without a point has, as 1.0; a product costs less than np.where.
        return (1.0 - np.fmin(away / diagonal, 1.0)) * inside


@dataclass(frozen=True)
class DenseDistance(OfPlaces):
    """From 1.0 at the centre through ``floor`` at the border towards 0.0 far away; no miss is worth as much as a hit.

    hit = floor + (1 - floor) · (1 - depth), in [floor, 1], with depth the share of the way from the centre to the
    border: max(|x - cx| / (w / 2), |y - cy| / (h / 2)) in a box, and in the bounding box of a polygon; ||p - c|| /
    radius in a circle or around a point. miss = floor / (1 + gap / s), always below ``floor``, with gap the distance
    to the place and s = diagonal of its (bounding) box + reach · diagonal of the screen. So a miss is worth half of
    ``floor`` at a gap of s: for a button of 80 x 40 on 1920 x 1080, 310 pixels away. No predicted point, or a refusal
    target: 0.0, less than any miss. Several places: the best one's score.

    Args:
        floor: what a hit on the border is worth, above 0 to 1. 1 pays all hits alike.
        reach: how far misses are told apart, as a share of the screen's diagonal; above 0.
        polygon: border rule of polygons, as in ``Hit``.
        point_radius: reach around a target that is only a point, as in ``Hit``.
        point_share: the same as a share of the screen, as in ``Hit``.

    Raises:
        TargetError: the recipe works in a pixel space, and a target's image size is unknown.
    """

    floor: float = 0.5
    reach: float = 0.1
    polygon: PolygonRule = "inclusive"
    point_radius: float | None = None
    point_share: float | None = None

    low = 0.0
    high = 1.0
    needs = NEEDS_SCREEN

    def __post_init__(self) -> None:
        options.number(self, "floor", high=1.0, above=True)
        options.number(self, "reach", above=True)
        options.choice(self, "polygon", PolygonRule)
        check_reach(self, "point_radius", "point_share")

    def places(self, rollouts: Rollouts) -> Floats:
        """Score m places."""
        regions, xy = rollouts.targets.regions, rollouts.predictions.xy
        screen = screens(rollouts, type(self).__name__)
        inside = inside_regions(xy, regions, self.polygon, self.point_radius)
        if self.point_share is not None:
            inside = inside | near_points(rollouts, "DenseDistance", regions.kind == POINT, self.point_share)
        with np.errstate(over="ignore"):
            depth, gap = self._measure(regions.each(xy), regions, screen)
        scale = geometry.diagonal(regions.box) + self.reach * geometry.lengths(screen)
        hit = self.floor + (1.0 - self.floor) * (1.0 - np.fmin(depth, 1.0))
        miss = np.minimum(self.floor * (scale / (scale + gap)), math.nextafter(self.floor, 0.0))
        # fmax reads a NaN, which a row without a point has, as 0.0.
        return np.where(inside, hit, np.fmax(miss, 0.0))

    def _measure(self, points: Floats, regions: Regions, screen: Floats) -> tuple[Floats, Floats]:
        """Depth and gap of each place's point: (m,) each, the depth of use inside and the gap outside."""
        offset = np.abs(points - regions.centre)
        half = (regions.box[:, 2:] - regions.box[:, :2]) / 2
        shares = offset / np.where(half > 0, half, 1.0)
        depth, gap = np.maximum(shares[:, 0], shares[:, 1]), geometry.box_gap(points, regions.box)
        if regions.plain:
            return depth, gap
        if RegionKind.POLYGON in regions.kinds:
            outline = geometry.outline_distance(points, regions.vertices, regions.offsets)
            gap = np.where(regions.kind == POLYGON, outline, gap)
        return self._measure_round(offset, regions, screen, depth, gap)

    def _measure_round(
        self, offset: Floats, regions: Regions, screen: Floats, depth: Floats, gap: Floats
    ) -> tuple[Floats, Floats]:
        """The same, with circles, and points that have a reach, measured from the centre through the border."""
        chosen, radii = regions.kind == CIRCLE, regions.radii
        if self.point_radius or self.point_share:
            reach = self.point_radius or (self.point_share or 0.0) * screen
            radii = np.where((regions.kind == POINT)[:, None], reach, radii)
            chosen = chosen | (regions.kind == POINT)
        shares = geometry.lengths(offset / radii)
        away = geometry.lengths(offset)
        return np.where(chosen, shares, depth), np.where(chosen, away - away / np.maximum(shares, 1.0), gap)


@dataclass(frozen=True)
class ScreenDistance(OfPlaces):
    """1 - (d / dmax)², inside the target and outside: the nearer to its centre on the screen, the more.

    With p and the centre c in shares of the screen's width and height: d = ||p - c||, and dmax is the largest distance
    from c to a corner of the image. 0.0 where d > 1 or d > dmax (far outside the image), without a predicted point and
    for a refusal target. The shape of the target does not matter: where it does, put this beside ``Hit``. A click
    anywhere on the screen is worth something. Several places: the best one's score.

    Args:
        power: 2 as above; 1 is the even decay 1 - d / dmax.

    Raises:
        TargetError: the recipe works in a pixel space, and a target's image size is unknown.

    Source: SE-GUI 0e26237, ``open_r1/vlm_modules/qwen_module.py``, the second term of ``point_reward``.
    """

    power: Power = 2

    low = 0.0
    high = 1.0
    needs = NEEDS_SCREEN

    def __post_init__(self) -> None:
        options.choice(self, "power", Power)

    def places(self, rollouts: Rollouts) -> Floats:
        """Score m places."""
        regions = rollouts.targets.regions
        screen = screens(rollouts, type(self).__name__)
        centre = _centres(regions) / screen
        away = geometry.distance(regions.each(rollouts.predictions.xy) / screen, centre)
        share = away / geometry.lengths(np.maximum(np.abs(centre), np.abs(1.0 - centre)))
        decay = 1.0 - (share if self.power == 1 else share * share)
        # fmax reads a NaN, which a row without a point has, as 0.0.
        return np.fmax(decay, 0.0) * (away <= 1.0)


def _centres(regions: Regions) -> Floats:
    """Centres of boxes, circles and points, and the means of polygons' corners: (m, 2)."""
    if RegionKind.POLYGON not in regions.kinds:
        return regions.centre
    polygons = regions.kind == POLYGON
    means = geometry.polygon_means(regions.vertices, regions.offsets)
    return np.where(polygons[:, None], means, regions.centre)
