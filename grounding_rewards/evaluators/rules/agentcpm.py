"""AgentCPM-GUI's and GUIEvalKit's rules: compact JSON in thousandths, rows of AITZ' fields in shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from grounding_rewards.actions import OPPOSITE, Act
from grounding_rewards.evaluators.compare import (
    apart,
    decoded,
    direction,
    ends,
    failed,
    holds,
    middle,
    moved_in,
    numbers,
    stripped_contains,
)
from grounding_rewards.evaluators.rule import STOPPED, Size, Step, StepRule, StepVerdict
from grounding_rewards.parsing.objects import ENDED
from grounding_rewards.parsing.published import WAYS, is_place, is_text, is_whole

_NEAREST = 5
_TAP = 0.04  # a touch that moves no further is a click
_LONG = 200  # milliseconds
_KEYS = ("HOME", "BACK", "ENTER", "APPSELECT")
_GOLD = {
    0: "long_point", 1: "wait", 3: "type", 4: "click", 5: "BACK", 6: "HOME", 7: "ENTER", 10: "stop", 11: "stop",
    12: "open",
}  # fmt: skip


def _is_input(value: Any) -> bool:
    return isinstance(value, dict) and is_text(value.get("text")) and is_place(value.get("point"))


_ACTS: Mapping[str, Callable[[Any], bool]] = {
    "POINT": is_place, "PRESS": lambda key: key in _KEYS, "TYPE": is_text,
    "CLEAR": lambda value: value is None, "DEEP_LINK": lambda value: value is None,
}  # fmt: skip
_KIT_ACTS = {**_ACTS, "OPEN_APP": is_text, "INPUT": _is_input}
_BESIDE: Mapping[str, Callable[[Any], bool]] = {
    "to": lambda value: is_place(value) or value in WAYS, "duration": is_whole, "thought": is_text,
    "STATUS": lambda status: status in ("continue", "start", *ENDED),
}  # fmt: skip


def _read(answer: Any, acts: Mapping[str, Callable[[Any], bool]]) -> tuple[str, Any] | None:
    """Return kind and value of an answer of the schema, of at most one action; None for any other."""
    if not isinstance(answer, dict):
        return None
    forms = {**acts, **_BESIDE}
    if not all(isinstance(name, str) and name in forms and forms[name](value) for name, value in answer.items()):
        return None
    given = [name for name in answer if name in acts]
    if len(given) > 1 or ("to" in answer and "POINT" not in given):
        return None
    if answer.get("STATUS") in ENDED:
        return "stop", None
    if not given:
        return ("wait", None) if "duration" in answer else None
    name, value = given[0], answer[given[0]]
    if name == "POINT":
        if answer.get("duration", 0) > _LONG:
            return "long_point", value
        to = answer.get("to")
        return ("click", value) if to is None else ("scroll", to if isinstance(to, str) else direction(value, to))
    if name == "INPUT":
        return "type", value["text"]
    return {"PRESS": "press", "TYPE": "type", "OPEN_APP": "open"}.get(name, "wait"), value


def _right(gold: Mapping[str, Any]) -> tuple[str, Any]:
    """Return kind and value of a row."""
    kind = _GOLD[gold["result_action_type"]]
    if kind in ("click", "long_point"):
        touch, lift = (numbers(gold[f"result_{name}_yx"], 2)[::-1] for name in ("touch", "lift"))
        moves = kind == "click" and apart(touch, lift) > _TAP
        return ("scroll", direction(touch, lift)) if moves else (kind, touch)
    if kind in _KEYS:
        return "press", kind
    name = {"type": "result_action_text", "open": "result_action_app_name"}.get(kind)
    return kind, name and gold.get(name, "")


def _judge(
    response: Any, gold: Any, size: Size, options: Mapping[str, Any], *, control: bool, boxes: bool, kit: bool
) -> StepVerdict:
    (wanted, right), read = _right(gold), _read(response, _KIT_ACTS if kit else _ACTS)
    if wanted == "open" and not kit:
        return StepVerdict()
    if read is None:
        return STOPPED if kit else StepVerdict(False, None, False, read=False)
    kind, value = read
    if not kit:
        kind, wanted = ("stop" if each == "wait" else each for each in (kind, wanted))
    if kind != wanted:
        return StepVerdict(False, None, False)
    if kind in ("click", "long_point"):
        nodes = _boxes(gold) if boxes else []
        hit = _hit([each / 1000 for each in value], right, nodes, options.get("eval_android_control", control))
        return StepVerdict(True, hit, hit)
    same = stripped_contains(value, right) if kind in ("type", "open") else value == right or kind in ("stop", "wait")
    return StepVerdict(True, None, same)


def _boxes(gold: Mapping[str, Any]) -> list[list[float]]:
    """Return the boxes x, y, width, height of a row, in which y stands before x."""
    rows = decoded(gold.get("ui_positions")) or decoded(gold.get("bbox")) or []
    return [[x, y, w, h] for y, x, h, w in (numbers(row, 4) for row in rows)]


def _hit(at: list[float], right: list[float], boxes: list[list[float]], control: bool) -> bool:
    """Test a place: of AndroidControl by the boxes nearest to the gold, else by those that hold it."""
    if control:
        boxes = sorted(boxes, key=lambda box: apart((box[0] + box[2] / 2, box[1] + box[3] / 2), right))[:_NEAREST]
    grown = [moved_in(box, 1.2) for box in boxes]
    near = apart(at, right) <= (0.04 if control else 0.14)
    return near or any(holds(box, at) and (control or holds(box, right)) for box in grown)


_TYPES = {
    "long_press": 0, "wait": 1, "type": 3, "click": 4, "scroll": 4, "back": 5, "home": 6, "recent": 6, "enter": 7,
    "finished": 10, "open_app": 12,
}  # fmt: skip


def _answer(act: Act, size: Size) -> dict[str, Any]:
    at = [round(1000 * each) for each in middle(act.place)] or [500, 500]
    said = act.arguments
    forms: dict[str, dict[str, Any]] = {
        "click": {"POINT": at}, "long_press": {"POINT": at, "duration": 1000}, "type": {"TYPE": said.get("text", "")},
        "open_app": {"OPEN_APP": said.get("app", "")}, "wait": {"duration": 200}, "clear": {"CLEAR": None},
        "scroll": {"POINT": at, "to": OPPOSITE.get(said.get("direction", ""))}, "recent": {"PRESS": "HOME"},
        "back": {"PRESS": "BACK"}, "home": {"PRESS": "HOME"}, "enter": {"PRESS": "ENTER"},
        "finished": {"STATUS": "impossible" if failed(act) else "finish"},
    }  # fmt: skip
    return forms.get(act.name, {})


def _gold(step: Step, *, types: Mapping[str, int]) -> dict[str, Any]:
    name, said = step.act.name, step.act.arguments
    touch = lift = list(middle(step.act.place)) or [-1.0, -1.0]
    if name == "scroll":
        touch, lift = ends(step.act, None)
    return {
        "result_action_type": types.get(name), "result_touch_yx": touch[::-1], "result_lift_yx": lift[::-1],
        "result_action_text": said.get("text", ""), "result_action_app_name": said.get("app", ""),
        "ui_positions": [[y, x, bottom - y, right - x] for x, y, right, bottom in step.boxes],
    }  # fmt: skip


def _rules(kit: bool) -> tuple[StepRule, StepRule, StepRule]:
    """Return the rules of AndroidControl, of AITZ and CAGUI, and of GUI-Odyssey, of which boxes are left out."""
    name, also, source, faults = (
        ("guievalkit", (), "xiaomi-research/guievalkit d5e954e, guieval/eval/evaluator.py",
         "Unread answers stop the evaluator.")
        if kit
        else ("agentcpm", ("agentcpm-gui",), "OpenBMB/AgentCPM-GUI acbaf50, eval/utils/evaluator.py",
              "Waiting, clearing and every status are one type; in AndroidControl a long press is a click, and "
              "steps that open an app are left out.")
    )  # fmt: skip
    faults = f"{faults} Empty text is right for any; a box of the whole screen makes every place right."

    def rule(control: bool, boxes: bool) -> StepRule:
        types = {**_TYPES, "long_press": 4} if control and not kit else _TYPES
        judge = partial(_judge, control=control, boxes=boxes, kit=kit)
        return StepRule(name, source, judge, _answer, partial(_gold, types=types), text=False, faults=faults, also=also)

    return rule(True, True), rule(False, True), rule(False, False)


CPM_ANDROID_CONTROL, CPM, CPM_ODYSSEY = _rules(kit=False)
KIT_ANDROID_CONTROL, KIT, KIT_ODYSSEY = _rules(kit=True)
