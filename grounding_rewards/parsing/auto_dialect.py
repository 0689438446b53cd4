"""Several dialects in a stated order, of which the first that finds an answer counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import CLICKS
from grounding_rewards.parsing.base import Answers, Dialect, Found, find, is_trusted, nothing, put
from grounding_rewards.parsing.pattern_dialect import PatternDialect, begins
from grounding_rewards.parsing.patterns import check_patterns
from grounding_rewards.parsing.texts import Texts, compiled, contains_any, matches

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class AutoDialect:
    """Several dialects, tried in order, each on the texts in which the earlier ones found nothing.

    Args:
        dialects: the least ambiguous first. One that is itself an AutoDialect is a group.
        name: the dialect's name.
        signs: substrings of which every answer in any of the dialects contains one; none: no such rule. They make a
            group fast: a text without any is not searched for the signs of each of its dialects.
        usual: patterns of the commonest forms, tried before all. Each has the name of one of the dialects and finds
            the same as that one, in texts in which no dialect before that one finds anything.
        sentinels: read a sole point (-1, -1) or (-100, -100) as a refusal in any dialect, unless another action than a
            click is named with it. A group's own setting has no effect.
        vocabulary: translate the names of actions into those of ``actions.ACTIONS``.
    """

    dialects: tuple[Dialect, ...]
    name: str = "auto"
    signs: tuple[str, ...] = ()
    usual: tuple[PatternDialect, ...] = field(default=(), repr=False)
    sentinels: bool = False
    vocabulary: bool = False

    trusted = True

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the dialects tried, in order."""
        return tuple(name for dialect in self.dialects for name in dialect.names)

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; ``dialect`` is the index of the one that matched."""
        results = _Results(len(texts), answers)
        (self._find_many if texts.vectorised else self._find_few)(texts, results)
        table = results.joined()
        return _refused(table) if self.sentinels else table

    def _find_few(self, texts: Texts, results: _Results) -> None:
        """Check signs and patterns text by text: for a few texts numpy costs more than it saves."""
        values = texts.values
        left = list(range(len(values)))
        for step in self._steps:
            rows = [row for row in left if begins(values[row], step.gate) and begins(values[row], step.signs)]
            if rows and step.pattern is not None:
                # A sign without an answer makes a text malformed, and find will see only what matches.
                results.begun += [rows] if step.signs else []
                search = compiled(step.pattern).search
                rows = [row for row in rows if search(values[row])]
            if rows:
                some = texts if len(rows) == len(texts) else texts.take(np.array(rows))
                done = results.run(step, some, rows)
                if len(done) == len(left):
                    break
                if not len(done):
                    continue
                left = np.setdiff1d(left, done).tolist()

    def _find_many(self, texts: Texts, results: _Results) -> None:
        """Check signs and patterns on all texts at once."""
        left = np.arange(len(texts))
        # By gate: the remaining rows that hold one of its signs, and their texts.
        gated: dict[tuple[str, ...], tuple[Rows, Texts]] = {(): (left, texts)}
        for step in self._likely_first(texts.values[0]):
            if step.gate not in gated:
                gated[step.gate] = _narrowed(left, gated[()][1], contains_any(gated[()][1], step.gate))
            rows, some = gated[step.gate]
            if step.signs and len(rows):
                rows, some = _narrowed(rows, some, contains_any(some, step.signs))
            if step.pattern is not None and not step.usual and len(rows):
                results.begun += [rows] if step.signs else []
                rows, some = _narrowed(rows, some, matches(some, step.pattern))
            if len(rows):
                done = results.run(step, some, rows)
                if len(done) == len(left):
                    break
                left = np.setdiff1d(left, done, assume_unique=True)
                gated = {(): (left, texts.take(left))}  # the others still hold rows that are done

    def _likely_first(self, text: str) -> tuple[_Step, ...]:
        """Return the steps, the usual form of this text first: no other usual form matches the same texts."""
        usual, rest = self._steps[: len(self.usual)], self._steps[len(self.usual) :]
        fits = [compiled(step.pattern).search(text) is not None for step in usual if step.pattern is not None]
        ordered = sorted(range(len(usual)), key=lambda index: not fits[index])
        return (*[usual[index] for index in ordered], *rest)

    def check_patterns(self) -> None:
        """Check the patterns of all dialects inside. It compiles them, which is slow."""
        for dialect in (*self.dialects, *self.usual):
            check_patterns(dialect)

    @cached_property
    def _steps(self) -> tuple[_Step, ...]:
        """The dialects in the order in which they run, groups replaced by their dialects."""
        first, steps = 0, list[_Step]()
        for dialect in self.dialects:
            if isinstance(dialect, AutoDialect):
                steps += [step.inside(dialect.signs, first) for step in dialect._steps]
            else:
                steps.append(_step(dialect, first))
            first += len(dialect.names)
        usual = [_step(form, self.names.index(form.name))._replace(usual=True) for form in self.usual]
        return (*usual, *steps)


class _Step(NamedTuple):
    """A dialect's ``find``, the index of its first name, and the conditions for a text to reach it."""

    find: Callable[[Texts, Answers], Found]
    first: int
    signs: tuple[str, ...]
    pattern: str | None
    gate: tuple[str, ...] = ()
    usual: bool = False

    def inside(self, gate: tuple[str, ...], first: int) -> _Step:
        """Return the step of a dialect in a group with these signs, ``first`` names further on."""
        return self._replace(gate=self.gate or gate, first=self.first + first)


def _step(dialect: Dialect, first: int) -> _Step:
    pattern = dialect.full_pattern if isinstance(dialect, PatternDialect) else None
    finds = dialect.find if is_trusted(dialect) else partial(find, dialect)
    return _Step(finds, first, getattr(dialect, "signs", ()), pattern)


class _Results:
    """Results of the dialects so far, each of some of the rows."""

    def __init__(self, rows: int, answers: Answers) -> None:
        self.rows, self.answers = rows, answers
        self.parts: list[tuple[Rows | list[int], Found]] = []
        self.begun: list[Rows | list[int]] = []

    def run(self, step: _Step, texts: Texts, rows: Rows | list[int]) -> Rows | list[int]:
        """Run a dialect on the texts of some rows; return those in which it found an answer."""
        part = step.find(texts, self.answers)
        self.parts.append((rows, part))
        if np.count_nonzero(part.count) == len(rows):
            np.add(part.dialect, step.first, out=part.dialect)
            return rows
        part.dialect[part.dialect >= 0] += step.first
        self.begun.append(np.asarray(rows)[part.begun])
        return np.asarray(rows)[part.count > 0]

    def joined(self) -> Found:
        """Join the results to one of all rows, without ``usual``, which is about the form of a single dialect."""
        if len(self.parts) == 1 and np.count_nonzero(self.parts[0][1].count) == self.rows:
            only = self.parts[0][1]
            return only if only.usual is None else replace(only, usual=None)
        table = nothing(self.rows, self.answers)
        for rows, part in self.parts:
            put(table, np.asarray(rows), part)
        for rows in self.begun:
            table.begun[rows] = True
        return table


def _refused(table: Found) -> Found:
    """Turn sole points (-1, -1) and (-100, -100) into refusals, which have no place."""
    if len(table.xy) == 1 and not table.xy.item(0) < 0.0:  # one text: numpy costs more than it saves
        return table
    rows = np.flatnonzero(table.xy[:, 0] < 0.0)
    if not len(rows):
        return table
    x, y = table.xy[rows].T
    sole = ((x == -1.0) | (x == -100.0)) & (x == y) & (table.count[rows] == 1) & np.isnan(table.box[rows, 0])
    rows = rows[sole & np.array([name in CLICKS for name in table.actions[rows].tolist()], dtype=np.bool_)]
    xy, refused = table.xy.copy(), table.refused.copy()  # the columns of a single answer are shared and read-only
    xy[rows], refused[rows] = np.nan, True
    return replace(table, xy=xy, refused=refused)


def _narrowed(rows: Rows, texts: Texts, kept: NDArray[np.bool_]) -> tuple[Rows, Texts]:
    some = np.flatnonzero(kept)
    return rows[some], texts.take(some)
