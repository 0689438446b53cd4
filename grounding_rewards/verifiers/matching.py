"""Scores of several places all of which are wanted: precision, recall and F1 over one-to-one matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.regions import Regions
from grounding_rewards.verifiers.hit import PolygonRule, judged_places, pairs_inside
from grounding_rewards.verifiers.options import Length
from grounding_rewards.verifiers.terms import Term

NEEDS_POINTS = frozenset({"points"})


class Counts(NamedTuple):
    """Numbers of each of n rows, (n,) each: answered points, places of the target, and matches of the two."""

    answers: Ints
    places: Ints
    matches: Ints


@dataclass(frozen=True)
class Matched(Term):
    """Base of the family: k matches between a response's n points and its target's m places.

    A match is a point and a place that holds it, and each takes part in one match at most; k is the largest number of
    matches that there can be.

    Args:
        polygon: border rule of polygons, as in ``Hit``.
        point_radius: reach around places that are only a point, as in ``Hit``.

    Raises:
        RecipeError: an option does not fit.
    """

    polygon: PolygonRule = "inclusive"
    point_radius: Length | None = None

    needs = NEEDS_POINTS

    @property
    def judges(self) -> frozenset[str]:
        return judged_places(self.point_radius, None)

    def __post_init__(self) -> None:
        super().__post_init__()

    def counts(self, rollouts: Rollouts) -> Counts:
        """Count each row's points, places and matches; without a list of answers the one that counts is all."""
        predictions, regions, rows = rollouts.predictions, rollouts.targets.regions, len(rollouts)
        points, offsets = predictions.points, predictions.offsets
        if points is None or offsets is None:
            points, offsets = predictions.xy, np.arange(rows + 1)
        owner = np.repeat(np.arange(rows), np.diff(offsets))
        point, place = pairs_inside(points, offsets, regions, self.polygon, self.point_radius)
        return Counts(
            answers=np.bincount(owner[~np.isnan(points[:, 0])], minlength=rows),  # an action may have no place
            places=np.bincount(regions.row, minlength=rows),
            matches=_matches(point, place, owner, regions, rows),
        )


@dataclass(frozen=True)
class MatchedPrecision(Matched):
    """k / n: the share of the n answered points that are matched with a place of their own.

    A match is a point and a place that holds it, as in ``Hit``; each takes part in one match at most, so that a second
    point in the same place is no match, and k is the largest number of matches that there can be. No point, no place,
    or a refusal target: 0.0. Alone it rewards an answer that leaves out all but the easiest place.
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        answers, _, matches = self.counts(rollouts)
        return _share(matches, answers)


@dataclass(frozen=True)
class MatchedRecall(Matched):
    """k / m: the share of the target's m places that are matched with a point of their own.

    A match is a point and a place that holds it, as in ``Hit``; each takes part in one match at most, so that one point
    where two places overlap is one match, and k is the largest number of matches that there can be. No point, no place,
    or a refusal target: 0.0. Alone it rewards points all over the screen.
    """

    def __call__(self, rollouts: Rollouts) -> Floats:
        _, places, matches = self.counts(rollouts)
        return _share(matches, places)


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
        return _share(2 * matches, answers + places)


def _share(part: Ints, whole: Ints) -> Floats:
    """Return part / whole, 0.0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


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
