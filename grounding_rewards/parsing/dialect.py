"""What a dialect is: it finds answers in texts. Most are one pattern with named groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.parsing.texts import SPACE, Column, Texts, compiled, count, extract, floats, matches, strings
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
    def name(self) -> str: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    def find(self, texts: Texts, answers: Answers) -> Found: ...


@dataclass(frozen=True)
class PatternDialect:
    """One pattern with groups x and y, or x1 y1 x2 y2, or both as alternatives, or none for a refusal.

    Args:
        name: the dialect's name.
        pattern: what an answer looks like, in the common subset of RE2 and Python's re.
        signs: substrings that show that an answer was begun.
        whole: the answer must be the whole text, white space around it aside.
        inner: with it, ``pattern`` captures a group ``body``, and the groups of these patterns are searched in there.
    """

    name: str
    pattern: str
    signs: tuple[str, ...] = ()
    whole: bool = False
    inner: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def full_pattern(self) -> str:
        return f"^{SPACE}(?:{self.pattern}){SPACE}$" if self.whole else self.pattern

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        if not compiled(self.full_pattern).groupindex:
            return self._refusals(texts)
        counts = self._counts(texts, answers)
        groups = self._groups(texts.arrow if texts.vectorised else list(texts.values))
        xy, box = _places(groups, len(texts))
        actions = _actions(groups, len(texts))
        each = {int(row): self._each(texts.values[row]) for row in np.flatnonzero(counts > 1)}
        for row, (many_xy, many_box, many_actions) in each.items():
            counts[row] = len(many_xy)
            if len(many_xy):
                chosen = -1 if answers == "last" else 0
                xy[row], box[row], actions[row] = many_xy[chosen], many_box[chosen], many_actions[chosen]
        matched = ~np.isnan(xy).any(axis=1)
        counts = np.where(matched, np.maximum(counts, 1) if answers in ("only", "all") else 1, 0)
        points = None
        if answers == "all":
            points = [each[row][0] if row in each else xy[row : row + matched[row]] for row in range(len(texts))]
        return Found(
            xy, box, counts, _begun(texts, self.signs, ~matched), np.zeros(len(texts), dtype=np.bool_), actions,
            np.where(matched, 0, -1).astype(np.int8), points,
        )  # fmt: skip

    def _refusals(self, texts: Texts) -> Found:
        refused = matches(texts.values, self.full_pattern)
        rows = len(texts)
        return Found(
            np.full((rows, 2), np.nan), np.full((rows, 4), np.nan), refused.astype(np.int64),
            _begun(texts, self.signs, ~refused), refused, np.full(rows, "", dtype=np.object_),
            np.where(refused, 0, -1).astype(np.int8), [np.zeros((0, 2)) for _ in range(rows)],
        )  # fmt: skip

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
        xy, box = _places(groups, len(found))
        read = ~np.isnan(xy).any(axis=1)
        return xy[read], box[read], _actions(groups, len(found))[read]


def _actions(groups: dict[str, Column], rows: int) -> NDArray[np.object_]:
    return strings(groups["action"]) if "action" in groups else np.full(rows, "", dtype=np.object_)


def _places(groups: dict[str, Column], rows: int) -> tuple[Floats, Floats]:
    """Points (n, 2) and boxes (n, 4) from captured numerals; a box's point is its centre."""
    xy, box = np.full((rows, 2), np.nan), np.full((rows, 4), np.nan)
    if "x1" in groups:
        box = np.stack([floats(groups[name]) for name in ("x1", "y1", "x2", "y2")], axis=1)
        xy = (box[:, :2] + box[:, 2:]) / 2
    if "x" in groups:
        point = np.stack([floats(groups["x"]), floats(groups["y"])], axis=1)
        xy = np.where(np.isnan(point), xy, point)
    return xy, box


def _begun(texts: Texts, signs: tuple[str, ...], rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    begun = np.zeros(len(texts), dtype=np.bool_)
    for row in np.flatnonzero(rows):
        text = texts.values[row]
        begun[row] = any(sign in text for sign in signs)
    return begun
