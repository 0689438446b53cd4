"""Oracles of GUI-R1: readings by the published code and by the recipe, and the scores of the latter."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.parsing.literal import LiteralError, read_literal
from tests.golden.departures.oracle import Line, Oracle, Unreadable, text_of, zero

_WRITING = ("type", "select", "scroll")
_KEYS = {"action", "gt_bbox", "input_text"}
_TAGS = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_WHOLE_TEXT = re.compile(r"<think>.*?</think>\s*<answer>.*?</answer>", re.DOTALL)
_WORD = re.compile(r"'action':\s*'(\w+)'")
_TYPED = re.compile(r"'input_text':\s*'(.*?)'")
_POINT = re.compile(r"\{.*\[(\d+),\s*(\d+)]\s*.*\}")
_ANY_WORD = re.compile(r"""(["'])action\1\s*:\s*(["'])([^"'\n]+)\2""")
_KEY = re.compile(r"""(["'])input_text\1\s*:\s*(?=["'])""")
_STRING = re.compile(r"""(?:(["'])(?:\\[^\r\n]|(?!\1)[^\\\r\n])*\1\s*)+(?=[,}])""")
_ON_A_LINE = re.compile(r"""(["'])((?:(?<=[^\W_])\1(?=[^\W_])|(?!\1).)*+)\1|(["'])(.*?)\3""")
_NUMBER = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_WHOLE_POINT = re.compile(r"\[([0-9]+),\s*([0-9]+)]")
_ANY_POINT = re.compile(rf"\[\s*{_NUMBER}\s*,\s*{_NUMBER}\s*\]")
_PLAIN = (
    ast.Expression, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Constant, ast.UnaryOp, ast.UAdd, ast.USub, ast.Load,
)  # fmt: skip


_UNREADABLE = Unreadable("gui-r1")


class _Reading(NamedTuple):
    name: str
    text: str
    point: tuple[float, float] | None


def _answer(line: Line) -> str:
    """Return the text in the first answer tags."""
    match = _TAGS.search(text_of(line))
    return match[1].strip() if match else ""


def _as_published(line: Line) -> _Reading:
    """Read a line as the source does, which takes no point for (0, 0)."""
    answer = _answer(line)
    name, text, point = _WORD.search(answer), _TYPED.search(answer), _POINT.search(answer)
    try:
        place = (int(point[1]), int(point[2])) if point else None
    except ValueError:  # more digits than Python turns into a number
        place = None
    return _Reading(name[1].lower() if name else "no action", text[1] if text else "no input text", place)


def _as_read(line: Line) -> _Reading:
    """Read a line as the recipe does."""
    answer = _answer(line)
    name = _ANY_WORD.search(answer)
    texts = (_typed(answer[key.end() :]) for key in _KEY.finditer(answer))
    text = next((text for text in texts if text is not None), "no input text")
    dicts = answer[answer.find("{") : answer.rfind("}") + 1] if "{" in answer else ""
    pairs = (_WHOLE_POINT.findall(dicts) or _ANY_POINT.findall(dicts)) if name else []
    point = (min(float(pairs[-1][0]), COORDINATE_LIMIT), min(float(pairs[-1][1]), COORDINATE_LIMIT)) if pairs else None
    return _Reading(name[3].lower() if name else "no action", text, point)


def _typed(rest: str) -> str | None:
    """Return the text at the start of an answer's rest: Python's strings to the item's end, else that of its line."""
    if strings := _STRING.match(rest):
        written = strings[0].rstrip()
        try:
            return str(read_literal(f"({written})"))
        except LiteralError:
            return written[1:-1]
    match = _ON_A_LINE.match(rest)
    return None if match is None else match[2] or match[4] or ""


def _truth(line: Line) -> Mapping[str, Any]:
    """Return the target's three keys; {} where it is none."""
    truth = line["ground_truth"]
    try:
        truth = json.loads(truth) if isinstance(truth, str) else truth
    except ValueError:
        return {}
    return truth if isinstance(truth, Mapping) and isinstance(truth.get("action"), str) else {}


def _clicks(line: Line) -> bool:
    """Is a click asked for and made?"""
    return str(_truth(line).get("action")).lower() == "click" == _as_read(line).name


def _outcome(line: Line) -> dict[str, float]:
    """Score the recipe's own reading of a line."""
    name, text, point = _as_read(line)
    truth = _truth(line)
    if name != str(truth.get("action")).lower():
        right = False
    elif name == "click":
        right = point is not None and "gt_bbox" in truth and _is_hit(*point, truth["gt_bbox"])
    else:
        right = name not in _WRITING or "input_text" not in truth or _agree(text, truth["input_text"])
    return {"acc": float(right), "matched": float(right)}


def _is_hit(x: float, y: float, place: Any) -> bool:
    if len(place) == 2:
        return bool((x - place[0]) ** 2 + (y - place[1]) ** 2 < 140**2)
    x1, y1, x2, y2 = place
    bordered = x1 == x2 or y1 == y2
    return bool(x1 <= x <= x2 and y1 <= y <= y2 if bordered else x1 < x < x2 and y1 < y < y2)


def _agree(text: str, wanted: str) -> bool:
    one, other = ({*re.sub(r"[\[\]]", "", each).lower().split()} for each in (text, wanted))
    if len(one) == len(other) == 1:
        return min(one) in min(other) or min(other) in min(one)
    return 4 * len(one & other) >= len(one) + len(other) > 0


def _is_padded(line: Line) -> bool:
    text = text_of(line)
    return text != text.strip() and bool(_WHOLE_TEXT.fullmatch(text.strip()))


def _stripped(line: Line) -> Line:
    return {**line, "response": text_of(line).strip()}


def _is_code(line: Line) -> bool:
    """Is the answer Python, and no literal of Python's?"""
    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes that Python does not know
            tree = ast.parse(_answer(line), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not all(isinstance(node, _PLAIN) for node in ast.walk(tree))


def _code_value(line: Line) -> dict[str, float]:
    return {"format": 0.0, **_outcome(line)}


def _is_quoted_otherwise(line: Line) -> bool:
    """Is the action read otherwise, or the text of one whose text matters?"""
    published, ours = _as_published(line), _as_read(line)
    return published.name != ours.name or (ours.name in _WRITING and published.text != ours.text)


def _has_other_numbers(line: Line) -> bool:
    point = _as_read(line).point
    return point is not None and _clicks(line) and point != _as_published(line).point


def _has_no_point(line: Line) -> bool:
    return _clicks(line) and _as_read(line).point is None


def _has_no_area(line: Line) -> bool:
    place = _truth(line).get("gt_bbox")
    flat = isinstance(place, list) and len(place) == 4 and (place[0] == place[2] or place[1] == place[3])
    return flat and _clicks(line)


def _is_misfit(line: Line) -> bool:
    """Can the source not read the target: one that no recipe can use, or one that is right but for its form?"""
    return not isinstance(line["ground_truth"], str) or not _truth(line).keys() >= _KEYS or _UNREADABLE(line)


def _misfit_value(line: Line) -> dict[str, float]:
    if _UNREADABLE(line):
        return zero(line) | dict.fromkeys(("valid", "matched", "format"), 0.0)
    return _code_value(line) if _is_code(line) else _outcome(line)


ORACLES = (
    Oracle("white-space", _is_padded, same_as=_stripped),
    Oracle("target", _is_misfit, _misfit_value),
    Oracle("no-eval", _is_code, _code_value),
    Oracle("quotes", _is_quoted_otherwise, _outcome),
    Oracle("numbers", _has_other_numbers, _outcome),
    Oracle("no-point", _has_no_point, _outcome),
    Oracle("no-area", _has_no_area, _outcome),
)
