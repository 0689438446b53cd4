"""Oracles of the mobile_use reward."""

from __future__ import annotations

import re

from tests.golden.departures.oracle import Line, Oracle, bad_target, text_of, zero


def _is_huge(line: Line) -> bool:
    return re.search("[0-9]{4301}", text_of(line)) is not None


ORACLES = (bad_target("mobile-use"), Oracle("huge-number", _is_huge, zero))
