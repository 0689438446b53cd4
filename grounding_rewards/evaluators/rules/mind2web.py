"""Rules of Multimodal-Mind2Web: SeeClick's, of a dict of a numbered operation, and UGround's, of a planner's."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.evaluators.compare import boxes, holds, point, text
from grounding_rewards.evaluators.rule import STOPPED, Size, Step, StepRule, StepVerdict
from grounding_rewards.literals import python_literal
from grounding_rewards.verifiers.match import token_f1

_NUMBERS = {"CLICK": 4, "HOVER": 4, "ENTER": 4, "SELECT": 2, "TYPE": 3}
_VALUED = (2, 3)


def _seeclick(response: Any, gold: Any, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    wanted = gold["operation"]
    number, value = _NUMBERS[wanted["original_op"]], wanted["value"]
    if size is None or (number in _VALUED and '"' in value):  # the evaluator writes it between quotes
        return STOPPED
    right, box, same, hit = _operation({"action_type": number, "value": value}), _box(gold["bbox"], size), False, False
    try:
        act = python_literal(response)
        same = act["action_type"] == number
        hit = holds(box, act["click_point"])
        f1 = token_f1(_operation(act), right)
    except (AttributeError, LookupError, TypeError):
        return StepVerdict(same, hit, False, read=False, parts={"op_f1": 0.0})
    return StepVerdict(same, hit, hit and f1 == 1, parts={"op_f1": f1})


def _operation(act: Mapping[str, Any]) -> str:
    number = act["action_type"]
    return f"{number} {act['value'].lower()}" if number in _VALUED else str(number)


def _box(box: Mapping[str, float], size: tuple[float, float]) -> tuple[float, ...]:
    left, top, right, bottom = box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]
    return tuple(round(each / side, 3) for each, side in zip((left, top, right, bottom), size * 2, strict=True))


def _answer(act: Act, size: Size) -> str:
    number = _NUMBERS.get(act.name.upper(), 4)
    fields = {"action_type": number, "click_point": point(act, None)}
    return json.dumps({**fields, "value": text(act)} if number in _VALUED else fields)


def _gold(step: Step) -> dict[str, Any]:
    name = step.act.name.upper()
    right: dict[str, Any] = {"operation": {"original_op": name, "op": name, "value": text(step.act)}}
    for left, top, width, height in _sized(step)[:1]:
        right["bbox"] = {"x": left, "y": top, "width": width, "height": height}
    return right


def _sized(step: Step) -> list[list[float]]:
    """Return the boxes of a step in pixels, x, y, width, height."""
    return [[left, top, right - left, bottom - top] for left, top, right, bottom in boxes(step)]


def _uground(response: Any, gold: Any, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    hit, output = False, response["output"]
    if isinstance(output, str):
        parts = output.strip("()").split(", ")
        x, y = float(parts[0]) / gold["scale"], float(parts[1]) / gold["scale"]
        hit = any(holds((left, top, left + width, top + height), (x, y)) for left, top, width, height in gold["bbox"])
    value = response["gpt_value"]
    said = _words(response["gpt_action"], "" if value in ("None", None) else value)
    f1 = token_f1(said, _words(gold["operation"], gold["value"]))
    return StepVerdict(None, hit, hit and f1 == 1, parts={"op_f1": f1})


def _words(operation: str, value: str) -> str:
    """Return words without punctuation that stands alone."""
    return " ".join(word for word in f"{operation} {value}".split() if word not in string.punctuation)


SEECLICK = StepRule(
    "seeclick", "njucckevin/SeeClick 0ef37ac, agent_tasks/mind2web_test.py", _seeclick, _answer, _gold,
    faults="Borders are rounded to three digits of the screenshot. Words are compared as sets, in any order. Steps "
    "without a box, and those whose value has a quote, are left out.",
)  # fmt: skip

UGROUND = StepRule(
    "uground", "OSU-NLP-Group/UGround 3a9b9f2, offline_evaluation/Multimodal-Mind2Web/eval.py", _uground,
    lambda act, size: {
        "output": "({:f}, {:f})".format(*point(act, size)), "gpt_action": act.name.upper(),
        "gpt_value": text(act) or "None",
    },
    lambda step: {
        "operation": step.act.name.upper(), "value": text(step.act), "bbox": _sized(step), "scale": 1.0,
    },
    text=False,
    faults="Words are compared as sets, in any order. An output without a space after its comma stops the evaluator.",
)  # fmt: skip
