"""Where UI-S1's recipe departs from the published code."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from typing import Any

from grounding_rewards.recipes.common import Line, text_of, truth_of
from grounding_rewards.scoring import Deviation
from grounding_rewards.spaces import COORDINATE_LIMIT

_ACTION = re.compile(r"<action>(.*?)</action>", re.DOTALL)
_FLOATS = sys.float_info.max
_THINK = re.compile(r"<think>(.*?)</think>", re.DOTALL)


def _said(line: Line) -> dict[str, Any]:
    """The action that the response names; {} where there is none."""
    found = _ACTION.search(text_of(line))
    try:
        said = json.loads(found[1]) if found else {}
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _wanted(line: Line) -> dict[str, Any]:
    truth = truth_of(line)
    wanted = truth.get("check_options") if isinstance(truth, Mapping) else None
    return wanted if isinstance(wanted, dict) else {}


def _upright(step: Mapping[str, Any]) -> int:
    """1 for a swipe down, -1 for one up, 0 for any other."""
    start, end = _numbers(step.get("coordinate")), _numbers(step.get("coordinate2"))
    if not (start and end):
        return 0
    across, down = abs(end[0] - start[0]), end[1] - start[1]
    return 0 if across > abs(down) or not down else 1 if down > 0 else -1


def _numbers(pair: Any) -> list[float]:
    """The first two numbers of a list; [] where it has none."""
    numbers = pair[:2] if isinstance(pair, list) else []
    if len(numbers) < 2 or not all(type(number) in (int, float) and abs(number) <= _FLOATS for number in numbers):
        return []
    return [max(-COORDINATE_LIMIT, min(COORDINATE_LIMIT, number)) for number in numbers]


def _swipes_upright(line: Line) -> bool:
    said, wanted = _said(line), _wanted(line)
    both = said.get("action") == wanted.get("action") == "swipe" and wanted.get("direction") is None
    both = both and all(len(wanted.get(key) or ()) == 2 for key in ("coordinate", "coordinate2"))
    return both and _upright(said) != 0 and _upright(wanted) != 0


def _by_direction(line: Line) -> dict[str, float]:
    return _paid(line, 1.0 if _upright(_said(line)) == _upright(_wanted(line)) else 0.5)


def _names_key_or_answer(line: Line) -> bool:
    said, wanted = _said(line), _wanted(line)
    if wanted.get("action") not in ("key", "answer") or not isinstance(wanted.get("text"), str):
        return False
    return said.get("action") == wanted["action"] or (said.get("action") == "type" and _shares_text(said, wanted))


def _shares_text(said: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Is one of the two texts part of the other, white space around them aside? Nothing is part of every text."""
    text, other = said.get("text"), str(wanted["text"]).strip().lower()
    return isinstance(text, str) and (text.strip().lower() in other or other in text.strip().lower())


def _by_text(line: Line) -> dict[str, float]:
    said, wanted = _said(line).get("text"), str(_wanted(line).get("text")).lower()
    if not isinstance(said, str):
        return _paid(line, 0.0)
    if _said(line)["action"] == "type":
        return _paid(line, 0.5)
    said = said.lower()
    return _paid(line, 1.0 if said in wanted or wanted in said else 0.5)


def _has_no_numbers(line: Line) -> bool:
    said, wanted = _said(line), _wanted(line)
    if said.get("action") != wanted.get("action") or said.get("action") not in ("click", "long_press", "swipe"):
        return False
    keys = ("coordinate", "coordinate2") if said["action"] == "swipe" else ("coordinate",)
    pairs = [said[key][:2] for key in keys if isinstance(said.get(key), list)]
    return any(_is_no_number(number) for pair in pairs for number in pair)


def _is_no_number(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value))


def _no_action(line: Line) -> dict[str, float]:
    return _paid(line, 0.0)


def _paid(line: Line, action: float) -> dict[str, float]:
    """What a line's step is worth for an action of 1 (matched), 0.5 or 0, before its annotation."""
    thought = _THINK.search(text_of(line))
    formed = 1.0 if thought and thought[1].strip() else 0.0
    worth = {"HARMFUL": 1.0 - action, "NEUTRAL": 0.5}.get(str(_wanted(line).get("annotation")), action)
    worth = worth if action else 0.0
    return {"match": float(action == 1.0), "action": worth, "format": formed, "total": 0.1 * formed + 0.9 * worth}


DEVIATIONS = (
    Deviation(
        "no-numbers",
        "true, false, NaN and Infinity are no coordinates, and an action without its coordinates is worth 0; the "
        "source reads true as 1, and pays the others for the kind of action.",
        _has_no_numbers,
        _no_action,
    ),
    Deviation(
        "flipped-swipe",
        "Two swipes up, or two down, go the same way; where the target gives two points and no direction, the source "
        "turns one of them around and not the other, so that the same swipe is wrong and the opposite one right.",
        _swipes_upright,
        _by_direction,
    ),
    Deviation(
        "key-and-answer",
        "A target that wants a key or an answer is matched by that action with its text, compared as typed text is, "
        "and typing is half right; the source takes it for type when it compares names, so that the action itself "
        "cannot match, and typed text that is part of the target's, as the empty one is, or holds it is worth 1.",
        _names_key_or_answer,
        _by_text,
    ),
)
