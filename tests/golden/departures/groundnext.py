"""Oracles of GroundNext."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tests.golden.departures.oracle import Line, Oracle, bad_target, extra_of, text_of, truth_of

_CONTENT = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def _call(line: Line) -> Any:
    """Return the JSON of the first call of a line; None where there is none."""
    call = _CONTENT.search(text_of(line))
    try:
        return json.loads(call[1]) if call else None
    except (ValueError, RecursionError):
        return None


def _point(line: Line) -> list[int] | None:
    """Return the two whole numbers that the first call of a line has as its coordinate."""
    try:
        point = _call(line)["arguments"]["coordinate"]
    except (KeyError, TypeError, IndexError):
        return None
    return point if isinstance(point, list) and [type(number) for number in point] == [int, int] else None


def _has_no_call(line: Line) -> bool:
    return _call(line) is None


def _has_no_point(line: Line) -> bool:
    return _point(line) is None


def _image_size(line: Line) -> Any:
    return extra_of(line).get("image_size")


def _is_beyond(line: Line) -> bool:
    """Is the point farther from the box than every corner of the image?"""
    point, truth = _point(line), truth_of(line)
    try:
        (x1, x2), (y1, y2) = sorted((truth["x1"], truth["x2"])), sorted((truth["y1"], truth["y2"]))
        width, height = _image_size(line)
    except (KeyError, TypeError, ValueError):
        return False
    limit = max(_away((x, y), x1, y1, x2, y2) for x in (0, width) for y in (0, height))
    return point is not None and x1 < x2 and y1 < y2 and _away(point, x1, y1, x2, y2) > limit


def _away(point: Any, x1: float, y1: float, x2: float, y2: float) -> float:
    x, y = (float(max(-1e100, min(1e100, number))) for number in point)
    return math.hypot(max(x1 - x, 0.0, x - x2), max(y1 - y, 0.0, y - y2))


def _lowest(line: Line) -> dict[str, float]:
    return {"total": -1.0, "acc": 0.0, "clipped": -1.0, "norm_distance": -1.0}


def _lowest_and_unformed(line: Line) -> dict[str, float]:
    return {**_lowest(line), "format": -1.0}


ORACLES = (
    bad_target("groundnext", size=_image_size),
    Oracle("no-call-is-no-point", _has_no_call, _lowest_and_unformed),
    Oracle("no-numbers-are-no-point", _has_no_point, _lowest_and_unformed),
    Oracle("beyond-the-corners", _is_beyond, _lowest),
)
