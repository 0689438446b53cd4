"""Oracles of SE-GUI."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tests.golden.departures.oracle import Line, Oracle, bad_target, text_of

_CONTENT = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def _coordinate(line: Line) -> list[Any]:
    """Return the coordinate of the first call of a line; [] where it has none."""
    call = _CONTENT.search(text_of(line))
    try:
        pair = json.loads(call[1])["arguments"]["coordinate"] if call else []
    except (KeyError, TypeError, ValueError, RecursionError):
        return []
    return pair if isinstance(pair, list) and len(pair) == 2 else []


def _has_booleans(line: Line) -> bool:
    return any(isinstance(number, bool) for number in _coordinate(line))


def _is_below_nothing(line: Line) -> bool:
    try:
        x, y = _coordinate(line)
        x1, y1, x2, y2, width, height = line["ground_truth"]
        cx, cy = (x1 + x2) / 2 / width, (y1 + y2) / 2 / height
        away = math.hypot(x / width - cx, y / height - cy)
    except (TypeError, ValueError, ArithmeticError):
        return False
    return max(math.hypot(cx - right, cy - lower) for right in (0, 1) for lower in (0, 1)) < away <= 1


def _no_point(line: Line) -> dict[str, float]:
    return {"acc": 0.0, "hit": 0.0, "nearness": 0.0, "point": 0.0}


def _not_near(line: Line) -> dict[str, float]:
    return {"nearness": 0.0}


ORACLES = (
    bad_target("se-gui"),
    Oracle("booleans", _has_booleans, _no_point),
    Oracle("below-nothing", _is_below_nothing, _not_near),
)
