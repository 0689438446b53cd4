"""A JSON list of points, with or without thinking before it, as InfiGUI-G1 answers.

<think>It is in the toolbar.</think>
[{"point_2d": [512, 384], "label": "save"}, {"point_2d": [40, 384], "label": "disk"}]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.parsing.dialect import Answers, Found, nothing
from grounding_rewards.parsing.json_point import JSON_SPACE, decoded, point_of, usual_point
from grounding_rewards.parsing.texts import SPACE, Texts, compiled, extract, matches
from grounding_rewards.spaces import Floats

Ints = NDArray[np.int64]

_OPEN, _CLOSE = "<think>", "</think>"
_KEY = '"point_2d"'

# Brackets in prose, such as [1], are passed over; what opens with [ { or [ ] is the list.
_PROSE = rf"[^\[]*(?:\[{JSON_SPACE}[^\[\]{{ \t\n\r][^\[\]]*\][^\[]*)*"
_BEGIN = rf"^{_PROSE}(?P<list>\[){JSON_SPACE}(?P<first>[{{\]])"

# White space after each point, rather than before a comma and before the end: RE2 needs a third of the time.
_POINT = rf"{usual_point()}{JSON_SPACE}"
_POINTS = rf"(?P<points>{_POINT}(?:,{JSON_SPACE}{_POINT})*)"
_USUAL = rf"^(?:{_CLOSE})?{JSON_SPACE}\[{JSON_SPACE}{_POINTS}\]{JSON_SPACE}$"
_THOUGHT = rf"^{SPACE}{_OPEN}{SPACE}[^<{SPACE[1:-2]}]"


@dataclass(frozen=True)
class PointListDialect:
    """The first list of objects in a text, all of which must have a point. An empty list is a refusal.

    The list is strict JSON, from its opening bracket to its own closing one; what surrounds it does not matter. An
    object without a pair of numbers under ``point_2d`` spoils the whole list.

    Args:
        name: the dialect's name.
        thought: the text must begin with one closed block of thinking that is not empty, and hold no other; the list
            comes after it. Give the recipe ``thinking="read"``, so that the thinking arrives here.
    """

    name: str
    thought: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The dialect itself."""
        return (self.name,)

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        if not texts.vectorised:
            found, left = nothing(len(texts), answers), list(range(len(texts)))
        else:
            found, left = self._find_usual(texts, answers)
        for row in left:
            self._write(found, row, texts.values[row], answers)
        return found

    def _write(self, found: Found, row: int, text: str, answers: Answers) -> None:
        points = self.read(text)
        if points is None:
            found.begun[row] = _KEY in text
            return
        found.begun[row], found.dialect[row] = True, 0
        found.count[row] = len(points) if points and answers in ("only", "all") else 1
        if not points:
            found.refused[row] = True
            return
        found.xy[row] = points[-1 if answers == "last" else 0]
        if found.points is not None:
            found.points[row] = np.array(points)

    def _find_usual(self, texts: Texts, answers: Answers) -> tuple[Found, list[int]]:
        """All texts in their usual form at once, and the rows of the others."""
        rows, points, counts = self._usual(texts)
        ends = np.cumsum(counts)
        found = nothing(len(texts), "only")
        found.begun[rows], found.dialect[rows] = True, 0
        found.count[rows] = counts
        found.xy[rows] = points[ends - 1 if answers == "last" else ends - counts]
        left = np.flatnonzero(found.count == 0).tolist()
        if answers == "all":
            stops = np.cumsum(found.count)
            slices = map(slice, (stops - found.count).tolist(), stops.tolist())
            return replace(found, points=list(map(points.__getitem__, slices))), left
        if answers != "only":
            found.count[rows] = 1
        return found, left

    def read(self, text: str) -> list[tuple[float, float]] | None:
        """The points of one text, none where the list is empty, None where it cannot be read.

        >>> POINT_LIST.read('Here: [{"point_2d": [512, 384], "label": "save"}]')
        [(512.0, 384.0)]
        """
        answer = _after_thought(text) if self.thought else text
        begin = answer and compiled(_BEGIN).match(answer)
        if not answer or not begin:
            return None
        if begin["first"] == "]":
            return []
        start = begin.start("list")
        if answer.rfind("}", start, answer.rfind("]")) < 0:  # cut short, as is most of what cannot be read
            return None
        items = decoded(answer, start)
        if not isinstance(items, list):
            return None
        points = [point for point in map(point_of, items) if point is not None]
        return points if len(points) == len(items) else None

    def _usual(self, texts: Texts) -> tuple[Ints, Floats, Ints]:
        """The texts in their usual form: rows (u,), the points of all of them (k, 2), and how many each has (u,)."""
        column, rows = texts.arrow, np.arange(len(texts))
        if self.thought:
            # With two of "<" the first opens the thinking and the second closes it, or the pattern below fails.
            data, offsets = _buffers(column)
            marks = np.flatnonzero(data == ord("<"))
            first = np.searchsorted(marks, offsets)
            rows = np.flatnonzero((np.diff(first) == 2) & matches(texts, _THOUGHT))
            column = _pieces(column, np.stack((marks[first[rows] + 1], offsets[rows + 1]), axis=1))
        lists = extract(column, _USUAL)["points"]
        usual = np.flatnonzero(lists.is_valid().to_numpy(zero_copy_only=False))
        points, counts = _points(lists.drop_null())
        return rows[usual], points, counts


def _after_thought(text: str) -> str | None:
    """What follows the only block of thinking, where that opens the text and says something."""
    thought, close, answer = text.lstrip().partition(_CLOSE)
    said = thought.removeprefix(_OPEN)
    if not close or said == thought or not said.strip() or _OPEN in said or _OPEN in answer or _CLOSE in answer:
        return None
    return answer


def _points(lists: Any) -> tuple[Floats, Ints]:
    """The numbers in usual lists of points: (k, 2), and how many points each list has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    data, offsets = _buffers(lists)
    opening, closing, commas = (np.flatnonzero(data == ord(sign)) for sign in "[],")
    comma = commas[np.searchsorted(commas, opening)]
    numerals = _pieces(lists, np.stack((opening + 1, comma, comma + 1, closing), axis=1).reshape(-1, 2))
    numbers = pc.cast(pc.ascii_trim(numerals, characters=" \t\n\r"), pa.float64())
    return numbers.to_numpy(zero_copy_only=False).reshape(-1, 2), np.diff(np.searchsorted(opening, offsets))


def _buffers(column: Any) -> tuple[NDArray[np.uint8], Ints]:
    """The bytes of an arrow array of strings, and where each string starts and ends in them."""
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data, dtype=np.uint8)[: places[-1]] if len(column) else np.zeros(0, np.uint8), places


def _pieces(column: Any, spans: Ints) -> Any:
    """The strings between positions (m, 2) in the bytes of a column, in ascending order, without overlaps."""
    import pyarrow as pa

    bounds = np.ascontiguousarray(spans.ravel())
    both = pa.LargeStringArray.from_buffers(max(len(bounds) - 1, 0), pa.py_buffer(bounds), column.buffers()[2])
    return both.take(pa.array(np.arange(0, len(both), 2)))  # every other one lies between two that were asked for


POINT_LIST = PointListDialect("point_list")
"""A list of points anywhere in the text; give the recipe ``thinking="closed"`` for the one after the thinking."""

THOUGHT_POINT_LIST = PointListDialect("thought_point_list", thought=True)
"""A list of points after one block of thinking, as InfiGUI-G1 demands by default."""
