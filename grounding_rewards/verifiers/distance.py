"""Distance scores: by the way from the click to the target's centre, border or corners, and by Gaussians."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.regions import Regions
from grounding_rewards.targets.target import RegionKind
from grounding_rewards.verifiers.hit import (
    CIRCLE,
    POINT,
    POLYGON,
    PolygonRule,
    inside_regions,
    judged_places,
    near_points,
    screens,
)  # fmt: skip
from grounding_rewards.verifiers.options import Length, Part, Positive, Range
from grounding_rewards.verifiers.terms import NEEDS_SCREEN, PLACES, OfPlaces

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

    def places(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        xy = rollouts.predictions.xy
        inside = inside_regions(xy, regions, self.polygon)
        away = geometry.distance(regions.each(xy), _centres(regions))
        # fmin reads a NaN, which a row without a point has, as 1.0; a product costs less than np.where.
        return (1.0 - np.fmin(away / regions.some_diagonal, 1.0)) * inside


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
        floor: what a hit on the border is worth, above 0 to 1. 1 scores all hits alike.
        reach: the range over which misses differ, as a share of the screen's diagonal; above 0.
        polygon: border rule of polygons, as in ``Hit``.
        point_radius: reach around a target that is only a point, as in ``Hit``.
        point_share: the same as a share of the screen, as in ``Hit``.

    Raises:
        TargetError: the recipe works in a pixel space, and a target's image size is unknown.
    """

    floor: Part = 0.5
    reach: Positive = 0.1
    polygon: PolygonRule = "inclusive"
    point_radius: Length | None = None
    point_share: Length | None = None

    needs = NEEDS_SCREEN
    rivals = "point_radius", "point_share"

    @property
    def judges(self) -> frozenset[str]:
        return judged_places(self.point_radius, self.point_share)

    def places(self, rollouts: Rollouts) -> Floats:
        regions, xy = rollouts.targets.regions, rollouts.predictions.xy
        screen = screens(rollouts, type(self).__name__)
        inside = inside_regions(xy, regions, self.polygon, self.point_radius)
        if self.point_share is not None:
            inside = inside | near_points(rollouts, "DenseDistance", regions.kind == POINT, self.point_share)
        with np.errstate(over="ignore"):  # far away, over a side of nearly nothing: infinity, which fmin limits
            depth, gap = self._measure(regions.each(xy), regions, screen)
        scale = regions.diagonal + self.reach * geometry.lengths(screen)
        hit = self.floor + (1.0 - self.floor) * (1.0 - np.fmin(depth, 1.0))
        # The largest float below the floor, so that no miss equals a hit on the border.
        miss = np.minimum(self.floor * (scale / (scale + gap)), math.nextafter(self.floor, 0.0))
        # fmax reads a NaN, which a row without a point has, as 0.0.
        return np.where(inside, hit, np.fmax(miss, 0.0))

    def _measure(self, points: Floats, regions: Regions, screen: Floats) -> tuple[Floats, Floats]:
        """Return depth and gap of each place's point: (m,) each, the depth of use inside and the gap outside."""
        offset = np.abs(points - regions.centre)
        half = (regions.box[:, 2:] - regions.box[:, :2]) / 2
        shares = offset / np.where(half > 0, half, 1.0)  # inside, the offset along a side of nothing is 0
        depth, gap = np.maximum(shares[:, 0], shares[:, 1]), geometry.box_gap(points, regions.box)
        if regions.boxes_only:
            return depth, gap
        if RegionKind.POLYGON in regions.kinds:
            outline = geometry.outline_distance(points, regions.vertices, regions.offsets)
            gap = np.where(regions.kind == POLYGON, outline, gap)
        return self._measure_round(offset, regions, screen, depth, gap)

    def _measure_round(
        self, offset: Floats, regions: Regions, screen: Floats, depth: Floats, gap: Floats
    ) -> tuple[Floats, Floats]:
        """Replace depth and gap of circles and of points with a reach, measured from the centre through the border."""
        chosen, radii = regions.kind == CIRCLE, regions.radii
        if self.point_radius or self.point_share:
            # A share reaches unequally far along x and y.
            reach = self.point_radius or (self.point_share or 0.0) * screen
            radii = np.where((regions.kind == POINT)[:, None], reach, radii)
            chosen = chosen | (regions.kind == POINT)
        # On the ray from the centre through the point, the border is at away / shares.
        shares = geometry.lengths(offset / radii)
        away = geometry.lengths(offset)
        return np.where(chosen, shares, depth), np.where(chosen, away - away / np.maximum(shares, 1.0), gap)


@dataclass(frozen=True)
class ScreenDistance(OfPlaces):
    """1 - (d / dmax)², inside the target and outside: the nearer to its centre on the screen, the more.

    With p and the centre c in shares of the screen's width and height: d = ||p - c||, and dmax is the largest distance
    from c to a corner of the image. c is the centre of a box or circle and the mean of a polygon's corners; no more of
    the target's shape matters: where it does, put this beside ``Hit``. 0.0 where d > 1 or d > dmax (far outside the
    image), without a predicted point and for a refusal target. A click anywhere on the screen is worth something.
    Several places: the best one's score.

    Args:
        power: 2 as above; 1 is the even decay 1 - d / dmax.

    Raises:
        TargetError: the recipe works in a pixel space, and a target's image size is unknown.

    Source: SE-GUI 0e26237, ``open_r1/vlm_modules/qwen_module.py``, the second term of ``point_reward``.
    """

    power: Power = 2

    needs = NEEDS_SCREEN

    def places(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        screen = screens(rollouts, type(self).__name__)
        centre = _centres(regions) / screen
        away = geometry.distance(regions.each(rollouts.predictions.xy) / screen, centre)
        share = away / geometry.lengths(np.maximum(np.abs(centre), np.abs(1.0 - centre)))
        decay = 1.0 - (share if self.power == 1 else share * share)
        # fmax reads a NaN, which a row without a point has, as 0.0.
        return np.fmax(decay, 0.0) * (away <= 1.0)


@dataclass(frozen=True)
class PointDistance(OfPlaces):
    """(1 - d / reach)² where d < reach, else 0.0, with d the distance to the point marked in the target's place.

    d = ||p - g|| in shares of the screen's width and height: 1.0 on the point, and half at 0.29 · reach, however large
    the target is. The marked point is as in ``NearPoint``. No predicted point, or no marked one: 0.0. Several places:
    the best one's score.

    Args:
        reach: the distance from which on a click is worth nothing, as a share of the screen; above 0.

    Raises:
        TargetError: the recipe works in a pixel space, and a target's image size is unknown.

    Source: NeMo Gym 07d6b0d, ``resources_servers/gui_coordinate``.
    """

    reach: Positive = 0.15

    needs = NEEDS_SCREEN
    judges = PLACES | {"point"}

    def places(self, rollouts: Rollouts) -> Floats:
        regions, screen = rollouts.targets.regions, screens(rollouts, type(self).__name__)
        away = geometry.distance(regions.each(rollouts.predictions.xy) / screen, regions.point / screen)
        left = 1.0 - np.fmin(away / self.reach, 1.0)  # fmin reads a NaN, which a row without a point has, as 1.0
        return left * left


def _centres(regions: Regions) -> Floats:
    """Return centres of boxes, circles and points, and the means of polygons' corners: (m, 2)."""
    if RegionKind.POLYGON not in regions.kinds:
        return regions.centre
    polygons = regions.kind == POLYGON
    means = geometry.polygon_means(regions.vertices, regions.offsets)
    return np.where(polygons[:, None], means, regions.centre)


Shape = Literal[
    "gaussian", "linear", "quadratic", "inverse_quadratic", "exponential", "cosine", "sigmoid", "step", "cubic", "sqrt"
]

SHAPES: dict[str, Callable[[Floats], Floats]] = {
    "gaussian": lambda n: np.exp(-4.0 * (n * n)),
    "linear": lambda n: 1.0 - n,
    "quadratic": lambda n: 1.0 - n * n,
    "inverse_quadratic": lambda n: 1.0 / (1.0 + n * n),
    "exponential": lambda n: np.exp(-n),
    "cosine": lambda n: 0.5 * (1.0 + np.cos(np.pi * n)),
    "sigmoid": lambda n: 2.0 / (1.0 + np.exp(4.0 * n)),
    "step": lambda n: (n <= 0.5).astype(np.float64),
    "cubic": lambda n: 1.0 - n * n * n,
    "sqrt": lambda n: 1.0 - np.sqrt(n),
}
"""Functions f(n), falling from f(0) = 1, for n from 0 at the centre to 1 on the border."""


@dataclass(frozen=True)
class Centredness(OfPlaces):
    """f(n) for a point inside the target's box, n = max(|x - cx| / (width / 2), |y - cy| / (height / 2)); else 0.0.

    1.0 at the centre, f(1) on the border, which is inside; 0.0 without a predicted point, and for a box without width
    or height. f: gaussian exp(-4 n²); linear 1 - n; quadratic 1 - n²; inverse_quadratic 1 / (1 + n²); exponential
    exp(-n); cosine (1 + cos πn) / 2; sigmoid 2 / (1 + exp(4 n)); step 1 up to n = 1/2, then 0; cubic 1 - n³; sqrt
    1 - √n. A circle or polygon counts as its bounding box. Several places: the best one's score.

    Args:
        shape: which f.

    Source: UI-AGILE a8f7658, ``train/src/trl_train/src/open_r1/reward.py``. Its values for the gaussian are known; of
    the other shapes the names alone are, and these are the functions that such names have.
    """

    shape: Shape = "gaussian"

    def places(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        points = regions.each(rollouts.predictions.xy)
        return centredness(points, regions.box, self.shape)


def centredness(points: Floats, box: Floats, shape: str, outside: float = 0.0) -> Floats:
    """Return f(n) of each point in its box, ``outside`` elsewhere: (m, 2) and (m, 4) to (m,)."""
    if len(points) == 1:  # plain floats give the same last bit, and much sooner
        ratio = _ratio(*points[0].tolist(), *box[0].tolist())
        return np.array([outside]) if ratio is None else SHAPES[shape](np.array([ratio]))
    half = (box[:, 2:] - box[:, :2]) / 2
    off = np.abs(points - (box[:, :2] + box[:, 2:]) / 2) / np.where(half > 0.0, half, 1.0)
    n = np.minimum(np.maximum(off[:, 0], off[:, 1]), 1.0)  # on the border n may round beyond 1, and f below 0
    inside = geometry.in_box(points, box) & (half[:, 0] > 0.0) & (half[:, 1] > 0.0)
    return np.where(inside, SHAPES[shape](n), outside)


def _ratio(x: float, y: float, x1: float, y1: float, x2: float, y2: float) -> float | None:
    """Return n of one point; None outside."""
    width, height = (x2 - x1) / 2, (y2 - y1) / 2
    if not (x1 <= x <= x2 and y1 <= y <= y2 and width > 0.0 and height > 0.0):
        return None
    return min(max(abs(x - (x1 + x2) / 2) / width, abs(y - (y1 + y2) / 2) / height), 1.0)


@dataclass(frozen=True)
class CornerDistance(OfPlaces):
    """2 · (distance to the nearest corner) / diagonal inside the box; below 0 outside, by the distance to it.

    Inside, borders included: 1.0 at the centre, 0.0 at a corner, and nearly 1.0 at the middle of a long edge. Outside:
    -dist(p, box) / (the largest dist(q, box) of a corner q of the image), at least -1.0. No predicted point, or a box
    without width or height: -1.0. A refusal target: 0.0. Circles and polygons count as their bounding boxes. Several
    places: the best one's score.

    Raises:
        TargetError: the recipe works in a pixel space, and a target's image size is unknown.

    Source: GroundCUA 81136d4, ``training/rl/recipe/groundnext/reward_clipped.py``.
    """

    low = -1.0
    needs = NEEDS_SCREEN

    def places(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        size = screens(rollouts, type(self).__name__)
        upper, lower = regions.box[:, :2], regions.box[:, 2:]
        xy, extent = rollouts.predictions.xy.take(regions.row, axis=0), lower - upper
        margin = np.minimum(xy - upper, lower - xy)
        inside = np.minimum(margin[:, 0], margin[:, 1]) >= 0
        # Inside, both margins lead to the nearest corner; outside, those below 0 lead to the box.
        length = geometry.lengths(np.where(inside[:, None], margin, np.minimum(margin, 0.0)))
        farthest = geometry.lengths(np.maximum(np.maximum(upper, size - lower), 0.0))  # of a corner of the image
        flat = np.minimum(extent[:, 0], extent[:, 1]) <= 0
        whole = np.maximum(np.where(inside & ~flat, geometry.lengths(extent) / 2, farthest), _NEARLY_NOTHING)
        share = np.fmin(length / whole, 1.0)  # fmin takes the 1.0 where there is no point
        score = np.where(flat, -1.0, np.where(inside, share, -share))
        return score


_NEARLY_NOTHING = 1e-9
"""Divisor in place of 0, the distance from the image's corners to a box that covers them."""


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
        digits: round to this many decimals.

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
        digits: round to this many decimals.

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
