"""GUI-R1's rule of every benchmark: the place by distance, the text by F1, whatever the type of the answer is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.evaluators.compare import apart, failed, point, text
from grounding_rewards.evaluators.rule import Size, StepRule, StepVerdict
from grounding_rewards.verifiers.match import either_contains, token_f1

_PLACED = ("click", "long_press", "doubleclick", "rightclick", "moveto")
_WORDED = ("type", "open_app", "select", "scroll")
_WORDS = {
    "double_click": "doubleclick", "right_click": "rightclick", "hover": "moveto", "back": "press_back",
    "home": "press_home", "recent": "press_recent", "enter": "press_enter", "finished": "complete", "key": "hotkey",
}  # fmt: skip
_REACH, _F1 = 0.14, 0.5
_NO_TEXT, _NO_PLACE = "no input text", (-100, -100)


def _judge(response: Mapping[str, Any], gold: Mapping[str, Any], size: Size, options: Mapping[str, Any]) -> StepVerdict:
    kind, right = response["pred_action"], gold["gt_action"]
    if right in _PLACED:
        at, place = _shares(response["pred_coord"], size), _shares(gold["gt_bbox"], size)
        hit = apart(at, place) < _REACH
        return StepVerdict(kind == right, hit, hit)
    if right in _WORDED:
        return StepVerdict(kind == right, None, _same(response["pred_input_text"], gold["gt_input_text"]))
    return StepVerdict(kind == right)


def _shares(place: Any, size: Size) -> tuple[float, float]:
    width, height = size or (None, None)
    return place[0] / width, place[1] / height


def _same(text: str, right: str) -> bool:
    text, right = (each.replace("[", "").replace("]", "") for each in (text, right))
    if len(set(text.lower().split())) == len(set(right.lower().split())) == 1:
        return either_contains(text.split()[0], right.split()[0])
    return token_f1(text, right) >= _F1


def _written(act: Act, size: Size, nowhere: tuple[float, float], names: tuple[str, str, str]) -> dict[str, Any]:
    place = point(act, size) if act.place else list(nowhere)
    name = "impossible" if failed(act) else _WORDS.get(act.name, act.name)
    return dict(zip(names, (name, place, act.arguments.get("direction") or text(act) or _NO_TEXT), strict=True))


OMNI = StepRule(
    "gui-r1", "ritzz-ai/GUI-R1 d43eea2, guir1/eval/eval_omni.py", _judge,
    lambda act, size: _written(act, size, (0, 0), ("pred_action", "pred_coord", "pred_input_text")),
    lambda step: _written(step.act, step.image_size, _NO_PLACE, ("gt_action", "gt_bbox", "gt_input_text")), text=False,
    faults="A place or text is right whatever the type is; an unread answer is at (0, 0); a box counts by its first "
    "corner; actions without place and text have no step; one of two single words may be part of the other.",
    also=("gui-r1-omni",),
)  # fmt: skip
