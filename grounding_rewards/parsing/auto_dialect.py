"""Whatever the model writes: several dialects tried in a stated order; the first that finds an answer counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import CLICKS
from grounding_rewards.parsing.base import Answers, Dialect, Found, find, is_own, nothing, put
from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.patterns import check_patterns
from grounding_rewards.parsing.texts import Texts, compiled, contains_any, matches

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class AutoDialect:
    """Tries ``dialects`` in order, each on the texts in which the earlier ones found nothing.

    Args:
        dialects: what is most surely an answer first. One that is itself an AutoDialect is a group.
        name: the dialect's name.
        signs: substrings of which every answer in any of the dialects contains one; none: no such rule. They make a
            group worth while: a text without any is not searched for the signs of each of its dialects.
        usual: the commonest ways of writing answers, tried before all. Each has the name of one of the dialects and
            finds what that finds, in texts in which no dialect before that one finds anything.
        sentinels: whether the point (-1, -1) or (-100, -100), where it is the answer that counts and the only one
            counted, is a refusal in whatever dialect, unless another action than a click is named with it. That of a
            dialect that is itself an AutoDialect does not matter.
        vocabulary: whether the names of actions become those of ``actions.ACTIONS``.
    """

    dialects: tuple[Dialect, ...]
    name: str = "auto"
    signs: tuple[str, ...] = ()
    usual: tuple[PatternDialect, ...] = field(default=(), repr=False)
    sentinels: bool = False
    vocabulary: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the dialects tried, in order."""
        return tuple(name for dialect in self.dialects for name in dialect.names)

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; ``dialect`` says which one matched."""
        finds = _Finds(len(texts), answers)
        (self._find_many if texts.vectorised else self._find_few)(texts, finds)
        found = finds.joined()
        return _refused(found) if self.sentinels else found

    def _find_few(self, texts: Texts, finds: _Finds) -> None:
        """Signs and patterns text by text: for a few texts numpy costs more than it saves."""
        values = texts.values
        left = list(range(len(values)))
        for step in self._steps:
            rows = [row for row in left if _has(values[row], step.gate) and _has(values[row], step.signs)]
            if rows and step.pattern is not None:
                finds.begun += [rows] if step.signs else []
                search = compiled(step.pattern).search
                rows = [row for row in rows if search(values[row])]
            if rows:
                some = texts if len(rows) == len(texts) else texts.take(np.array(rows))
                done = finds.run(step, some, rows)
                if len(done) == len(left):
                    break
                if not len(done):
                    continue
                left = np.setdiff1d(left, done).tolist()

    def _find_many(self, texts: Texts, finds: _Finds) -> None:
        """The same on all texts at once."""
        left = np.arange(len(texts))
        # Of the rows left, those that a gate lets through, and their texts.
        gated: dict[tuple[str, ...], tuple[Rows, Texts]] = {(): (left, texts)}
        for step in self._likely_first(texts.values[0]):
            if step.gate not in gated:
                gated[step.gate] = _narrowed(left, gated[()][1], contains_any(gated[()][1], step.gate))
            rows, some = gated[step.gate]
            if step.signs and len(rows):
                rows, some = _narrowed(rows, some, contains_any(some, step.signs))
            if step.pattern is not None and not step.usual and len(rows):
                finds.begun += [rows] if step.signs else []
                rows, some = _narrowed(rows, some, matches(some, step.pattern))
            if len(rows):
                done = finds.run(step, some, rows)
                if len(done) == len(left):
                    break
                left = np.setdiff1d(left, done, assume_unique=True)
                gated = {(): (left, texts.take(left))}

    def _likely_first(self, text: str) -> tuple[_Step, ...]:
        """The steps, with the usual form of one of the texts before the others, none of which reads what it reads."""
        usual, rest = self._steps[: len(self.usual)], self._steps[len(self.usual) :]
        fits = [compiled(step.pattern).search(text) is not None for step in usual if step.pattern is not None]
        ordered = sorted(range(len(usual)), key=lambda index: not fits[index])
        return (*[usual[index] for index in ordered], *rest)

    def check_patterns(self) -> None:
        """Complain of patterns that cannot be used: those of all dialects inside. It compiles them, which is slow."""
        for dialect in (*self.dialects, *self.usual):
            check_patterns(dialect)

    @cached_property
    def _steps(self) -> tuple[_Step, ...]:
        """The dialects in the order in which they run, those of groups in their place."""
        first, steps = 0, list[_Step]()
        for dialect in self.dialects:
            if isinstance(dialect, AutoDialect):
                steps += [step.inside(dialect.signs, first) for step in dialect._steps]
            else:
                steps.append(_step(dialect, first))
            first += len(dialect.names)
        usual = [_step(each, self.names.index(each.name))._replace(usual=True) for each in self.usual]
        return (*usual, *steps)


class _Step(NamedTuple):
    """How a dialect finds, the index of its first name, and what lets a text through to it."""

    find: Callable[[Texts, Answers], Found]
    first: int
    signs: tuple[str, ...]
    pattern: str | None
    gate: tuple[str, ...] = ()
    usual: bool = False

    def inside(self, gate: tuple[str, ...], first: int) -> _Step:
        """The same in a group with these signs, behind so many names."""
        return self._replace(gate=self.gate or gate, first=self.first + first)


def _step(dialect: Dialect, first: int) -> _Step:
    pattern = dialect.full_pattern if isinstance(dialect, PatternDialect) else None
    finds = dialect.find if is_own(dialect) else partial(find, dialect)
    return _Step(finds, first, getattr(dialect, "signs", ()), pattern)


class _Finds:
    """What the dialects found so far, each in some of the rows."""

    def __init__(self, rows: int, answers: Answers) -> None:
        self.rows, self.answers = rows, answers
        self.parts: list[tuple[Rows | list[int], Found]] = []
        self.begun: list[Rows | list[int]] = []

    def run(self, step: _Step, texts: Texts, rows: Rows | list[int]) -> Rows | list[int]:
        """Run a dialect on the texts of some rows; return those in which it found an answer."""
        found = step.find(texts, self.answers)
        self.parts.append((rows, found))
        if np.count_nonzero(found.count) == len(rows):
            np.add(found.dialect, step.first, out=found.dialect)
            return rows
        found.dialect[found.dialect >= 0] += step.first
        self.begun.append(np.asarray(rows)[found.begun])
        return np.asarray(rows)[found.count > 0]

    def joined(self) -> Found:
        """All of it. That a text was the usual form of one of several dialects says nothing about its form."""
        if len(self.parts) == 1 and np.count_nonzero(self.parts[0][1].count) == self.rows:
            only = self.parts[0][1]
            return only if only.usual is None else replace(only, usual=None)
        found = nothing(self.rows, self.answers)
        for rows, part in self.parts:
            put(found, np.asarray(rows), part)
        for rows in self.begun:
            found.begun[rows] = True
        return found


def _refused(found: Found) -> Found:
    """The same with sole points (-1, -1) and (-100, -100) as refusals, which have no place."""
    if len(found.xy) == 1 and not found.xy.item(0) < 0.0:  # one text: numpy costs more than it saves
        return found
    rows = np.flatnonzero(found.xy[:, 0] < 0.0)
    if not len(rows):
        return found
    x, y = found.xy[rows].T
    said = ((x == -1.0) | (x == -100.0)) & (x == y) & (found.count[rows] == 1) & np.isnan(found.box[rows, 0])
    rows = rows[said & np.array([name in CLICKS for name in found.actions[rows].tolist()], dtype=np.bool_)]
    xy, refused = found.xy.copy(), found.refused.copy()  # those of a single answer are shared, and read-only
    xy[rows], refused[rows] = np.nan, True
    return replace(found, xy=xy, refused=refused)


def _has(text: str, signs: tuple[str, ...]) -> bool:
    for sign in signs:  # any() takes longer
        if sign in text:
            return True
    return not signs


def _narrowed(rows: Rows, texts: Texts, kept: NDArray[np.bool_]) -> tuple[Rows, Texts]:
    some = np.flatnonzero(kept)
    return rows[some], texts.take(some)
