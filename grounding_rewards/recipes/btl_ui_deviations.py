"""Where the recipe of BTL-UI departs from the published code, told from the lines alone."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from grounding_rewards.recipes.common import Line, text_of
from grounding_rewards.scoring import Deviation

_FORM = re.compile(
    r"\s*<blink>\s*```json(.*?)```\s*</blink>\s*<think>.*?</think>\s*<link>\s*```(js·?on)(.*?)```\s*</link>", re.DOTALL
)
_CELL = 28
_NEAR, _ENOUGH, _ALIKE = 0.14, 0.5, 0.5


def _parts(line: Line) -> tuple[Any, str, dict[str, Any]] | None:
    """Boxes, the fence's word and the item of the link of a line written as documented, blanks in front aside."""
    found = _FORM.match(text_of(line))
    if not found:
        return None
    try:
        looks, (item,) = json.loads(found[1]), json.loads(found[3])
    except (ValueError, TypeError, RecursionError):
        return None
    if not isinstance(item, dict) or not ("point_2d" in item or {"Plan", "Action"} <= set(item)):
        return None
    return looks, found[2], item


def _has_documented_fence(line: Line) -> bool:
    parts = _parts(line)
    return parts is not None and parts[1] == "json"


def _has_leading_space(line: Line) -> bool:
    return text_of(line)[:1].isspace() and _parts(line) is not None


def _without_leading_space(line: Line) -> Line:
    return {**line, "response": text_of(line).lstrip()}


def _value(line: Line) -> dict[str, float]:
    """The format is paid; look and link by the formula."""
    looks, _, item = _parts(line) or ([], "", {})
    return {"format": 1.0, "blink": float(_looks_there(looks, line)), "link": float(_is_right(item, line))}


def _looks_there(looks: Any, line: Line) -> bool:
    truth = line["extra"]["bbox"]
    if not truth:
        return True
    try:
        boxes = [[0.0 + edge for edge in item["bbox_2d"]] for item in looks]
        alone = not any(_shared(a, b) > _ALIKE for a, b in combinations(boxes, 2))
        return alone and any(_shared(box, truth) > _ALIKE for box in boxes)
    except (TypeError, KeyError, IndexError, OverflowError):
        return False


def _shared(a: list[float], b: list[float]) -> float:
    """Intersection over union."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / (sum((x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in (a, b)) - width * height)


def _is_right(item: Mapping[str, Any], line: Line) -> bool:
    try:
        if "point_2d" in item:
            return _is_inside(item, line)
        truth = json.loads(line["ground_truth"])[0]
        did, asked = item["Action"], truth.get("Action") or {"function": "Tap", **truth}
        name = did["function"]
        if name != asked["function"]:
            return False
        if name in ("Tap", "LongPress"):
            return _is_inside(did, line) and _away(did["point_2d"], asked["point_2d"], line) < _NEAR
        if name == "Swipe":
            return bool(did["direction"] == asked["direction"])
        return (
            _common_words(did["text"], asked["text"]) if name == "Type" else name in ("Home", "Back") and did == asked
        )
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        return False


def _is_inside(place: Mapping[str, Any], line: Line) -> bool:
    (x, y), (x1, y1, x2, y2) = place["point_2d"], line["extra"]["bbox"]
    return bool(x1 < x < x2 and y1 < y < y2)


def _away(point: list[float], marked: list[float], line: Line) -> float:
    """The distance as a share of the image, whose sides the model saw as multiples of 28."""
    sides = line["extra"]["image_size"]
    seen = [max(_CELL, round(side / _CELL) * _CELL) for side in sides]
    if math.prod(seen) > line["extra"]["MAX_PIXELS"]:
        shrunk = math.sqrt(math.prod(sides) / line["extra"]["MAX_PIXELS"])
        seen = [max(_CELL, math.floor(side / shrunk / _CELL) * _CELL) for side in sides]
    return math.hypot(*((at - mark) / side for at, mark, side in zip(point, marked, seen, strict=True)))


def _common_words(said: str, asked: str) -> bool:
    a, b = set(said.lower().split()), set(asked.lower().split())
    return 2 * len(a & b) >= _ENOUGH * (len(a) + len(b)) and bool(a & b)


DEVIATIONS = (
    Deviation(
        "documented-fence",
        "The format is paid for a link in a ```json fence, as the prompt documents it; the source asks for a fence "
        "with a dot in the middle of the word, so that the documented answer never gets a tenth of the reward.",
        _has_documented_fence,
        _value,
    ),
    Deviation(
        "leading-space",
        "White space in front of <blink> does not matter to the format; the source pays it 0.",
        _has_leading_space,
        same_as=_without_leading_space,
    ),
)
