"""How soon does one of several clicks land on the target?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.target import RegionKind
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.base import PLACES, BaseVerifier
from grounding_rewards.verifiers.collinear import Bools, Ints, collinear
from grounding_rewards.verifiers.hit import PolygonRule, inside_regions

_BBOX = np.int8(RegionKind.BBOX)


@dataclass(frozen=True)
class Exploration(BaseVerifier):
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
    point_radius: float | None = None

    low = -1.0
    high = 1.0
    judges = PLACES

    def __post_init__(self) -> None:
        options.choice(self, "polygon", PolygonRule)
        if self.point_radius is not None:
            options.number(self, "point_radius")

    def __call__(self, rollouts: Rollouts) -> Floats:
        predictions = rollouts.predictions
        score: Floats = 2.0 * self._first_hits(rollouts, predictions.xy) - 1.0
        points, offsets = predictions.points, predictions.offsets
        if points is not None and offsets is not None and len(points) > 1:
            rows = np.flatnonzero(offsets[1:] - offsets[:-1] > 1)
            if len(rows):
                score[rows] = self._several(rollouts, points, offsets, rows)
        return score

    def _several(self, rollouts: Rollouts, points: Floats, offsets: Ints, rows: Ints) -> Floats:
        """The scores of the rows that answered with more than one point."""
        count = offsets[rows + 1] - offsets[rows]
        ends = np.cumsum(count)
        chosen = points[ranges(offsets[rows], count)]
        hit = self._hits(rollouts, chosen, np.repeat(rows, count), ranges(np.zeros_like(rows), count))
        rank = np.where(hit, ranges(np.ones_like(rows), count), len(chosen) + 1)
        first = np.minimum.reduceat(rank, ends - count)
        score = np.where(first <= count, 1.0 / np.sqrt(count * first), -1.0 / count)
        score[collinear(chosen, np.append(0, ends))] = -1.0
        return score

    def _hits(self, rollouts: Rollouts, points: Floats, owner: Ints, rank: Ints) -> Bools:
        """Which of the points, in order of the rows that they belong to, lie in any of their row's places?"""
        regions = rollouts.targets.regions
        if (regions.kind == _BBOX).all():
            start = np.searchsorted(regions.row, owner)
            count = np.searchsorted(regions.row, owner, side="right") - start
            point = np.repeat(np.arange(len(owner)), count)
            inside = geometry.in_box(points[point], regions.box[ranges(start, count)])
            return np.bincount(point[inside], minlength=len(owner)) > 0
        hit = np.zeros(len(owner), dtype=np.bool_)
        for turn in range(int(rank.max()) + 1):  # the first point of every row, then the second
            now = rank == turn
            xy = np.full((len(rollouts), 2), np.nan)
            xy[owner[now]] = points[now]
            hit[now] = self._first_hits(rollouts, xy)[owner[now]] > 0
        return hit

    def _first_hits(self, rollouts: Rollouts, xy: Floats) -> Floats:
        """1.0 for each row whose point in ``xy`` lies in any of its places, else 0.0."""
        regions = rollouts.targets.regions
        inside = inside_regions(xy, regions, self.polygon, self.point_radius)
        return regions.best(inside.astype(np.float64), len(rollouts))


def ranges(start: Ints, count: Ints) -> Ints:
    """Whole numbers from each start on, so many of each, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(count)
    numbers: Ints = np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - ends + count, count)
    return numbers
