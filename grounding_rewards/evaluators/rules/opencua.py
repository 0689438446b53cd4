"""OpenCUA's rule of AgentNetBench: lines of pyautogui, scored between 0 and 1 beside lists of right actions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from math import exp, sqrt
from statistics import fmean
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.coords.resizing import model_image_size
from grounding_rewards.evaluators.compare import apart, failed, holds, point, text
from grounding_rewards.evaluators.rule import Size, StepRule, StepVerdict
from grounding_rewards.verifiers.edits import likeness

Action = Mapping[str, Any]

_NUMBER, _QUOTE = r"(?:\d+(?:\.\d*)?|\.\d+)", "['\"]"
_CALL = re.compile(
    rf"(?:pyautogui\.(?P<placed>click|doubleClick|rightClick|moveTo|dragTo)|computer\.(?P<thrice>triple_click))"
    rf"\(x=(?P<x>{_NUMBER}),\s*y=(?P<y>{_NUMBER})"
    rf"|pyautogui\.(?:type)?write\((?:message={_QUOTE}(?P<named>.+?){_QUOTE}|{_QUOTE}(?P<text>.+?){_QUOTE}\))"
    rf"|pyautogui\.(?P<pressed>press|hotkey)\((?P<keys>[^\])]*)"
    rf"|pyautogui\.scroll\((?P<amount>-?\d+)\)"
    rf"|computer\.terminate\(status={_QUOTE}(?P<status>.+?){_QUOTE}"
)
_CALLS = re.compile(r"(?=pyautogui\.|computer\.)")
_KEY = re.compile(f"{_QUOTE}(.+?){_QUOTE}")
_AS_CTRL = ("cmd", "command")
_REACH = 0.01 * sqrt(2)
_ALIKE = 0.8
_SCREEN = (1920, 1080)


def _agentnet(response: Any, gold: Any, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    acts = _joined(_read(response, size))
    if not acts:
        return StepVerdict(None, None, False, 0.0, read=False)
    rights = _joined(gold["ground_truth_actions"])
    parts = _scores(acts, rights)
    for other in gold.get("alternative_options") or ():
        parts = max(parts, _scores(acts, _joined(other)), key=_mean)
    score = _mean(parts)
    return StepVerdict(acts[0]["type"] in _types(rights), None, score >= 1, score, parts=parts)


def _scores(acts: Sequence[Action], rights: Sequence[Action]) -> dict[str, float]:
    """Return the mean score of each type of right action, in lower case."""
    types = _types(rights)
    if acts[0]["type"] not in types:
        return {each.lower(): 0.0 for each in types}
    scores: dict[str, list[float]] = {}
    for right, act in zip_longest(rights, acts[: len(rights)]):
        kind = right["type"]
        if not act or act["type"] != kind:
            scores.setdefault(kind.lower(), []).append(0.0)
        elif kind in _SCORES:
            scores.setdefault(kind.lower(), []).append(_SCORES[kind](act["params"], right))
    return {kind: fmean(each) for kind, each in scores.items()}


def _mean(parts: Mapping[str, float]) -> float:
    return fmean(parts.values()) if parts else 0.0


def _types(actions: Sequence[Action]) -> list[str]:
    return [each["type"] for each in actions]


def _joined(actions: Sequence[Action]) -> list[Action]:
    """Join each text with the Enter after it; the new line is no part of what is compared."""
    joined: list[Action] = []
    typed = False
    for action in actions:
        keys: Sequence[str] = action["params"].get("keys", ()) if typed else ()
        typed = action["type"] == "write"
        if len(keys) != 1 or keys[0].lower() not in ("enter", "return"):
            joined.append(action)
    return joined


def _read(text: str, size: Size) -> list[Action]:
    """Return the calls of an answer in the form of right actions; what has another form is passed over."""
    calls = [_CALL.match(each) for each in _CALLS.split(text.rpartition("## Code:")[2])]
    return [action for call in calls if call for action in (_action(call, size),) if action]


def _action(call: re.Match[str], size: Size) -> Action | None:
    if call["x"]:
        x, y = float(call["x"]), float(call["y"])
        if x > 1 and y > 1:
            width, height = map(int, size or _SCREEN)
            width, height = model_image_size(width, height, "qwen2_5_vl")
            x, y = x / width, y / height
        return {"type": call["placed"] or call["thrice"], "params": {"position": {"x": x, "y": y}}}
    if call["pressed"]:
        keys = ["ctrl" if key.lower() in _AS_CTRL else key for key in _KEY.findall(call["keys"])]
        kind = "hotkey" if call["keys"].startswith("[") else call["pressed"]
        return {"type": kind, "params": {"keys": keys}} if keys else None
    if call["amount"]:
        return {"type": "scroll", "params": {"amount": call["amount"]}}
    if call["status"]:
        return {"type": "terminate", "params": {"status": call["status"]}}
    return {"type": "write", "params": {"text": call["named"] or call["text"]}}


def _place(act: Action, right: Action) -> float:
    at, wanted = ((each["position"]["x"], each["position"]["y"]) for each in (act, right["params"]))
    boxes = [each["rel_bbox"] for each in right.get("metadata", {}).get("bboxes", ())]
    if any(holds((x, y, x + width, y + height), at) for x, y, width, height in boxes):
        return 1.0
    return exp(-120 * max(0.0, apart(at, wanted) - _REACH))


def _text(act: Action, right: Action) -> float:
    return min(1.0, likeness(act["text"].lower().strip(), right["params"]["text"].lower().strip()) / _ALIKE)


def _keys(act: Action, right: Action) -> float:
    return float({key.lower() for key in act["keys"]} == {key.lower() for key in right["params"]["keys"]})


_PLACED = ("click", "doubleClick", "rightClick", "tripleClick", "moveTo", "dragTo")
_SCORES: Mapping[str, Callable[[Action, Action], float]] = {
    **dict.fromkeys(_PLACED, _place),
    **dict.fromkeys(("press", "hotkey"), _keys),
    "write": _text,
    "scroll": lambda act, right: 1.0,
    "terminate": lambda act, right: float(act["status"] == right["params"]["status"]),
}
_TYPES = {
    "click": "click", "double_click": "doubleClick", "right_click": "rightClick", "triple_click": "tripleClick",
    "hover": "moveTo", "drag": "dragTo", "type": "write", "scroll": "scroll", "finished": "terminate",
}  # fmt: skip
_WRITTEN = {
    "write": "pyautogui.write('{text}')", "scroll": "pyautogui.scroll({amount})",
    "press": "pyautogui.press(keys={keys})", "hotkey": "pyautogui.hotkey(keys={keys})",
    "terminate": "computer.terminate(status='{status}')",
}  # fmt: skip


def _actions(act: Act, found: Sequence[Sequence[float]] = ()) -> list[dict[str, Any]]:
    """Return an action as the benchmark has it, a drag as two."""
    if act.name == "drag" and "to" in act.arguments:
        return _actions(Act("hover", act.place), found) + _actions(Act("drag", tuple(act.arguments["to"])))
    keys = list(act.arguments.get("keys", (act.name,)))
    kind = _TYPES.get(act.name) or ("press" if len(keys) == 1 else "hotkey")
    params = {
        "write": {"text": text(act)},
        "scroll": {"amount": 3 if act.arguments.get("direction") == "up" else -3},
        "terminate": {"status": "failure" if failed(act) else "success"},
        "press": {"keys": keys},
        "hotkey": {"keys": keys},
    }.get(kind, {"position": dict(zip("xy", point(act, None), strict=True))})
    bboxes = [{"rel_bbox": [x, y, right - x, bottom - y]} for x, y, right, bottom in found]
    return [{"type": kind, "params": params, "metadata": {"bboxes": bboxes}}]


def _answer(act: Act, size: Size) -> str:
    usual, acts = "pyautogui.{type}(x={x:f}, y={y:f})", _actions(act)
    fields = [{"type": each["type"], **each["params"], **each["params"].get("position", {})} for each in acts]
    return "\n".join(_WRITTEN.get(each["type"], usual).format_map(each) for each in fields)


AGENTNET = StepRule(
    "opencua", "xlang-ai/OpenCUA 1d70f20, evaluation/agentnetbench/eval.py", _agentnet, _answer,
    lambda step: {
        "ground_truth_actions": _actions(step.act, step.boxes), "alternative_options": [*map(_actions, step.others)],
    },
    faults="Actions after those of the gold are ignored, and so is the way of a scroll. Enter after a text never "
    "counts. Triple clicks and negative places are never right. Command is control in answers alone.",
    also=("agentnetbench",),
)  # fmt: skip
