"""UGround's rule of AndroidControl: a planner's action, and the model's place for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.evaluators.compare import Place, boxes, failed, holds, point, text
from grounding_rewards.evaluators.rule import Size, Step, StepRule, StepVerdict

_PLACED = ("click", "long_press", "type_text")
_EDGES = ("x_min", "y_min", "x_max", "y_max")


def _android_control(response: Any, gold: Any, size: Size, options: Mapping[str, Any]) -> StepVerdict:
    plan, right = response["plan"], gold["action"]
    trees = (fields.get(key) for fields in (gold, options) for key in ("nodes", "tree"))
    tree = next((each for each in trees if isinstance(each, list)), ())
    kinds = plan["action_type"], right["action_type"]
    if kinds == ("open_app", "click"):  # the gold has no name: it is part of every text
        return StepVerdict(None, None, _says(tree, (right["x"], right["y"]), ""))
    if kinds == ("click", "open_app"):
        hit = _says(tree, _place(response), right["app_name"])
    elif sorted(kinds) == ["click", "navigate_back"]:
        hit = _says(tree, _place(response), "back")
    elif kinds[0] == kinds[1] in _PLACED and "x" in right:
        smallest = min(_around(tree, (right["x"], right["y"])), key=itemgetter(0), default=None)
        at = _place(response)
        hit = smallest is not None and holds(smallest[1], at) and plan.get("text") == right.get("text")
    else:
        return StepVerdict(None, None, all(plan.get(key) == value for key, value in right.items()))
    return StepVerdict(None, hit, hit)


def _place(response: Mapping[str, Any]) -> Place:
    """Return the model's place in pixels of the screen."""
    x, y = map(float, response["output"].strip("()").split(","))
    return x / response["scale"], y / response["scale"]


def _around(tree: Any, at: Place) -> Iterator[tuple[float, Place, Mapping[str, Any]]]:
    """Yield area, box and fields of each node at a place, of a list of nodes and of such lists."""
    for node in tree:
        if isinstance(node, list):
            yield from _around(node, at)
            continue
        left, top, right, bottom = box = [node["bbox_pixels"][edge] for edge in _EDGES]
        if holds(box, at):
            yield (right - left) * (bottom - top), box, node


def _says(tree: Any, at: Place, words: str) -> bool:
    """Return True where a node at a place has words in its text or description, case aside."""
    texts = [node.get(key) for *_, node in _around(tree, at) for key in ("text", "content_description")]
    return any(words.lower() in text.lower() for text in texts if text)


_PLANS = {"type": "type_text", "back": "navigate_back", "home": "navigate_home", "finished": "status"}


def _plan(act: Act) -> dict[str, Any]:
    """Return an action without its place in AndroidControl's words."""
    name, said = _PLANS.get(act.name, act.name), act.arguments
    if name == "status":
        return {"action_type": name, "goal_status": "infeasible" if failed(act) else "complete"}
    if name == "open_app":
        return {"action_type": name, "app_name": text(act)}
    return {"action_type": name, **{key: said[key] for key in ("text", "direction") if key in said}}


def _gold_plan(step: Step) -> dict[str, Any]:
    right = _plan(step.act)
    if step.act.place:
        right["x"], right["y"] = point(step.act, step.image_size)
    return {"action": right, "nodes": [{"bbox_pixels": dict(zip(_EDGES, box, strict=True))} for box in boxes(step)]}


ANDROID_CONTROL = StepRule(
    "uground", "OSU-NLP-Group/UGround 3a9b9f2, offline_evaluation/AndroidControl/eval.py", _android_control,
    lambda act, size: {"plan": _plan(act), "output": "({:f}, {:f})".format(*point(act, size)), "scale": 1.0},
    _gold_plan, text=False,
    faults="Where a click is right, opening any app is, if a node with a text is there. A text or direction in another "
    "case is wrong. An output that is not a place stops the evaluator. "
    "Without boxes in the file every click is wrong.",
)  # fmt: skip
