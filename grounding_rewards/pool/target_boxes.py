"""Places and sizes of targets in a rollout table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.catalogue import RecordedName, recorded_recipe
from grounding_rewards.coords.spaces import UNIT, CoordSpace
from grounding_rewards.errors import GroundingRewardsError, TargetError
from grounding_rewards.scoring import KINDS, Recipe
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.requirements import Requirements
from grounding_rewards.targets.target import NativeForm

_ANY = frozenset(KINDS)

Form = tuple[NativeForm | None, CoordSpace | str | None]
"""The native form of bare targets, and the space of those that name none."""


def target_boxes(
    targets: Sequence[str | None],
    image_sizes: Floats,
    names: Sequence[RecordedName | None],
    target_space: CoordSpace | str | None,
    recipe: Recipe | None,
    errors: dict[int, TargetError],
) -> Floats:
    """Return (m, 4) bounds of targets' first places as shares; NaN where none is read, which ``errors`` has."""
    boxes = np.full((len(targets), 4), np.nan)
    forms = {name: target_form(name, target_space, recipe) for name in {*names}}  # building recipes is slow
    alike: dict[Form, list[int]] = {}
    for row, name in enumerate(names):  # there may be as many names as rows, but few forms
        alike.setdefault(forms[name], []).append(row)
    for (native, space), rows in alike.items():
        read = Targets.from_list([targets[row] for row in rows], native=native, space=space, bad_target="abstain")
        errors |= {rows[place]: error for place, error in read.errors.items() if targets[rows[place]] is not None}
        boxes[rows] = _boxes(read, image_sizes[rows])
    return boxes


def target_form(
    name: RecordedName | None, target_space: CoordSpace | str | None = None, recipe: Recipe | None = None
) -> Form:
    """Return the form of targets, by the arguments of ``target_boxes``."""
    named = None if name is None else recorded_recipe(name)
    chosen = named or recipe
    if target_space is not None:
        return (None if chosen is None or chosen is named else chosen.native), target_space
    return (None, None) if chosen is None else (chosen.native, chosen.target_space)


def _boxes(read: Targets, image_sizes: Floats) -> Floats:
    needs = Requirements(CoordSpace.PIXEL, None, _ANY, screen=True)
    prepared = read.prepare(needs, image_sizes=image_sizes, bad_target="abstain")
    boxes = np.full((len(read), 4), np.nan)
    owners, first = np.unique(prepared.regions.row, return_index=True)
    usable = prepared.valid[owners]  # others keep NaN
    sizes = prepared.image_sizes[owners]
    boxes[owners[usable]] = (prepared.regions.box[first] / np.tile(sizes, 2))[usable]
    return boxes


def shares(boxes: Floats, image_sizes: Floats) -> tuple[Floats, Floats]:
    """Return areas and diagonals of boxes in shares of the image, (m, 4), over those of the images: (m,) each."""
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    across = np.hypot(image_sizes[:, 0], image_sizes[:, 1])
    return width * height, np.hypot(width * image_sizes[:, 0], height * image_sizes[:, 1]) / across


Size = tuple[float, float]


def outlines(
    target: str | None,
    image_size: Size | None,
    *,
    name: RecordedName | None = None,
    target_space: CoordSpace | str | None = None,
    recipe: Recipe | None = None,
) -> tuple[Floats, ...]:
    """Return the places of a target as corners (k, 2) in shares of the image, one of a point; none where unknown."""
    native, space = target_form(name, target_space, recipe)
    sizes = None if image_size is None else np.array([image_size], dtype=np.float64)
    try:
        read = Targets.from_list([target], native=native, space=space)
        prepared = read.prepare(Requirements(UNIT, None, _ANY), image_sizes=sizes)
    except GroundingRewardsError:  # a report shows the sample without its target
        return ()
    return tuple(prepared.regions.outline(place) for place in range(len(prepared.regions.row)))
