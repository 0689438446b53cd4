"""Consensus of many answers to one sample: the region that most of them share, for inference and for labels.

Regions, v and v_max are those of ``voting``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import RecipeError
from grounding_rewards.groups.voting import SIZE, depth_of, holds, voters, voting_regions
from grounding_rewards.rollouts import Predictions, Reason

if TYPE_CHECKING:
    from shapely import Polygon


@dataclass(frozen=True)
class ConsensusRegion:
    """The largest contiguous region in which as many rollouts agree as anywhere.

    Attributes:
        xy: where to click: the region's centre, or a point inside it where the centre lies outside.
        votes: how many rollouts agree there, v_max.
        of: how many rollouts there are, whether they answered or not.
        members: the rollouts whose regions hold ``xy``, by number: ``votes`` of them.
        area: of the region.
        box: x1 y1 x2 y2 around the region.
        polygon: x1 y1 x2 y2 ... the corners of its outline, clockwise from the top left.
    """

    xy: tuple[float, float]
    votes: int
    of: int
    members: tuple[int, ...]
    area: float
    box: tuple[float, float, float, float]
    polygon: tuple[float, ...]


def consensus_region(
    places: ArrayLike | Predictions, size: float = SIZE, image_size: tuple[float, float] | None = None
) -> ConsensusRegion | None:
    """Merge many answers to one sample into one click: the middle of the region that most of them share.

    The region is the largest contiguous one with v = v_max; parts that touch along an edge are contiguous, at a corner
    they are not. Of equally large ones it is the topmost, then the leftmost. Nothing is trained and no label is needed.

    Args:
        places: what was answered, in pixels: (n, 2) points or (n, 4) boxes x1 y1 x2 y2, NaN where there is no answer
            (and none beyond ±1e12); or what a recipe parsed, ``Scores.predictions``, of which answers outside the image
            do not vote.
        size: the side of the square about a point, and about the centre of a box without area; above 0.
        image_size: (w, h) of the image, in the same pixels: regions end at its border.

    Returns:
        The region; None where no answer is a place.

    Raises:
        RecipeError: ``places``, ``size`` or ``image_size`` do not fit.

    Four points of which two agree, and many texts:

    >>> region = consensus_region([[100, 80], [110, 90], [400, 300], [np.nan, np.nan]])
    >>> region.xy, region.votes, region.of, region.members, region.box
    ((105.0, 85.0), 2, 4, (0, 1), (85.0, 65.0, 125.0, 105.0))
    >>> from grounding_rewards import recipe
    >>> texts = ["(100, 80)", "(110, 90)", "(400, 300)", "no idea"]
    >>> scores = recipe("gui-rcpo", response_space="pixel").score(texts, None, groups=[0] * len(texts))
    >>> consensus_region(scores.predictions) == region
    True

    Source: GUI-RC, from the paper, which draws 64 samples at a temperature of 0.5.
    """
    numbers = int | float | np.integer | np.floating
    if isinstance(size, bool) or not isinstance(size, numbers) or not 0 < size <= COORDINATE_LIMIT:
        raise RecipeError(f"consensus_region(size=): got {size!r:.80}; expected a length above 0")
    regions = _clipped(voting_regions(*_answers(places), float(size)), image_size)
    voting = voters(regions)
    if not len(voting):
        return None
    boxes = regions[voting]
    depth = int(depth_of(boxes[None])[0])  # all are one group
    cells = _deepest_cells(boxes, depth)
    part = _largest(cells)
    xy = _inside(part, cells, boxes, depth)
    return ConsensusRegion(
        xy=xy,
        votes=depth,
        of=len(regions),
        members=tuple(voting[holds(boxes, np.array(xy))].tolist()),
        area=float(part.area),
        box=tuple(part.bounds),
        polygon=_corners(part),
    )


def _answers(places: ArrayLike | Predictions) -> tuple[Floats, Floats]:
    """Return points and boxes: (n, 2) and (n, 4), NaN where there is no answer that counts."""
    if isinstance(places, Predictions):
        return np.where((places.reason == Reason.OK)[:, None], places.xy, np.nan), places.box
    try:
        table = np.asarray(places)
        table = table.astype(np.float64) if table.dtype.kind in "iufO" else np.zeros(1)  # a shape refused below
    except (TypeError, ValueError, OverflowError):
        table = np.zeros(1)
    if table.shape == (0,):
        table = table.reshape(0, 2)
    if table.ndim != 2 or table.shape[1] not in (2, 4):
        raise RecipeError(
            f"consensus_region(places=): got {places!r:.80}; expected n points x y, n boxes x1 y1 x2 y2, or predictions"
        )
    answered: NDArray[np.bool_] = np.logical_and.reduce(np.abs(table) <= COORDINATE_LIMIT, axis=1)
    table = np.where(answered[:, None], table, np.nan)
    return (table, nowhere(len(table), 4)) if table.shape[1] == 2 else ((table[:, :2] + table[:, 2:]) / 2, table)


def _clipped(regions: Floats, image_size: tuple[float, float] | None) -> Floats:
    """Clip regions to the image; NaN for those that lie beside it."""
    if image_size is None:
        return regions
    sides = np.array(image_size, dtype=np.float64) if np.shape(image_size) == (2,) else np.zeros(2)
    if not ((sides > 0) & (sides <= COORDINATE_LIMIT)).all():
        raise RecipeError(f"consensus_region(image_size=): got {image_size!r:.80}; expected (width, height)")
    clipped = np.clip(regions, 0.0, np.concatenate((sides, sides)))
    inside = (clipped[:, 0] < clipped[:, 2]) & (clipped[:, 1] < clipped[:, 3])
    return np.where(inside[:, None], clipped, np.nan)


def _deepest_cells(boxes: Floats, depth: int) -> Floats:
    """Return the places with v = v_max as boxes that share no more than edges: (m, 4), from left to right."""
    lines, cells = np.unique(boxes[:, 1::2]), []
    for x1, x2 in pairwise(np.unique(boxes[:, 0::2]).tolist()):
        spans = boxes[(boxes[:, 0] <= x1) & (x1 < boxes[:, 2])]
        begin, end = (np.bincount(np.searchsorted(lines, spans[:, side]), minlength=len(lines)) for side in (1, 3))
        deepest = np.append(False, np.cumsum(begin - end) == depth)
        edges = np.flatnonzero(deepest[1:] != deepest[:-1])  # v is 0 below the last line
        cells += [(x1, y1, x2, y2) for y1, y2 in lines[edges].reshape(-1, 2).tolist()]
    return np.array(cells)


def _largest(cells: Floats) -> Polygon:
    """Return the largest contiguous part, of equally large ones (but for rounding) the topmost, then the leftmost."""
    import shapely

    parts = shapely.get_parts(shapely.union_all(shapely.box(*cells.T)))
    areas = shapely.area(parts)
    bounds = shapely.bounds(parts[areas >= areas.max() * (1 - 1e-9)])
    first = np.lexsort((bounds[:, 0], bounds[:, 1]))[0]  # by the top edge, then by the left one
    chosen: Polygon = parts[areas >= areas.max() * (1 - 1e-9)][first]
    return chosen


def _inside(part: Polygon, cells: Floats, boxes: Floats, depth: int) -> tuple[float, float]:
    """Return the centre of a part, or another point in it."""
    for point in (part.centroid, part.representative_point()):  # the centre of a bent part may lie outside of it
        if part.contains(point) and np.count_nonzero(holds(boxes, np.array([point.x, point.y]))) == depth:
            return point.x, point.y
    x1, y1, x2, y2 = part.bounds  # a part so small that its middle rounds to its border
    within = cells[(cells[:, 0] >= x1) & (cells[:, 1] >= y1) & (cells[:, 2] <= x2) & (cells[:, 3] <= y2)]
    return float(within[0, 0]), float(within[0, 1])


def _corners(part: Polygon) -> tuple[float, ...]:
    """Return the corners of an outline of level and upright edges, without points amid a straight edge."""
    ring = np.array(part.exterior.coords)[:-1]
    before, after = np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0)
    ring = ring[~((before == ring) & (ring == after)).any(axis=1)]
    ring = np.roll(ring, -np.lexsort((ring[:, 0], ring[:, 1]))[0], axis=0)
    if ring[1, 1] != ring[0, 1]:  # clockwise from the top left, the first edge is a level one
        ring = np.concatenate((ring[:1], ring[:0:-1]))
    return tuple(ring.ravel().tolist())
