"""Boxes in a fenced list of dicts, written as JSON or as Python, as GUI-G1 and Qwen2.5-VL answer.

```json
[{"bbox_2d": [500, 370, 524, 398], "label": "save"}]
```
"""

from __future__ import annotations

import re
from typing import Any

from grounding_rewards.parsing.literal import LiteralError, read_literal
from grounding_rewards.parsing.reader_dialect import ReaderDialect

_FENCE = "```json"
_BLANK = "[ \t\n\r\f]*"
_WHOLE = r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?"  # Python reads no leading zeros, JSON no point without decimals
_NUMBERS = f"{_BLANK},{_BLANK}".join(f"(?P<{name}>{_WHOLE})" for name in ("x1", "y1", "x2", "y2"))
_LABEL = r'[^"`\\\x00-\x1f\x7f-\x9f' + "\u2028\u2029]*"
_LIST = (
    rf'\[{_BLANK}\{{{_BLANK}"bbox_2d"{_BLANK}:{_BLANK}\[{_BLANK}{_NUMBERS}{_BLANK}\]{_BLANK}'
    rf'(?:,{_BLANK}"label"{_BLANK}:{_BLANK}"{_LABEL}"{_BLANK})?\}}{_BLANK}\]{_BLANK}'
)
_BARE = re.compile(f"{_BLANK}{_LIST}")


def read_boxes(text: str) -> list[list[float]] | None:
    """Return the boxes of a list of dicts, those under ``bbox_2d``; or of one such dict.

    It reads the text between the first line of ``` ```json ``` and the next three backticks, or else the whole text.
    Between values and around them, blanks are those of Python's source: spaces, tabs, form feeds and ends of lines.

    Returns:
        The first four numbers of each box, in order; () if the first dict holds none, because the first is the
        answer; None if the text is no literal.

    >>> read_boxes("[{'bbox_2d': [1, 2, 3, 4]}, {'label': 'x'}]")
    [[1, 2, 3, 4]]
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
    rows = [row for row, line in enumerate(lines) if line.strip(" \t") == _FENCE]
    if not rows:
        return text
    row = next((row for row in rows if lines[row] == _FENCE), rows[0])
    return "\n".join(lines[row + 1 :]).split("```", 1)[0]


def _box(item: Any) -> list[float] | None:
    box = item.get("bbox_2d") if isinstance(item, dict) else None
    if not isinstance(box, list | tuple) or len(box) < 4:
        return None
    return [*box[:4]] if all(isinstance(edge, int | float) for edge in box[:4]) else None


LITERAL_BOX = ReaderDialect(
    name="literal_box",
    read=read_boxes,
    pattern=f"^{_FENCE}\n{_BLANK}{_LIST}(?:```(?s:.*))?$",
    signs=("bbox_2d",),
    must=("}",),
)
"""The first dict is the answer. JSON's true, false and null are read beside Python's True, False and None."""
