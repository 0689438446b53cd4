"""Dialects whose answers a function reads, with one pattern in front that takes the usual way of writing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.parsing.dialect import Answers, Found, contain, nothing, places
from grounding_rewards.parsing.texts import COORDINATE_LIMIT, Texts, extract
from grounding_rewards.spaces import Floats

Place = Sequence[float]
"""x, y of a point, or x1, y1, x2, y2 of a box."""

Read = Callable[[str], Sequence[Place] | None]


@dataclass(frozen=True)
class ReaderDialect:
    """A function that reads one text, and a pattern for the texts that need no such care.

    The pattern is what makes n texts fast; the function says what is right. A text that the pattern matches must be
    one for which ``read`` returns exactly the captured place.

    Args:
        name: the dialect's name.
        read: one text to its answers in order, () where the text holds an answer without a place, None where it
            cannot be read. It is called with texts that contain a sign; it must not raise, whatever the text.
        pattern: a whole text in its usual form, with groups x and y, or x1 y1 x2 y2.
        signs: substrings that show that an answer was begun; every answer contains at least one.
    """

    name: str
    read: Read = field(repr=False)
    pattern: str = field(repr=False)
    signs: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The dialect itself."""
        return (self.name,)

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        found = nothing(len(texts), answers)
        found.begun[:] = contain(texts, self.signs)
        xy, box = places(extract(texts.column, self.pattern), len(texts))
        usual = ~np.isnan(xy[:, 0] + xy[:, 1])
        found.xy[:], found.box[:], found.count[:] = xy, box, usual
        if found.points is not None:
            for row in map(int, np.flatnonzero(usual)):
                found.points[row] = xy[row : row + 1]
        for row in map(int, np.flatnonzero(found.begun & ~usual)):
            self._read(found, row, texts.values[row], answers)
        found.dialect[found.count > 0] = 0
        return found

    def _read(self, found: Found, row: int, text: str, answers: Answers) -> None:
        answer = self.read(text)
        if not answer:
            return
        points = np.stack([_point(place) for place in answer])
        chosen = answer[-1 if answers == "last" else 0]
        found.xy[row], found.box[row] = _point(chosen), _box(chosen)
        found.count[row] = 1 if answers in ("first", "last") else len(answer)
        if found.points is not None:
            found.points[row] = points


def _point(place: Place) -> Floats:
    limited = np.clip(np.array(place, dtype=np.float64), -COORDINATE_LIMIT, COORDINATE_LIMIT)
    return limited if len(limited) == 2 else (limited[:2] + limited[2:]) / 2


def _box(place: Place) -> NDArray[np.float64]:
    if len(place) == 2:
        return np.full(4, np.nan)
    return np.clip(np.array(place, dtype=np.float64), -COORDINATE_LIMIT, COORDINATE_LIMIT)
