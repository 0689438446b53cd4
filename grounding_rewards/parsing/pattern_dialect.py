"""What a dialect is: it finds answers in texts. Most are one pattern with named groups."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import empty
from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing.checks import check_texts, groups_of
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
    number,
    occurrences,
    strings,
)

_PLACES = ({"x", "y"}, {"x1", "y1", "x2", "y2"})

Answers = Literal["only", "first", "last", "all"]

MAX_ANSWERS = 256
"""Answers of a response that are read; more make it TOO_MANY."""


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
        points: the points of all answers of each row that has several, by row, under "all"; else None.
        usual: (n,) True where the text was seen to be the dialect's usual form; None where nobody looked.
        arguments: columns of ``actions.Arguments`` by name, those alone in which some row has one.
    """

    xy: Floats
    box: Floats
    count: NDArray[np.int64]
    begun: NDArray[np.bool_]
    refused: NDArray[np.bool_]
    actions: NDArray[np.object_]
    dialect: NDArray[np.int8]
    points: dict[int, Floats] | None = None
    usual: NDArray[np.bool_] | None = None
    arguments: dict[str, NDArray[Any]] = field(default_factory=dict)


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
        mark: a substring that every answer contains; a text that contains it once holds one answer at most. Without
            it, a sole sign is the mark.
        usual: a whole text, from ``^`` to ``$``, in which an answer usually comes; for speed alone. A text that it
            matches holds this one answer.
    """

    name: str
    pattern: str = field(repr=False)
    signs: tuple[str, ...] = ()
    whole: bool = False
    inner: tuple[str, ...] = field(default=(), repr=False)
    mark: str = field(default="", repr=False)
    usual: str = field(default="", repr=False)

    trusted = True

    @property
    def names(self) -> tuple[str, ...]:
        """The dialect itself."""
        return (self.name,)

    @cached_property
    def full_pattern(self) -> str:
        """The pattern as it is run."""
        return f"^{SPACE}(?:{self.pattern}){SPACE}$" if self.whole else self.pattern

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return compiled(self.full_pattern)

    def check_patterns(self) -> None:
        """Complain of patterns and signs that cannot be used, before there are texts.

        Raises:
            RecipeError: RE2 and Python's re do not both read one alike, or its groups say no place.
        """
        _ = self._refuses

    @cached_property
    def _refuses(self) -> bool:
        check_texts(self, "signs", "inner")
        whole = self.full_pattern if isinstance(self.pattern, str) else self.pattern
        usual = groups_of(self.name, self.usual)
        outer = groups_of(self.name, whole)
        names = outer.union(*(groups_of(self.name, each) for each in self.inner))
        body = {"body"} if self.inner else set()
        if (names and not any(place <= names for place in _PLACES)) or not usual <= names or not body <= outer:
            came = f"{sorted(names)}{f', in usual {sorted(usual)}' if usual else ''}"
            raise RecipeError(
                f"dialect {self.name}: got groups {came}; expected x and y, or x1, y1, x2 and y2, in usual no others, "
                "and body around inner; only a refusal has no groups"
            )
        return not names

    @cached_property
    def _mark(self) -> str:
        return self.mark or (self.signs[0] if len(self.signs) == 1 else "")

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        if self._refuses:
            return self._find_refusals(texts, answers)
        return self._find_many(texts, answers) if texts.vectorised else self._find_few(texts, answers)

    def _find_refusals(self, texts: Texts, answers: Answers) -> Found:
        found = nothing(len(texts), answers)
        found.begun[:] = contain(texts, self.signs)
        found.refused[:] = matches(texts, self.full_pattern)
        found.count[:] = found.refused
        found.dialect[found.refused] = 0
        return found

    def _find_few(self, texts: Texts, answers: Answers) -> Found:
        """Text by text."""
        read = [self._read(text, answers) if self._begins(text) else None for text in texts.values]
        if len(read) == 1 and read[0] and len(read[0]) == 1:
            return alone(*read[0][0], begun=bool(self.signs), answers=answers)
        found = nothing(len(texts), answers)
        for row, places in enumerate(read):
            found.begun[row] = places is not None and bool(self.signs)
            if places:
                place = places[0]
                found.xy[row], found.actions[row], found.dialect[row] = place.point, place.action, 0
                found.count[row] = len(places)
                if place.box is not None:
                    found.box[row] = place.box
                if found.points is not None and len(places) > 1:
                    found.points[row] = np.array([place.point for place in places], dtype=np.float64)
        return found

    def _begins(self, text: str) -> bool:
        for sign in self.signs:  # any() takes longer
            if sign in text:
                return True
        return not self.signs

    def _read(self, text: str, answers: Answers) -> list[_Place]:
        """The answers of one text: all, or as few as the policy needs, and no more than show that they are too many."""
        if self.whole or (answers == "first" and not self.inner):
            found = self._compiled.search(text)
            place = self._place(found) if found else None
            return [] if place is None else [place]
        found_all = self._compiled.finditer(text)
        places = map(self._place, reversed(list(found_all)) if answers == "last" else found_all)
        most = 1 if answers in ("first", "last") else MAX_ANSWERS + 1
        return list(islice((place for place in places if place is not None), most))

    def _place(self, found: re.Match[str]) -> _Place | None:
        if not self.inner:
            return _place(found.groupdict())
        body, groups = found["body"], {}
        for pattern in self.inner:
            inside = compiled(pattern).search(body)
            if inside:
                groups.update(inside.groupdict())
        return _place(groups)

    def _find_many(self, texts: Texts, answers: Answers) -> Found:
        """All texts at once: those in the usual form, then the rest."""
        found = nothing(len(texts), answers)
        left = np.arange(len(texts))
        if self.usual:
            self._write(found, extract(texts.column, self.usual))
            left = np.flatnonzero(found.count == 0)
            found.begun[:] = found.count > 0
        if self.signs and len(left):
            begun = contain(texts.take(left), self.signs)
            found.begun[left] |= begun
            left = left[begun]
        if len(left):
            rest = texts.take(left)
            put(found, left, (self._find_likely if rest.vectorised else self._find_few)(rest, answers))
        return found

    def _find_likely(self, texts: Texts, answers: Answers) -> Found:
        found = nothing(len(texts), answers)
        found.begun[:] = bool(self.signs)
        groups = extract(texts.column, self.full_pattern)
        if self.inner:
            body = groups["body"]
            groups = {name: found for pattern in self.inner for name, found in extract(body, pattern).items()}
        self._write(found, groups)
        counts = self._counts(texts, answers)
        several = np.flatnonzero(counts > 1)
        if answers == "only" and not self.inner:  # several are none: it does not matter which ones they are
            found.count[several] = counts[several]
        elif len(several):
            put(found, several, self._find_few(texts.take(several), answers))
        return found

    def _write(self, found: Found, groups: dict[str, Column]) -> None:
        """One answer of each text, where the pattern captured one."""
        if all(getattr(column, "null_count", 0) == len(found.xy) for column in groups.values()):
            return
        xy, box = places(groups, len(found.xy))
        matched = ~np.isnan(xy[:, 0] + xy[:, 1])
        found.xy[:], found.count[:] = xy, matched
        if "x1" in groups:
            found.box[:] = box
        if "action" in groups:
            found.actions[:] = np.where(matched, strings(groups["action"]), "")
        found.dialect[matched] = 0

    def _counts(self, texts: Texts, answers: Answers) -> NDArray[np.int64]:
        """How many answers each text may hold; 0 where the leftmost one is all that matters."""
        if self.full_pattern.startswith("^") or (answers == "first" and not self.inner):
            return np.zeros(len(texts), dtype=np.int64)
        if not self._mark:
            return count(texts, self.full_pattern)
        counts = occurrences(texts, self._mark)
        several = np.flatnonzero(counts > 1)
        if len(several):
            counts[several] = count(texts.take(several), self.full_pattern)
        return counts


class _Place(NamedTuple):
    point: tuple[float, float]
    box: tuple[float, float, float, float] | None
    action: str


def _place(groups: Mapping[str, str | None]) -> _Place | None:
    """What a pattern captured in one text; None where that is no place."""
    action = groups.get("action") or ""
    if not action.isascii():
        action = action.encode("utf-8", "replace").decode()  # as arrow has it: no lone surrogates
    if groups.get("x") and groups.get("y"):
        return _Place((number(groups["x"]), number(groups["y"])), None, action)
    if groups.get("x1"):
        x1, y1, x2, y2 = [number(groups[name]) for name in ("x1", "y1", "x2", "y2")]
        return _Place(((x1 + x2) / 2, (y1 + y2) / 2), (x1, y1, x2, y2), action)
    return None


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


_NAMELESS, _UNMATCHED = np.array([""], dtype=np.object_), np.array([-1], dtype=np.int8)
_ONE, _FALSE, _NO_BOX = np.array([1], dtype=np.int64), np.array([False]), np.full((1, 4), np.nan)
for _shared in (_NAMELESS, _UNMATCHED, _ONE, _FALSE, _NO_BOX):
    _shared.flags.writeable = False


def alone(
    point: tuple[float, float],
    box: tuple[float, ...] | None,
    action: str = "",
    *,
    begun: bool = True,
    answers: Answers,
) -> Found:
    """One answer in one text: as ``nothing(1, answers)`` with that written into it, sooner."""
    return Found(
        xy=np.array([point], dtype=np.float64),
        box=_NO_BOX if box is None else np.array([box], dtype=np.float64),
        count=_ONE,
        begun=np.array([begun]),
        refused=_FALSE,
        actions=_NAMELESS if not action else np.array([action], dtype=np.object_),
        dialect=np.zeros(1, dtype=np.int8),
        points={} if answers == "all" else None,
    )


def nothing(rows: int, answers: Answers) -> Found:
    """No answer in any of n texts."""
    return Found(
        xy=nowhere(rows, 2),
        box=nowhere(rows, 4),
        count=np.zeros(rows, dtype=np.int64),
        begun=np.zeros(rows, dtype=np.bool_),
        refused=np.zeros(rows, dtype=np.bool_),
        actions=_NAMELESS.repeat(rows),
        dialect=_UNMATCHED.repeat(rows),
        points={} if answers == "all" else None,
    )


def put(found: Found, rows: NDArray[np.int64], some: Found, chosen: NDArray[np.int64] | None = None) -> None:
    """Write what was found in some of the texts where it belongs among all.

    Args:
        found: what all texts hold so far.
        rows: the texts that ``some`` is about, or those of them that are chosen.
        some: what was found there.
        chosen: the rows of ``some`` to write; None for all.
    """
    where = slice(None) if len(rows) == len(found.count) else rows
    those = slice(None) if chosen is None else chosen
    for name in ("xy", "box", "count", "begun", "refused", "actions", "dialect"):
        getattr(found, name)[where] = getattr(some, name)[those]
    for name, column in some.arguments.items():
        if name not in found.arguments:
            found.arguments[name] = empty(name, len(found.count))
        found.arguments[name][where] = column[those]
    if found.points is not None and some.points is not None:
        goes = dict(zip(range(len(rows)) if chosen is None else chosen.tolist(), rows.tolist(), strict=True))
        found.points.update({goes[row]: points for row, points in some.points.items() if row in goes})
