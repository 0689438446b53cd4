"""Hits: the predicted point in, or near, the target's places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats, Ints, nowhere, ranges
from grounding_rewards.coords.spaces import extents
from grounding_rewards.errors import MISSING, TargetError
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.regions import PerSample, Regions
from grounding_rewards.targets.target import RegionKind
from grounding_rewards.verifiers.options import Length, Positive, ScreenShare
from grounding_rewards.verifiers.terms import PLACES, OfPlaces

Border = Literal["inclusive", "strict"]
BoxBorder = Literal["inclusive", "strict", "rounded"]
PolygonRule = Literal["inclusive", "strict", "half_open"]

ROUNDING = 1e-9
"""Distance from a border within which a point is on it: conversions between spaces round by less."""

GROWN = ROUNDING * np.array([-1.0, -1.0, 1.0, 1.0])
"""Growth of a box, to be added to it, by which points within ``ROUNDING`` of its border are inside."""

# As numbers, because comparing an array with a member of an enum takes several times as long.
POLYGON, CIRCLE, POINT = (np.int8(kind) for kind in (RegionKind.POLYGON, RegionKind.CIRCLE, RegionKind.POINT))


@dataclass(frozen=True)
class Hit(OfPlaces):
    """1.0 where the predicted point lies in any of the target's places, else 0.0.

    bbox: x1 <= x <= x2 and y1 <= y <= y2. Circle: within the radius. Polygon: by the rule ``polygon``. Point: at most
    ``point_radius`` or ``point_share`` away. No predicted point, or a refusal target: 0.0.

    Args:
        polygon: ``"inclusive"`` counts the border, ``"strict"`` does not; ``"half_open"`` is the even-odd rule of
            published code (left and top edges in, right and bottom edges out).
        point_radius: reach around a target that is only a point, in units of the recipe's space; None where the
            recipe does not accept such targets.
        whole_edges: cut box edges to whole numbers first (300.9 counts as 300), as GTA1 and UI-Ins do.
        actions: action names whose coordinate counts; None takes any.
        border: ``"strict"`` leaves the border of boxes, and the full reach of circles and points, outside.
            ``"rounded"`` also counts points at most 1e-9 beside the border of a box, circle or polygon or the reach of
            a point, where the rounding of a conversion puts those on it.
        enlarge: factor by which boxes, circles and polygons grow about the centre of their bounding box; UI-S1 has
            1.2.
        point_share: reach around a target that is only a point, as a share of the screen: the largest
            ||(dx / width, dy / height)||. UI-S1 has 0.04. Give this or ``point_radius``, not both.

    Raises:
        TargetError: ``point_share`` is given, the recipe works in a pixel space, and the image size of a target that
            is only a point is unknown.
    """

    polygon: PolygonRule = "inclusive"
    point_radius: Length | None = None
    whole_edges: bool = False
    actions: tuple[str, ...] | None = None
    border: BoxBorder = "inclusive"
    enlarge: Positive = 1.0
    point_share: ScreenShare | None = None

    rivals = "point_radius", "point_share"

    @property
    def judges(self) -> frozenset[str]:
        return judged_places(self.point_radius, self.point_share)

    def places(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        hit = inside_regions(
            rollouts.predictions.xy, regions, self.polygon, self.point_radius, self.whole_edges,
            border=self.border, enlarge=self.enlarge,
        )  # fmt: skip
        if self.point_share is not None:
            hit = hit | near_points(rollouts, "Hit", regions.kind == POINT, self.point_share, self.border)
        if self.actions is not None:
            actions = rollouts.predictions.actions.tolist()
            if not set(actions) <= set(self.actions):  # most batches hold clicks alone, and need no look at each row
                counts = np.array([action in self.actions for action in actions], dtype=np.bool_)
                hit = hit & regions.each(counts)
        return hit.astype(np.float64)


@dataclass(frozen=True)
class NearPoint(OfPlaces):
    """1.0 where the predicted point is near the point marked in any of the target's places, else 0.0.

    The marked point is a target that is only a point, the point beside a bbox, or a circle's centre. A place without
    one: 0.0. In a product with ``Hit`` this asks for both, as BTL-UI does.

    Args:
        radius: the reach in units of the recipe's space.
        share: the reach as a share of the screen, ||(dx / width, dy / height)||; one of the two must be given.
        border: ``"strict"`` asks for less than the full reach.

    Raises:
        TargetError: ``share`` is given, the recipe works in a pixel space, and a target's image size is unknown.
    """

    radius: Length | None = None
    share: ScreenShare | None = None
    border: Border = "inclusive"

    rivals, needs_one = ("radius", "share"), True
    judges = PLACES | {"point"}

    def places(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        if self.share is not None:
            near = near_points(rollouts, "NearPoint", ~np.isnan(regions.point[:, 0]), self.share, self.border)
        else:
            near = within(regions.each(rollouts.predictions.xy), regions.point, self.radius, self.border)
        return near.astype(np.float64)


def inside_regions(
    xy: Floats,
    regions: Regions,
    polygon: PolygonRule = "inclusive",
    point_radius: float | None = None,
    whole_edges: bool = False,
    *,
    border: BoxBorder = "inclusive",
    enlarge: float = 1.0,
) -> geometry.Bools:
    """Return (m,) True for places that hold the point of their sample, of (n, 2) points; options as for ``Hit``."""
    points, strict, rounded = regions.each(xy), border == "strict", border == "rounded"
    box = np.trunc(regions.box) if whole_edges else regions.box
    if enlarge != 1.0:
        box = geometry.enlarged(box, enlarge)
    inside = geometry.in_box(points, box + GROWN if rounded else box, strict=strict)
    if regions.boxes_only:
        return inside
    kind = regions.kind
    if RegionKind.POLYGON in regions.kinds:
        vertices = regions.vertices
        if enlarge != 1.0:
            centre = np.repeat(regions.centre, np.diff(regions.offsets), axis=0)
            vertices = centre + (vertices - centre) * enlarge
        if polygon == "half_open":
            drawn_in = geometry.in_polygon_half_open(points, vertices, regions.offsets)
        else:
            drawn_in = geometry.in_polygon(points, vertices, regions.offsets, strict=polygon == "strict")
        if rounded and polygon == "inclusive":
            drawn_in |= geometry.outline_distance(points, vertices, regions.offsets) <= ROUNDING
        inside = np.where(kind == POLYGON, drawn_in, inside)
    if RegionKind.CIRCLE in regions.kinds:
        radii = regions.radii * enlarge + (ROUNDING if rounded else 0.0)
        inside = np.where(kind == CIRCLE, geometry.in_ellipse(points, regions.point, radii, strict=strict), inside)
    return np.where(kind == POINT, within(points, regions.point, point_radius, border), inside)


def pairs_inside(
    points: Floats,
    offsets: Ints,
    regions: Regions,
    polygon: PolygonRule = "inclusive",
    point_radius: float | None = None,
) -> tuple[Ints, Ints]:
    """Return every pair of a point and a place of its row that holds it, as indices of points and of places.

    The points of row i are ``points[offsets[i] : offsets[i + 1]]``.
    """
    starts, counts = offsets[:-1], np.diff(offsets)
    if regions.boxes_only:  # every pair at once
        several = counts[regions.row]
        place = np.repeat(np.arange(len(regions.row)), several)
        point = ranges(starts[regions.row], several)
        inside = geometry.in_box(points[point], regions.box[place])
        return point[inside], place[inside]
    pairs = [(np.zeros(0, dtype=np.int64),) * 2]
    for turn in range(int(counts.max(initial=0))):  # the first point of every row, then the second
        rows = np.flatnonzero(counts > turn)
        xy = nowhere(len(counts), 2)
        xy[rows] = points[starts[rows] + turn]
        place = np.flatnonzero(inside_regions(xy, regions, polygon, point_radius))
        pairs.append((starts[regions.row[place]] + turn, place))
    point, place = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return point, place


def near_points(
    rollouts: Rollouts, verifier: str, wanted: geometry.Bools, share: float, border: BoxBorder = "inclusive"
) -> geometry.Bools:
    """Return (m,) True for places in ``wanted`` whose marked point is near the predicted one.

    ``share`` is the reach, as a share of the screen; ``verifier`` is the name in the error where a size is unknown.
    """
    if not wanted.any():
        return wanted
    regions = rollouts.targets.regions
    size = screens(rollouts, verifier, wanted)
    points = regions.each(rollouts.predictions.xy)
    return wanted & within(points / size, regions.point / size, share, border)


def screens(
    rollouts: Rollouts, verifier: str, wanted: geometry.Bools | None = None, *, of: PerSample | None = None
) -> Floats:
    """Return width and height of each place's image, in the predictions' space: (m, 2), or (1, 2) where that fixes it.

    An unknown size of a place in ``wanted`` (None for all) is an error that names ``verifier``. ``of`` is another
    table of m rows than the places, such as the alternatives.
    """
    space, regions = rollouts.predictions.space, rollouts.targets.regions if of is None else of
    if space.extent is not None:
        return np.full((1, 2), space.extent)
    sizes = regions.each(extents(space, rollouts.image_sizes, rollouts.model_image_sizes))
    check_sizes(rollouts, verifier, sizes, regions.row, wanted)
    return sizes


def check_sizes(rollouts: Rollouts, verifier: str, sizes: Floats, row: Ints, wanted: geometry.Bools | None) -> None:
    """Check that sizes (m, 2) are known, those of the samples ``row`` (m,) that are valid and in ``wanted`` (m,)."""
    unknown = np.isnan(sizes[:, 0] + sizes[:, 1])
    if unknown.any():
        lacking = unknown & rollouts.targets.valid[row] & (True if wanted is None else wanted)
        if lacking.any():
            sample = rollouts.targets.sample(int(row[np.argmax(lacking)]))  # the first one
            expected = f"[width, height], because {verifier} measures in shares of the screen"
            raise TargetError(sample, str(rollouts.predictions.space.size_field), MISSING, expected)


def within(points: Floats, centres: Floats, reach: float | None, border: BoxBorder = "inclusive") -> geometry.Bools:
    """Return (m,) True where ||point - centre|| <= reach, by the rule of the border; False for a reach of None."""
    away = geometry.distance(points, centres)
    limit = np.nan if reach is None else reach  # no comparison with NaN is True
    return away < limit if border == "strict" else away <= limit + (ROUNDING if border == "rounded" else 0.0)


def judged_places(radius: float | None, share: float | None) -> frozenset[str]:
    """Return the kinds of place that a verifier judges with this reach around points."""
    return PLACES if radius is None and share is None else PLACES | {"point"}
