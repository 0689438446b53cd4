"""How large targets are and where they lie, as far as a rollout table tells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.scoring import ACTION, BBOX, CIRCLE, POINT, POLYGON, REFUSAL
from grounding_rewards.spaces import CoordSpace, Floats
from grounding_rewards.targets import Targets
from grounding_rewards.truth import NativeForm

ACCEPTED = frozenset({ACTION, BBOX, CIRCLE, POINT, POLYGON, REFUSAL})
"""Kinds of targets that are read: all; some have no place."""


def target_boxes(
    targets: Sequence[str | None],
    image_sizes: Floats,
    recipes: Sequence[str | None] | None = None,
    target_space: CoordSpace | str | None = None,
) -> Floats:
    """The bounds of each target's first place: (m, 4) x1 y1 x2 y2 in shares of the image.

    NaN where a target has no place or cannot be read, and where neither it, ``target_space`` nor its recipe says in
    which space it is.

    Args:
        targets: m targets as JSON.
        image_sizes: (m, 2) width and height in pixels; NaN where the targets themselves say.
        recipes: m names of recipes, whose native forms and spaces hold where ``target_space`` is None.
        target_space: the space of targets that name none.

    >>> sizes = np.array([[200.0, 100.0], [200.0, 100.0]])
    >>> target_boxes(['{"bbox": [20, 10, 40, 30]}', '{"refusal": true}'], sizes, target_space="pixel").tolist()
    [[0.1, 0.1, 0.2, 0.3], [nan, nan, nan, nan]]
    """
    found = np.full((len(targets), 4), np.nan)
    names = np.array([None] * len(targets) if recipes is None else list(recipes), dtype=np.object_)
    for name in dict.fromkeys(names.tolist()):
        rows = np.flatnonzero(names == name) if name is not None else np.flatnonzero([each is None for each in names])
        native, space = recipe_form(name) if target_space is None else (None, target_space)
        given = [targets[row] for row in rows.tolist()]
        found[rows] = _boxes(given, image_sizes[rows], native, space)
    return found


def recipe_form(name: str | None) -> tuple[NativeForm | None, CoordSpace | str | None]:
    """The native form of a recipe's targets, and the space of those that name none."""
    from grounding_rewards.catalogue import recipe

    try:
        built = None if name is None else recipe(name)
    except GroundingRewardsError:  # it demands options, or belongs to a plugin that is not here
        return None, None
    return (None, None) if built is None else (built.native, built.target_space)


def _boxes(
    targets: Sequence[str | None], image_sizes: Floats, native: NativeForm | None, space: CoordSpace | str | None
) -> Floats:
    read = Targets.from_list(list(targets), native=native, space=space, bad_target="abstain")
    prepared = read.prepare(
        CoordSpace.PIXEL, default=None, response_space=None, accepts=ACCEPTED, screen=True, image_sizes=image_sizes,
        bad_target="abstain",
    )  # fmt: skip
    found = np.full((len(targets), 4), np.nan)
    owners, first = np.unique(prepared.regions.row, return_index=True)
    usable = prepared.valid[owners]
    sizes = prepared.image_sizes[owners]
    found[owners[usable]] = (prepared.regions.box[first] / np.tile(sizes, 2))[usable]
    return found


def shares(boxes: Floats, image_sizes: Floats) -> tuple[Floats, Floats]:
    """The areas of boxes over their images', and their diagonals over their images' diagonals: (m,) each.

    Args:
        boxes: (m, 4) in shares of the image.
        image_sizes: (m, 2) width and height in pixels.
    """
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    across = np.hypot(image_sizes[:, 0], image_sizes[:, 1])
    return width * height, np.hypot(width * image_sizes[:, 0], height * image_sizes[:, 1]) / across
