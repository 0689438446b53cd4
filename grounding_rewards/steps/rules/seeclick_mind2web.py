"""SeeClick's rule of Multimodal-Mind2Web: a dict of a numbered operation, a place in shares and a value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.literals import python_literal
from grounding_rewards.steps.compare import holds
from grounding_rewards.steps.rule import STOPPED, Size, Step, StepRule, StepVerdict, stopping
from grounding_rewards.steps.writing import boxes, point, text
from grounding_rewards.verifiers.match import token_f1

_NUMBERS = {"CLICK": 4, "HOVER": 4, "ENTER": 4, "SELECT": 2, "TYPE": 3}
_VALUED = (2, 3)


@stopping
def _mind2web(response: Any, gold: Any, size: Size, options: Mapping[str, Any]) -> StepVerdict:
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
    left, top, right, bottom = boxes(step)[0]
    name = step.act.name.upper()
    return {
        "bbox": {"x": left, "y": top, "width": right - left, "height": bottom - top},
        "operation": {"original_op": name, "op": name, "value": text(step.act)},
    }


MIND2WEB = StepRule(
    "seeclick",
    "njucckevin/SeeClick 0ef37ac, agent_tasks/mind2web_test.py",
    _mind2web,
    _answer,
    _gold,
    faults="borders are rounded to three digits of the screenshot; words are compared as sets, so that their order is "
    "free; steps without a box, and those whose value has a quote, are left out",
    also=("mind2web-seeclick",),
)
