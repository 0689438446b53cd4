"""Readers of places that no pattern reads: whole texts of one source each, lists of points, crops, calls of tools."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.parsing.literal import LiteralError, is_shallow, read_json, read_literal
from grounding_rewards.parsing.patterns import COMMA, XY
from grounding_rewards.parsing.reading import REFUSED, Answered, Answers, Form, Place
from grounding_rewards.parsing.texts import NUMBER, SPACE, Texts, compiled, limited, number, on_use, tag_span, tag_text

# One JSON object with ``point_2d`` and nothing around it but a fence, as UI-RFT answers.

POINT_KEY = "point_2d"
JSON_SPACE = "[ \t\n\r]*"

# Whole numbers have at most 12 digits here: none goes beyond COORDINATE_LIMIT.
USUAL_NUMBER = r"(?:0|-?[1-9][0-9]{0,11})(?:\.[0-9]+)?"
_POINT_FENCE, _END = "```json", "```"


def usual_point(x: str = "", y: str = "") -> str:
    """Return the pattern of an object as models nearly always write it: the point, in groups x and y, and a label."""
    groups = [rf"(?P<{name}>{USUAL_NUMBER})" if name else USUAL_NUMBER for name in (x, y)]
    tokens = (r"\{", f'"{POINT_KEY}"', ":", r"\[", groups[0], ",", groups[1], r"\]")
    label = JSON_SPACE.join((",", '"label"', ":", r'"[^"\\\[\]\x00-\x1f]*"', ""))
    return rf"{JSON_SPACE.join(tokens)}{JSON_SPACE}(?:{label})?\}}"


def decoded(text: str, start: int = 0) -> Any:
    """Return the JSON value that begins at ``start``, ignoring the text after it; None if there is none or null."""
    try:
        return _DECODER.raw_decode(text, start)[0] if is_shallow(text[start:]) else None
    except ValueError:
        return None


_DECODER = json.JSONDecoder()


def point_of(item: Any) -> tuple[float, float] | None:
    """Return the numbers of an object's ``point_2d``, true and false as 1 and 0; None if it has no such pair."""
    pair = item.get(POINT_KEY) if isinstance(item, dict) else None
    if not isinstance(pair, list) or len(pair) != 2:
        return None
    x, y = pair
    if not isinstance(x, int | float) or not isinstance(y, int | float):
        return None
    return limited(x), limited(y)


def read_json_point(text: str) -> list[tuple[float, float]] | None:
    """Return the point of a text that is one JSON object; each half of the fence around it is optional."""
    point = point_of(read_json(text.strip().removeprefix(_POINT_FENCE).removesuffix(_END).strip()))
    return None if point is None else [point]


JSON_POINT = Form(
    "json_point",
    read=read_json_point,
    usual=(rf"^{SPACE}(?:{_POINT_FENCE}{SPACE})?{usual_point('x', 'y')}{SPACE}(?:{_END}{SPACE})?$",),
    signs=(POINT_KEY,),
    formed=True,
)
"""The whole text is one object in strict JSON, in a ```json fence or not."""


# A JSON list of points, with or without thinking before it, as InfiGUI-G1 answers.

_OPEN, _CLOSE = "<think>", "</think>"

# Brackets in prose, such as [1], are skipped; the list opens with [ { or [ ].
_PROSE = rf"[^\[]*(?:\[{JSON_SPACE}[^\[\]{{ \t\n\r][^\[\]]*\][^\[]*)*"
_BEGIN = rf"^{_PROSE}(?P<list>\[){JSON_SPACE}[{{\]]"

# These are for RE2 alone. Every list matches _CLOSED; most malformed ones do not, as they were cut short.
_POINT = rf"{usual_point()}{JSON_SPACE}"
_LIST = rf"\[{JSON_SPACE}{_POINT}(?:,{JSON_SPACE}{_POINT})*\]"
_FENCED = rf"(?:{_POINT_FENCE}{JSON_SPACE})?{_LIST}{JSON_SPACE}(?:{_END}{JSON_SPACE})?"
_USUAL = rf"^(?:{_CLOSE})?{JSON_SPACE}{_FENCED}$"
_CLOSED = rf"\}}[^\]]*\]|\[{JSON_SPACE}\]"
_THOUGHT = rf"^{SPACE}{_OPEN}{SPACE}[^<{SPACE[1:-2]}]"


@dataclass(frozen=True)
class PointListForm(Form):
    """The first list of objects in a text, all of which must have a point. An empty list is a refusal.

    The list is strict JSON, from its opening bracket to its own closing one; text around it does not matter. If one
    object has no pair of numbers under ``point_2d``, the whole list is malformed.
    """

    # The text must begin with one closed block of thinking that is not empty, and hold no other; the list comes
    # after it. Use it with the recipe option ``thinking="read"``, which keeps the thinking.
    thought: bool = False

    def one(self, text: str, answers: Answers) -> Answered:
        """Read one text."""
        points = self.points(text)
        if points is None:
            return -1, POINT_KEY in text, ()
        return 0, True, self._policy(points, answers) if points else (REFUSED,)

    def points(self, text: str) -> list[tuple[float, float]] | None:
        """Return the points of one text, [] for an empty list, None if it cannot be read."""
        thought, close, answer = text.rpartition(_CLOSE) if self.thought else ("", "", text)
        points = _first_list(answer)
        if points is None or (self.thought and not (close and _is_thought(thought) and _OPEN not in answer)):
            return None
        return points

    def many(self, texts: Texts) -> tuple[Ints, Floats, Ints, Ints]:
        """Read all texts in the usual form at once; see ``reading.Many``."""
        rows, column = self._answers(texts)
        usual = _matches(column, _USUAL)
        points, counts = _points(column.filter(usual))
        unclosed = rows[~usual][~_matches(column.filter(~usual), _CLOSED)]  # no list in them closes
        return rows[usual], points, np.cumsum(counts), unclosed

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


POINT_LIST = PointListForm("point_list", read=None)
"""A list of points anywhere in the text; with the recipe option ``thinking="closed"`` the one after the thinking."""

THOUGHT_POINT_LIST = PointListForm("thought_point_list", read=None, thought=True)
"""A list of points after one block of thinking, as InfiGUI-G1 demands by default."""


# Boxes in a fenced list of dicts, written as JSON or as Python, as GUI-G1 and Qwen2.5-VL answer.

_LITERAL_FENCE = "```json"
_BLANK = "[ \t\n\r\f]*"
_LITERAL_WHOLE = (
    r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?"  # Python reads no leading zeros, JSON no point without decimals
)
_NUMBERS = f"{_BLANK},{_BLANK}".join(f"(?P<{name}>{_LITERAL_WHOLE})" for name in ("x1", "y1", "x2", "y2"))
_LABEL = r'[^"`\\\x00-\x1f\x7f-\x9f' + "\u2028\u2029]*"
_LIST = (
    rf'\[{_BLANK}\{{{_BLANK}"bbox_2d"{_BLANK}:{_BLANK}\[{_BLANK}{_NUMBERS}{_BLANK}\]{_BLANK}'
    rf'(?:,{_BLANK}"label"{_BLANK}:{_BLANK}"{_LABEL}"{_BLANK})?\}}{_BLANK}\]{_BLANK}'
)
_BARE = on_use(f"{_BLANK}{_LIST}")


def read_literal_boxes(text: str) -> list[list[float]] | None:
    """Return the boxes under ``bbox_2d`` of a list of dicts, or of one dict; None if the text is no literal.

    It reads the first fence, or else the whole text. Of each box the first four numbers count; () if the first dict
    holds none, because the first is the answer.
    """
    bare = _BARE.fullmatch(text)  # most answers, without reading token by token
    if bare:
        return [[float(number) for number in bare.groups()]]
    try:
        value = read_literal(_fenced(text))
    except LiteralError:
        return None
    items = value if isinstance(value, list | tuple) else [value]
    boxes = [_box(item) for item in items]
    return [box for box in boxes if box] if boxes and boxes[0] else []


def _fenced(text: str) -> str:
    """Return the content of the fence; a line of nothing but the fence goes before one with spaces or tabs beside it.

    Lines end where str.splitlines ends them, as in the published code: a label with U+2028 in a fence is two lines.
    """
    lines = text.splitlines()
    rows = [row for row, line in enumerate(lines) if line.strip(" \t") == _LITERAL_FENCE]
    if not rows:
        return text
    row = next((row for row in rows if lines[row] == _LITERAL_FENCE), rows[0])
    return "\n".join(lines[row + 1 :]).split("```", 1)[0]


def _box(item: Any) -> list[float] | None:
    box = item.get("bbox_2d") if isinstance(item, dict) else None
    if not isinstance(box, list | tuple) or len(box) < 4:
        return None
    return [*box[:4]] if all(isinstance(edge, int | float) for edge in box[:4]) else None


LITERAL_BOX = Form(
    name="literal_box",
    read=read_literal_boxes,
    usual=(f"^{_LITERAL_FENCE}\n{_BLANK}{_LIST}(?:```(?s:.*))?$",),
    signs=("bbox_2d",),
    formed=True,
)
"""The first dict is the answer. JSON's true, false and null are read beside Python's True, False and None."""


# GUI-Spotlight: places in the first image or in crops of it, whose left top corner is added.

_PAIR = rf"\({SPACE}({NUMBER}){COMMA}({NUMBER}){SPACE}\)"
_PLACE = on_use(rf"\({SPACE}Image_([0-9]{{1,4}}){COMMA}{_PAIR}(?:{COMMA}{_PAIR})?{SPACE}\)")
_OTHER_TOOLS = ("<extract>", "<find_color>")


def read_cropped(text: str) -> list[Place] | None:
    """Return the points, in pixels of the first image; without points, the boxes of the crops.

    Images 1, 2, ... are the crops in their order in the text. None if a place is in an image that no crop before it
    made, or that another tool may have made.
    """
    images = [(0.0, 0.0)]
    only_crops = not any(tool in text for tool in _OTHER_TOOLS)
    points: list[Place] = []
    boxes: list[Place] = []
    for match in _PLACE.finditer(text):
        image = int(match[1])
        if image >= len(images) or (image and not only_crops):
            return None
        left, top = images[image]
        numbers = [number(numeral) for numeral in match.groups()[1:] if numeral is not None]
        # X and y take turns, in points and boxes.
        place = tuple(each + (top if index % 2 else left) for index, each in enumerate(numbers))
        if len(place) == 2:
            points.append(place)
        else:
            boxes.append(place)
            images.append((place[0], place[1]))
    return points or boxes or None


# Tool calls with a coordinate: Qwen-VL, MAI-UI, SE-GUI and GroundNext (``computer_use``), UI-Ins (``grounding``).

OPEN = "<tool_call>"

_CALL_WHOLE = "(?:0|[1-9][0-9]{0,14})"


def usual_call(name: str) -> str:
    """Return a pattern of texts whose first call, of a name, is complete and as models nearly always write it."""
    return (
        rf'^[^<]*<tool_call>{JSON_SPACE}\{{"name": ?"{name}", ?"arguments": ?\{{"action": ?"[A-Za-z_]*", ?'
        rf'"coordinate": ?\[(?P<x>{_CALL_WHOLE}), ?(?P<y>{_CALL_WHOLE})\]\}}\}}{JSON_SPACE}</tool_call>'
    )


def call_texts(text: str, name: str = "tool_call") -> list[str]:
    """Return the content of each complete call, in order; an unclosed one is none."""
    contents, span = [], tag_span(text, name)
    while span:
        contents.append(text[slice(*span)])
        span = tag_span(text, name, span[1])
    return contents


def first_call(text: str) -> Any:
    """Return the JSON value of the first complete call; None if there is none or it is not JSON."""
    return read_json(tag_text(text, "tool_call") or "")


def coordinate(call: Any, kinds: tuple[type, ...] = (int, float)) -> list[float] | None:
    """Return the two finite numbers of ``arguments.coordinate``, limited; None if a call has no such pair."""
    arguments = call.get("arguments") if isinstance(call, dict) else None
    pair = arguments.get("coordinate") if isinstance(arguments, dict) else None
    if not isinstance(pair, list) or len(pair) != 2:
        return None
    finite = all(type(number) in kinds and abs(number) < math.inf for number in pair)
    return list(map(limited, pair)) if finite else None


def _read(text: str, kinds: tuple[type, ...] = (int, float)) -> list[list[float]] | None:
    pair = coordinate(first_call(text), kinds)
    return None if pair is None else [pair]


def _read_whole(text: str) -> list[list[float]] | None:
    return _read(text, (int,))


USUAL_CALL = rf"{usual_call('computer_use')}[^<]*$"
"""A text with one call, to ``computer_use``."""

FIRST_CALL = Form("first_call", read=_read, usual=(usual_call("[A-Za-z_]*"),), signs=(OPEN,), formed=True)
"""The first call, of any name and action; a first call that cannot be read is not skipped."""

FIRST_CALL_INTEGERS = Form("first_call_integers", read=_read_whole, usual=(USUAL_CALL,), signs=(OPEN,), formed=True)
"""The same with whole numbers only, as GroundNext's reward demands."""


# Places between tokens or tags.

_POINTS = re.compile(r"""<points? coords=["']([^"'<>]*)["']""")
_IMAGES = re.compile(r"[;:,\t]")
_TAG_NUMERAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def read_points(text: str) -> list[Place] | None:
    """Return the points of all tags: an image's number, then number, x and y of each; None if they are not threes."""
    places: list[Place] = []
    for coords in _POINTS.findall(text):
        for image in _IMAGES.split(coords):
            numerals = image.split()
            if len(numerals) % 3 != 1 or not all(map(_TAG_NUMERAL.fullmatch, numerals)):
                return None
            numbers = list(map(float, numerals))
            places += zip(numbers[2::3], numbers[3::3], strict=True)
    return places or None


# Points and boxes in square brackets.

TURN = "assistant\n"
"""The opening of a model's turn in decoded chats; text before the last one is not part of the answer."""

_LISTS_NUMERAL = r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_FOUR = rf"\[{SPACE}" + COMMA.join(f"(?P<{name}>{_LISTS_NUMERAL})" for name in ("x1", "y1", "x2", "y2")) + rf"{SPACE}\]"
_ANYWHERE = on_use(_FOUR)


def read_boxes(text: str) -> list[list[float]] | None:
    """Return all lists of exactly four numbers after the last ``TURN``; None if there are none."""
    answer = text.rpartition(TURN)[2]
    return [[float(number) for number in match.groups()] for match in _ANYWHERE.finditer(answer)] or None


BOX_LIST = Form("box_list", read=read_boxes, usual=(rf"^{SPACE}{_FOUR}{SPACE}$",), formed=True, signs=("[",))
"""A box, as GUI-G2 answers: integers or decimals, negative or not; no signs +, no exponents."""


# The last numbers in brackets of either kind, as TailRL reads answers.

_PLAIN = r"(-?[0-9]+(?:\.[0-9]+)?)"
_PAIRED, _BOXED = (on_use(rf"[\[(]{SPACE}{COMMA.join([_PLAIN] * count)}{SPACE}[\])]") for count in (2, 4))


def read_last_place(text: str) -> list[list[float]] | None:
    """Return the last four numbers in brackets, square or round, or else the last two; None if there are none."""
    found = _BOXED.findall(text) or _PAIRED.findall(text)
    return [list(map(number, found[-1]))] if found else None


LAST_PLACE = Form("last_place", read=read_last_place, signs=("(", "["), usual=(rf"^\({XY}\)$",))
"""Any numbers in brackets, in prose too; a box goes before every point."""


# A tuple of two whole numbers as Python writes it, as ViGoRL answers.


def one_line_answer(text: str) -> str | None:
    """Return what the first pair of answer tags on one line holds, in time that grows as the text does."""
    held = [tag_text(line, "answer") for line in text.split("\n") if "<answer>" in line]
    return next((answer for answer in held if answer is not None), None)


def whole_pair(text: str) -> tuple[float, float] | None:
    """Return the two whole numbers of a tuple or a list in Python's notation, not JSON's; None for anything else."""
    try:
        pair = read_literal(text)
    except LiteralError:
        return None
    if "true" in text or "false" in text:
        return None
    whole = isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(each, int) for each in pair)
    return (limited(pair[0]), limited(pair[1])) if whole else None


def read_literal_pair(text: str) -> list[tuple[float, float]] | None:
    """Return the pair in the first answer tags on one line, or of the whole text without such tags."""
    answer = one_line_answer(text)
    pair = whole_pair((text if answer is None else answer).strip())
    return None if pair is None else [pair]


LITERAL_PAIR = Form(
    "literal_pair",
    read=read_literal_pair,
    usual=(r"^<think>[^<]*</think>[ \n]*<answer>\((?P<x>[1-9][0-9]{0,11}), ?(?P<y>[1-9][0-9]{0,11})\)</answer>$",),
    signs=(",",),
)
"""Two whole numbers as a tuple or a list, in answer tags or alone."""
