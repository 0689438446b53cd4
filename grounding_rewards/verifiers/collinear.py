"""Do three of several answers lie on one line?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers.base import NO_TARGET, BaseVerifier

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

TOLERANCE = 1e-9
"""How far apart, relative to the larger, the two products of a cross product are where points lie on one line."""

_FEW = 6
_TINY = 1e-100
_CELLS = 1 << 18


@dataclass(frozen=True)
class NotCollinear(BaseVerifier):
    """1.0 where an answer was read and no three of its points lie on one line, else 0.0.

    The rule is that of ``collinear``. A single point, two points and a refusal lie on no line.

    Source: InfiGUI-G1 22208e4, ``recipe/infigui-g1/reward_fn.py``.
    """

    low = 0.0
    high = 1.0
    judges = NO_TARGET

    def __call__(self, rollouts: Rollouts) -> Floats:
        predictions = rollouts.predictions
        score = predictions.parsed.astype(np.float64)
        if predictions.points is not None and predictions.offsets is not None and len(predictions.points) > 2:
            score[collinear(predictions.points, predictions.offsets)] = 0.0
        return score


def collinear(points: Floats, offsets: Ints) -> Bools:
    """Do any three points of each row lie on one line?

    Three points do where a = (x2 - x1)(y3 - y1) and b = (y2 - y1)(x3 - x1), the first of them in order being 1, are
    within 1e-9 of each other, relative to the larger: |a - b| <= 1e-9 · max(|a|, |b|), as ``math.isclose`` has it. Two
    points in the same place therefore lie on one line with any third.

    Args:
        points: (k, 2) the points of all rows, one after the other.
        offsets: (n + 1,) where each row's points start and end.

    Returns:
        (n,) booleans. N points take time N² log N.

    >>> collinear(np.array([[0., 0.], [1., 1.], [2., 2.], [0., 0.], [1., 1.], [2., 3.]]), np.array([0, 3, 6]))
    array([ True, False])
    """
    counts = offsets[1:] - offsets[:-1]
    found = np.zeros(len(counts), dtype=np.bool_)
    for count in np.unique(counts[counts > 2]):
        for rows in _portions(np.flatnonzero(counts == count), int(count)):
            found[rows] = _any_line(points[offsets[rows, None] + np.arange(count)])
    return found


def _portions(rows: Ints, count: int) -> Iterator[Ints]:
    """So many rows at a time that the arrays over pairs of points stay small."""
    size = max(1, _CELLS // (count * count))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _any_line(points: Floats) -> Bools:
    """The same for rows of equally many points: (r, c, 2) to (r,)."""
    if points.shape[1] <= _FEW:
        return _by_definition(points)
    found = _by_slope(points)
    size = np.abs(points)
    tiny = ((size > 0) & (size < _TINY)).any(axis=(1, 2))  # their products are no longer exact to 16 digits, or 0
    if tiny.any():
        found[tiny] = _by_definition(points[tiny])
    return found


def _by_definition(points: Floats) -> Bools:
    """Every three points."""
    found = np.zeros(len(points), dtype=np.bool_)
    for first in range(points.shape[1] - 2):
        away = points[:, first + 1 :] - points[:, first, None]
        x, y = away[..., 0], away[..., 1]
        second, third = np.triu_indices(x.shape[1], 1)
        found |= _close(x[:, second] * y[:, third], y[:, second] * x[:, third]).any(axis=1)
    return found


def _by_slope(points: Floats) -> Bools:
    """Only neighbours in the order of slopes, as seen from each point: if any two are close, two neighbours are."""
    away = points[:, None] - points[:, :, None]
    later = np.triu(np.ones(away.shape[1:3], dtype=np.bool_), 1)
    x, y = (np.where(later, away[..., axis], np.nan) for axis in (0, 1))
    same = ((x == 0) & (y == 0)).any(axis=(1, 2))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        slope = np.where(x == 0, np.inf, y / x)
    order = np.argsort(slope, axis=2)
    x, y = (np.take_along_axis(side, order, axis=2) for side in (x, y))
    close = _close(x[..., :-1] * y[..., 1:], y[..., :-1] * x[..., 1:])
    found: Bools = same | close.any(axis=(1, 2))
    return found


def _close(a: Floats, b: Floats) -> Bools:
    close: Bools = np.abs(a - b) <= TOLERANCE * np.maximum(np.abs(a), np.abs(b))
    return close
