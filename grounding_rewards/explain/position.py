"""The place of the answer, and its distance to the target."""

from __future__ import annotations

import numpy as np

from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.coords.spaces import MODEL_PIXEL, PIXEL, CoordSpace, convert
from grounding_rewards.explain.case import numbers_of
from grounding_rewards.explain.explanation import Position
from grounding_rewards.geometry import box_gap, lengths, outline_distance
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import Recipe
from grounding_rewards.targets.regions import Regions, converted
from grounding_rewards.targets.target import RegionKind
from grounding_rewards.verifiers.hit import inside_regions
from grounding_rewards.wording import number

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

    It is the row's own point, or ``point`` (2,); None without a point or without a place to lie in.
    """
    xy, box, regions = rollouts.predictions.xy, rollouts.predictions.box, rollouts.targets.regions
    if point is not None:
        xy, box = np.tile(point, (len(rollouts), 1)), nowhere(len(rollouts), 4)  # a row each: regions pick by row
    mine, space = regions.row == row, recipe.space
    if not mine.any() or np.isnan(xy[row]).any():
        return None
    with np.errstate(all="ignore"):  # 0 / 0 at the centre of a circle
        sizes = rollouts.image_sizes, rollouts.model_image_sizes
        moved, places = convert(xy, space, PIXEL, *sizes), converted(regions, np.ones_like(mine), space, PIXEL, *sizes)
        if not (np.isnan(moved[row]).any() or np.isnan(places.box[mine]).any()):  # NaN: a size is unknown
            xy, box, regions, space = moved, convert(box, space, PIXEL, *sizes), places, PIXEL
        edges = _edges(regions.each(xy), regions)[mine]
        gaps = np.where(inside_regions(xy, regions, point_radius=0.0)[mine], 0.0, edges)
    gaps = np.where(np.isfinite(gaps), gaps, np.finfo(np.float64).max)  # argmin takes NaN for the least
    boxes = regions.box[mine]
    # A converted point on a border misses it by the last digit or two.
    near = _ROUNDING * np.abs(boxes).max()
    gaps = np.where(gaps <= near, 0.0, gaps)
    nearest = int(np.argmin(gaps))
    gap, on_edge, kind = float(gaps[nearest]), bool(edges[nearest] <= near), regions.kind[mine][nearest]
    return Position(
        space=space.value,
        point=tuple(xy[row].tolist()),
        box=numbers_of(box[row]),
        places=tuple(map(tuple, boxes.tolist())),
        nearest=nearest,
        inside=gap == 0,
        gap=gap,
        words=_words(xy[row].tolist(), boxes[nearest].tolist(), kind, gap, space, on_edge=on_edge),
    )


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
        along = np.where(turns > 0, np.abs(away - away / turns), np.inf)  # at the centre there is no direction
        edges = np.where(kind == RegionKind.CIRCLE, along, edges)
    return edges


def _words(
    point: list[float], box: list[float], kind: RegionKind, gap: float, space: CoordSpace, *, on_edge: bool
) -> str:
    """Say on which side of a place a point lies and how far, or that it is inside or on its border."""
    if gap == 0 and kind == RegionKind.POINT:
        return "exactly there"
    if gap == 0:
        return "on its border" if on_edge else "inside"
    unit, also = (" px", "") if space in (PIXEL, MODEL_PIXEL) else ("", f", in {space.value}")
    (x, y), (x1, y1, x2, y2) = point, box
    sides = (("left of it", x1 - x), ("right of it", x - x2), ("above it", y1 - y), ("below it", y - y2))
    beside = [f"{number(far)}{unit} {side}" for side, far in sides if far > 0]
    if not beside:
        return f"outside, {number(gap)}{unit} from its edge, but inside the box around it{also}"
    slanted = len(beside) > 1 or kind in (RegionKind.POLYGON, RegionKind.CIRCLE)
    return " and ".join(beside) + (f", {number(gap)}{unit} away" if slanted else "") + also
