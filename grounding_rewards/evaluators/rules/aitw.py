"""AITW's matching of actions, as SeeClick and Auto-GUI use it: taps and drags between two points, in 32 bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import Act
from grounding_rewards.evaluators.compare import ends, failed, point, text
from grounding_rewards.evaluators.rule import Size, Step, StepRule, StepVerdict
from grounding_rewards.literals import python_literal

Singles = NDArray[np.float32]
Points = tuple[Any, Any]
"""Touch and lift of an action, each y, x."""

_DUAL, _TYPE = 4, 3
_TAP, _REACH, _GROWN = (np.float32(each) for each in (0.04, 0.14, 1.4))
_KINDS = {
    "DUAL_POINT": _DUAL, "TYPE": _TYPE, "PRESS_BACK": 5, "PRESS_HOME": 6, "PRESS_ENTER": 7,
    "STATUS_TASK_COMPLETE": 10, "STATUS_TASK_IMPOSSIBLE": 11,
}  # fmt: skip
_WORDS = {
    "type": "TYPE", "back": "PRESS_BACK", "home": "PRESS_HOME", "enter": "PRESS_ENTER",
    "finished": "STATUS_TASK_COMPLETE", "click": "DUAL_POINT", "scroll": "DUAL_POINT",
}  # fmt: skip
_WAYS = {"down": 0, "up": 1, "left": 8, "right": 9}
_NOWHERE = (-1.0, -1.0)


@np.errstate(all="ignore")  # places may be infinite
def _matches(kind: Any, at: Points, right_kind: int, right: Points, boxes: Singles) -> bool:
    """Return True where two actions are the same: presses by their kind, taps by box or distance, drags by axis."""
    (touch, lift), (right_touch, right_lift) = _singles(at), _singles(right)
    grown = boxes[:, 2:] * _GROWN
    first, size = np.maximum(np.float32(0), boxes[:, :2] - grown / 2), np.minimum(np.float32(1), boxes[:, 2:] + grown)
    inside = [np.all((first <= each) & (each <= first + size), axis=1) for each in (touch, right_touch)]
    in_one = (inside[0] & inside[1]).max()  # raises where there are no boxes, as there
    taps = [np.linalg.norm(a - b) <= _TAP for a, b in ((touch, lift), (right_touch, right_lift))]
    if not kind == right_kind == _DUAL:
        return bool(kind == right_kind)
    if any(taps):
        return bool(all(taps) and (in_one or np.linalg.norm(touch - right_touch) <= _REACH))
    return bool(np.argmax(abs(lift - touch)) == np.argmax(abs(right_lift - right_touch)))


def _singles(points: Points) -> Singles:
    if np.array(points).dtype.kind not in "if":
        raise TypeError("points are numbers")
    return np.array(points, np.float32).reshape(2, 2)


def _seeclick(response: str, gold: Mapping[str, Any], size: Size, options: Mapping[str, Any]) -> StepVerdict:
    act: Any = python_literal(response)
    kind, right_kind = act["action_type"], gold["action_type_id"]
    if not isinstance(kind, int | float):
        raise TypeError("types are numbers")
    at: Points = (_NOWHERE, _NOWHERE)
    if kind == _DUAL:
        at = (_turned(act["click_point"]),) * 2
    elif kind in _WAYS.values():
        at, kind = _drag(next(way for way, number in _WAYS.items() if number == kind)), _DUAL
    elif kind == _TYPE:
        act["typed_text"].strip()
    right: Points = (_NOWHERE, _NOWHERE)
    clicks = right_kind == _DUAL and gold["action_type_text"] == "click"
    if clicks:
        right = (_turned(gold["touch"]), _turned(gold["lift"]))
    elif right_kind == _DUAL:
        right = _drag(gold["action_type_text"].removeprefix("scroll "))
    boxes = np.array(gold["annot_position"], np.float32).reshape(-1, 4)
    same = _matches(kind, at, right_kind, right, boxes)
    return StepVerdict(kind == right_kind, same if clicks and kind == _DUAL else None, same)


def _turned(place: Any) -> Any:
    return place[1], place[0]


def _drag(way: str) -> Points:
    if way not in _WAYS:
        raise ValueError(f"no way {way}")
    start, end = ends(Act("scroll", (), {"direction": way}), None)
    return _turned(start), _turned(end)


def _auto_gui(response: str, gold: Mapping[str, Any], size: Size, options: Mapping[str, Any]) -> StepVerdict:
    (kind, at), (right_kind, right) = _dual(response), _dual(gold["target"])
    same = _matches(kind, at, right_kind, right, np.array(gold["annotations"], np.float32))
    return StepVerdict(kind == right_kind, None, same)


def _dual(text: str) -> tuple[int, Points]:
    fields: Any = python_literal(f"{{{text}}}")
    at = python_literal(fields["touch_point"]), python_literal(fields["lift_point"])
    fields["typed_text"].strip()
    return _KINDS[fields["action_type"]], at


def _written(act: Act) -> str:
    """Return an action's name in AITW."""
    return "STATUS_TASK_IMPOSSIBLE" if failed(act) else _WORDS.get(act.name, act.name.upper())


def _points(act: Act) -> Points:
    if act.name == "scroll":
        return _drag(act.arguments.get("direction", ""))
    return (_turned(point(act, None)),) * 2 if act.place else (_NOWHERE, _NOWHERE)


def _seeclick_answer(act: Act, size: Size) -> str:
    if act.name == "scroll":
        return repr({"action_type": _WAYS.get(act.arguments.get("direction", ""), -1)})
    kind = _KINDS.get(_written(act), -1)
    said = {"click_point": tuple(point(act, None))} if act.place else {"typed_text": text(act)}
    return repr({"action_type": kind, **said})


def _seeclick_gold(step: Step) -> dict[str, Any]:
    touch, lift = ([x, y] for y, x in _points(step.act))
    way = step.act.arguments.get("direction", "")
    return {
        "action_type_id": _KINDS.get(_written(step.act), -2), "touch": touch, "lift": lift,
        "action_type_text": f"scroll {way}" if step.act.name == "scroll" else step.act.name,
        "type_text": text(step.act), "annot_position": [each for box in _boxes(step) for each in box],
    }  # fmt: skip


def _auto_gui_answer(act: Act, size: Size) -> str:
    touch, lift = (str(list(each)) for each in _points(act))
    fields = {"action_type": _written(act), "touch_point": touch, "lift_point": lift, "typed_text": text(act)}
    return repr(fields)[1:-1]


def _boxes(step: Step) -> list[list[float]]:
    """Return the boxes of a step as y, x, height, width."""
    return [[y1, x1, y2 - y1, x2 - x1] for x1, y1, x2, y2 in step.boxes] or [[0.0, 0.0, 0.0, 0.0]]


_FAULTS = "Texts are not compared; a swipe up is right where one down is; a step without boxes stops the evaluator."
SEECLICK = StepRule(
    "seeclick", "njucckevin/SeeClick 0ef37ac, AITW's action_matching", _seeclick, _seeclick_answer, _seeclick_gold,
    faults=f"{_FAULTS} A click whose touch and lift are more than .04 apart is a swipe.",
)  # fmt: skip
AUTO_GUI = StepRule(
    "auto-gui", "cooelf/Auto-GUI 26ea0f2, AITW's action_matching", _auto_gui, _auto_gui_answer,
    lambda step: {"target": _auto_gui_answer(step.act, step.image_size), "annotations": _boxes(step)},
    faults=f"{_FAULTS} An unread answer is judged as the step before it, here as wrong.",
)  # fmt: skip
