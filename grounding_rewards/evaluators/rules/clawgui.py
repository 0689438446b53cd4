"""ClawGUI's rule of AndroidControl: a call of mobile_use, or the form of its golds; places in thousandths."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from grounding_rewards.actions import OPPOSITE, Act
from grounding_rewards.evaluators.compare import apart, direction, holds, nearest, pixels, point
from grounding_rewards.evaluators.rule import STOPS, Size, Step, StepRule, StepVerdict
from grounding_rewards.verifiers.match import token_f1

_PLACED = ("click", "long_press")
_SCREEN = (1080.0, 2400.0)  # whatever the screenshot is
_REACH = apart((0.14 * _SCREEN[0], 0.14 * _SCREEN[1]), (0, 0))
_BUTTONS = {"Back": "back", "Home": "home"}


def _android_control(response: Any, gold: Any, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    try:
        name, said = _read(response, options.get("model") == "qwen25vl", size or _SCREEN)
    except STOPS:
        return StepVerdict(False, None, False, read=False)
    wanted, right = gold["action"], gold["arguments"]
    if name != wanted:
        return StepVerdict(False, False if wanted in _PLACED else None, False)
    if wanted in _PLACED:
        hit = _hits(said, right, gold.get("candidate_bbox") or ())
        return StepVerdict(True, hit, hit)
    if wanted not in _MATCHES:
        return StepVerdict(False, None, False)
    return StepVerdict(True, None, _MATCHES[wanted](said, right))


def _read(response: str, pixels: bool, size: tuple[float, float]) -> tuple[str, Mapping[str, Any]]:
    """Return name and arguments in the form of golds, of the first call or of an answer that is nothing but JSON."""
    call, end, _ = response.partition("<tool_call>")[2].partition("</tool_call>")
    if not end:
        value = json.loads(response)
        value = value.get("ToolCall", value)
        name, said = value["action"].strip(), value.get("arguments", {})
        if not name or not isinstance(said, dict):
            raise ValueError("expected an action with its arguments")
        return name, said
    said = json.loads(call)["arguments"]
    name, at = said["action"], [said.get(key, ()) for key in ("coordinate", "coordinate2")]
    if pixels:
        at = [[int(1000 * part / side) for part, side in zip(each, size, strict=False)] for each in at]
    if name in _PLACED:
        return name, {"points": at}
    if name == "swipe":
        return "scroll", {"direction": (direction(*at) or "up") if min(map(len, at)) > 1 else ""}
    if name == "system_button":
        return "button_press", {"type": _BUTTONS[said["button"]]}
    if name == "open" and pixels:
        return "open_app", said
    if name in ("type", "wait"):
        return name, said
    raise ValueError("expected an action of the call")


def _hits(said: Mapping[str, Any], right: Mapping[str, Any], boxes: Any) -> bool:
    try:
        at, wanted = _pixel(said["points"][0]), _pixel(right["points"][0])
    except (LookupError, TypeError, ValueError, OverflowError):
        return False
    boxes = [box for box in boxes if len(box) == 4]
    return apart(at, wanted) <= _REACH or any(holds(box, at) for box in nearest(boxes, at, 5))


def _pixel(at: Any) -> tuple[int, int]:
    """Return a place in whole pixels of one screen, cut off."""
    return int(at[0] / 1000 * _SCREEN[0]), int(at[1] / 1000 * _SCREEN[1])


def _same_text(text: Any, right: Any) -> bool:
    return isinstance(text, str) and isinstance(right, str) and (text == right or token_f1(text, right) > 0.5)


_MATCHES: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], bool]] = {
    "type": lambda said, right: _same_text(said.get("text"), right.get("text")),
    "open_app": lambda said, right: any(_same_text(said.get(key), right.get("app")) for key in ("app", "text")),
    "scroll": lambda said, right: str(said.get("direction")).lower() == OPPOSITE.get(right["direction"].lower()),
    "button_press": lambda said, right: said.get("type") == right["type"],
    "wait": lambda said, right: True,
}


def _gold(step: Step) -> dict[str, Any]:
    name, said, thousand = step.act.name, step.act.arguments, (1000.0, 1000.0)
    if name in _PLACED:
        candidates = [pixels(box, _SCREEN) for box in step.boxes]
        return {"action": name, "arguments": {"points": [point(step.act, thousand)]}, "candidate_bbox": candidates}
    if name in _BUTTONS.values():
        return {"action": "button_press", "arguments": {"type": name}}
    return {"action": name, "arguments": {key: said[key] for key in ("text", "app", "direction") if key in said}}


def _answer(act: Act, size: Size) -> str:
    fields = _gold(Step(act))
    if act.name == "scroll":  # the finger's way here, the view's in golds
        fields["arguments"]["direction"] = OPPOSITE.get(act.arguments.get("direction", ""), "")
    return json.dumps(fields)


ANDROID_CONTROL = StepRule(
    "clawgui", "ZJU-REAL/ClawGUI d990d3e, clawgui-eval/judge/androidcontrol_judge.py", _android_control, _answer, _gold,
    faults="0.14 of both sides of a screen of 1080 x 2400, added as squares, is 0.34 of its width. Places are cut off "
    "to whole pixels. A step that ends a task is never right. Figures leave out what is not read.",
    space="thousandths",
)  # fmt: skip
