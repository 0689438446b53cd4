"""The place of the answer, and its distance to the target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import MODEL_PIXEL, PIXEL, CoordSpace, convert
from grounding_rewards.explain.case import numbers_of
from grounding_rewards.explain.formulas import number
from grounding_rewards.explain.sections import Position
from grounding_rewards.geometry import box_gap, in_ellipse, in_polygon, lengths, outline_distance
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import Recipe
from grounding_rewards.targets.regions import Regions, converted
from grounding_rewards.targets.target import RegionKind

_ROUNDING = 1e-12


def positions(recipe: Recipe, row: int, rollouts: Rollouts) -> tuple[Position, ...]:
    """Return the place of every answer of a row, where all of several count; else nothing."""
    points, offsets = rollouts.predictions.points, rollouts.predictions.offsets
    if recipe.answers != "all" or points is None or offsets is None:
        return ()
    mine = points[offsets[row] : offsets[row + 1]]
    every = [position(recipe, row, rollouts, point) for point in mine] if len(mine) > 1 else []
    return tuple(place for place in every if place is not None)


def position(recipe: Recipe, row: int, rollouts: Rollouts, point: Floats | None = None) -> Position | None:
    """Locate the answered point: in pixels of the original image where the sizes are known, else in the recipe's space.

    Args:
        recipe: whose space the rollouts are in.
        row: which of them.
        rollouts: n rollouts.
        point: (2,) another point than the one that counts.

    Returns:
        The position; None without a point or without a place to lie in.
    """
    regions = _of_row(rollouts.targets.regions, row)
    xy, box = rollouts.predictions.xy[[row]], rollouts.predictions.box[[row]]
    if point is not None:
        xy, box = point[None], np.full((1, 4), np.nan)
    if not len(regions.row) or np.isnan(xy).any():
        return None
    sizes = rollouts.image_sizes[[row]], rollouts.model_image_sizes[[row]]
    space = recipe.space
    with np.errstate(all="ignore"):
        moved = [convert(places, space, PIXEL, *sizes) for places in (xy, regions.box)]
        if space is not PIXEL and not any(np.isnan(places).any() for places in moved):
            every = np.ones(len(regions.row), dtype=np.bool_)
            regions = converted(regions, every, space, PIXEL, *sizes)
            xy, box, space = moved[0], convert(box, recipe.space, PIXEL, *sizes), PIXEL
        repeated = np.repeat(xy, len(regions.row), axis=0)
        gaps, edges = _gaps(repeated, regions), _edges(repeated, regions)
    # A converted point on a border misses it by the last digit or two.
    near = _ROUNDING * np.abs(regions.box).max()
    gaps = np.where(gaps <= near, 0.0, gaps)
    nearest = int(np.argmin(gaps))
    on_edge = bool(edges[nearest] <= near)
    words = _words(xy[0].tolist(), regions, nearest, float(gaps[nearest]), space, on_edge=on_edge)
    return Position(
        space=space.value,
        point=(float(xy[0, 0]), float(xy[0, 1])),
        box=numbers_of(box[0]),
        places=tuple(map(tuple, regions.box.tolist())),
        nearest=nearest,
        inside=bool(gaps[nearest] == 0),
        gap=float(gaps[nearest]),
        words=words,
    )


def _of_row(regions: Regions, row: int) -> Regions:
    """Return the places of one sample, as a table of one sample."""
    mine = np.flatnonzero(regions.row == row)
    own = replace(regions, row=np.zeros(len(mine), dtype=np.int64), box=regions.box[mine], aligned=len(mine) == 1)
    if regions.shapes is None or not len(mine):
        return replace(own, shapes=None)
    start, end = int(regions.offsets[mine[0]]), int(regions.offsets[mine[-1] + 1])
    shapes = replace(
        regions.shapes,
        kind=regions.kind[mine],
        point=regions.point[mine],
        radii=regions.radii[mine],
        vertices=regions.vertices[start:end],
        offsets=regions.offsets[mine[0] : mine[-1] + 2] - start,
    )
    return replace(own, shapes=shapes)


def _gaps(xy: Floats, regions: Regions) -> Floats:
    """Return the distance of a point to each place, 0.0 inside, borders included: (m, 2) to (m,)."""
    gaps, kind = box_gap(xy, regions.box), regions.kind
    if RegionKind.POLYGON in regions.kinds:
        inside = in_polygon(xy, regions.vertices, regions.offsets)
        outline = outline_distance(xy, regions.vertices, regions.offsets)
        gaps = np.where(kind == RegionKind.POLYGON, np.where(inside, 0.0, outline), gaps)
    if RegionKind.CIRCLE in regions.kinds:
        away = lengths(xy - regions.point)
        # Along the line to the centre, which is not quite the nearest way to a distorted circle.
        reach = away / np.maximum(lengths((xy - regions.point) / regions.radii), 1.0)
        inside = in_ellipse(xy, regions.point, regions.radii)
        gaps = np.where(kind == RegionKind.CIRCLE, np.where(inside, 0.0, away - reach), gaps)
    return np.where(np.isfinite(gaps), gaps, np.finfo(np.float64).max)


def _edges(xy: Floats, regions: Regions) -> Floats:
    """Return the distance of a point to each place's outline, inside as well: (m, 2) to (m,)."""
    low, high = regions.box[:, :2], regions.box[:, 2:]
    within, kind = np.minimum(xy - low, high - xy).min(axis=1), regions.kind
    edges = np.where(within < 0, box_gap(xy, regions.box), within)
    if RegionKind.POLYGON in regions.kinds:
        outline = outline_distance(xy, regions.vertices, regions.offsets)
        edges = np.where(kind == RegionKind.POLYGON, outline, edges)
    if RegionKind.CIRCLE in regions.kinds:
        away, turns = lengths(xy - regions.point), lengths((xy - regions.point) / regions.radii)
        along = np.where(turns > 0, np.abs(away - away / turns), np.inf)
        edges = np.where(kind == RegionKind.CIRCLE, along, edges)
    return edges


def _words(point: list[float], regions: Regions, nearest: int, gap: float, space: CoordSpace, *, on_edge: bool) -> str:
    """Say on which side of a place a point lies and how far, or that it is inside or on its border."""
    if gap == 0 and regions.kind[nearest] == RegionKind.POINT:
        return "exactly there"
    if gap == 0:
        return "on its border" if on_edge else "inside"
    unit, also = (" px", "") if space in (PIXEL, MODEL_PIXEL) else ("", f", in {space.value}")
    (x, y), (x1, y1, x2, y2) = point, regions.box[nearest].tolist()
    sides = (("left of it", x1 - x), ("right of it", x - x2), ("above it", y1 - y), ("below it", y - y2))
    beside = [f"{number(far)}{unit} {side}" for side, far in sides if far > 0]
    if not beside:
        return f"outside, {number(gap)}{unit} from its edge, but inside the box around it{also}"
    slanted = len(beside) > 1 or regions.kind[nearest] in (RegionKind.POLYGON, RegionKind.CIRCLE)
    return " and ".join(beside) + (f", {number(gap)}{unit} away" if slanted else "") + also
