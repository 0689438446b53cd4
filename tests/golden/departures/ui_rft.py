"""Oracles of UI-RFT."""

from __future__ import annotations

import json

from tests.golden.departures.oracle import Line, Oracle, bad_target, text_of, zero


def _has_no_numbers(line: Line) -> bool:
    """Is one of the two coordinates a text, a list or an object?"""
    text = text_of(line).strip().removeprefix("```json").removesuffix("```")
    try:
        item = json.loads(text)
    except (ValueError, RecursionError):
        return False
    point = item.get("point_2d") if isinstance(item, dict) else None
    return isinstance(point, list) and len(point) == 2 and any(isinstance(each, str | list | dict) for each in point)


ORACLES = (
    bad_target("ui-rft"),
    Oracle("no-numbers", _has_no_numbers, zero),
)
