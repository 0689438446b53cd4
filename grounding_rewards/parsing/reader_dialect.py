"""Dialects of places: a function defines the reading, a pattern handles the usual form fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing.base import Answers, Found, OneDialect, alone, nothing
from grounding_rewards.parsing.pattern_dialect import places
from grounding_rewards.parsing.patterns import check_texts, groups_of
from grounding_rewards.parsing.texts import Texts, contains, contains_any, extract

Place = Sequence[float]
"""x, y of a point, or x1, y1, x2, y2 of a box."""

Read = Callable[[str], Sequence[Place] | None]


@dataclass(frozen=True)
class ReaderDialect(OneDialect):
    """A function that reads one text, and a pattern that reads texts in the usual form for many at once.

    The pattern makes n texts fast; the function defines the answer. For a text that the pattern matches, ``read`` must
    return exactly the captured place.

    Args:
        name: the dialect's name.
        read: one text to its answers in order, () where the text holds an answer without a place, None where it
            cannot be read. It is called with texts that contain a sign, and must not raise on any.
        pattern: a whole text in its usual form, with groups x and y, or x1 y1 x2 y2.
        signs: substrings that show that an answer was begun; every answer contains at least one.
        must: substrings that every answer contains; for speed alone.
    """

    name: str
    read: Read = field(repr=False)
    pattern: str = field(repr=False)
    signs: tuple[str, ...]
    must: tuple[str, ...] = field(default=(), repr=False)

    trusted = True

    def check_patterns(self) -> None:
        """Check the pattern and the signs.

        Raises:
            RecipeError: RE2 and Python's re do not both read it alike, or its groups hold no place.
        """
        check_texts(self, "signs", "must")
        groups = groups_of(self.name, self.pattern)
        if not {"x", "y"} <= groups and not {"x1", "y1", "x2", "y2"} <= groups:
            raise RecipeError(
                f"dialect {self.name}: got groups {sorted(groups)}; expected x and y, or x1, y1, x2 and y2"
            )

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        if len(texts) == 1:
            return self._find_one(texts.values[0], answers)
        table, left = nothing(len(texts), answers), np.arange(len(texts))
        if texts.vectorised:
            usual = self._find_usual(table, texts)
            table, left = replace(table, usual=usual), np.flatnonzero(~usual)
        for row in likely_rows(self, table, texts, left):
            answer = self.read(texts.values[row])
            if answer:
                self._write(table, row, answer, answers)
        return table

    def _find_one(self, text: str, answers: Answers) -> Found:
        begun = any([sign in text for sign in self.signs])  # noqa: C419 (faster so)
        answer = self.read(text) if begun else None
        if answer and len(answer) == 1:
            return alone(*as_place(answer[0]), answers=answers)
        table = nothing(1, answers)
        table.begun[0] = begun
        if answer:
            self._write(table, 0, answer, answers)
        return table

    def _find_usual(self, table: Found, texts: Texts) -> NDArray[np.bool_]:
        """Write the answers of texts that the pattern matches; return True for these: (n,)."""
        xy, box = places(extract(texts.arrow, self.pattern), len(texts))
        usual = ~np.isnan(xy[:, 0] + xy[:, 1])  # the sum is NaN where either is
        table.xy[:], table.box[:], table.count[:], table.begun[:] = xy, box, usual, usual
        table.dialect[usual] = 0
        return usual

    def _write(self, table: Found, row: int, answer: Sequence[Place], answers: Answers) -> None:
        point, box = as_place(answer[-1 if answers == "last" else 0])
        table.xy[row], table.dialect[row] = point, 0
        table.count[row] = 1 if answers in ("first", "last") else len(answer)
        if box is not None:
            table.box[row] = box
        if table.points is not None and len(answer) > 1:
            table.points[row] = np.array([as_place(place)[0] for place in answer])


def likely_rows(dialect: Any, table: Found, texts: Texts, left: NDArray[np.int64]) -> list[int]:
    """Mark as begun those of some rows that hold one of a dialect's signs; return those that may hold an answer."""
    if not texts.vectorised:
        begun = [any([sign in text for sign in dialect.signs]) for text in texts.values]  # noqa: C419 (faster so)
        table.begun[:] = begun
        return [row for row, begins in enumerate(begun) if begins]
    held = contains_any(texts.take(left), dialect.signs)
    table.begun[left] = held
    left = left[held]
    for part in dialect.must:
        left = left[contains(texts.take(left), part)]
    rows: list[int] = left.tolist()
    return rows


def as_place(place: Place) -> tuple[tuple[float, float], tuple[float, ...] | None]:
    """Return a place's point, clipped to ±COORDINATE_LIMIT, and its box; None for the box of a point."""
    # As ``limited`` does, without a call for each number.
    numbers = [float(max(-COORDINATE_LIMIT, min(COORDINATE_LIMIT, number))) for number in place]
    if len(numbers) == 2:
        return (numbers[0], numbers[1]), None
    x1, y1, x2, y2 = numbers
    return ((x1 + x2) / 2, (y1 + y2) / 2), (x1, y1, x2, y2)
