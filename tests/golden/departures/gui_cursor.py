"""Oracles of GUI-Cursor."""

from __future__ import annotations

import re

from tests.golden.departures.oracle import Line, Oracle, bad_target

_GOTO = re.compile(r"Action:\s*GOTO\(\s*-?[0-9]+\s*,\s*-?[0-9]+\s*\)")


def _is_unfinished(line: Line) -> bool:
    """Does an episode end before it stops and before all of its steps are taken?"""
    turns = line["response"]
    if "reward_method_name" in line["extra"].get("kw", {}):  # its earlier methods do not raise
        return False
    return len(turns) < line["extra"]["max_steps"] and not any(
        "STOP" in turn and not _GOTO.search(turn) for turn in turns
    )


def _has_unicode_digits(line: Line) -> bool:
    return any(each.isdigit() and not each.isascii() for turn in line["response"] for each in turn)


def _without_unicode(line: Line) -> Line:
    kept = [re.sub(r"[^\W\x00-\x7f]", "x", turn) for turn in line["response"]]
    return {**line, "response": kept}


ORACLES = (
    bad_target("gui-cursor"),
    Oracle("unicode-digits", _has_unicode_digits, same_as=_without_unicode),
    Oracle("unfinished", _is_unfinished, lambda line: {"episode": 0.0, "acc": 0.0}),
)
