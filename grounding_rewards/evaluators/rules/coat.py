"""CoAT's rules of AITZ: answers of a named action and a box in thousandths, gold from the words of a description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from msgspec.structs import replace

from grounding_rewards.actions import OPPOSITE, Act
from grounding_rewards.evaluators.compare import decoded, failed, holds, middle, numbers, overlap, pixels, scaled
from grounding_rewards.evaluators.rule import Size, Step, StepRule, StepVerdict
from grounding_rewards.verifiers.edits import common_ratio

_KINDS = {"click": "click", "scroll": "scroll", "input": "type", "type": "type", "press": "press", "stop": "stop"}
_BUTTONS = ("back", "home", "enter")
_GROWN = 1.2
_ALIKE = 0.8
_SHARED = 0.5


def _judge(response: Any, gold: Any, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    mode = options.get("screen_mode", "txt")
    if "action_predict" in response:
        response = response["action_predict"].get("COA", {}).get(mode, {})
    action, said = response.get("ACTION"), response.get("ARGS") or {}
    kind = action and next((kind for word, kind in _KINDS.items() if word in action.lower()), None)
    button = action.lower().split("_")[1] if kind == "press" else None
    boxed = kind == "click" and mode != "tag" and said.get("bbox") is not None
    box = _pixels([each / 1000 for each in numbers(list(said["bbox"]), 4)], size) if boxed else None
    words = gold["coat_action_desc"].lower().split()
    wanted = _KINDS[words[0]]
    if kind != wanted:
        return StepVerdict(False, None, False, read=kind is not None)
    if kind == "click":
        y, x = numbers(gold["result_touch_yx"], 2) if options.get("touched") else (0.0, 0.0)
        hit = box is not None and _hit(box, _pixels((x, y), size), gold["ui_positions"])
        return StepVerdict(True, hit, hit)
    if kind == "scroll":
        return StepVerdict(True, None, said.get("direction") == words[1])
    if kind == "type":
        return StepVerdict(True, None, _alike(said.get("text", ""), gold["result_action_text"]))
    return StepVerdict(True, None, kind == "stop" or (button in _BUTTONS and button in words))


def _click(response: Any, gold: Any, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    """Judge a click with its gold given, and any other action as ever."""
    if "bbox_pixels" not in response:
        return _judge(response, gold, size, {**options, "touched": True})
    nodes = [(y, x, down - y, right - x) for x, y, right, down in gold["boxes_xyxy"]]
    hit = _hit(numbers(response["bbox_pixels"], 4), numbers(gold["touch_pixels"], 2), nodes)
    return StepVerdict(True, hit, hit)


def _pixels(place: Sequence[float], size: Size) -> list[float]:
    if size is None:
        raise ValueError("expected the size of the screenshot")
    return [share * side for share, side in zip(place, cycle(size))]


def _hit(box: Sequence[float], at: Sequence[float], nodes: Any) -> bool:
    """Test an answered box in pixels by the place, and by nodes y, x, height, width around it."""
    answer = scaled(box, _GROWN)
    if holds(answer, at):
        return True
    rows = [numbers(node, 4) for node in decoded(nodes)]
    if not rows:
        raise ValueError("expected nodes")
    grown = (scaled((x, y, x + wide, y + high), _GROWN) for y, x, high, wide in rows)
    return any(holds(node, at) and overlap(answer, node) > _SHARED for node in grown)


def _alike(text: str, right: str) -> bool:
    """Test texts as written: one contains the other, or Levenshtein's ratio is above .8."""
    long = len(text) + len(right)
    return (
        text in right
        or right in text
        or (2 * min(len(text), len(right)) > _ALIKE * long and common_ratio(text, right) > _ALIKE)
    )


def _answer(act: Act, size: Size) -> dict[str, Any]:
    said = act.arguments
    around = (-1, -1, 1, 1)  # a place is a box of a thousandth to each side
    bbox = [round(1000 * share) + (side if len(act.place) == 2 else 0) for share, side in zip(cycle(act.place), around)]
    forms: dict[str, tuple[str, dict[str, Any]]] = {
        **{button: (f"press_{button}", {}) for button in _BUTTONS},
        "click": ("click", {"bbox": bbox}),
        "scroll": ("scroll", {"direction": OPPOSITE.get(said.get("direction", ""))}),
        "type": ("input", {"text": said.get("text", "")}),
        "finished": ("stop", {"status": "impossible" if failed(act) else "completed"}),
    }
    action, arguments = forms.get(act.name, (act.name, {}))
    return {"ACTION": action, "ARGS": arguments}


def _gold(step: Step) -> dict[str, Any]:
    act, said = step.act, step.act.arguments
    descriptions = {
        "click": "click on the place", "scroll": f"scroll {OPPOSITE.get(said.get('direction', ''))}",
        "type": "input text", "finished": f"stop and set the query as {'impossible' if failed(act) else 'completed'}",
        **{button: f"press the {button} button" for button in _BUTTONS},
    }  # fmt: skip
    nodes = [pixels(box, step.image_size) for box in step.boxes]
    return {
        "coat_action_desc": descriptions.get(act.name, ""), "result_action_text": said.get("text", ""),
        "result_touch_yx": list(middle(act.place))[::-1] or [-1.0, -1.0],
        "ui_positions": [[y, x, down - y, right - x] for x, y, right, down in nodes],
    }  # fmt: skip


_FAULTS = "A click by index never counts; empty text is right for any."
COAT = StepRule(
    "coat", "IMNearth/CoAT 9ab1a9f, coat/evaluate.py", _judge, _answer, _gold, text=False,
    faults=f"Every click is judged against the corner (0, 0). {_FAULTS}",
)  # fmt: skip
COAT_CLICK = replace(COAT, name="coat-click", code=_click, faults=_FAULTS)
