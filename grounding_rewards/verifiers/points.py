"""Scores of several answers: one-to-one matches with several places, the rank of the first hit, and lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats, Ints, ranges, share
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.regions import Regions
from grounding_rewards.verifiers.hit import PolygonRule, inside_regions, judged_places, pairs_inside
from grounding_rewards.verifiers.options import Length
from grounding_rewards.verifiers.terms import Term

NEEDS_POINTS = frozenset({"points"})


@dataclass(frozen=True)
class Matched(Term):
    """Base of the family: k matches between a response's n points and its target's m places.

    A match is a point and a place that holds it, and each takes part in one match at most; k is the largest number of
    matches that there can be.

    Args:
        polygon: border rule of polygons, as in ``Hit``.
        point_radius: reach around places that are only a point, as in ``Hit``.
    """

    polygon: PolygonRule = "inclusive"
    point_radius: Length | None = None

    needs = NEEDS_POINTS

    @property
    def judges(self) -> frozenset[str]:
        return judged_places(self.point_radius, None)

    def __post_init__(self) -> None:
        super().__post_init__()
        import scipy.optimize  # noqa: F401  its first import takes a while, and adds a filter of warnings

    def counts(self, rollouts: Rollouts) -> tuple[Ints, Ints, Ints]:
        """Count each row's points, places and matches; without a list of answers the one that counts is all."""
        predictions, regions, rows = rollouts.predictions, rollouts.targets.regions, len(rollouts)
        points, offsets = predictions.points, predictions.offsets
        if points is None or offsets is None:
            points, offsets = predictions.xy, np.arange(rows + 1)
        owner = np.repeat(np.arange(rows), np.diff(offsets))
        point, place = pairs_inside(points, offsets, regions, self.polygon, self.point_radius)
        return (
            np.bincount(owner[~np.isnan(points[:, 0])], minlength=rows),  # an action may have no place
            np.bincount(regions.row, minlength=rows),
            _matches(point, place, owner, regions, rows),
        )

    def row_numbers(self, rollouts: Rollouts, row: int, score: float) -> dict[str, float]:
        """Return the numbers of a row by the letters of the formula."""
        return dict(zip("nmk", (column[row].item() for column in self.counts(rollouts)), strict=True))


@dataclass(frozen=True)
class MatchedPrecision(Matched):
    """k / n: the share of the n answered points that are matched with a place of their own.

    A match is a point and a place that holds it, as in ``Hit``; each takes part in one match at most, so that a second
    point in the same place is no match, and k is the largest number of matches that there can be. No point, no place,
    or a refusal target: 0.0. Alone it rewards an answer that leaves out all but the easiest place.
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        answers, _, matches = self.counts(rollouts)
        return share(matches, answers)


@dataclass(frozen=True)
class MatchedRecall(Matched):
    """k / m: the share of the target's m places that are matched with a point of their own.

    A match is a point and a place that holds it, as in ``Hit``; each takes part in one match at most, so that one point
    where two places overlap is one match, and k is the largest number of matches that there can be. No point, no place,
    or a refusal target: 0.0. Alone it rewards points all over the screen.
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        _, places, matches = self.counts(rollouts)
        return share(matches, places)


@dataclass(frozen=True)
class MatchedF1(Matched):
    """2k / (n + m) with n answered points, m places of the target, and k matches of a point and a place that holds it.

    It is the harmonic mean of precision k / n and recall k / m: 1.0 where every place is answered once and nothing else
    is; a place left out, a point beside all places and a second point in the same place each lower it. Inside is what
    ``Hit`` calls a hit. Each point and each place takes part in one match at most, and k is the largest number of
    matches that there can be. No point, no place, or a refusal target: 0.0.
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        answers, places, matches = self.counts(rollouts)
        return share(2 * matches, answers + places)


def _matches(point: Ints, place: Ints, owner: Ints, regions: Regions, rows: int) -> Ints:
    """Return each row's largest number of matches, of all pairs of a point and a place that holds it."""
    row = owner[point]
    fitting, holding = (np.bincount(each, minlength=least) for each, least in ((point, len(owner)), (place, 0)))
    # No more than there are points inside of places, or places with points inside; ...
    most = np.minimum(
        np.bincount(owner[fitting > 0], minlength=rows),
        np.bincount(regions.row[np.flatnonzero(holding)], minlength=rows),
    )
    # ... and as many, unless some point fits several places and some place holds several points.
    choices = [np.bincount(row[counts > 1], minlength=rows) > 0 for counts in (fitting[point], holding[place])]
    unclear = np.flatnonzero(choices[0] & choices[1] & (most > 1))
    if len(unclear):
        order = np.argsort(row, kind="stable")
        bounds = (np.searchsorted(row[order], unclear, side=side) for side in ("left", "right"))
        for each, start, end in zip(unclear, *bounds, strict=True):
            mine = order[start:end]
            most[each] = _assigned(point[mine], place[mine])
    return most


def _assigned(point: Ints, place: Ints) -> int:
    """Return one row's largest number of matches: the assignment of largest sum, 1 for a pair and 0 for no pair."""
    from scipy.optimize import linear_sum_assignment  # slow to import, and only this family needs it

    pairs = np.zeros((np.ptp(point) + 1, np.ptp(place) + 1))
    pairs[point - point.min(), place - place.min()] = 1.0
    return int(pairs[linear_sum_assignment(pairs, maximize=True)].sum())


@dataclass(frozen=True)
class Exploration(Term):
    """1 / sqrt(N · k) where the k-th of N points is the first inside the target, -1 / N where none is.

    A single hit is worth 1, the second of two 0.5, a single miss -1 and a miss by N points -1 / N, so that the more
    points miss, the less it costs. -1.0 without a point, and where three points lie on one line (``collinear``). Inside
    is what ``Hit`` calls a hit: borders count, and any of several places. Of a recipe that reads one answer, that is
    the only point.

    Args:
        polygon: border rule of polygons, as in ``Hit``.
        point_radius: reach around targets that are only a point, as in ``Hit``.

    Source: InfiGUI-G1 22208e4, ``recipe/infigui-g1/reward_fn.py``, its adaptive exploration reward.
    """

    polygon: PolygonRule = "inclusive"
    point_radius: Length | None = None

    low = -1.0

    @property
    def judges(self) -> frozenset[str]:
        return judged_places(self.point_radius, None)

    def __call__(self, rollouts: Rollouts) -> Floats:
        predictions, regions = rollouts.predictions, rollouts.targets.regions
        inside = inside_regions(predictions.xy, regions, self.polygon, self.point_radius)
        score: Floats = 2.0 * regions.best(inside.astype(np.float64), len(rollouts)) - 1.0  # of one point: 1 or -1
        points, offsets = predictions.points, predictions.offsets
        if points is not None and offsets is not None and len(points) > 1:
            rows = np.flatnonzero(offsets[1:] - offsets[:-1] > 1)
            if len(rows):
                score[rows] = self._several(rollouts, points, offsets, rows)
        return score

    def row_numbers(self, rollouts: Rollouts, row: int, score: float) -> dict[str, float | str]:
        """Return the numbers of a row by the letters of the formula."""
        points, offsets = rollouts.predictions.points, rollouts.predictions.offsets
        mine = rollouts.predictions.xy[[row]]  # no list of answers: the one point
        if np.isnan(mine).any():
            return {"N": 0}
        if points is not None and offsets is not None:
            mine = points[offsets[row] : offsets[row + 1]]
        if score > 0:
            return {"N": len(mine), "k": round(1 / (len(mine) * score * score))}  # score = 1 / sqrt(N k)
        in_line = len(mine) > 2 and collinear(mine, np.array([0, len(mine)])).any()
        return {"N": len(mine), "k": "none: three points on one line" if in_line else "none"}

    def _several(self, rollouts: Rollouts, points: Floats, offsets: Ints, rows: Ints) -> Floats:
        """Score the rows that answered with more than one point."""
        count = offsets[rows + 1] - offsets[rows]
        ends = np.cumsum(count)
        each = ranges(offsets[rows], count)
        hit = np.zeros(len(points), dtype=np.bool_)
        hit[pairs_inside(points, offsets, rollouts.targets.regions, self.polygon, self.point_radius)[0]] = True
        rank = np.where(hit[each], ranges(np.ones_like(rows), count), len(each) + 1)  # a miss comes after every hit
        first = np.minimum.reduceat(rank, ends - count)
        score = np.where(first <= count, 1.0 / np.sqrt(count * first), -1.0 / count)
        score[collinear(points[each], np.append(0, ends))] = -1.0
        return score


TOLERANCE = 1e-9
"""Largest difference of the two products of a cross product, relative to the larger, of points on one line."""

_FEW = 6  # points up to which testing every three is quicker than sorting slopes
_TINY = 1e-100
_CELLS = 1 << 18  # pairs of points at once: 2 MiB a table


@dataclass(frozen=True)
class NotCollinear(Term):
    """1.0 where an answer was read and no three of its points lie on one line, else 0.0.

    The rule is that of ``collinear``. A single point, two points and a refusal lie on no line.

    Source: InfiGUI-G1 22208e4, ``recipe/infigui-g1/reward_fn.py``.
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        predictions = rollouts.predictions
        score = predictions.parsed.astype(np.float64)
        if predictions.points is not None and predictions.offsets is not None and len(predictions.points) > 2:
            score[collinear(predictions.points, predictions.offsets)] = 0.0
        return score


def collinear(points: Floats, offsets: Ints) -> geometry.Bools:
    """Return True for rows of which any three points lie on one line.

    Three points do where a = (x2 - x1)(y3 - y1) and b = (y2 - y1)(x3 - x1), the first of them in order being 1, are
    within 1e-9 of each other, relative to the larger: |a - b| <= 1e-9 · max(|a|, |b|), as ``math.isclose`` has it. Two
    points in the same place therefore lie on one line with any third. N points take time N² log N.
    """
    counts = offsets[1:] - offsets[:-1]
    flags = np.zeros(len(counts), dtype=np.bool_)
    for count in np.unique(counts[counts > 2]):  # fewer lie on no line; rows of one length make one array
        alike, size = np.flatnonzero(counts == count), max(1, _CELLS // int(count) ** 2)
        for start in range(0, len(alike), size):
            rows = alike[start : start + size]
            flags[rows] = _any_line(points[offsets[rows, None] + np.arange(count)])
    return flags


def _any_line(points: Floats) -> geometry.Bools:
    """Test rows of equally many points: (r, c, 2) to (r,)."""
    if points.shape[1] <= _FEW:
        return _by_definition(points)
    flags = _by_slope(points)
    size = np.abs(points)
    tiny = ((size > 0) & (size < _TINY)).any(axis=(1, 2))  # their products are no longer exact to 16 digits, or 0
    if tiny.any():
        flags[tiny] = _by_definition(points[tiny])
    return flags


def _by_definition(points: Floats) -> geometry.Bools:
    """Test every three points."""
    flags = np.zeros(len(points), dtype=np.bool_)
    for first in range(points.shape[1] - 2):
        away = points[:, first + 1 :] - points[:, first, None]
        x, y = away[..., 0], away[..., 1]
        second, third = np.triu_indices(x.shape[1], 1)
        flags |= _close(x[:, second] * y[:, third], y[:, second] * x[:, third]).any(axis=1)
    return flags


def _by_slope(points: Floats) -> geometry.Bools:
    """Test only neighbours in the order of slopes from each point: if any two are close, two neighbours are."""
    away = points[:, None] - points[:, :, None]
    later = np.triu(np.ones(away.shape[1:3], dtype=np.bool_), 1)
    x, y = (np.where(later, away[..., axis], np.nan) for axis in (0, 1))  # NaN sorts last, and is close to nothing
    same = ((x == 0) & (y == 0)).any(axis=(1, 2))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        slope = np.where(x == 0, np.inf, y / x)  # upright is one line, up or down: y / 0 has two signs
    order = np.argsort(slope, axis=2)
    x, y = (np.take_along_axis(side, order, axis=2) for side in (x, y))
    close = _close(x[..., :-1] * y[..., 1:], y[..., :-1] * x[..., 1:])
    flags: geometry.Bools = same | close.any(axis=(1, 2))
    return flags


def _close(a: Floats, b: Floats) -> geometry.Bools:
    close: geometry.Bools = np.abs(a - b) <= TOLERANCE * np.maximum(np.abs(a), np.abs(b))
    return close
