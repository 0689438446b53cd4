"""A JSON list of points, with or without thinking before it, as InfiGUI-G1 answers.

<think>It is in the toolbar.</think>
[{"point_2d": [512, 384], "label": "save"}, {"point_2d": [40, 384], "label": "disk"}]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.parsing.base import Answers, Found, OneDialect, nothing
from grounding_rewards.parsing.dialects.json_point import JSON_SPACE, POINT_KEY, decoded, point_of, usual_point
from grounding_rewards.parsing.texts import SPACE, Texts, compiled

Ints = NDArray[np.int64]

_OPEN, _CLOSE = "<think>", "</think>"

# Brackets in prose, such as [1], are skipped; the list opens with [ { or [ ].
_PROSE = rf"[^\[]*(?:\[{JSON_SPACE}[^\[\]{{ \t\n\r][^\[\]]*\][^\[]*)*"
_BEGIN = rf"^{_PROSE}(?P<list>\[){JSON_SPACE}[{{\]]"

# These are for RE2 alone. Every list matches _CLOSED; most malformed ones do not, as they were cut short.
_POINT = rf"{usual_point()}{JSON_SPACE}"
_USUAL = rf"^(?:{_CLOSE})?{JSON_SPACE}\[{JSON_SPACE}{_POINT}(?:,{JSON_SPACE}{_POINT})*\]{JSON_SPACE}$"
_CLOSED = rf"\}}[^\]]*\]|\[{JSON_SPACE}\]"
_THOUGHT = rf"^{SPACE}{_OPEN}{SPACE}[^<{SPACE[1:-2]}]"


@dataclass(frozen=True)
class PointListDialect(OneDialect):
    """The first list of objects in a text, all of which must have a point. An empty list is a refusal.

    The list is strict JSON, from its opening bracket to its own closing one; text around it does not matter. If one
    object has no pair of numbers under ``point_2d``, the whole list is malformed.

    Args:
        name: the dialect's name.
        thought: the text must begin with one closed block of thinking that is not empty, and hold no other; the list
            comes after it. Use it with the recipe option ``thinking="read"``, which keeps the thinking.
    """

    name: str
    thought: bool = False

    trusted = True

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        if not texts.vectorised:
            table, left = nothing(len(texts), answers), list(range(len(texts)))
        else:
            table, left = self._find_usual(texts, answers)
        for row in left:
            self._write(table, row, texts.values[row], answers)
        return table

    def _write(self, table: Found, row: int, text: str, answers: Answers) -> None:
        points = self.read(text)
        if points is None:
            table.begun[row] = POINT_KEY in text
            return
        table.begun[row], table.dialect[row] = True, 0
        table.count[row] = len(points) if points and answers in ("only", "all") else 1
        if not points:
            table.refused[row] = True
            return
        table.xy[row] = points[-1 if answers == "last" else 0]
        if table.points is not None and len(points) > 1:
            table.points[row] = np.array(points)

    def _find_usual(self, texts: Texts, answers: Answers) -> tuple[Found, list[int]]:
        """Read all texts in the usual form at once; return them and the rows to read one by one."""
        rows, column = self._answers(texts)
        usual = _matches(column, _USUAL)
        points, counts = _points(column.filter(usual))
        table, ends = nothing(len(texts), answers), np.cumsum(counts)
        at = rows[usual]
        table.begun[at], table.dialect[at] = True, 0
        table.xy[at] = points[ends - 1 if answers == "last" else ends - counts]
        table.count[at] = 1 if answers in ("first", "last") else counts
        if table.points is not None:
            several = counts > 1
            slices = map(slice, (ends - counts)[several].tolist(), ends[several].tolist())
            table.points.update(zip(at[several].tolist(), map(points.__getitem__, slices), strict=True))
        unclosed = rows[~usual][~_matches(column.filter(~usual), _CLOSED)]
        table.begun[unclosed] = [POINT_KEY in texts.values[row] for row in unclosed.tolist()]
        left = table.count == 0
        left[unclosed] = False  # no list in them closes: reading one by one would find none
        return table, np.flatnonzero(left).tolist()

    def _answers(self, texts: Texts) -> tuple[Ints, Any]:
        """Return the rows in which the end of the thinking is certain, and their texts after it as an arrow array."""
        column = texts.arrow
        if not self.thought:
            return np.arange(len(texts)), column
        # With two of "<" the first opens the thinking; the second is then the only one that can close it.
        data, offsets = _buffers(column)
        marks = np.flatnonzero(data == ord("<"))
        first = np.searchsorted(marks, offsets)
        rows = np.flatnonzero((np.diff(first) == 2) & _matches(column, _THOUGHT))
        return rows, _pieces(column, np.stack((marks[first[rows] + 1], offsets[rows + 1]), axis=1))

    def read(self, text: str) -> list[tuple[float, float]] | None:
        """Return the points of one text, [] for an empty list, None if it cannot be read.

        >>> POINT_LIST.read('Here: [{"point_2d": [512, 384], "label": "save"}]')
        [(512.0, 384.0)]
        """
        thought, close, answer = text.rpartition(_CLOSE) if self.thought else ("", "", text)
        points = _first_list(answer)
        if points is None or (self.thought and not (close and _is_thought(thought) and _OPEN not in answer)):
            return None
        return points


def _first_list(answer: str) -> list[tuple[float, float]] | None:
    begin = compiled(_BEGIN).match(answer) if "]" in answer else None
    items = begin and decoded(answer, begin.start("list"))
    if not isinstance(items, list):
        return None
    points = [point for point in map(point_of, items) if point is not None]
    return points if len(points) == len(items) else None


def _is_thought(text: str) -> bool:
    """Return True if the text before the last closing tag is one block of thinking that is not empty."""
    opened = text.lstrip()
    thought = opened.removeprefix(_OPEN)
    return thought != opened and thought.strip() != "" and _OPEN not in thought and _CLOSE not in thought


def _points(answers: Any) -> tuple[Floats, Ints]:
    """Return the points in answers of the usual form, (k, 2), and the number of points of each answer."""
    import pyarrow as pa
    import pyarrow.compute as pc

    data, offsets = _buffers(answers)
    opening, closing, commas = (np.flatnonzero(data == ord(sign)) for sign in "[],")
    starts, ends = np.searchsorted(opening, offsets), np.searchsorted(closing, offsets)
    # The first bracket of each answer opens the list, and the last one closes it.
    opening, closing = np.delete(opening, starts[:-1]), np.delete(closing, ends[1:] - 1)
    comma = commas[np.searchsorted(commas, opening)]
    numerals = _pieces(answers, np.stack((opening + 1, comma, comma + 1, closing), axis=1).reshape(-1, 2))
    numbers = pc.cast(pc.ascii_trim(numerals, characters=" \t\n\r"), pa.float64())
    return numbers.to_numpy(zero_copy_only=False).reshape(-1, 2), np.diff(starts) - 1


def _matches(column: Any, pattern: str) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    matched: NDArray[np.bool_] = pc.match_substring_regex(column, pattern=pattern).to_numpy(zero_copy_only=False)
    return matched


def _buffers(column: Any) -> tuple[NDArray[np.uint8], Ints]:
    """Return the bytes of an arrow array of strings, and the offsets of the strings in them."""
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data, dtype=np.uint8)[: places[-1]] if len(column) else np.zeros(0, np.uint8), places


def _pieces(column: Any, spans: Ints) -> Any:
    """Return the strings between positions (m, 2) in the bytes of a column, which ascend and do not overlap."""
    import pyarrow as pa

    bounds = np.ascontiguousarray(spans.ravel())
    # The bounds are offsets into the same bytes, so that nothing is copied before take.
    both = pa.LargeStringArray.from_buffers(max(len(bounds) - 1, 0), pa.py_buffer(bounds), column.buffers()[2])
    return both.take(pa.array(np.arange(0, len(both), 2)))  # every other string lies between two pieces


POINT_LIST = PointListDialect("point_list")
"""A list of points anywhere in the text; with the recipe option ``thinking="closed"`` the one after the thinking."""

THOUGHT_POINT_LIST = PointListDialect("thought_point_list", thought=True)
"""A list of points after one block of thinking, as InfiGUI-G1 demands by default."""
