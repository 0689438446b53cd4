"""Where ``gui-r1`` departs from GUI-R1's code: what that code reads, what the recipe reads, and what then is right."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from grounding_rewards.parsing.literal import LiteralError, read_literal
from grounding_rewards.recipes.common import Line, Unreadable, text_of, unpaid
from grounding_rewards.scoring import Deviation
from grounding_rewards.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.truth import NativeForm

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


class _Reading(NamedTuple):
    name: str
    text: str
    point: tuple[float, float] | None


def _answer(line: Line) -> str:
    """What stands in the first answer tags."""
    found = _TAGS.search(text_of(line))
    return found[1].strip() if found else ""


def _as_published(line: Line) -> _Reading:
    """What the source reads; it takes no point for (0, 0)."""
    answer = _answer(line)
    name, text, point = _WORD.search(answer), _TYPED.search(answer), _POINT.search(answer)
    try:
        place = (int(point[1]), int(point[2])) if point else None
    except ValueError:  # more digits than Python turns into a number
        place = None
    return _Reading(name[1].lower() if name else "no action", text[1] if text else "no input text", place)


def _as_mended(line: Line) -> _Reading:
    """What the recipe reads."""
    answer = _answer(line)
    name = _ANY_WORD.search(answer)
    texts = (_typed(answer[key.end() :]) for key in _KEY.finditer(answer))
    text = next((text for text in texts if text is not None), "no input text")
    dicts = answer[answer.find("{") : answer.rfind("}") + 1] if "{" in answer else ""
    pairs = (_WHOLE_POINT.findall(dicts) or _ANY_POINT.findall(dicts)) if name else []
    point = (min(float(pairs[-1][0]), COORDINATE_LIMIT), min(float(pairs[-1][1]), COORDINATE_LIMIT)) if pairs else None
    return _Reading(name[3].lower() if name else "no action", text, point)


def _typed(rest: str) -> str | None:
    """The text that the rest of an answer begins with: Python's strings to the item's end, else what its line has."""
    if strings := _STRING.match(rest):
        written = strings[0].rstrip()
        try:
            return str(read_literal(f"({written})"))
        except LiteralError:
            return written[1:-1]
    found = _ON_A_LINE.match(rest)
    return None if found is None else found[2] or found[4] or ""


def _truth(line: Line) -> Mapping[str, Any]:
    """The target's three keys; {} where it is none."""
    truth = line["ground_truth"]
    try:
        truth = json.loads(truth) if isinstance(truth, str) else truth
    except ValueError:
        return {}
    return truth if isinstance(truth, Mapping) and isinstance(truth.get("action"), str) else {}


def _clicks(line: Line) -> bool:
    """Whether a click is asked for and made."""
    return str(_truth(line).get("action")).lower() == "click" == _as_mended(line).name


def _mended(line: Line) -> dict[str, float]:
    """What the recipe says of a line: whether its own reading is right."""
    name, text, point = _as_mended(line)
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
    return {"format": 0.0, **_mended(line)}


def _is_quoted_otherwise(line: Line) -> bool:
    """Is the action read otherwise, or the text of one whose text matters?"""
    published, mended = _as_published(line), _as_mended(line)
    return published.name != mended.name or (mended.name in _WRITING and published.text != mended.text)


def _has_other_numbers(line: Line) -> bool:
    point = _as_mended(line).point
    return point is not None and _clicks(line) and point != _as_published(line).point


def _has_no_point(line: Line) -> bool:
    return _clicks(line) and _as_mended(line).point is None


def _has_no_area(line: Line) -> bool:
    place = _truth(line).get("gt_bbox")
    flat = isinstance(place, list) and len(place) == 4 and (place[0] == place[2] or place[1] == place[3])
    return flat and _clicks(line)


@dataclass(frozen=True)
class _Misfit:
    """Does the source make nothing of a line's target: what no recipe can use, and what is right but for its form?"""

    unreadable: Unreadable

    def __call__(self, line: Line) -> bool:
        return not isinstance(line["ground_truth"], str) or not _truth(line).keys() >= _KEYS or self.unreadable(line)


@dataclass(frozen=True)
class _MisfitValue:
    unreadable: Unreadable

    def __call__(self, line: Line) -> dict[str, float]:
        if self.unreadable(line):
            return unpaid(line) | dict.fromkeys(("valid", "matched", "format"), 0.0)
        return _code_value(line) if _is_code(line) else _mended(line)


def deviations(native: NativeForm, accepts: frozenset[str]) -> tuple[Deviation, ...]:
    """All deviations of a recipe with this form and these kinds of target."""
    unreadable = Unreadable(native, CoordSpace.MODEL_PIXEL, accepts)
    return (
        Deviation(
            "white-space",
            "White space around the tags does not count; the source pays no format for a line feed at the end.",
            _is_padded,
            same_as=_stripped,
        ),
        Deviation(
            "target",
            "A target that does not fit is an error, or abstains, and one need not be JSON in a string; the source "
            "pays nothing but the format for either, in silence.",
            _Misfit(unreadable),
            _MisfitValue(unreadable),
        ),
        Deviation(
            "no-eval",
            "Nothing in a response is run: an answer of Python that is no literal is not well formed. The source gives "
            "it to eval(), which may do anything, and pays the format for what comes back.",
            _is_code,
            _code_value,
        ),
        Deviation(
            "quotes",
            "The action and the text may stand in double quotes and hold apostrophes and escapes, as Python writes "
            "them; the source's pattern knows single quotes alone, and ends a text at the first.",
            _is_quoted_otherwise,
            _mended,
        ),
        Deviation(
            "numbers",
            "Where no pair is as the source reads it, one may have decimals and spaces inside its brackets, and its "
            "numbers any count of digits; the source takes such a click for one on (0, 0). The format asks for whole "
            "numbers, as it does in the source.",
            _has_other_numbers,
            _mended,
        ),
        Deviation(
            "no-point",
            "A click without two numbers in ASCII digits is no hit; the source takes it for one on (0, 0).",
            _has_no_point,
            _mended,
        ),
        Deviation(
            "no-area",
            "A box without width or height counts with its border; strictly within it there is nothing, so that the "
            "source never pays such a target.",
            _has_no_area,
            _mended,
        ),
    )
