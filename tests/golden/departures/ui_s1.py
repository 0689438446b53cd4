"""Oracles of UI-S1."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from typing import Any

from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from tests.golden.departures.oracle import Line, Oracle, bad_target, text_of, truth_of

_ACTION = re.compile(r"<action>(.*?)</action>", re.DOTALL)
_FLOATS = sys.float_info.max
_THINK = re.compile(r"<think>(.*?)</think>", re.DOTALL)


def _action(line: Line) -> dict[str, Any]:
    """Return the action that the response names; {} where there is none."""
    match = _ACTION.search(text_of(line))
    try:
        answer = json.loads(match[1]) if match else {}
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _wanted(line: Line) -> dict[str, Any]:
    truth = truth_of(line)
    wanted = truth.get("check_options") if isinstance(truth, Mapping) else None
    return wanted if isinstance(wanted, dict) else {}


def _upright(step: Mapping[str, Any]) -> int:
    """Return 1 for a swipe down, -1 for one up, 0 for any other."""
    start, end = _numbers(step.get("coordinate")), _numbers(step.get("coordinate2"))
    if not (start and end):
        return 0
    across, down = abs(end[0] - start[0]), end[1] - start[1]
    return 0 if across > abs(down) or not down else 1 if down > 0 else -1


def _numbers(pair: Any) -> list[float]:
    """Return the first two numbers of a list; [] where it has none."""
    numbers = pair[:2] if isinstance(pair, list) else []
    if len(numbers) < 2 or not all(type(number) in (int, float) and abs(number) <= _FLOATS for number in numbers):
        return []
    return [max(-COORDINATE_LIMIT, min(COORDINATE_LIMIT, number)) for number in numbers]


def _swipes_upright(line: Line) -> bool:
    answer, wanted = _action(line), _wanted(line)
    both = answer.get("action") == wanted.get("action") == "swipe" and wanted.get("direction") is None
    both = both and all(len(wanted.get(key) or ()) == 2 for key in ("coordinate", "coordinate2"))
    return both and _upright(answer) != 0 and _upright(wanted) != 0


def _by_direction(line: Line) -> dict[str, float]:
    return _value(line, 1.0 if _upright(_action(line)) == _upright(_wanted(line)) else 0.5)


def _names_key_or_answer(line: Line) -> bool:
    answer, wanted = _action(line), _wanted(line)
    if wanted.get("action") not in ("key", "answer") or not isinstance(wanted.get("text"), str):
        return False
    return answer.get("action") == wanted["action"] or (answer.get("action") == "type" and _shares_text(answer, wanted))


def _shares_text(answer: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Is one of the two texts part of the other, white space around them aside? Nothing is part of every text."""
    text, other = answer.get("text"), str(wanted["text"]).strip().lower()
    return isinstance(text, str) and (text.strip().lower() in other or other in text.strip().lower())


def _by_text(line: Line) -> dict[str, float]:
    answer, wanted = _action(line).get("text"), str(_wanted(line).get("text")).lower()
    if not isinstance(answer, str):
        return _value(line, 0.0)
    if _action(line)["action"] == "type":
        return _value(line, 0.5)
    answer = answer.lower()
    return _value(line, 1.0 if answer in wanted or wanted in answer else 0.5)


def _has_no_numbers(line: Line) -> bool:
    answer, wanted = _action(line), _wanted(line)
    if answer.get("action") != wanted.get("action") or answer.get("action") not in ("click", "long_press", "swipe"):
        return False
    keys = ("coordinate", "coordinate2") if answer["action"] == "swipe" else ("coordinate",)
    pairs = [answer[key][:2] for key in keys if isinstance(answer.get(key), list)]
    return any(_is_no_number(number) for pair in pairs for number in pair)


def _is_no_number(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value))


def _no_action(line: Line) -> dict[str, float]:
    return _value(line, 0.0)


def _value(line: Line, action: float) -> dict[str, float]:
    """Score a line's step for an action of 1 (matched), 0.5 or 0, before its annotation."""
    thought = _THINK.search(text_of(line))
    formed = 1.0 if thought and thought[1].strip() else 0.0
    worth = {"HARMFUL": 1.0 - action, "NEUTRAL": 0.5}.get(str(_wanted(line).get("annotation")), action)
    worth = worth if action else 0.0
    return {"match": float(action == 1.0), "action": worth, "format": formed, "total": 0.1 * formed + 0.9 * worth}


ORACLES = (
    bad_target("ui-s1"),
    Oracle("no-numbers", _has_no_numbers, _no_action),
    Oracle("flipped-swipe", _swipes_upright, _by_direction),
    Oracle("key-and-answer", _names_key_or_answer, _by_text),
)
