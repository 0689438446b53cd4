"""Oracles of NeMo Gym's GUI coordinate."""

from __future__ import annotations

import re

from tests.golden.departures.oracle import Line, Oracle, bad_target, extra_of, text_of, without_unicode

_POINT = re.compile(r"<point>\s*\[?\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)\s*\]?\s*</point>")


def _has_unicode_digits(line: Line) -> bool:
    return any(not "".join(pair).isascii() for pair in _POINT.findall(text_of(line)))


def _is_huge(line: Line) -> bool:
    point = _POINT.search(text_of(line))
    return point is not None and max(len(point[1]), len(point[2])) > 300


def _has_no_reach(line: Line) -> bool:
    return extra_of(line).get("max_dist", 1) <= 0


ORACLES = (
    bad_target("nemo-gym"),
    Oracle("unicode-digits", _has_unicode_digits, same_as=without_unicode),
    Oracle("huge-number", _is_huge, lambda line: {"total": 0.0, "valid": 1.0}),
    Oracle("no-reach", _has_no_reach, lambda line: {}),
)
