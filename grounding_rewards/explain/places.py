"""Where the answer and the target lie: what was converted, and how far they are apart on the screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from grounding_rewards.columns import Rollouts
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.explanation import Axis, Conversion, Extent, Numbers, Position, Read, Told
from grounding_rewards.explain.formulas import number
from grounding_rewards.explain.reading import numbers_of
from grounding_rewards.geometry import box_gap, in_ellipse, in_polygon, lengths, outline_distance
from grounding_rewards.regions import Regions, converted
from grounding_rewards.scoring import Recipe
from grounding_rewards.spaces import MODEL_PIXEL, PIXEL, UNIT, CoordSpace, Floats, as_space, convert
from grounding_rewards.truth import RegionKind

_NAMES = {2: ("x", "y"), 3: ("x", "y", "r across"), 4: ("x1", "y1", "x2", "y2")}


def extents(case: Case, rollouts: Rollouts) -> tuple[Extent, ...]:
    """How far every space of this row reaches, as far as that is known, and who says so."""
    found = [Extent(space.value, space.extent, space.extent, "always") for space in CoordSpace if space.extent]
    sizes = {PIXEL: rollouts.image_sizes, MODEL_PIXEL: rollouts.model_image_sizes}
    given = {PIXEL: case.image_sizes, MODEL_PIXEL: case.model_image_sizes}
    for space, column in sizes.items():
        size, field = numbers_of(column[case.row]), str(space.size_field)
        if size is not None:
            beside = given[space]
            mine = beside is not None and beside[case.row] is not None
            origin = f"{field} beside the target" if mine else f"{field} of the target"
            found.append(Extent(space.value, size[0], size[1], origin))
    return tuple(found)


def conversions(recipe: Recipe, read: Read, told: Told | None, known: Iterable[Extent]) -> tuple[Conversion, ...]:
    """The answer's and the target's way into the space of the formula, with their numbers."""
    into, reach = recipe.space, {each.space: (each.width, each.height) for each in known}
    found = []
    for what, numbers in _answers(recipe, read):
        if numbers is not None:
            found.append(_conversion(what, tuple(numbers), recipe.response_space, into, reach))
    if told is None or told.space is None or not told.compared:
        return tuple(found)
    several = len(told.places) > 1
    for index, place in enumerate(told.places):
        name = f"place {index + 1}" if several else "target"
        found.append(_conversion(name, place.numbers, as_space(told.space), into, reach))
    actions = [told.action, *(place.action for place in told.places), *told.actions]
    for action in actions:
        if action and "to" in action:
            found.append(_conversion("end of the target", tuple(action["to"]), as_space(told.space), into, reach))
    return tuple(found)


def _answers(recipe: Recipe, read: Read) -> list[tuple[str, Numbers | None]]:
    """What was answered, by name: every point where all count and are converted."""
    found: list[tuple[str, Numbers | None]] = [("answer", read.box or read.point)]
    if recipe.answers == "all" and read.found and recipe.response_space is not recipe.space:
        found = [(f"answer {index + 1}", point) for index, point in enumerate(read.found)]
    return [*found, ("end of the answer", read.arguments.get("to"))]


def _conversion(
    what: str, numbers: Numbers, source: CoordSpace, into: CoordSpace, reach: Mapping[str, Numbers]
) -> Conversion:
    if source is into or source.value not in reach or into.value not in reach:
        return Conversion(what, source.value, into.value)
    names = _NAMES.get(len(numbers)) or tuple(f"{'xy'[k % 2]}{k // 2 + 1}" for k in range(len(numbers)))
    axes = []
    for k, (name, value) in enumerate(zip(names, numbers, strict=True)):
        old, new = reach[source.value][k % 2], reach[into.value][k % 2]
        axes.append(Axis(name, value, old, new, value / old if into is UNIT else value * (new / old)))
    return Conversion(what, source.value, into.value, tuple(axes))


def position(recipe: Recipe, row: int, rollouts: Rollouts) -> Position | None:
    """Where the answered point lies: in pixels of the original image where the sizes are known, else in the recipe's.

    None without a point or without a place to lie in.
    """
    regions = _of_row(rollouts.targets.regions, row)
    xy, box = rollouts.predictions.xy[[row]], rollouts.predictions.box[[row]]
    if not len(regions.row) or np.isnan(xy).any():
        return None
    sizes = rollouts.image_sizes[[row]], rollouts.model_image_sizes[[row]]
    space = recipe.space
    with np.errstate(all="ignore"):
        moved = [convert(each, space, PIXEL, *sizes) for each in (xy, regions.box)]
        if space is not PIXEL and not any(np.isnan(each).any() for each in moved):
            every = np.ones(len(regions.row), dtype=np.bool_)
            regions = converted(regions, every, space, PIXEL, *sizes)
            xy, box, space = moved[0], convert(box, recipe.space, PIXEL, *sizes), PIXEL
        gaps = _gaps(np.repeat(xy, len(regions.row), axis=0), regions)
    nearest = int(np.argmin(gaps))
    words = _words(xy[0].tolist(), regions, nearest, float(gaps[nearest]), space)
    return Position(
        space=space.value,
        point=(float(xy[0, 0]), float(xy[0, 1])),
        box=numbers_of(box[0]),
        places=tuple(tuple(each) for each in regions.box.tolist()),
        nearest=nearest,
        inside=bool(gaps[nearest] == 0),
        gap=float(gaps[nearest]),
        words=words,
    )


def _of_row(regions: Regions, row: int) -> Regions:
    """The places of one sample, as a table of one sample."""
    mine = np.flatnonzero(regions.row == row)
    found = replace(regions, row=np.zeros(len(mine), dtype=np.int64), box=regions.box[mine], aligned=len(mine) == 1)
    if regions.shapes is None or not len(mine):
        return replace(found, shapes=None)
    start, end = int(regions.offsets[mine[0]]), int(regions.offsets[mine[-1] + 1])
    shapes = replace(
        regions.shapes,
        kind=regions.kind[mine],
        point=regions.point[mine],
        radii=regions.radii[mine],
        vertices=regions.vertices[start:end],
        offsets=regions.offsets[mine[0] : mine[-1] + 2] - start,
    )
    return replace(found, shapes=shapes)


def _gaps(xy: Floats, regions: Regions) -> Floats:
    """How far a point is from each place, 0.0 inside, borders included: (m, 2) to (m,)."""
    gaps, kind = box_gap(xy, regions.box), regions.kind
    if RegionKind.POLYGON in regions.kinds:
        inside = in_polygon(xy, regions.vertices, regions.offsets)
        outline = outline_distance(xy, regions.vertices, regions.offsets)
        gaps = np.where(kind == RegionKind.POLYGON, np.where(inside, 0.0, outline), gaps)
    if RegionKind.CIRCLE in regions.kinds:
        away = lengths(xy - regions.point)
        # Along the line to the centre, which of a circle that was distorted is not quite the nearest way.
        reach = away / np.maximum(lengths((xy - regions.point) / regions.radii), 1.0)
        inside = in_ellipse(xy, regions.point, regions.radii)
        gaps = np.where(kind == RegionKind.CIRCLE, np.where(inside, 0.0, away - reach), gaps)
    return np.where(np.isfinite(gaps), gaps, np.finfo(np.float64).max)


def _words(point: list[float], regions: Regions, nearest: int, gap: float, space: CoordSpace) -> str:
    """Where a point lies from a place: inside, or how far to which side."""
    if gap == 0:
        return "exactly there" if regions.kind[nearest] == RegionKind.POINT else "inside"
    unit, also = (" px", "") if space in (PIXEL, MODEL_PIXEL) else ("", f", in {space.value}")
    (x, y), (x1, y1, x2, y2) = point, regions.box[nearest].tolist()
    sides = (("left of it", x1 - x), ("right of it", x - x2), ("above it", y1 - y), ("below it", y - y2))
    found = [f"{number(far)}{unit} {side}" for side, far in sides if far > 0]
    if not found:
        return f"outside, {number(gap)}{unit} from its edge, but inside the box around it{also}"
    slanted = len(found) > 1 or regions.kind[nearest] in (RegionKind.POLYGON, RegionKind.CIRCLE)
    return " and ".join(found) + (f", {number(gap)}{unit} away" if slanted else "") + also
