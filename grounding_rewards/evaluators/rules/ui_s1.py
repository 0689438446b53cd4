"""UI-S1's rules of AndroidControl, of its evaluation and of its reward: decoded actions, places in pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.evaluators.compare import (
    apart,
    boxes,
    direction,
    ends,
    failed,
    holds,
    point,
    scaled,
    stripped_contains,
    text,
)
from grounding_rewards.evaluators.rule import STOPPED, Size, Step, StepRule, StepVerdict

_PLACED = ("click", "long_press")
_FIELDS = {"type": "text", "answer": "text", "key": "text", "open": "text", "system_button": "button"}
_UPRIGHT = {"up": "down", "down": "up"}
_NAMES = {"scroll": "swipe", "open_app": "open", "finished": "terminate"}
_BUTTONS = ("back", "home", "menu", "enter", "recent")
_REACH, _ENLARGE = 0.04, 1.2


def _evaluation(response: Any, gold: Any, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    act, right = _shares(response, options.get("answer_size") or size), _shares(gold, size)
    places = [_share(each, size) for each in gold.get("candidate_bbox", ())]
    if (act["action"], right["action"]) == ("click", "open") and "candidate_bbox" in gold:
        return StepVerdict(True, None, _in_any(places, act["coordinate"]))
    if right["action"] not in (*_PLACED, "type", "open", "swipe", "system_button", "wait"):
        return STOPPED
    return _judged(act, right, places, right["action"])


def _reward(response: Any, gold: Any, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    act, right = _shares(response, options.get("answer_size") or size), _shares(gold, size)
    places = gold.get("candidate_bbox", ())
    if len(places) == 4:  # taken for one box; a list of boxes is not divided by the size
        places = [_share(places, size)]
    if act["action"] == right["action"] == "swipe":
        way = right.get("direction") or _way(right)
        return StepVerdict(True, None, _way(act) == _UPRIGHT.get(way, way))
    return _judged(act, right, places, "type" if right["action"] in ("key", "answer") else right["action"])


def _judged(act: Mapping[str, Any], right: Mapping[str, Any], places: Sequence[Any], name: str) -> StepVerdict:
    if act["action"] != name:
        return StepVerdict(False, None, False)
    if name in _PLACED:
        at = act["coordinate"]
        hit = _in_any(places, at) or apart(at, right["coordinate"]) <= _REACH
        return StepVerdict(True, hit, hit)
    field = _FIELDS.get(name)
    if field == "button":
        return StepVerdict(True, None, act[field].strip().lower() == right[field].strip().lower())
    return StepVerdict(True, None, field is None or stripped_contains(act[field], right[field]))


def _shares(fields: Mapping[str, Any], size: Size) -> dict[str, Any]:
    """Return an action with its places in shares of the screen."""
    return {**fields, **{key: _share(fields[key], size, 2) for key in ("coordinate", "coordinate2") if key in fields}}


def _share(place: Sequence[float], size: Size, count: int = 4) -> list[float]:
    sides = (size or (1.0, 1.0)) * 2
    return [place[edge] / sides[edge] for edge in range(count)]


def _in_any(places: Sequence[Any], at: Sequence[float]) -> bool:
    return True in [holds(scaled(box, _ENLARGE), at) for box in places]  # each is read


def _way(act: Mapping[str, Any]) -> str:
    return direction(act["coordinate"], act["coordinate2"]) or "up"


def _answer(act: Act, size: Size) -> dict[str, Any]:
    name = _NAMES.get(act.name, act.name)
    if name in _BUTTONS:
        return {"action": "system_button", "button": name.capitalize()}
    if name == "terminate":
        return {"action": name, "status": "failure" if failed(act) else "success"}
    if name == "swipe":
        start, end = ends(act, size)
        return {"action": name, "coordinate": start, "coordinate2": end}
    if name in _PLACED:
        return {"action": name, "coordinate": point(act, size)}
    return {"action": name, "text": text(act)} if name in _FIELDS else {"action": name}


def _gold(step: Step) -> dict[str, Any]:
    if step.act.name == "scroll":
        return {"action": "swipe", "direction": step.act.arguments.get("direction")}
    right, candidates = _answer(step.act, step.image_size), boxes(step)
    return {**right, "candidate_bbox": candidates} if candidates or right["action"] in _PLACED else right


EVALUATION = StepRule(
    "ui-s1", "X-PLUG/MobileAgent 11cea57, UI-S1/evaluation/qwenvl_utils.py", _evaluation, _answer, _gold, text=False,
    faults="Any swipe is right. Empty text is right for any. An answer without what it needs stops the evaluator.",
    also=("ui-s1-evaluation",), space="pixel",
)  # fmt: skip

REWARD = StepRule(
    "ui-s1-reward", "X-PLUG/MobileAgent 11cea57, UI-S1/verl/utils/reward_score/gui_utils/utils.py", _reward, _answer,
    _gold, text=False,
    faults="Boxes stay in pixels while clicks are in shares: any click is in a box that begins near 0, 0. Four boxes "
    "stop the evaluator. Left and right are not turned, as up and down are. Typing is right for key and answer.",
    space="pixel",
)  # fmt: skip
