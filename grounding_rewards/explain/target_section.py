"""The target of a case: as the recipe reads it, in the wire form, and converted into the space of the formula."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from grounding_rewards.coords.spaces import MODEL_PIXEL, PIXEL, UNIT, CoordSpace, as_space
from grounding_rewards.errors import TargetError
from grounding_rewards.explain.case import Case, numbers_of
from grounding_rewards.explain.explanation import (
    Axis,
    Conversion,
    Extent,
    Numbers,
    Place,
    ReadResponse,
    ReadTarget,
    plain,
)
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import Recipe
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.read import read_target, read_with_form
from grounding_rewards.targets.target import Action, Region, RegionKind, Target
from grounding_rewards.targets.write import to_wire

MOST_PLACES = 16
"""Places of a target that are scored one by one, at most."""

BESIDE = "beside the target"
"""Origin of a size that the target does not say."""

_BESIDE = ("image_size", "model_image_size", "id", "task", "trajectory", "step", "num_steps", "extra")
_NAMES = {2: ("x", "y"), 3: ("x", "y", "r across"), 4: ("x1", "y1", "x2", "y2")}


def describe_target(recipe: Recipe, case: Case) -> ReadTarget | None:
    """Read the target of a case's row as the recipe does; None where it cannot be read."""
    try:
        target, own_form = read_with_form(
            case.target, case.row, recipe.native, recipe.target_space, recipe.label_free, case.box_format
        )
    except TargetError:
        return None
    placed = target.regions or target.ends
    return ReadTarget(
        form="native" if own_form else "wire",
        space=target.space.value if placed and target.space else None,
        places=tuple(_place(region) for region in target.regions),
        refusal=target.refusal,
        action=_action(target.action) if target.action else None,
        actions=tuple(_action(action) for action in target.actions),
        says={name: plain(getattr(target, name)) for name in _BESIDE if getattr(target, name) is not None},
        compared=not recipe.label_free,
    )


def with_totals_alone(read: ReadTarget, target: Target, recipe: Recipe, case: Case) -> ReadTarget:
    """Score the row with each place of its target as the only one, where there are several."""
    if not 1 < len(read.places) <= MOST_PLACES or read.actions or recipe.label_free:
        return read
    places = []
    case = case if case.box_format is None else in_wire_form(recipe, case)
    for place, region in zip(read.places, target.regions, strict=True):
        targets = list(case.targets)
        targets[case.row] = to_wire(target.changed([region]))
        alone = replace(case, targets=tuple(targets)).score(recipe).total[case.row]
        places.append(replace(place, alone=float(alone)))
    return replace(read, places=tuple(places))


def in_wire_form(recipe: Recipe, case: Case) -> Case:
    """Rewrite targets so that every recipe reads them; those that this one cannot read stay."""
    targets = tuple(_rewritten(recipe, target, case.box_format) for target in case.targets)
    return replace(case, targets=targets, box_format=case.box_format and BoxFormat.XYXY)


def extents(case: Case, rollouts: Rollouts) -> tuple[Extent, ...]:
    """Return width and height of every space of this row, as far as they are known, and their origin."""
    known = [Extent(space.value, space.extent, space.extent, "always") for space in CoordSpace if space.extent]
    columns = ((PIXEL, rollouts.image_sizes, case.image_sizes),
               (MODEL_PIXEL, rollouts.model_image_sizes, case.model_image_sizes))  # fmt: skip
    for space, column, beside in columns:
        size = numbers_of(column[case.row])
        if size is not None:
            field, target = str(space.size_field), rollouts.targets.rows[case.row]
            if beside is not None and beside[case.row] is not None:
                origin = f"{field} {BESIDE}"
            else:
                own = target is not None and getattr(target, field) is not None
                origin = f"{field} of the target" if own else "made from image_size by the option model"
            known.append(Extent(space.value, size[0], size[1], origin))
    return tuple(known)


def conversions(
    recipe: Recipe, read: ReadResponse, target: ReadTarget | None, known: Iterable[Extent]
) -> tuple[Conversion, ...]:
    """Return how the answer and the target come into the space of the formula, with their numbers."""
    reach = {extent.space: (extent.width, extent.height) for extent in known}
    places = [(name, numbers, recipe.response_space) for name, numbers in _answers(recipe, read) if numbers is not None]
    if target is not None and target.space is not None and target.compared:
        names = [f"place {index + 1}" for index in range(len(target.places))] if len(target.places) > 1 else ["target"]
        actions = [target.action, *(place.action for place in target.places), *target.actions]
        ends = [("end of the target", tuple(action["to"])) for action in actions if action and "to" in action]
        # Not strict: where there is no place there is a name all the same.
        own = [(name, place.numbers) for name, place in zip(names, target.places, strict=False)]
        places += [(name, numbers, as_space(target.space)) for name, numbers in (*own, *ends)]
    return tuple(_conversion(name, tuple(numbers), space, recipe.space, reach) for name, numbers, space in places)


def _answers(recipe: Recipe, read: ReadResponse) -> list[tuple[str, Numbers | None]]:
    """Return answers by name: every point where all count and are converted."""
    answers: list[tuple[str, Numbers | None]] = [("answer", read.box or read.point)]
    if recipe.answers == "all" and read.found and recipe.response_space is not recipe.space:
        answers = [(f"answer {index + 1}", point) for index, point in enumerate(read.found)]
    return [*answers, ("end of the answer", read.arguments.get("to"))]


def _conversion(
    what: str, numbers: Numbers, source: CoordSpace, into: CoordSpace, reach: Mapping[str, Numbers]
) -> Conversion:
    # Without a size there are no numbers to show.
    if source is into or source.value not in reach or into.value not in reach:
        return Conversion(what, source.value, into.value)
    names = _NAMES.get(len(numbers)) or tuple(f"{'xy'[k % 2]}{k // 2 + 1}" for k in range(len(numbers)))
    axes = []
    for k, (name, value) in enumerate(zip(names, numbers, strict=True)):
        old, new = reach[source.value][k % 2], reach[into.value][k % 2]
        # The same operations as ``convert``, to the last digit.
        axes.append(Axis(name, value, old, new, value / old if into is UNIT else value * (new / old)))
    return Conversion(what, source.value, into.value, tuple(axes))


def _rewritten(recipe: Recipe, value: Any, box_format: BoxFormat | None) -> Any:
    try:
        return to_wire(read_target(value, native=recipe.native, space=recipe.target_space, box_format=box_format))
    except TargetError:
        return value


def _place(region: Region) -> Place:
    kind = RegionKind(region.kind).name.lower()
    return Place(kind, region.numbers, region.point, _action(region.action) if region.action else None)


def _action(action: Action) -> dict[str, Any]:
    """Return an action's fields, those alone that it has."""
    values = ((name, getattr(action, name)) for name in action.__struct_fields__)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values if value is not None}
