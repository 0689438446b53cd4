"""Oracles of GUI-G1."""

from __future__ import annotations

import re
from typing import Any

from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.parsing.literal import LiteralError, read_literal
from tests.golden.departures.oracle import Line, Oracle, bad_target, extra_of, text_of, truth_of

_FENCE = "```json"
_BLANKS = " \t\n\r\f"  # what Python takes for blanks between values
_LEAD = re.compile(r"(?:[ \t\n\r\f]|#[^\n\r]*)*")
_INDENTED_END = re.compile(r"[\n\r][ \t\f]*[ \t]\Z")
_WORD = re.compile(
    r'"""(?:[^\\]|\\[\s\S])*?"""' r"|'{3}(?:[^\\]|\\[\s\S])*?'{3}"
    r"|\"(?:[^\"\\]|\\[\s\S])*\"|'(?:[^'\\]|\\[\s\S])*'|\b(?:true|false|null)\b"
)  # fmt: skip
_PYTHON = {"true": "True", "false": "False", "null": "None"}


def _fence(line: Line) -> tuple[str, str]:
    """Return the line that is the fence, "" without one, and the text behind it; a line without blanks goes first."""
    lines = text_of(line).splitlines()
    rows = [row for row, each in enumerate(lines) if each.strip(" \t") == _FENCE]
    rows.sort(key=lambda row: lines[row] != _FENCE)
    return (lines[rows[0]], "\n".join(lines[rows[0] + 1 :])) if rows else ("", text_of(line))


def _answer(line: Line) -> str:
    """Return the text between the fences, or the whole of it."""
    fence, text = _fence(line)
    return text.split("```", 1)[0] if fence else text


def _value(line: Line) -> Any:
    """Read the answer as a literal; None where it is none."""
    try:
        return read_literal(_answer(line))
    except LiteralError:
        return None


def _box(line: Line) -> list[float]:
    """Return the first four numbers of the first dict, limited as all coordinates are; [] where there are none."""
    value = _value(line)
    items = value if isinstance(value, list | tuple) else [value]
    first = items[0] if items else None
    box = first.get("bbox_2d") if isinstance(first, dict) else None
    if not isinstance(box, list | tuple) or len(box) < 4 or not all(isinstance(n, int | float) for n in box[:4]):
        return []
    return [float(min(max(number, -COORDINATE_LIMIT), COORDINATE_LIMIT)) for number in box[:4]]


def _has_json_words(line: Line) -> bool:
    return bool(_box(line)) and _in_python(_answer(line)) != _answer(line)


def _in_python(text: str) -> str:
    return _WORD.sub(lambda match: _PYTHON.get(match[0], match[0]), text)


def _with_python_words(line: Line) -> Line:
    return {**line, "response": _in_python(_bare(line))}


def _lead(line: Line) -> str:
    """Return blanks and comments before the list, without the spaces and tabs that Python takes from the start."""
    match = _LEAD.match(_answer(line).lstrip(" \t"))
    return match[0] if match else ""


def _bare(line: Line) -> str:
    """Return the answer without its lead, and without blanks behind."""
    return _answer(line).lstrip(" \t")[len(_lead(line)) :].rstrip(_BLANKS)


def _has_spaces(line: Line) -> bool:
    """Are there blanks beside ```json, or in front of the first or after the last line of the list?"""
    beside = _fence(line)[0] not in ("", _FENCE)
    indented = _lead(line).endswith((" ", "\t")) or bool(_INDENTED_END.search(_answer(line)))
    return bool(_box(line)) and (beside or indented)


def _tidy(line: Line) -> Line:
    return {**line, "response": f"{_FENCE}\n{_bare(line)}\n```" if _fence(line)[0] else _bare(line)}


def _is_one_dict(line: Line) -> bool:
    return isinstance(_value(line), dict) and bool(_box(line))


def _in_list(line: Line) -> Line:
    end = "\n]" if "#" in _bare(line) else "]"  # a comment ends with its line
    return {**line, "response": f"[{_bare(line)}{end}"}


def _image_size(line: Line) -> tuple[Any, ...]:
    return tuple([extra_of(line).get(side) for side in ("image_width", "image_height")])


def _sides(line: Line) -> tuple[float, ...]:
    return _image_size(line) * 2


def _is_outside(line: Line) -> bool:
    edges = zip(_box(line), truth_of(line) or (), _sides(line), strict=False)
    return any(abs(predicted - edge) >= side for predicted, edge, side in edges)


def _outside_value(line: Line) -> dict[str, float]:
    """Return 0 for the edges; hit and overlap by the formula."""
    (a1, b1, a2, b2), (x1, y1, x2, y2) = _box(line), truth_of(line)
    hit = float(x1 <= (a1 + a2) / 2 <= x2 and y1 <= (b1 + b2) / 2 <= y2)
    left, top, right, bottom = max(a1, x1), max(b1, y1), min(a2, x2) - 1, min(b2, y2) - 1
    shared = (right - left + 1) * (bottom - top + 1) if left < right and top < bottom else 0
    union = (a2 - a1) * (b2 - b1) + (x2 - x1) * (y2 - y1) - shared
    return {"acc": hit, "hit": hit, "iou": shared / union if shared else 0.0, "box": 0.0}


def _is_thin(line: Line) -> bool:
    box = _box(line)
    return bool(box) and box == truth_of(line) and min(box[2] - box[0], box[3] - box[1]) <= 1


def _equal_value(line: Line) -> dict[str, float]:
    return {"acc": 1.0, "hit": 1.0, "iou": 1.0, "box": 1.0}


ORACLES = (
    bad_target("gui-g1", size=_image_size),
    Oracle("json-words", _has_json_words, same_as=_with_python_words),
    Oracle("spaces", _has_spaces, same_as=_tidy),
    Oracle("one-dict", _is_one_dict, same_as=_in_list),
    Oracle("outside-image", _is_outside, _outside_value),
    Oracle("thin-target", _is_thin, _equal_value),
)
