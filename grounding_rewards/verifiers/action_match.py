"""The whole action: type, place and arguments; and refusals, right and wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import CLICKED, Predictions, Reason, Rollouts
from grounding_rewards.targets.alternatives import Alternatives
from grounding_rewards.verifiers.hit import POINT, inside_regions, judged_places, near_points
from grounding_rewards.verifiers.match import (
    ActionType,
    Columns,
    Convention,
    DirectionMatch,
    DurationMatch,
    EndHit,
    TextRule,
    argument,
    check_text,
    compared,
    durations,
    in_vocabulary,
    same_keys,
    same_names,
    text_rule,
)
from grounding_rewards.verifiers.options import Count, Length, Part, Positive, ScreenShare
from grounding_rewards.verifiers.terms import ACTIONS, PLACES, Mask, Term

_CLICKED = np.isin(np.arange(len(Reason)), CLICKED)
_REFUSED = np.int8(Reason.REFUSED)


@dataclass(frozen=True)
class CorrectRefusal(Term):
    """1.0 where the target is a refusal and the response refuses, else 0.0.

    A click on a refusal target (``FalseClick``) and a refusal on any other target (``FalseRefusal``) are 0.0.
    """

    judges = PLACES | {"refusal"}

    def __call__(self, rollouts: Rollouts) -> Floats:
        return (_refused(rollouts) & rollouts.targets.refusal).astype(np.float64)


@dataclass(frozen=True)
class FalseRefusal(Term):
    """1.0 where the response refuses although there is a target, else 0.0. For weights below 0, and for counting."""

    judges = PLACES

    def __call__(self, rollouts: Rollouts) -> Floats:
        return (_refused(rollouts) & ~rollouts.targets.refusal).astype(np.float64)


@dataclass(frozen=True)
class FalseClick(Term):
    """1.0 where the response answers with a place although the target is a refusal, else 0.0.

    For weights below 0, and for counting. The place may lie outside the image.
    """

    judges = PLACES

    def __call__(self, rollouts: Rollouts) -> Floats:
        return (_CLICKED[rollouts.predictions.reason] & rollouts.targets.refusal).astype(np.float64)


def _refused(rollouts: Rollouts) -> NDArray[np.bool_]:
    refused: NDArray[np.bool_] = rollouts.predictions.reason == _REFUSED
    return refused


Scrolls = Literal["all", "direction", "axis", "any"]

IMPOSSIBLE = frozenset({
    "impossible", "infeasible", "failure", "fail", "failed", "unachievable", "not_feasible", "unsuccessful", "error",
    "task_impossible",
})  # fmt: skip
"""Statuses of ``finished`` where the task cannot be done."""

DONE = frozenset({
    "", "success", "successful", "succeeded", "complete", "completed", "done", "finish", "finished", "ok", "satisfied",
    "task_complete",
})  # fmt: skip
"""Statuses of ``finished`` where the task is done; without a status it is done."""

_TYPE = ActionType()


@dataclass(frozen=True)
class RefusalMatch(Term):
    """1.0 where the target is a refusal or impossible, and the response refuses or finishes as impossible, else 0.0.

    Names are those of the shared vocabulary: ``finished`` with a status such as impossible, infeasible or
    failure says of the whole task what a refusal says of the screen. Either will do for either.
    """

    judges = ACTIONS | {"refusal"}

    def __call__(self, rollouts: Rollouts) -> Floats:
        wanted = _impossible(rollouts)
        return (gave_up(rollouts.predictions) & wanted).astype(np.float64) if wanted.any() else np.zeros(len(rollouts))


_REFUSAL = RefusalMatch()


def gave_up(predictions: Predictions) -> NDArray[np.bool_]:
    """Return (n,) True where the response refuses or finishes as impossible."""
    refused: NDArray[np.bool_] = predictions.reason == _REFUSED
    status = predictions.arguments.status
    if status is not None:
        impossible = np.array([outcome(value) == "impossible" for value in status.tolist()], dtype=np.bool_)
        refused |= impossible & (in_vocabulary(predictions) == "finished")
    return refused


def _impossible(rollouts: Rollouts) -> NDArray[np.bool_]:
    """Return (n,) True where the target is a refusal, or an action that finishes as impossible would do."""
    targets = rollouts.targets
    if not targets.has_actions_or_refusals:
        return np.zeros(len(rollouts), dtype=np.bool_)
    impossible, alternatives = targets.refusal.copy(), targets.alternatives.canonical
    status = alternatives.arguments.status
    if status is not None:
        for index in np.flatnonzero(alternatives.names == "finished").tolist():
            impossible[alternatives.row[index]] |= outcome(status[index]) == "impossible"
    return impossible


@dataclass(frozen=True)
class ActionMatch(Term):
    """1.0 where the action is one of the target's alternatives in every respect, else 0.0.

    For one and the same alternative the action must be of its type, in the words of the shared vocabulary; hit its
    place, where it has one, its border included (as ``Hit(border="rounded")``); and agree with each argument that it
    has: text and app by a rule, direction, status and button as they are, keys in any order, the end of a drag by the
    reach of places, duration within a tolerance. What an alternative does not name is not asked for. Of ``finished``
    the outcome must agree: success, impossible, or a status of its own; without a status it is success. A refusal
    target: ``RefusalMatch``.

    Args:
        point_radius: reach around places and ends that are only a point, in units of the recipe's space; None where
            the recipe does not accept such places (an end then counts only exactly).
        point_share: the same reach as a share of the screen, ||(dx / width, dy / height)||, such as the 0.14 that
            AndroidControl is judged by; in place of ``point_radius``.
        enlarge: boxes, circles and polygons count as this many times their size.
        text: how texts are compared, see ``TextMatch``.
        text_threshold: the score of the text from which on it is right; None for 1.0.
        text_case: whether case counts in texts.
        scroll: ``"all"`` asks of a scroll what of any action; ``"direction"`` asks for nothing else where the target
            has a direction; ``"axis"`` for the same or the opposite one; ``"any"`` for no more than a scroll.
        response_scroll: what directions of responses mean once a swipe is a scroll the other way, see
            ``DirectionMatch``.
        target_scroll: what those of targets mean.
        duration_tolerance: how far a duration may be from the target's; None asks for none.
        app: how names of apps are compared; None for the rule of texts. Threshold and case hold for both.
        nearest: of a sample's places that are no point, this many count: those whose centres are nearest to the first
            point that the sample has, else to the response's place; None for all.

    Raises:
        TargetError: ``point_share`` is given, the recipe works in a pixel space, and the image size of a target that
            is only a point is unknown.
    """

    point_radius: Length | None = None
    point_share: ScreenShare | None = None
    enlarge: Positive = 1.0
    text: TextRule = "exact"
    text_threshold: Part | None = None
    text_case: bool = False
    scroll: Scrolls = "all"
    response_scroll: Convention = "content"
    target_scroll: Convention = "content"
    duration_tolerance: Length | None = 0.0
    app: TextRule | None = None
    nearest: Count | None = None

    rivals = "point_radius", "point_share"

    @property
    def judges(self) -> frozenset[str]:
        return judged_places(self.point_radius, self.point_share) | ACTIONS | {"refusal"}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text(self, "text", "text_threshold", "text_case")

    def __call__(self, rollouts: Rollouts) -> Floats:
        targets = rollouts.targets
        score = targets.alternatives.best(self.each(rollouts), len(rollouts))
        if not targets.has_actions_or_refusals:
            return score
        said_no = (rollouts.predictions.reason == _REFUSED) | targets.refusal  # else each argument must be right
        best: Floats = np.maximum(score, _REFUSAL(rollouts) * said_no)
        return best

    def places(self, rollouts: Rollouts) -> Floats:
        """Return 1.0 where a place of the target is hit, whatever the action; NaN where it has none."""
        alternatives, rows = rollouts.targets.alternatives, len(rollouts)
        asked = alternatives.place >= 0
        hit = alternatives.best((self._placed(rollouts) & asked).astype(np.float64), rows)
        return np.where(alternatives.best(asked.astype(np.float64), rows) > 0, hit, np.nan)

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        """Score k alternatives, of which a refusal has none."""
        alternatives = rollouts.targets.alternatives.canonical
        # Each test looks only at what passed those before: the later ones go row by row, in Python.
        rows = np.flatnonzero((_TYPE.each(rollouts) > 0) & (self._placed(rollouts) | self._loose(alternatives)))
        if len(rows):
            way = self._direction.each(rollouts) > 0
            if self.scroll == "any":
                way |= alternatives.names == "scroll"
            rows = rows[way[rows]]
        for name, rule in self._rules:
            written, wanted = argument(rollouts, name, alternatives)
            if wanted is not None:
                rows = rows[rule((written if written is None else written[rows], wanted[rows]), len(rows)) > 0]
        rows = rows[_same_outcome(rollouts, alternatives, rows)]
        score = np.zeros(len(alternatives))
        score[rows] = 1.0
        return score

    def _placed(self, rollouts: Rollouts) -> geometry.Bools:
        """Test place and end of alternatives, as far as they have them."""
        regions, alternatives = rollouts.targets.regions, rollouts.targets.alternatives
        hit = inside_regions(
            rollouts.predictions.xy, regions, point_radius=self.point_radius, border="rounded", enlarge=self.enlarge
        )
        if self.point_share is not None:
            hit |= near_points(rollouts, "ActionMatch", regions.kind == POINT, self.point_share, "rounded")
        if self.nearest is not None:
            hit &= _nearest(rollouts, self.nearest)
        placed = (alternatives.place_scores(hit) > 0) | (alternatives.place < 0)  # or no place is asked for
        if alternatives.arguments.to is not None:
            placed &= self._end.each(rollouts) > 0
        return placed

    def _loose(self, alternatives: Alternatives) -> geometry.Bools:
        """Return True for alternatives that are scrolls of which the direction alone counts, or nothing."""
        directions = alternatives.arguments.direction
        if self.scroll == "any":
            return same_names(alternatives.names, "scroll")
        if self.scroll == "all" or directions is None:
            return np.zeros(len(alternatives), dtype=np.bool_)
        pairs = zip(alternatives.names.tolist(), directions.tolist(), strict=True)
        return np.array([name == "scroll" and direction is not None for name, direction in pairs], dtype=np.bool_)

    @cached_property
    def _direction(self) -> DirectionMatch:
        return DirectionMatch(self.response_scroll, self.target_scroll, self.scroll == "axis")

    @cached_property
    def _end(self) -> EndHit:
        return EndHit(self.point_radius, self.point_share, self.enlarge)

    @cached_property
    def _rules(self) -> tuple[tuple[str, Callable[[Columns, int], Floats]], ...]:
        """Return the comparison of each argument but ``to``, which is a place, and status, which has its own rule."""
        threshold = 1.0 if self.text_threshold is None else self.text_threshold
        rules = (
            ("text", _each(text_rule(self.text, threshold, self.text_case))),
            ("app", _each(text_rule(self.app or self.text, threshold, self.text_case))),
            ("button", _each(text_rule("exact"))),
            ("keys", _each(same_keys)),
        )
        if self.duration_tolerance is None:
            return rules
        return (*rules, ("duration", partial(durations, holds=DurationMatch(tolerance=self.duration_tolerance).holds)))


def _nearest(rollouts: Rollouts, count: int) -> geometry.Bools:
    """Return (m,) True for points, and for the places that are nearest to the point of their sample or response."""
    regions = rollouts.targets.regions
    marked = np.flatnonzero(~np.isnan(regions.point[:, 0]))[::-1]  # of several points the first is written last
    points = rollouts.predictions.xy.copy()
    points[regions.row[marked]] = regions.point[marked]
    fixed = regions.kind == POINT
    far = np.where(fixed, np.inf, geometry.distance(geometry.centre(regions.box), regions.each(points)))
    rank = np.empty(len(far), dtype=np.int64)
    rank[np.lexsort((far, regions.row))] = np.arange(len(far)) - np.searchsorted(regions.row, regions.row)
    near: geometry.Bools = fixed | (rank < count)
    return near


def _each(compare: Callable[[Any, Any], float]) -> Callable[[Columns, int], Floats]:
    return partial(compared, compare=compare)


def _same_outcome(rollouts: Rollouts, alternatives: Alternatives, rows: NDArray[np.int64]) -> geometry.Bools:
    """Compare the chosen alternatives' outcome, where they finish, else their status, if any, with the response's."""
    statuses, wanted = argument(rollouts, "status", alternatives)
    same = np.ones(len(rows), dtype=np.bool_)
    if statuses is None and wanted is None:
        return same
    for index, (row, name) in enumerate(zip(rows.tolist(), alternatives.names[rows].tolist(), strict=True)):
        status = None if statuses is None else statuses[row]
        right = None if wanted is None else wanted[row]
        if name == "finished" or right is not None:
            same[index] = outcome(status) == outcome(right)
    return same


def outcome(status: str | None) -> str:
    """Return the outcome of a status: done (also where there is none), impossible, or itself."""
    written = (status or "").strip().lower()
    return "done" if written in DONE else "impossible" if written in IMPOSSIBLE else written
