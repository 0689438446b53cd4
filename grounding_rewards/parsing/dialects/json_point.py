"""One JSON object with ``point_2d`` and nothing around it but a fence, as UI-RFT answers.

{"point_2d": [512, 384], "label": "save"}
"""

from __future__ import annotations

import json
from typing import Any

from grounding_rewards.parsing.literal import is_shallow, read_json
from grounding_rewards.parsing.reader_dialect import ReaderDialect
from grounding_rewards.parsing.texts import SPACE, limited

POINT_KEY = "point_2d"
JSON_SPACE = "[ \t\n\r]*"

# Whole numbers have at most 12 digits here: none goes beyond COORDINATE_LIMIT.
_NUMBER = r"(?:0|-?[1-9][0-9]{0,11})(?:\.[0-9]+)?"
_FENCE, _END = "```json", "```"


def usual_point(x: str = "", y: str = "") -> str:
    """Return the pattern of an object as models nearly always write it: the point, then at most a label.

    Args:
        x: name of the group that captures x; "" for no group.
        y: the same for y.
    """
    groups = [rf"(?P<{name}>{_NUMBER})" if name else _NUMBER for name in (x, y)]
    tokens = (r"\{", f'"{POINT_KEY}"', ":", r"\[", groups[0], ",", groups[1], r"\]")
    label = JSON_SPACE.join((",", '"label"', ":", r'"[^"\\\[\]\x00-\x1f]*"', ""))
    return rf"{JSON_SPACE.join(tokens)}{JSON_SPACE}(?:{label})?\}}"


def decoded(text: str, start: int = 0) -> Any:
    """Return the JSON value that begins at ``start``, ignoring the text after it; None if there is none, and for null.

    Numbers are strict JSON, but for Python's NaN and Infinity; whole numbers of more digits than Python reads (4300)
    are not read.

    >>> decoded('see [1, {"a": 2.5}] and more', 4), decoded("[.5]"), decoded("[" * 100_000)
    ([1, {'a': 2.5}], None, None)
    """
    try:
        return _DECODER.raw_decode(text, start)[0] if is_shallow(text[start:]) else None
    except ValueError:
        return None


_DECODER = json.JSONDecoder()


def point_of(item: Any) -> tuple[float, float] | None:
    """Return the two numbers of an object's ``point_2d``; None if it has no such pair.

    JSON's true and false are 1 and 0, as in Python. NaN becomes the limit, as numbers beyond it do: outside any screen.

    >>> point_of({"point_2d": [512, 384.5], "label": "save"}), point_of({"point_2d": ["512", "384"]})
    ((512.0, 384.5), None)
    """
    pair = item.get(POINT_KEY) if isinstance(item, dict) else None
    if not isinstance(pair, list) or len(pair) != 2:
        return None
    x, y = pair
    if not isinstance(x, int | float) or not isinstance(y, int | float):
        return None
    return limited(x), limited(y)


def read_json_point(text: str) -> list[tuple[float, float]] | None:
    """Return the point of a text that is one JSON object; each half of the fence around it is optional.

    >>> read_json_point('```json {"point_2d": [512, 384]} ```'), read_json_point('{"point_2d": [512, 384]} done.')
    ([(512.0, 384.0)], None)
    """
    point = point_of(read_json(text.strip().removeprefix(_FENCE).removesuffix(_END).strip()))
    return None if point is None else [point]


JSON_POINT = ReaderDialect(
    "json_point",
    read_json_point,
    rf"^{SPACE}(?:{_FENCE}{SPACE})?{usual_point('x', 'y')}{SPACE}(?:{_END}{SPACE})?$",
    (POINT_KEY,),
    must=("}",),
)
"""The whole text is one object in strict JSON, in a ```json fence or not."""
