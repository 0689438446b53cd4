"""What a dialect is: it finds answers in texts. Most are one pattern with named groups."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.parsing.texts import (
    SPACE,
    Column,
    Texts,
    compiled,
    contains,
    count,
    extract,
    floats,
    matches,
    strings,
)
from grounding_rewards.spaces import Floats

Answers = Literal["only", "first", "last", "all"]


@dataclass(frozen=True, eq=False)
class Found:
    """What a dialect found in n texts.

    Attributes:
        xy: (n, 2) the point of the answer that counts, or its box's centre; NaN where there is none.
        box: (n, 4) its box; NaN where it is a point.
        count: (n,) how many answers there are (under "first" and "last" at most 1).
        begun: (n,) True where an answer seems to have been begun.
        refused: (n,) True where the answer is a refusal.
        actions: (n,) the action named with the answer, else "".
        dialect: (n,) index of the dialect that matched, -1 where none did.
        points: the points of all answers of each row, under "all"; else None.
    """

    xy: Floats
    box: Floats
    count: NDArray[np.int64]
    begun: NDArray[np.bool_]
    refused: NDArray[np.bool_]
    actions: NDArray[np.object_]
    dialect: NDArray[np.int8]
    points: list[Floats] | None = None


class Dialect(Protocol):
    """A way of writing answers. ``names`` are the dialects inside (itself, or those it tries in order)."""

    @property
    def name(self) -> str:
        """What a config calls it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The dialects inside, in the order in which they are tried."""

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text."""


@dataclass(frozen=True)
class PatternDialect:
    """One pattern with groups x and y, or x1 y1 x2 y2, or both as alternatives, or none for a refusal.

    Args:
        name: the dialect's name.
        pattern: what an answer looks like, in the common subset of RE2 and Python's re.
        signs: substrings that show that an answer was begun; every answer contains at least one (none: no such rule).
        whole: the answer must be the whole text, white space around it aside.
        inner: with it, ``pattern`` captures a group ``body``, and the groups of these patterns are searched in there.
    """

    name: str
    pattern: str = field(repr=False)
    signs: tuple[str, ...] = ()
    whole: bool = False
    inner: tuple[str, ...] = field(default=(), repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The dialect itself."""
        return (self.name,)

    @property
    def full_pattern(self) -> str:
        """The pattern as it is run."""
        return f"^{SPACE}(?:{self.pattern}){SPACE}$" if self.whole else self.pattern

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        begun = contain(texts, self.signs)
        likely = np.flatnonzero(begun) if self.signs else np.arange(len(texts))
        found = nothing(len(texts), answers)
        if len(likely):
            put(found, likely, self._find(texts.take(likely), answers))
        found.begun[:] = begun
        return found

    def _find(self, texts: Texts, answers: Answers) -> Found:
        found = nothing(len(texts), answers)
        if not compiled(self.full_pattern).groupindex:
            found.refused[:] = matches(texts, self.full_pattern)
            found.count[:] = found.refused
            found.dialect[found.refused] = 0
            return found
        counts = self._counts(texts, answers)
        groups = self._groups(texts.column)
        xy, box = places(groups, len(texts))
        actions = _actions(groups, len(texts))
        # Where several answers are none, which ones they are does not matter, unless a body holds no place.
        several = np.flatnonzero(counts > 1) if self.inner or answers != "only" else np.zeros(0, dtype=np.int64)
        for row in map(int, several):
            many_xy, many_box, many_actions = self._each(texts.values[row])
            counts[row] = len(many_xy)
            if len(many_xy):
                chosen = -1 if answers == "last" else 0
                xy[row], box[row], actions[row] = many_xy[chosen], many_box[chosen], many_actions[chosen]
            if found.points is not None:
                found.points[row] = many_xy
        matched = ~np.isnan(xy[:, 0] + xy[:, 1])
        counts = np.where(matched, np.maximum(counts, 1) if answers in ("only", "all") else 1, 0)
        if found.points is not None:
            for row in map(int, np.flatnonzero(counts == 1)):
                found.points[row] = xy[row : row + 1]
        dialect = np.where(matched, 0, -1).astype(np.int8)
        return replace(found, xy=xy, box=box, count=counts, actions=actions, dialect=dialect)

    def _counts(self, texts: Texts, answers: Answers) -> NDArray[np.int64]:
        """How many answers each text may hold; 0 where the leftmost match is all that matters."""
        if self.whole or (answers == "first" and not self.inner):
            return np.zeros(len(texts), dtype=np.int64)
        return count(texts, self.full_pattern)

    def _groups(self, column: Column) -> dict[str, Column]:
        groups = extract(column, self.full_pattern)
        if self.inner:
            body = groups["body"]
            return {name: found for pattern in self.inner for name, found in extract(body, pattern).items()}
        return groups

    def _each(self, text: str) -> tuple[Floats, Floats, NDArray[np.object_]]:
        """All answers of one text, in order; those whose body holds no place are left out."""
        found = [match[0] for match in compiled(self.full_pattern).finditer(text)]
        groups = self._groups(found)
        xy, box = places(groups, len(found))
        read = ~np.isnan(xy[:, 0] + xy[:, 1])
        return xy[read], box[read], _actions(groups, len(found))[read]


def _actions(groups: dict[str, Column], rows: int) -> NDArray[np.object_]:
    return strings(groups["action"]) if "action" in groups else np.full(rows, "", dtype=np.object_)


def places(groups: dict[str, Column], rows: int) -> tuple[Floats, Floats]:
    """Points (n, 2) and boxes (n, 4) from captured numerals; a box's point is its centre."""
    xy, box = np.full((rows, 2), np.nan), np.full((rows, 4), np.nan)
    if "x1" in groups:
        box = np.stack([floats(groups[name]) for name in ("x1", "y1", "x2", "y2")], axis=1)
        xy = (box[:, :2] + box[:, 2:]) / 2
    if "x" in groups:
        point = np.stack([floats(groups["x"]), floats(groups["y"])], axis=1)
        xy = np.where(np.isnan(point), xy, point)
    return xy, box


def contain(texts: Texts, signs: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which texts contain any of the signs."""
    found = np.zeros(len(texts), dtype=np.bool_)
    for sign in signs:
        found |= contains(texts, sign)
    return found


def nothing(rows: int, answers: Answers) -> Found:
    """No answer in any of n texts."""
    return Found(
        xy=np.full((rows, 2), np.nan),
        box=np.full((rows, 4), np.nan),
        count=np.zeros(rows, dtype=np.int64),
        begun=np.zeros(rows, dtype=np.bool_),
        refused=np.zeros(rows, dtype=np.bool_),
        actions=np.full(rows, "", dtype=np.object_),
        dialect=np.full(rows, -1, dtype=np.int8),
        points=[np.zeros((0, 2)) for _ in range(rows)] if answers == "all" else None,
    )


def put(found: Found, rows: NDArray[np.int64], some: Found) -> None:
    """Write what was found in some of the texts where it belongs among all."""
    for name in ("xy", "box", "count", "begun", "refused", "actions", "dialect"):
        getattr(found, name)[rows] = getattr(some, name)
    if found.points is not None and some.points is not None:
        for row, points in zip(rows, some.points, strict=True):
            found.points[row] = points
