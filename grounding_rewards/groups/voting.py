"""Voting in groups of rollouts: pure functions on places, each of which votes for the region around it.

A region is a box that holds its left and top edges, and neither its right nor its bottom one, so that regions that
merely touch share nothing. v(x, y) is the number of a group's regions that hold (x, y), and v_max its largest value.

Source: GUI-RC and GUI-RCPO, from the paper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.groups.blocks import LARGE, Ints, by_size, neighbours

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

    Args:
        xy: (n, 2) the point answered, or the centre of the box; NaN where there is none.
        box: (n, 4) the box answered; NaN where the answer is none. One whose right edge is not beyond the left, or the
            bottom not below the top, counts as its centre; one of a row without ``xy`` is left out.
        size: the side of the square, above 0.

    Returns:
        (n, 4) boxes x1 y1 x2 y2 with x1 < x2 and y1 < y2; NaN for rows without a place.

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

    Args:
        regions: (n, 4) what each rollout votes for, as of ``voting_regions``; NaN where it does not vote.
        groups: (n,) the group of each.

    Returns:
        (n,) 0.0 for rows that do not vote, else above 0 to 1; 1.0 where all that vote are the same, or there is one.

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
    """Count the regions of its group that hold each row's point, and the most that agree anywhere.

    Args:
        xy: (n, 2) a point for each row.
        regions: (n, 4) and
        groups: (n,) as for ``consensus_scores``.

    Returns:
        (n,) v at the point and (n,) v_max of the group; both 0 for rows that do not vote.

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
