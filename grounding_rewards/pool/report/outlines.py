"""Where a sample's target lies, with every place of it and each in its own shape."""

from __future__ import annotations

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.catalogue import RecordedName
from grounding_rewards.coords.spaces import UNIT, CoordSpace
from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.pool.target_boxes import ACCEPTED, target_form
from grounding_rewards.scoring import Recipe
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.regions import Regions
from grounding_rewards.targets.target import RegionKind

_CORNERS = 72  # of the polygon that stands for a circle

Size = tuple[float, float]


def outlines(
    target: str | None,
    image_size: Size | None,
    *,
    name: RecordedName | None = None,
    target_space: CoordSpace | str | None = None,
    recipe: Recipe | None = None,
) -> tuple[Floats, ...]:
    """Each place of a target as corners (k, 2) in shares of the image; a single corner is a point.

    Nothing where the target has no place, cannot be read, or nobody says in which space or image it is.

    Args:
        target: as JSON.
        image_size: width and height in pixels; None where the target says.
        name: the recipe that the data name, whose form and space it has; only looked up.
        target_space: the space of a target that names none; goes before the recipe's.
        recipe: the caller's recipe, where the data name none that is installed.

    >>> [corners.tolist() for corners in outlines('{"bbox": [20, 10, 40, 30]}', (200, 100), target_space="pixel")]
    [[[0.1, 0.1], [0.2, 0.1], [0.2, 0.3], [0.1, 0.3]]]
    >>> outlines('{"refusal": true}', None)
    ()
    """
    native, space = target_form(name, target_space, recipe)
    sizes = None if image_size is None else np.array([image_size], dtype=np.float64)
    try:
        read = Targets.from_list([target], native=native, space=space)
        found = read.prepare(UNIT, default=None, response_space=None, accepts=ACCEPTED, image_sizes=sizes)
    except GroundingRewardsError:
        return ()
    return tuple(_corners(found.regions, place) for place in range(len(found.regions.row)))


def _corners(regions: Regions, place: int) -> Floats:
    kind, (x1, y1, x2, y2) = regions.kind[place], regions.box[place].tolist()
    if kind == RegionKind.POLYGON:
        return regions.vertices[regions.offsets[place] : regions.offsets[place + 1]]
    if kind == RegionKind.POINT:
        return np.asarray(regions.point[place][None], dtype=np.float64)
    if kind == RegionKind.CIRCLE:
        turns = np.linspace(0.0, 2 * np.pi, _CORNERS, endpoint=False)[:, None]
        middle, reach = np.array([x1 + x2, y1 + y2]) / 2, np.array([x2 - x1, y2 - y1]) / 2
        return np.asarray(middle + reach * np.hstack((np.cos(turns), np.sin(turns))))
    return np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]])
