"""Dialects that step aside for a text that says something else, whatever they found in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.parsing.base import Answers, Dialect, Found, nothing, put
from grounding_rewards.parsing.patterns import check_patterns, groups_of
from grounding_rewards.parsing.texts import Texts, compiled, contains_any, matches

Says = Callable[[str, str], bool]


class _Guard:
    """Goes by the name of the dialect inside."""

    dialect: Dialect
    pattern: str

    @property
    def name(self) -> str:
        """The dialect's name."""
        return self.dialect.name

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the dialect."""
        return self.dialect.names

    def check_patterns(self) -> None:
        """Complain of a pattern that cannot be used, here or inside."""
        groups_of(self.name, self.pattern)
        check_patterns(self.dialect)


@dataclass(frozen=True)
class Unless(_Guard):
    """A dialect whose answer does not count in texts that say something else; there one was begun.

    Args:
        dialect: reads the texts.
        says: a text and the action's name found in it, to whether it says something else.
        hints: substrings of which every such text contains one.
        pattern: in place of ``hints``: what occurs in every such text.
    """

    dialect: Dialect
    says: Says = field(repr=False)
    hints: tuple[str, ...] = field(default=(), repr=False)
    pattern: str = field(default="", repr=False)

    @property
    def signs(self) -> tuple[str, ...]:
        """Substrings of which every answer contains one."""
        signs: tuple[str, ...] = getattr(self.dialect, "signs", ())
        return signs

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        found = self.dialect.find(texts, answers)
        if len(texts) == 1:  # numpy costs more than it saves
            text = texts.values[0]
            if found.count.item() and self._hinted(text) and self.says(text, found.actions[0]):
                return _withdrawn(found, np.zeros(1, dtype=np.int64), answers)
            return found
        rows = np.flatnonzero(found.count)
        some = texts.take(rows)
        rows = rows[matches(some, self.pattern) if self.pattern else contains_any(some, self.hints)]
        said = [row for row in rows.tolist() if self.says(texts.values[row], found.actions[row])]
        return _withdrawn(found, np.array(said), answers) if said else found

    def _hinted(self, text: str) -> bool:
        if self.pattern:
            return compiled(self.pattern).search(text) is not None
        return any([hint in text for hint in self.hints])  # noqa: C419 (faster so)


@dataclass(frozen=True)
class Gated(_Guard):
    """A dialect for those texts alone that match a pattern; in the others nothing was begun."""

    dialect: Dialect
    pattern: str = field(repr=False)

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        rows = np.flatnonzero(matches(texts, self.pattern))
        if len(rows) == len(texts):
            return self.dialect.find(texts, answers)
        found = nothing(len(texts), answers)
        if len(rows):
            put(found, rows, self.dialect.find(texts.take(rows), answers))
        return found


def _withdrawn(found: Found, rows: NDArray[np.int64], answers: Answers) -> Found:
    """The same without the answers of some rows, in which one was begun."""
    kept = nothing(len(found.count), answers)
    kept.begun[rows] = True
    others = np.setdiff1d(np.arange(len(found.count)), rows)
    put(kept, others, found, others)
    return kept
