"""Agreement of a group's rollouts, each of which votes for the region around its place, and the region most share.

A region is a box that holds its left and top edges, and neither its right nor its bottom one, so that regions that
merely touch share nothing. v(x, y) is the number of a group's regions that hold (x, y), and v_max its largest value.

Source: GUI-RC and GUI-RCPO, from the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grounding_rewards.arrays import Floats, Ints, nowhere
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import RecipeError
from grounding_rewards.groups.blocks import LARGE, by_size, neighbours
from grounding_rewards.rollouts import Predictions, Reason

if TYPE_CHECKING:
    from shapely import Polygon

SIZE = 50.0
"""Side of the square about a point, in pixels, as in the paper."""

_DIGITS = 9
"""Decimals that count: those behind them come from coordinates that were brought into another space, and would make
regions that merely touch overlap."""

_EXACT = 2.0**22
"""Numbers of this size and beyond have no further decimals, and rounding them would move them."""


def _rounded(values: Floats) -> Floats:
    """Return numbers with the decimals that count.

    >>> _rounded(np.array([50 + 6e-14, 1e12 - 24])).tolist()
    [50.0, 999999999976.0]
    """
    return np.where(np.abs(values) < _EXACT, np.round(values, _DIGITS), values)


def voting_regions(xy: Floats, box: Floats, size: float) -> Floats:
    """Return the region that each answer votes for: the box answered, else a square about the point.

    Coordinates count to nine decimals, so that regions which touch before they are converted touch after it.
    A box without area counts as its centre; rows without a place have NaN.

    >>> box = np.array([[np.nan] * 4, [0., 0., 30., 20.]])
    >>> voting_regions(np.array([[100., 80.], [15., 10.]]), box, 50.0)
    array([[ 75.,  55., 125., 105.],
           [  0.,   0.,  30.,  20.]])
    """
    low, box = _rounded(xy - size / 2), _rounded(box)
    # A small square far out may round to nothing.
    high = np.maximum(_rounded(xy + size / 2), np.nextafter(low, np.inf))
    spread = (box[:, 0] < box[:, 2]) & (box[:, 1] < box[:, 3]) & ~np.isnan(xy[:, 0])
    return np.where(spread[:, None], box, np.concatenate((low, high), axis=1))


def consensus_scores(regions: Floats, groups: Ints) -> Floats:
    """Return (1 / (|R| · v_max)) · ∫_R v, the mean agreement over each region as a share of the largest.

    The integral is Σ_j |R_j ∩ R| over the regions of the group, itself included: exact, without a grid. From ``LARGE``
    rows on, a group takes time as its pairs of distinct regions that meet along x.
    Rows without a region have 0.0; where all that vote are the same, or there is one, they have 1.0.

    >>> squares = np.array([[0., 0., 50., 50.], [25., 0., 75., 50.], [200., 200., 250., 250.]])
    >>> consensus_scores(squares, np.zeros(3, dtype=np.int64))
    array([0.75, 0.75, 0.5 ])
    """
    scores = np.zeros(len(regions))
    for block in by_size(groups, voters(regions)):
        boxes = regions[block]
        covered = _covered(boxes, boxes).sum(axis=2) if boxes.shape[1] < LARGE else _covered_by_all(boxes[0])
        scores[block] = np.minimum(covered / depth_of(boxes)[:, None], 1.0)  # may round beyond it
    return scores


def votes_at(xy: Floats, regions: Floats, groups: Ints) -> tuple[Ints, Ints]:
    """Count the regions of its group that hold each row's point, and the most that agree anywhere; 0 without a vote.

    >>> squares = np.array([[0., 0., 50., 50.], [25., 0., 75., 50.], [200., 200., 250., 250.]])
    >>> votes_at(np.array([[25., 25.], [50., 25.], [225., 225.]]), squares, np.zeros(3, dtype=np.int64))
    (array([2, 1, 1]), array([2, 2, 2]))
    """
    here, most = np.zeros(len(regions), dtype=np.int64), np.zeros(len(regions), dtype=np.int64)
    for block in by_size(groups, voters(regions)):
        boxes, points = regions[block], _rounded(xy[block])
        if boxes.shape[1] < LARGE:
            here[block] = holds(boxes[:, None, :, :], points[:, :, None, :]).sum(axis=2)
            most[block] = depth_of(boxes)[:, None]
        else:
            here[block], most[block] = _swept(boxes[0], points[0])
    return here, most


def holds(regions: Floats, xy: Floats) -> NDArray[np.bool_]:
    """Test x1 <= x < x2 and y1 <= y < y2: (..., 4) regions and (..., 2) points, which broadcast.

    >>> holds(np.array([0., 0., 10., 10.]), np.array([[0., 0.], [10., 5.]]))
    array([ True, False])
    """
    (x1, y1, x2, y2), (x, y) = np.moveaxis(regions, -1, 0), np.moveaxis(xy, -1, 0)
    # Half-open, so that regions that merely touch share no vote.
    inside: NDArray[np.bool_] = (x1 <= x) & (x < x2) & (y1 <= y) & (y < y2)
    return inside


def voters(regions: Floats) -> Ints:
    """Return the rows that vote: (m,)."""
    return np.flatnonzero(~np.isnan(regions[:, 0]))


def _covered(boxes: Floats, others: Floats) -> Floats:
    """Return the share of each box that each other of its group covers: (g, c, 4) and (g, k, 4) to (g, c, k)."""
    share = np.ones((*boxes.shape[:2], others.shape[1]))
    for axis in (0, 1):
        low, high = boxes[:, :, None, axis], boxes[:, :, None, axis + 2]
        overlap = np.minimum(high, others[:, None, :, axis + 2])
        overlap -= np.maximum(low, others[:, None, :, axis])
        share *= np.maximum(overlap, 0.0, out=overlap)
        share /= high - low
    return share


def _covered_by_all(boxes: Floats) -> Floats:
    """Count how often the boxes of a large group cover each of them, itself included: (k, 4) to (k,)."""
    boxes, where, votes = np.unique(boxes, axis=0, return_inverse=True, return_counts=True)
    covered = np.empty(len(boxes))
    for part, near in neighbours(boxes[:, 0], boxes[:, 2]):
        covered[part] = (_covered(boxes[None, part], boxes[None, near])[0] * votes[near]).sum(axis=1)
    return covered[where.reshape(-1)]


def depth_of(boxes: Floats) -> Ints:
    """Return v_max of each group: (g, k, 4) to (g,).

    A vertical line sweeps over the left and right edges, and counts at each top edge how many boxes on the line hold
    it: somewhere on a left and a top edge v is largest.
    """
    groups, size, _ = boxes.shape
    if size >= LARGE:
        return np.array([_swept(each, each[:0, :2])[1] for each in boxes], dtype=np.int64)
    left, top, right, bottom = np.moveaxis(boxes, 2, 0)
    # In a stable order, right edges come first among equals: a box ends before another one begins.
    order = np.argsort(np.concatenate((right, left), axis=1), axis=1, kind="stable")
    rows, count, depth = np.arange(groups), np.zeros((groups, size), dtype=np.int64), np.zeros(groups, dtype=np.int64)
    for edge in order.T:
        box = edge % size
        spans = (top[rows, box, None] <= top) & (top < bottom[rows, box, None])
        count += np.where(edge < size, -1, 1)[:, None] * spans
        np.maximum(depth, count.max(axis=1), out=depth)
    return depth


def _swept(boxes: Floats, points: Floats) -> tuple[Ints, int]:
    """Count votes at each point, and v_max, of a large group: (k, 4) and (m, 2) to (m,) and a number.

    The line of ``depth_of`` keeps v at every top edge and every point's height, in order, so that a box is one slice.
    """
    boxes, votes = np.unique(boxes, axis=0, return_counts=True)
    points, where = np.unique(points, axis=0, return_inverse=True)
    lines = np.unique(np.concatenate((boxes[:, 1], points[:, 1])))
    begin, end, at = (np.searchsorted(lines, ys).tolist() for ys in (boxes[:, 1], boxes[:, 3], points[:, 1]))
    # Among equals right edges, then left ones, then points: a point on a left edge is in, on a right one out.
    order = np.argsort(np.concatenate((boxes[:, 2], boxes[:, 0], points[:, 0])), kind="stable").tolist()
    v, here, most, size, counts = np.zeros(len(lines), dtype=np.int64), [0] * len(points), 0, len(boxes), votes.tolist()
    for edge in order:
        box = edge % size
        if edge < size:
            v[begin[box] : end[box]] -= counts[box]
        elif edge < 2 * size:
            v[begin[box] : end[box]] += counts[box]
            most = max(most, int(v[begin[box] : end[box]].max()))  # v has grown nowhere else
        else:
            here[edge - 2 * size] = int(v[at[edge - 2 * size]])
    return np.array(here, dtype=np.int64)[where.reshape(-1)], most


@dataclass(frozen=True)
class ConsensusRegion:
    """The largest contiguous region in which as many rollouts agree as anywhere."""

    xy: tuple[float, float]  # where to click: the region's centre, or a point inside it where the centre lies outside
    votes: int  # number of rollouts that agree there, v_max
    of: int  # number of rollouts, those without an answer too
    members: tuple[int, ...]  # the rollouts whose regions hold xy, by number: votes of them
    area: float  # of the region
    box: tuple[float, float, float, float]  # x1 y1 x2 y2 around the region
    polygon: tuple[float, ...]  # x1 y1 x2 y2 ... the corners of its outline, clockwise from the top left


def consensus_region(
    places: ArrayLike | Predictions, size: float = SIZE, image_size: tuple[float, float] | None = None
) -> ConsensusRegion | None:
    """Merge many answers to one sample into one click: the middle of the region that most of them share.

    The region is the largest contiguous one with v = v_max; parts that touch along an edge are contiguous, at a corner
    they are not. Of equally large ones it is the topmost, then the leftmost. Nothing is trained and no label is needed.

    ``places`` are in pixels: (n, 2) points or (n, 4) boxes x1 y1 x2 y2, NaN where there is no answer (and none beyond
    ±1e12); or what a recipe parsed, ``Scores.predictions``, of which answers outside the image do not vote. ``size`` is
    the side of the square about a point, and about the centre of a box without area. Regions end at the border of the
    image, whose ``image_size`` is in the same pixels. Where no answer is a place there is none.

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
    parts = parts[areas >= areas.max() * (1 - 1e-9)]
    bounds = shapely.bounds(parts)
    chosen: Polygon = parts[np.lexsort((bounds[:, 0], bounds[:, 1]))[0]]  # by the top edge, then by the left one
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
