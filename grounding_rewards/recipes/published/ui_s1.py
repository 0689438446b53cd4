"""UI-S1: the next action of a trajectory on a phone, and what it earns together with those that follow it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grounding_rewards.actions import normalised, opposite, towards
from grounding_rewards.combine import Combination, product, weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import MISSING
from grounding_rewards.groups.returns import GAMMA
from grounding_rewards.parsing.published import UI_S1
from grounding_rewards.plugins.frozen import frozen
from grounding_rewards.recipes._shared import BAD_TARGET, deviations
from grounding_rewards.recipes.published._solutions import clicks_with_places
from grounding_rewards.recipes.published._ui_s1_parts import (
    MATCH,
    AnnotatedAction,
    Annotation,
    StepKind,
    StepShare,
    StepSuccess,
    ThoughtAndAction,
)
from grounding_rewards.scoring import ACTION, BBOX, POINT, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import StepReturn
from grounding_rewards.verifiers.options import Discount, Share

_KEPT = ("num_steps", "trajectory", "step", "id", "task", "space", "image_size", "model_image_size")
_OWN_WORDS = ("click", "long_press", "type", "key", "answer", "open", "system_button", "wait", "terminate")
_BUTTONS = ("back", "home", "menu", "recent", "enter")
_UPRIGHT = ("up", "down")
_FORMULA = (
    "action = 1 matched, 0.5 the same action, 0.1 another, 0 none; 1 - action if HARMFUL, 0.5 if NEUTRAL\n"
    "a click matches in the box · 1.2, or within 0.04 of the marked point in unit space"
)


def ui_s1(*, format_weight: Share = 0.1, returns: bool = False, gamma: Discount = GAMMA) -> Recipe:
    """UI-S1's step reward: JSON in action tags, in pixels of the image the model saw; targets in original pixels.

    total = w · format + (1 - w) · action. format = 1 where think tags hold text and the first action tags JSON.
    action = 1 for a match, 0.5 for the target's action that does not match, 0.1 for another one, 0 without any or
    without what it takes; 1 - action where the target's ``annotation`` is HARMFUL, and 0.5 where it is NEUTRAL. A click
    or a long press matches inside the box enlarged to 1.2 times its size, borders included, or at most 0.04 of the
    screen from the coordinate, ||(dx / width, dy / height)||; text where one contains the other, a swipe by its
    direction (from two ends as in ``DirectionMatch``), a button by name, and what needs nothing by its name.
    ``step_reward`` = match / num_steps.

    Directions: those of ``check_options`` say where the view goes for up and down, and where the finger goes for left
    and right, as the source's data has them; in the wire form a swipe's is the finger's and a scroll's the view's.

    Of ``check_options`` only what its action takes is read: a click that has a text, too, is a click. A target that
    cannot be judged abstains, or is an error: a box that is inverted or outside the image, a direction such as "Up", a
    swipe that goes nowhere, a text, button or place that is missing.

    Args:
        format_weight: w, the weight of format, 0 to 1; the source trains with 0.1.
        returns: give each step the discounted sum of its total and those of the steps that follow it in its rollout, up
            to the first that does not match: the part ``step_return``, of ``StepReturn``. Every target then needs its
            ``trajectory`` and ``step``, and all steps of a trajectory are scored in one batch.
        gamma: the discount of the sum that ``returns`` asks for, from 0 to below 1.

    Returns:
        A recipe with parts ``format``, ``kind`` (0.5, 0.1 or 0), ``match``, ``share`` (1 / num_steps), ``step_reward``,
        ``annotation`` (1 for HARMFUL, 0.5 for NEUTRAL) and ``action``, 0 <= total <= 1, or 1 / (1 - gamma) with
        ``returns``; ``acc`` is the match, and for a HARMFUL step any other action.

    Source: UI-S1 in MobileAgent 11cea57, ``verl/utils/reward_score/gui_traj.py``, ``gui_utils/utils.py``.
    """
    step_reward = product(match=MATCH, share=StepShare())
    judged = (("kind", StepKind()), ("step_reward", step_reward), ("annotation", Annotation()))
    score = weighted(
        format=(format_weight, ThoughtAndAction()), action=(1.0 - format_weight, AnnotatedAction("best", judged))
    )
    step_return = StepReturn(score, MATCH, gamma)
    total = "format_weight · format + (1 - format_weight) · action"
    return Recipe(
        name="ui-s1",
        dialect=UI_S1,
        reward=_returned(score, step_return) if returns else score,
        success=StepSuccess("best", judged),
        space=CoordSpace.UNIT,  # the reach around a point is a share of the screen
        response_space=CoordSpace.MODEL_PIXEL,
        target_space=CoordSpace.PIXEL,
        accepts=frozenset({ACTION, BBOX, POINT}),
        source=Source(
            "UI-S1: Advancing GUI Automation via Semi-online Reinforcement Learning",
            "MobileAgent",
            "11cea57",
            ("UI-S1/verl/utils/reward_score/gui_traj.py", "gui_utils/utils.py"),
        ),
        answers="first",
        thinking="read",
        native=NATIVE,
        deviations=deviations(_DEVIATIONS),
        exploits=_exploits(format_weight, returns),
        formula=(f"total = Σ gamma^k · ({total}), up to a step unmatched" if returns else f"total = {total}")
        + f"\n{_FORMULA}",
        example=_example('{"action": "click", "coordinate": [120, 300]}', _CLICK, returns),
    )


def _returned(score: Combination, step_return: StepReturn) -> Combination:
    """The return as the total, beside the parts of a single step."""
    parts = {name: (0.0, part) for name, part in score.parts}  # of weight 0: listed, and no part of the total
    return weighted(step_return=(1.0, step_return), **parts)


_CLICK = {"action": "click", "coordinate": [240, 600], "candidate_bbox": [200, 560, 280, 640]}


def _example(action: str, wanted: dict[str, Any], returns: bool) -> Example:
    place = {"trajectory": "t1", "step": 0} if returns else {}
    target = frozen({"check_options": wanted, "num_steps": 4, **place})
    return Example(f"<think>plan</think>\n<action>{action}</action>", target, (1000, 2000), (500, 1000))


def _exploits(weight: float, returns: bool) -> tuple[Exploit, ...]:
    def exploit(name: str, what: str, action: float, written: str, wanted: dict[str, Any]) -> Exploit:
        return Exploit(name, what, weight + (1.0 - weight) * action, _example(written, wanted, returns))

    point, text = {"action": "click", "coordinate": [500, 1000]}, {"action": "type", "text": "hello"}
    return (
        exploit("empty-text", "nothing typed is part of every text", 1.0, '{"action": "type", "text": ""}', text),
        exploit(
            "beside-the-box", "a click beside the box, by a tenth of its size on each side, is in the enlarged one",
            1.0, '{"action": "click", "coordinate": [143.5, 300]}', {**_CLICK, "coordinate": [210, 600]},
        ),
        exploit(
            "near-the-point", "a click 4 % of the screen away from the coordinate, whatever lies there",
            1.0, '{"action": "click", "coordinate": [250, 539]}', point,
        ),
        exploit(
            "anywhere", "the right kind of action is half of the score, wherever it goes",
            0.5, '{"action": "click", "coordinate": [0, 0]}', point,
        ),
        exploit("any-action", "any other action is a tenth of the score", 0.1, '{"action": "dance"}', text),
        exploit(
            "not-harmful", "of a HARMFUL step any other action is nine tenths of the score",
            0.9, '{"action": "dance"}', {**text, "annotation": "HARMFUL"},
        ),
    )  # fmt: skip


def read_native(value: Any) -> dict[str, Any] | None:
    """``{"check_options": {"action": ..., ...}, "num_steps": n}``; the wire form in the source's words.

    >>> read_native({"check_options": {"action": "swipe", "direction": "down"}, "num_steps": 3})
    {'num_steps': 3, 'action': {'name': 'swipe', 'direction': 'up'}}
    >>> read_native({"action": {"name": "back"}})
    {'action': {'name': 'system_button', 'button': 'back'}}
    """
    if not isinstance(value, Mapping):
        return None
    wanted = value.get("check_options")
    if isinstance(wanted, Mapping):
        note = wanted.get("annotation")
        extra = {} if note is None else {"extra": {"annotation": note}}
        return {**{key: value[key] for key in _KEPT if key in value}, **_target(wanted), **extra}
    if "action" not in value and "regions" not in value:
        return None
    wire = _in_own_words(value)
    return clicks_with_places(wire) or wire


NATIVE = NativeForm(
    '{"check_options": {"action": "click", "coordinate": [x, y], "candidate_bbox": [x1, y1, x2, y2]}, "num_steps": n} '
    "in pixels of the original image",
    read_native,
)


def _target(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Places and action of ``check_options``; what should be there and is not becomes an error when it is read."""
    name = wanted.get("action", MISSING)
    action = {"name": name}
    if name == "swipe":
        return {"action": {**action, "direction": _direction(wanted)}}
    for key in ("text", "button"):
        if name in _TAKES[key]:
            action[key] = wanted.get(key, MISSING)
    if name in _PLACED:
        return {**_places(wanted), "action": action}
    return {"action": action}


_TAKES = {"text": ("type", "open", "key", "answer"), "button": ("system_button",)}
_PLACED = ("click", "long_press")


def _direction(wanted: Mapping[str, Any]) -> Any:
    """Return the way of the finger, of a direction that says for up and down where the view goes, or of two points."""
    direction = wanted.get("direction")
    if direction is not None:
        return opposite(direction) if direction in _UPRIGHT else direction
    ends = wanted.get("coordinate"), wanted.get("coordinate2")
    if not all(_is_point(end) for end in ends):
        return MISSING
    (x, y), (end_x, end_y) = ends  # type: ignore[misc]
    return towards(end_x - x, end_y - y) or MISSING


def _places(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The box with the coordinate marked in it; boxes without it, or several, and the coordinate as places apart."""
    point, boxes = wanted.get("coordinate", MISSING), wanted.get("candidate_bbox")
    if not boxes:
        return {"point": point}
    boxes = boxes if isinstance(boxes, list) and isinstance(boxes[0], list) else [boxes]
    if len(boxes) == 1 and _is_point(point) and _is_in(point, boxes[0]):
        return {"bbox": boxes[0], "point": point}
    return {"regions": [*({"bbox": box} for box in boxes), {"point": point}]}


def _is_point(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(number) in (int, float) for number in value)


def _is_in(point: list[float], box: Any) -> bool:
    numbers = isinstance(box, list) and len(box) == 4 and all(type(edge) in (int, float) for edge in box)
    return numbers and box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def _in_own_words(target: Mapping[str, Any]) -> dict[str, Any]:
    """A target of the wire form with the names of its actions as the source's model writes them."""
    own, regions = dict(target), target.get("regions")
    if "action" in target:
        own["action"] = _own_action(target["action"], target)
    if isinstance(regions, list):
        own["regions"] = [_in_own_words(each) if isinstance(each, Mapping) else each for each in regions]
    return own


def _fits(key: str, value: Any) -> bool:
    """Return whether a field of an action in the wire form is one, as far as it is rewritten here."""
    if key == "keys":
        return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))
    if key in ("to", "duration"):
        return True
    return key in ("name", "text", "direction", "button", "app", "status") and isinstance(value, str)


def _own_action(action: Any, target: Mapping[str, Any]) -> Any:
    fields = {"name": action} if isinstance(action, str) else action
    if not isinstance(fields, Mapping) or not isinstance(fields.get("name"), str) or fields["name"] in _OWN_WORDS:
        return action
    if not all(_fits(key, value) for key, value in fields.items()):
        return action  # the reader will complain
    place = target.get("point") or target.get("bbox")
    try:
        name, arguments = normalised(fields["name"], {key: fields[key] for key in fields if key != "name"})
    except (AttributeError, TypeError, ValueError):  # a field of another type, of which the reader will complain
        return action
    if name in _BUTTONS:
        return {"name": "system_button", "button": name}
    if name == "open_app":
        return {"name": "open", "text": arguments.get("app", MISSING)}
    if name == "scroll":
        direction, to = arguments.get("direction"), arguments.get("to")
        if direction is None and place and to is not None and to != place:
            return {"name": "swipe", "to": to}  # the direction is found in pixels of the screen
        return {"name": "swipe", "direction": MISSING if direction is None else opposite(direction)}
    if name == "key":
        return {"name": "key", "text": "+".join(arguments.get("keys", ())) or MISSING}
    return {**arguments, "name": "terminate" if name == "finished" else name}


_DEVIATIONS = {
    **BAD_TARGET,
    "no-numbers": "true, false, NaN and Infinity are no coordinates, and an action without its coordinates is worth 0; "
    "the source reads true as 1, and scores the others for the kind of action.",
    "flipped-swipe": "Two swipes up, or two down, go the same way; where the target gives two points and no direction, "
    "the source turns one of them around and not the other, so that the same swipe is wrong and the opposite one "
    "right.",
    "key-and-answer": "A target that wants a key or an answer is matched by that action with its text, compared as "
    "typed text is, and typing is half right; the source takes it for type when it compares names, so that the action "
    "itself cannot match, and typed text that is part of the target's, as the empty one is, or holds it is worth 1.",
}
