"""The terms of UI-Venus's navigation reward: coordinates in steps, scrolls by what is right of them, and content."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import ActionType
from grounding_rewards.verifiers.alternatives import Columns, argument, compared
from grounding_rewards.verifiers.hit import inside_regions
from grounding_rewards.verifiers.options import Part
from grounding_rewards.verifiers.terms import Term
from grounding_rewards.verifiers.text import text_rule

POINTED = ("click", "long_press", "double_click", "triple_click", "right_click", "middle_click", "hover")
"""Actions at one place."""

MOVED = ("scroll", "drag")
"""Actions from one place to another."""

_TIE = 1e-9
_CODES = {"up": 1, "down": 2, "left": 3, "right": 4}
_TYPE = ActionType()


@dataclass(frozen=True)
class NavigationCoord(Term):
    """α times a step of the distance where the type is right, or β times a step of what is right of a scroll.

    d is the distance to the marked point or the centre, 0 inside a place with an extent. Clicks and long presses: α
    where d < near, α/2 where d < far, else 0. Scrolls and drags: 1.5 β where both ends are within ``far`` and the
    direction is right, β for start and direction, β/2 for either, else 0; a diagonal has both directions. Other
    actions: 0.0.

    Args:
        alpha: the score of coordinates.
        beta: the score of scrolls.
        near: the distance below which coordinates are right, in units of the recipe's space.
        far: the distance below which they are half right, and ends of a scroll right.
    """

    alpha: float
    beta: float
    near: float
    far: float

    @property
    def high(self) -> float:
        """The larger of α and 1.5 β."""
        return float(max(self.alpha, 1.5 * self.beta))

    def __call__(self, rollouts: Rollouts) -> Floats:
        alternatives = rollouts.targets.alternatives
        names = alternatives.canonical.names.tolist()
        near, far = _distances(rollouts, self.near, self.far)
        pointed = np.array([name in POINTED for name in names], dtype=np.bool_)
        score = np.where(pointed & near, self.alpha, np.where(pointed & far, self.alpha / 2, 0.0))
        moved = np.array([name in MOVED for name in names], dtype=np.bool_)
        if moved.any():
            _, (start, end, direction) = _moves(rollouts, far, self.far)
            most = np.where(start & direction, np.where(end, 1.5 * self.beta, self.beta), 0.0)
            score = np.where(moved, np.where((start | direction) & ~(start & direction), self.beta / 2, most), score)
        return alternatives.best(np.where(_TYPE.each(rollouts) > 0, score, 0.0), len(rollouts))


@dataclass(frozen=True)
class NavigationContent(Term):
    """γ where the type is right and the F1 of the words of text and app is at least ``least_f1``, else 0.0.

    0.0 where the target has neither.

    Args:
        gamma: the score of content.
        least_f1: the F1 from which on a text is right.
    """

    gamma: float
    least_f1: Part

    @property
    def high(self) -> float:
        """γ."""
        return float(self.gamma)

    def __call__(self, rollouts: Rollouts) -> Floats:
        asked, right = _contents(rollouts, self.least_f1)
        earned = asked & right & (_TYPE.each(rollouts) > 0)
        return rollouts.targets.alternatives.best(np.where(earned, self.gamma, 0.0), len(rollouts))


@dataclass(frozen=True)
class NavigationMatch(Term):
    """1.0 where every term of one alternative is as high as it can be, else 0.0.

    The terms are those of ``NavigationCoord`` and ``NavigationContent``.
    """

    near: float
    far: float
    least_f1: float

    def __call__(self, rollouts: Rollouts) -> Floats:
        alternatives = rollouts.targets.alternatives
        names = alternatives.canonical.names.tolist()
        near, far = _distances(rollouts, self.near, self.far)
        right = (_TYPE.each(rollouts) > 0) & _contents(rollouts, self.least_f1)[1]
        pointed = np.array([name in POINTED for name in names], dtype=np.bool_)
        right &= near | ~pointed | (alternatives.place < 0)
        moved = np.array([name in MOVED for name in names], dtype=np.bool_)
        if moved.any():
            asked, held = _moves(rollouts, far, self.far)
            right &= ~moved | ~asked | held.all(axis=0)
        return alternatives.best(right.astype(np.float64), len(rollouts))


def _distances(rollouts: Rollouts, *reaches: float) -> list[geometry.Bools]:
    """Return True for alternatives whose place is nearer than each reach: (k,); False where there is no place."""
    regions, alternatives = rollouts.targets.regions, rollouts.targets.alternatives
    inside = inside_regions(rollouts.predictions.xy, regions)
    marked = regions.centre if regions.boxes_only else np.where(np.isnan(regions.point), regions.centre, regions.point)
    away = geometry.distance(regions.each(rollouts.predictions.xy), marked)
    return [alternatives.place_scores(inside | (away < reach)) > 0 for reach in reaches]


def _moves(rollouts: Rollouts, start: geometry.Bools, reach: float) -> tuple[geometry.Bools, NDArray[np.bool_]]:
    """Return whether a target asks for anything of a scroll, (k,), and its start, end and direction are right, (3, k).

    What it does not ask for is right where all that it asks for is.
    """
    alternatives = rollouts.targets.alternatives.canonical
    to, wanted = argument(rollouts, "to", alternatives)
    ended = end = np.zeros(len(alternatives), dtype=np.bool_)
    if wanted is not None:
        ended = ~np.isnan(wanted[:, 0])
        if to is not None:
            end = geometry.in_box(to, wanted) | (geometry.distance(to, geometry.centre(wanted)) < reach)
    went, way = _directions(rollouts, to, wanted)
    asked = np.stack([alternatives.place >= 0, ended, way[:, 0] != 0])
    held = np.stack([start, end, (went[:, :, None] == way[:, None, :]).any(axis=(1, 2))])
    some: geometry.Bools = np.logical_or.reduce(asked, axis=0)
    return some, np.where(asked, held, some & (held | ~asked).all(axis=0))


def _directions(
    rollouts: Rollouts, to: Floats | None, wanted: Floats | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of the directions of the responses and the alternatives, by name or from end to end: (k, 2) each.

    A diagonal has two, any other direction the same one twice; 0 is none.
    """
    regions, alternatives = rollouts.targets.regions, rollouts.targets.alternatives.canonical
    size = alternatives.each(rollouts.image_sizes)
    directions, right = argument(rollouts, "direction", alternatives)
    went, way = _codes(directions, len(alternatives)), _codes(right, len(alternatives))
    if to is not None:
        # A direction that was found from end to end is marked as a swipe's, and looked for again for diagonals.
        swiped = argument(rollouts, "swiped", alternatives)[0]
        named = went != 0 if swiped is None else (went != 0) & (swiped == None)[:, None]  # noqa: E711 (row by row)
        ends = _towards(to - alternatives.each(rollouts.predictions.xy), size)
        went = np.where(named | (ends == 0), went, ends)
    if wanted is not None and len(regions.row):  # without any place, the index -1 below would raise
        arguments, rows = rollouts.targets.alternatives.arguments, len(alternatives)
        found = (arguments.column("direction", rows) == None) | (arguments.column("swiped", rows) != None)  # noqa: E711
        start = np.where(alternatives.place[:, None] >= 0, regions.centre[alternatives.place], np.nan)
        ends = _towards(geometry.centre(wanted) - start, size)
        way = np.where(found[:, None], ends, way)
    return went, way


def _codes(directions: NDArray[np.object_] | None, rows: int) -> NDArray[np.int64]:
    if directions is None:
        return np.zeros((rows, 2), dtype=np.int64)
    known = [0 if name is None else _CODES.get(name.strip().lower(), -1) for name in directions.tolist()]
    return np.array(known, dtype=np.int64).repeat(2).reshape(rows, 2)


def _towards(away: Floats, size: Floats) -> NDArray[np.int64]:
    """The directions of scrolls whose finger goes that way, which are the opposite; 0 where it goes nowhere."""
    right, down = (away * np.where(np.isnan(size), 1.0, size)).T
    across = np.where(right > 0, _CODES["left"], _CODES["right"])
    along = np.where(down > 0, _CODES["up"], _CODES["down"])
    # Whether a diagonal comes out as one depends on the last bit.
    tie = np.abs(np.abs(right) - np.abs(down)) <= _TIE * np.abs(right)
    level = np.abs(right) > np.abs(down)
    codes = np.stack([np.where(tie | level, across, along), np.where(tie | ~level, along, across)], axis=1)
    nowhere = (right == 0) & (down == 0) | np.isnan(right + down)
    return np.where(nowhere[:, None], 0, codes)


def _contents(rollouts: Rollouts, least: float) -> tuple[geometry.Bools, geometry.Bools]:
    """Return whether the alternatives ask for a text or an app, and whether those are right: (k,) each."""
    alternatives = rollouts.targets.alternatives.canonical
    rule = text_rule("f1", least)
    asked, right = np.zeros(len(alternatives), dtype=np.bool_), np.ones(len(alternatives), dtype=np.bool_)
    for name in ("text", "app"):
        written, wanted = _worded(argument(rollouts, name, alternatives))
        if wanted is not None:
            asked |= np.array([text is not None for text in wanted.tolist()], dtype=np.bool_)
            right &= compared((written, wanted), len(alternatives), rule) > 0
    return asked, right


def _worded(columns: Columns) -> Columns:
    """The same without texts of no words, which ask for nothing."""
    written, wanted = columns
    if wanted is None:
        return written, None
    words = [text if text is not None and text.strip() else None for text in wanted.tolist()]
    return written, np.array(words, dtype=np.object_)
