"""The screen that a picture shows, and what stands on it: the target's places, the answer, other answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import MODEL_PIXEL, PIXEL, CoordSpace, convert, extents, sizes_needed
from grounding_rewards.explain.case import Case
from grounding_rewards.groups.consensus import consensus_region
from grounding_rewards.rollouts import CLICKED, Rollouts
from grounding_rewards.scoring import Recipe
from grounding_rewards.targets.target import RegionKind
from grounding_rewards.verifiers import InConsensus

Window = tuple[float, float, float, float]
"""x1 y1 x2 y2 of a view, in the space of the scene."""

_MARGIN = 1.5


@dataclass(frozen=True, eq=False)
class Scene:
    """One screen."""

    space: CoordSpace  # the space that is pictured, and that everything here is in
    width: float  # of the screen; where it is unknown, of a frame around the places
    height: float  # the same from top to bottom
    known: bool  # True where the size is known
    outlines: tuple[Floats, ...]  # each place of the target as corners (k, 2); a single corner is a point
    boxes: Floats  # (m, 4) the bounding box of each place
    marks: Floats  # (m, 2) the point marked in each bbox; NaN where there is none
    # (2,) the point or (4,) the box that was answered; None where the response answers with no place
    answer: Floats | None
    others: Floats  # (k, 2) the points that the other responses of the group answer with, where they matter
    # (k, 2) corners of the region on which the group agrees, where only that counts as right; else None
    consensus: Floats | None
    sizes: Floats  # (2, 2) width and height of the original image and of the one that the model saw; NaN where unknown

    @property
    def window(self) -> Window:
        """The whole screen."""
        return (0.0, 0.0, self.width, self.height)

    @property
    def visible(self) -> bool:
        """True where the answer lies on the screen, or there is none that could."""
        if self.answer is None:
            return True
        x, y = centre(self.answer).tolist()
        return bool(0.0 <= x <= self.width and 0.0 <= y <= self.height)

    def converted(self, places: Floats, source: CoordSpace, into: CoordSpace) -> Floats:
        """Convert points (n, 2) or boxes (n, 4) of this screen into another space."""
        return convert(places, source, into, self.sizes[:1], self.sizes[1:])

    def extent_in(self, space: CoordSpace) -> tuple[float, float]:
        """Return width and height of the screen in another space."""
        corner = self.converted(np.array([[self.width, self.height]]), self.space, space)[0]
        return corner[0].item(), corner[1].item()


def scene(recipe: Recipe, case: Case) -> Scene:
    """Return the screen of a case, with target and answers, as a recipe reads them.

    It is in pixels of the original image where their number is known, else of the image that the model saw, else in
    the space in which the recipe's formula works.
    """
    rollouts = case.rollouts(recipe)
    sizes = np.stack((rollouts.image_sizes[case.row], rollouts.model_image_sizes[case.row]))
    space = _pictured(recipe, sizes)

    def moved(places: Floats) -> Floats:
        return convert(places, recipe.space, space, sizes[:1], sizes[1:])

    regions = rollouts.targets.regions
    mine = regions.row == case.row
    boxes = moved(regions.box[mine])
    marks = moved(np.where(regions.kind[:, None] == RegionKind.BBOX, regions.point, np.nan)[mine])
    outlines = tuple(moved(regions.outline(place)) for place in np.flatnonzero(mine).tolist())
    answer, others = _answers(recipe, case, rollouts, moved)
    agreed = _consensus(recipe, case)
    extent = extents(space, sizes[:1], sizes[1:])[0]
    known = not np.isnan(extent).any()
    if not known:
        extent = _frame(boxes, answer, others)
    return Scene(
        space, float(extent[0]), float(extent[1]), known, outlines, boxes, marks, answer, others,
        None if agreed is None else moved(agreed), sizes,
    )  # fmt: skip


def centre(answer: Floats) -> Floats:
    """Return the point (2,) itself, or the middle of the box (4,)."""
    middle: Floats = answer.reshape(-1, 2).mean(axis=0)
    return middle


def with_its_group(recipe: Recipe, case: Case) -> Case:
    """Remove the rows that the score of the case's row does not depend on."""
    if "trajectories" in recipe.needs:
        return case
    rows = [case.row]  # alone, unless groups count
    if "groups" in recipe.needs and case.groups is not None:
        rows = [row for row, group in enumerate(case.groups) if group == case.groups[case.row]]
    chosen: dict[str, Any] = {
        name: tuple(column[row] for row in rows)
        for name, column in vars(case).items()
        if name not in ("row", "box_format") and column is not None
    }
    return replace(case, **chosen, row=rows.index(case.row))


def _pictured(recipe: Recipe, sizes: Floats) -> CoordSpace:
    image, model_image = (not np.isnan(pair).any() for pair in sizes)
    known = {PIXEL.size_field: image, MODEL_PIXEL.size_field: model_image}
    for space in (PIXEL, MODEL_PIXEL):
        needed = (*sizes_needed(recipe.space, recipe.response_space, into=space), space.size_field)
        if all(known[name] for name in needed):
            return space
    return recipe.space


def _answers(
    recipe: Recipe, case: Case, rollouts: Rollouts, moved: Callable[[Floats], Floats]
) -> tuple[Floats | None, Floats]:
    """Return the answer of the row to explain, and the points of the rows that its score depends on."""
    read = rollouts.predictions
    placed = np.isin(read.reason, CLICKED) & ~np.isnan(read.xy).any(axis=1)
    points, boxes = moved(read.xy), moved(read.box)
    others = placed & (rollouts.groups == rollouts.groups[case.row])
    others[case.row] = False
    answer = points[case.row] if np.isnan(boxes[case.row]).any() else boxes[case.row]
    return (answer if placed[case.row] else None), points[others & ("groups" in recipe.needs)]


def _consensus(recipe: Recipe, case: Case) -> Floats | None:
    """Return corners (k, 2), in the recipe's space."""
    if not isinstance(recipe.success, InConsensus):
        return None
    agreed = consensus_region(with_its_group(recipe, case).rollouts(recipe).predictions, recipe.success.size)
    return None if agreed is None or agreed.votes < recipe.success.votes else np.array(agreed.polygon).reshape(-1, 2)


def _frame(boxes: Floats, answer: Floats | None, others: Floats) -> Floats:
    """Return width and height of a screen that holds all places with a margin; a far answer does not stretch it."""
    places = np.vstack((boxes[:, 2:], others))
    if len(places) == 0:
        places = np.ones((1, 2)) if answer is None else answer[-2:][None]
    extent = np.maximum(_MARGIN * places.max(axis=0), 1.0)
    if answer is not None and (answer[-2:] <= 3 * extent).all():
        extent = np.maximum(extent, 1.1 * answer[-2:])
    whole: Floats = np.ceil(extent)
    return whole
