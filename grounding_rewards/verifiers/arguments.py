"""Arguments of an action beside its text: app, status, button, direction, keys, duration, and the end of a drag."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.actions import Objects, key_name, opposite
from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.alternatives import Columns, argument, compared
from grounding_rewards.verifiers.hit import GROWN, screens, within
from grounding_rewards.verifiers.options import Length, Positive
from grounding_rewards.verifiers.terms import NEEDS_SCREEN, NOTHING, Mask, OfAlternatives
from grounding_rewards.verifiers.text import text_rule

Field = Literal["app", "status", "button"]
Convention = Literal["content", "finger"]


@dataclass(frozen=True)
class ArgumentMatch(OfAlternatives):
    """1.0 where an argument of the action is the target's, white space around it aside, else 0.0.

    1.0 where the target has none, whatever the response; 0.0 where it has one and the response none. Of several
    alternatives the best; 0.0 for a refusal.

    Args:
        field: app, status or button.
        case: whether case counts.

    Raises:
        RecipeError: an option does not fit.
    """

    field: Field
    case: bool = False

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        alternatives = rollouts.targets.alternatives.canonical
        columns = argument(rollouts, self.field, alternatives)
        return compared(columns, len(alternatives), text_rule("exact", case=self.case), among)


@dataclass(frozen=True)
class DirectionMatch(OfAlternatives):
    """1.0 where the direction of the action is the target's, else 0.0; case does not count.

    Of what is called a scroll, the direction is the way the view goes (``"content"``: down shows what is further down)
    or the way the finger goes (``"finger"``), which is the opposite. Of a swipe, and of a scroll that has two ends and
    no direction, it always is the finger's, so that a swipe up is a scroll down. Two ends give the direction of their
    longer side in pixels of the screen (in the numbers as written where its size is unknown), vertical if both are
    equal. 1.0 where the target has no direction, whatever the response; 0.0 where it has one and the response none. Of
    several alternatives the best; 0.0 for a refusal.

    Args:
        response: what the directions of scrolls mean in responses. They must be read by a dialect that shares the
            vocabulary, such as ``auto_action``.
        target: what they mean in targets.

    Raises:
        RecipeError: an option does not fit.
    """

    response: Convention = "content"
    target: Convention = "content"

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        alternatives = rollouts.targets.alternatives.canonical
        written, wanted = argument(rollouts, "direction", alternatives)
        swiped, meant = argument(rollouts, "swiped", alternatives)
        columns = _content(written, swiped, self.response), _content(wanted, meant, self.target)
        return compared(columns, len(alternatives), _same_way, among)


def _content(directions: Objects | None, swiped: Objects | None, convention: Convention) -> Objects | None:
    """Return directions as those of the view; those of swipes already are."""
    if directions is None or convention == "content":
        return directions
    surely = [None] * len(directions) if swiped is None else swiped.tolist()
    pairs = zip(directions.tolist(), surely, strict=True)
    ways = np.empty(len(directions), dtype=np.object_)
    ways[:] = [way if way is None or sure else opposite(way.strip().lower()) for way, sure in pairs]
    return ways


def _same_way(way: str, wanted: str) -> float:
    return float(way.strip().lower() == wanted.lower())


@dataclass(frozen=True)
class KeysMatch(OfAlternatives):
    """1.0 where the keys pressed are the target's, in any order and case, else 0.0.

    Names of one key that differ (``control`` and ``ctrl``, ``return`` and ``enter``, ``escape`` and ``esc``) are the
    same, and the action ``enter`` is that key. 1.0 where the target has no keys, whatever the response; 0.0 where it
    has some and the response none. Of several alternatives the best; 0.0 for a refusal.
    """

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        alternatives, predictions = rollouts.targets.alternatives.canonical, rollouts.predictions
        keys = alternatives.each(_with_enter(predictions.arguments.column("keys", len(rollouts)), predictions.actions))
        wanted = _with_enter(alternatives.arguments.column("keys", len(alternatives)), alternatives.names)
        return compared((keys, wanted), len(alternatives), same_keys, among)


def same_keys(keys: Iterable[str], wanted: Iterable[str]) -> float:
    """Return 1.0 for the same keys, in any order and case, else 0.0.

    >>> same_keys(("C", "Control"), ("ctrl", "c")), same_keys(("ctrl",), ("ctrl", "c"))
    (1.0, 0.0)
    """
    return float(_pressed(keys) == _pressed(wanted))


def _pressed(keys: Iterable[str]) -> list[str]:
    return sorted(map(key_name, keys))


def _with_enter(keys: Objects, names: Objects) -> Objects:
    """Return the keys of each action, with that of the action ``enter``."""
    entered = names == "enter"
    if not np.count_nonzero(entered):
        return keys
    column = keys.copy()
    for row in np.flatnonzero(entered).tolist():
        column[row] = ("enter",)
    return column


@dataclass(frozen=True)
class DurationMatch(OfAlternatives):
    """1.0 where the action takes as long as it should, else 0.0.

    With a tolerance: |duration - the target's| <= tolerance. Without one: low <= duration <= high. Either way only
    where the target has a duration; 1.0 where it has none, whatever the response; 0.0 where it has one and the
    response none. Of several alternatives the best; 0.0 for a refusal.

    Args:
        shortest: the least duration that counts, in the unit in which it is written.
        longest: the largest; None for no limit.
        tolerance: how far it may be from the target's, in place of the two.

    Raises:
        RecipeError: an option does not fit.
    """

    shortest: Length = 0.0
    longest: Length | None = None
    tolerance: Length | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest is not None and self.longest < self.shortest:
            raise options.wrong(self, "longest", f"a number from {self.shortest:g}")
        if self.tolerance is not None and (self.shortest or self.longest is not None):
            raise RecipeError("DurationMatch: got a tolerance and limits; give one of them")

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        return durations(argument(rollouts, "duration"), len(rollouts.targets.alternatives), self.holds)

    def holds(self, given: Floats, wanted: Floats) -> geometry.Bools:
        """Test k durations; NaN is none."""
        if self.tolerance is not None:
            return np.abs(given - wanted) <= self.tolerance
        return (given >= self.shortest) & (given <= (math.inf if self.longest is None else self.longest))


def durations(columns: Columns, rows: int, holds: Callable[[Floats, Floats], geometry.Bools]) -> Floats:
    """Return 1.0 where no duration is wanted or the response's holds, else 0.0: (k,)."""
    written, wanted = columns
    if wanted is None:
        return np.ones(rows)
    return np.where(np.isnan(wanted), 1.0, 0.0 if written is None else holds(written, wanted))


@dataclass(frozen=True)
class EndHit(OfAlternatives):
    """1.0 where the drag ends in the target's ``to``, borders included (as ``Hit(border="rounded")``), else 0.0.

    A ``to`` that is a box counts as ``enlarge`` times its size about its centre; one that is a point is reached from at
    most ``radius`` or ``share`` away, and without either only exactly. 1.0 where the target has no ``to``, whatever the
    response; 0.0 where it has one and the response ends nowhere. Of several alternatives the best; 0.0 for a refusal.

    Args:
        radius: the reach around points in units of the recipe's space.
        share: the same as a share of the screen, ||(dx / width, dy / height)||; in place of ``radius``.
        enlarge: how much larger boxes count.

    Raises:
        RecipeError: an option does not fit.
        TargetError: ``share`` is given, the recipe works in a pixel space, and the image size of a target whose ``to``
            is a point is unknown.
    """

    radius: Length | None = None
    share: Length | None = None
    enlarge: Positive = 1.0

    rivals = "radius", "share"

    @property
    def needs(self) -> frozenset[str]:
        return NOTHING if self.share is None else NEEDS_SCREEN

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        ends, wanted = argument(rollouts, "to")
        if wanted is None:
            return np.ones(len(rollouts.targets.alternatives))
        unasked = np.isnan(wanted[:, 0])
        if ends is None:
            return unasked.astype(np.float64)
        point = (wanted[:, :2] == wanted[:, 2:]).all(axis=1)  # a point is kept as a box without extent
        boxes = np.where(point[:, None], wanted, geometry.enlarged(wanted, self.enlarge))
        inside = geometry.in_box(ends, boxes + GROWN)
        if point.any() and (self.radius or self.share):
            inside |= point & self._near(rollouts, ends, wanted[:, :2], point)
        return np.where(unasked, 1.0, inside)

    def _near(self, rollouts: Rollouts, ends: Floats, wanted: Floats, point: geometry.Bools) -> geometry.Bools:
        if self.share is None:
            return within(ends, wanted, self.radius)
        size = screens(rollouts, "EndHit", point, of=rollouts.targets.alternatives)
        return within(ends / size, wanted / size, self.share)
