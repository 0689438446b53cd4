"""How the answer and the target came into the space of the formula, and who says how large the image is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grounding_rewards.coords.spaces import MODEL_PIXEL, PIXEL, UNIT, CoordSpace, as_space
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.reading import numbers_of
from grounding_rewards.explain.sections import Axis, Conversion, Extent, Numbers, Read, Told
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import Recipe

BESIDE = "beside the target"
"""Where a size is that the target does not say."""
MADE = "made from image_size by the option model"
"""The same of a size that nobody says."""

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
            if beside is not None and beside[case.row] is not None:
                origin = f"{field} {BESIDE}"
            else:
                target = rollouts.targets.rows[case.row]
                own = target is not None and getattr(target, field) is not None
                origin = f"{field} of the target" if own else MADE
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
