"""Dialects limited to some texts: without those that mean something else, or only those that match a pattern."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.parsing.base import Answers, Dialect, Found, nothing, put
from grounding_rewards.parsing.patterns import check_patterns, groups_of
from grounding_rewards.parsing.texts import Texts, compiled, contains_any, matches

Excludes = Callable[[str, str], bool]


class _Limited:
    """A dialect under the name of the one inside."""

    dialect: Dialect
    pattern: str

    @property
    def name(self) -> str:
        """Name of the dialect inside."""
        return self.dialect.name

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the dialects inside."""
        return self.dialect.names

    def check_patterns(self) -> None:
        """Check the pattern here and those inside."""
        groups_of(self.name, self.pattern)
        check_patterns(self.dialect)


@dataclass(frozen=True)
class Unless(_Limited):
    """A dialect whose answers do not count in texts that mean something else; these are malformed.

    Args:
        dialect: reads the texts.
        excludes: from a text and the name of its action to True if the text means something else.
        hints: substrings of which every excluded text contains one.
        pattern: in place of ``hints``, a pattern that occurs in every excluded text.
    """

    dialect: Dialect
    excludes: Excludes = field(repr=False)
    hints: tuple[str, ...] = field(default=(), repr=False)
    pattern: str = field(default="", repr=False)

    trusted = True

    @property
    def signs(self) -> tuple[str, ...]:
        """Substrings of which every answer contains one."""
        signs: tuple[str, ...] = getattr(self.dialect, "signs", ())
        return signs

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        table = self.dialect.find(texts, answers)
        if len(texts) == 1:  # numpy costs more than it saves
            text = texts.values[0]
            if table.count.item() and self._hinted(text) and self.excludes(text, table.actions[0]):
                return _withdrawn(table, np.zeros(1, dtype=np.int64), answers)
            return table
        rows = np.flatnonzero(table.count)
        some = texts.take(rows)
        rows = rows[matches(some, self.pattern) if self.pattern else contains_any(some, self.hints)]
        excluded = [row for row in rows.tolist() if self.excludes(texts.values[row], table.actions[row])]
        return _withdrawn(table, np.array(excluded), answers) if excluded else table

    def _hinted(self, text: str) -> bool:
        if self.pattern:
            return compiled(self.pattern).search(text) is not None
        return any([hint in text for hint in self.hints])  # noqa: C419 (faster so)


@dataclass(frozen=True)
class Gated(_Limited):
    """A dialect for texts that match a pattern; the others hold no answer."""

    dialect: Dialect
    pattern: str = field(repr=False)

    trusted = True

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        rows = np.flatnonzero(matches(texts, self.pattern))
        if len(rows) == len(texts):
            return self.dialect.find(texts, answers)
        table = nothing(len(texts), answers)
        if len(rows):
            put(table, rows, self.dialect.find(texts.take(rows), answers))
        return table


def _withdrawn(table: Found, rows: NDArray[np.int64], answers: Answers) -> Found:
    """Remove the answers of some rows, which become malformed."""
    kept = nothing(len(table.count), answers)  # a table of its own: columns of single answers are shared
    kept.begun[rows] = True
    others = np.setdiff1d(np.arange(len(table.count)), rows)
    put(kept, others, table, others)
    return kept
