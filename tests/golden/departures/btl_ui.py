"""Oracles of BTL-UI."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.golden.departures.oracle import Line, Oracle, bad_target, extra_of, text_of

_FORM = re.compile(
    r"\s*<blink>\s*```json(.*?)```\s*</blink>\s*<think>.*?</think>\s*<link>\s*```(js·?on)(.*?)```\s*</link>", re.DOTALL
)


def _fence(line: Line) -> str:
    """Return the word of the link's fence where a line is as documented, blanks in front aside; else ""."""
    match = _FORM.match(text_of(line))
    if not match:
        return ""
    try:
        _, (item,) = json.loads(match[1]), json.loads(match[3])
    except (ValueError, TypeError, RecursionError):
        return ""
    documented = isinstance(item, dict) and ("point_2d" in item or {"Plan", "Action"} <= set(item))
    return match[2] if documented else ""


def _has_documented_fence(line: Line) -> bool:
    return _fence(line) == "json"


def _has_leading_space(line: Line) -> bool:
    return text_of(line)[:1].isspace() and _fence(line) != ""


def _without_leading_space(line: Line) -> Line:
    return {**line, "response": text_of(line).lstrip()}


def _value(line: Line) -> dict[str, float]:
    """Return the full format score; look and link are as published."""
    return {"format": 1.0}


def row_of(line: Line) -> Any:
    """Return the solution with the box that the source has beside it."""
    extra = extra_of(line)
    return {"solution": line["ground_truth"], "bbox": extra["bbox"]} if "bbox" in extra else line["ground_truth"]


ORACLES = (
    bad_target("btl-ui", row_of),
    Oracle("documented-fence", _has_documented_fence, _value),
    Oracle("leading-space", _has_leading_space, same_as=_without_leading_space),
)
