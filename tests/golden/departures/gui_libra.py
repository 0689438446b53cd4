"""Oracles of GUI-Libra."""

from __future__ import annotations

import re

from tests.golden.departures.oracle import Line, Oracle, bad_target, text_of, truth_of

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_ACTION = re.compile(r'"action_type":\s*"(.*?)"')
_POINT = re.compile(r'"point_2d":\s*\[\s*-?[0-9]+\s*,\s*-?[0-9]+\s*\]')
_PRESSES = {"click": "click", "longpress": "longpress", "long_press": "longpress"}


def _has_no_point(line: Line) -> bool:
    """Is a click or long press asked for and made, without a point?"""
    answer = _ANSWER.search(text_of(line))
    action = _ACTION.search(answer[1]) if answer else None
    wanted = _PRESSES.get(str(truth_of(line)["gt_action"]).lower())
    return bool(answer and action and action[1].lower() == wanted and not _POINT.search(answer[1]))


ORACLES = (
    bad_target("gui-libra"),
    Oracle("no-point", _has_no_point, lambda line: {"acc": 0.0, "matched": 0.0}),
)
