"""Dialects that are one pattern with named groups, as most are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing.base import MAX_ANSWERS, Answers, Found, OneDialect, alone, nothing, put
from grounding_rewards.parsing.patterns import check_texts, groups_of
from grounding_rewards.parsing.texts import (
    SPACE,
    Column,
    Texts,
    compiled,
    contains_any,
    count,
    extract,
    floats,
    matches,
    number,
    occurrences,
    strings,
)

_PLACES = ({"x", "y"}, {"x1", "y1", "x2", "y2"})


@dataclass(frozen=True)
class PatternDialect(OneDialect):
    """One pattern with groups x and y, or x1 y1 x2 y2, or both as alternatives, or none for a refusal.

    Args:
        name: the dialect's name.
        pattern: what an answer looks like, in the common subset of RE2 and Python's re.
        signs: substrings that show that an answer was begun; every answer contains at least one (none: no such rule).
        whole: the answer must be the whole text, but for white space around it.
        inner: with these, ``pattern`` captures a group ``body``, in which these patterns are searched for their groups.
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

    @cached_property
    def full_pattern(self) -> str:
        """The pattern that is run."""
        return f"^{SPACE}(?:{self.pattern}){SPACE}$" if self.whole else self.pattern

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return compiled(self.full_pattern)

    def check_patterns(self) -> None:
        """Check patterns and signs, before there are texts.

        Raises:
            RecipeError: RE2 and Python's re do not both read one alike, or its groups hold no place.
        """
        _ = self._refuses  # the check happens where this is first computed

    @cached_property
    def _refuses(self) -> bool:
        check_texts(self, "signs", "inner")
        whole = self.full_pattern if isinstance(self.pattern, str) else self.pattern
        usual = groups_of(self.name, self.usual)
        outer = groups_of(self.name, whole)
        names = outer.union(*(groups_of(self.name, inner) for inner in self.inner))
        body = {"body"} if self.inner else set()
        if (names and not any(place <= names for place in _PLACES)) or not usual <= names or not body <= outer:
            held = f"{sorted(names)}{f', in usual {sorted(usual)}' if usual else ''}"
            raise RecipeError(
                f"dialect {self.name}: got groups {held}; expected x and y, or x1, y1, x2 and y2, in usual no others, "
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
        table = nothing(len(texts), answers)
        table.begun[:] = contains_any(texts, self.signs)
        table.refused[:] = matches(texts, self.full_pattern)
        table.count[:] = table.refused
        table.dialect[table.refused] = 0
        return table

    def _find_few(self, texts: Texts, answers: Answers) -> Found:
        """Find answers text by text."""
        read = [self._read(text, answers) if begins(text, self.signs) else None for text in texts.values]
        if len(read) == 1 and read[0] and len(read[0]) == 1:
            return alone(*read[0][0], begun=bool(self.signs), answers=answers)
        table = nothing(len(texts), answers)
        for row, places in enumerate(read):
            table.begun[row] = places is not None and bool(self.signs)
            if places:
                place = places[0]
                table.xy[row], table.actions[row], table.dialect[row] = place.point, place.action, 0
                table.count[row] = len(places)
                if place.box is not None:
                    table.box[row] = place.box
                if table.points is not None and len(places) > 1:
                    table.points[row] = np.array([place.point for place in places], dtype=np.float64)
        return table

    def _read(self, text: str, answers: Answers) -> list[_Place]:
        """Return the answers of one text that the policy needs, at most one more than ``MAX_ANSWERS``."""
        if self.whole or (answers == "first" and not self.inner):  # with inner, a match may hold no place
            match = self._compiled.search(text)
            place = self._place(match) if match else None
            return [] if place is None else [place]
        all_matches = self._compiled.finditer(text)
        places = map(self._place, reversed(list(all_matches)) if answers == "last" else all_matches)
        most = 1 if answers in ("first", "last") else MAX_ANSWERS + 1
        return list(islice((place for place in places if place is not None), most))

    def _place(self, match: re.Match[str]) -> _Place | None:
        if not self.inner:
            return _place(match.groupdict())
        body, groups = match["body"], {}
        for pattern in self.inner:
            inside = compiled(pattern).search(body)
            if inside:
                groups.update(inside.groupdict())
        return _place(groups)

    def _find_many(self, texts: Texts, answers: Answers) -> Found:
        """Find answers in all texts at once: first in those in the usual form, then in the rest."""
        table = nothing(len(texts), answers)
        left = np.arange(len(texts))
        if self.usual:
            self._write(table, extract(texts.column, self.usual))
            left = np.flatnonzero(table.count == 0)
            table.begun[:] = table.count > 0
        if self.signs and len(left):
            begun = contains_any(texts.take(left), self.signs)
            table.begun[left] |= begun
            left = left[begun]
        if len(left):
            rest = texts.take(left)
            put(table, left, (self._find_likely if rest.vectorised else self._find_few)(rest, answers))
        return table

    def _find_likely(self, texts: Texts, answers: Answers) -> Found:
        table = nothing(len(texts), answers)
        table.begun[:] = bool(self.signs)
        groups = extract(texts.column, self.full_pattern)
        if self.inner:
            body = groups["body"]
            groups = {name: column for pattern in self.inner for name, column in extract(body, pattern).items()}
        self._write(table, groups)
        counts = self._counts(texts, answers)
        several = np.flatnonzero(counts > 1)
        if answers == "only" and not self.inner:  # several count as none, whichever they are
            table.count[several] = counts[several]
        elif len(several):
            put(table, several, self._find_few(texts.take(several), answers))
        return table

    def _write(self, table: Found, groups: dict[str, Column]) -> None:
        """Write the answer of each text in which the pattern captured one."""
        # Nothing matched, as arrow knows without looking; a list does not count its None.
        if all(getattr(column, "null_count", 0) == len(table.xy) for column in groups.values()):
            return
        xy, box = places(groups, len(table.xy))
        matched = ~np.isnan(xy[:, 0] + xy[:, 1])
        table.xy[:], table.count[:] = xy, matched
        if "x1" in groups:
            table.box[:] = box
        if "action" in groups:
            table.actions[:] = np.where(matched, strings(groups["action"]), "")
        table.dialect[matched] = 0

    def _counts(self, texts: Texts, answers: Answers) -> NDArray[np.int64]:
        """Return an upper bound of the answers in each text; 0 where only the leftmost one matters."""
        if self.full_pattern.startswith("^") or (answers == "first" and not self.inner):
            return np.zeros(len(texts), dtype=np.int64)
        if not self._mark:
            return count(texts, self.full_pattern)
        counts = occurrences(texts, self._mark)  # quicker than the pattern, which only texts with several marks need
        several = np.flatnonzero(counts > 1)
        if len(several):
            counts[several] = count(texts.take(several), self.full_pattern)
        return counts


def begins(text: str, signs: tuple[str, ...]) -> bool:
    """Return True if a text holds one of the signs, or there are none."""
    for sign in signs:  # any() takes longer
        if sign in text:
            return True
    return not signs


class _Place(NamedTuple):
    point: tuple[float, float]
    box: tuple[float, float, float, float] | None
    action: str


def _place(groups: Mapping[str, str | None]) -> _Place | None:
    """Return the place that a pattern captured in one text; None if its groups hold none."""
    action = groups.get("action") or ""
    if not action.isascii():
        action = action.encode("utf-8", "replace").decode()  # without lone surrogates, as in arrow
    if groups.get("x") and groups.get("y"):
        return _Place((number(groups["x"]), number(groups["y"])), None, action)
    if groups.get("x1"):
        x1, y1, x2, y2 = [number(groups[name]) for name in ("x1", "y1", "x2", "y2")]
        return _Place(((x1 + x2) / 2, (y1 + y2) / 2), (x1, y1, x2, y2), action)
    return None


def places(groups: dict[str, Column], rows: int) -> tuple[Floats, Floats]:
    """Return points (n, 2) and boxes (n, 4) from captured numerals; a box's point is its centre."""
    xy, box = np.full((rows, 2), np.nan), np.full((rows, 4), np.nan)
    if "x1" in groups:
        box = np.stack([floats(groups[name]) for name in ("x1", "y1", "x2", "y2")], axis=1)
        xy = (box[:, :2] + box[:, 2:]) / 2
    if "x" in groups:
        point = np.stack([floats(groups["x"]), floats(groups["y"])], axis=1)
        xy = np.where(np.isnan(point), xy, point)
    return xy, box
