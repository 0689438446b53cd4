"""UI-S1: the next action of a trajectory on a phone, and what it earns together with those that follow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import normalised, opposite, towards
from grounding_rewards.arrays import Floats
from grounding_rewards.combine import Combination, product, weighted
from grounding_rewards.errors import MISSING
from grounding_rewards.groups.returns import GAMMA
from grounding_rewards.parsing.literal import UNREAD, read_json
from grounding_rewards.parsing.published import UI_S1
from grounding_rewards.parsing.texts import SPACE, as_texts, matches, tag_text
from grounding_rewards.plugins.registry import frozen
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.recipes.published._solutions import clicks_with_places
from grounding_rewards.rollouts import Reason, Rollouts
from grounding_rewards.scoring import ACTION, BBOX, POINT, Example, Exploit, Recipe, Source
from grounding_rewards.targets.alternatives import Alternatives
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import StepReturn, any_of, if_placed, same_action
from grounding_rewards.verifiers.hit import inside_regions, within
from grounding_rewards.verifiers.match import TextAs, argument, either_contains
from grounding_rewards.verifiers.options import Discount, Share
from grounding_rewards.verifiers.terms import Mask, OfAlternatives, OfPlaces, Term

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
    return published(
        name="ui-s1",
        dialect=UI_S1,
        reward=_returned(score, step_return) if returns else score,
        success=StepSuccess("best", judged),
        space="unit",  # the reach around a point is a share of the screen
        response_space="model_pixel",
        target_space="pixel",
        accepts={ACTION, BBOX, POINT},
        source=Source(
            "UI-S1: Advancing GUI Automation via Semi-online Reinforcement Learning",
            "MobileAgent",
            "11cea57",
            ("UI-S1/verl/utils/reward_score/gui_traj.py", "gui_utils/utils.py"),
        ),
        answers="first",
        native=NATIVE,
        deviations=_DEVIATIONS,
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
    """``{"check_options": {"action": ..., ...}, "num_steps": n}``; the wire form in the source's words."""
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
    name, arguments = normalised(fields["name"], {key: fields[key] for key in fields if key != "name"})
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
    "no-numbers": "true, false, NaN and Infinity are not coordinates, and an action without its coordinates is worth "
    "0; the source reads true as 1, and scores the others for the kind of action.",
    "flipped-swipe": "Two swipes up, or two down, go the same way; where the target gives two points and no direction, "
    "the source turns one of them around and not the other, so that the same swipe is wrong and the opposite one "
    "right.",
    "key-and-answer": "A target that wants a key or an answer is matched by that action with its text, compared as "
    "typed text is, and typing is half right; the source takes it for type when it compares names, so that the action "
    "itself cannot match, and typed text that is part of the target's, as the empty one is, or holds it is worth 1.",
}


HARMFUL, NEUTRAL = 1.0, 0.5
_ANNOTATIONS = {"HARMFUL": HARMFUL, "NEUTRAL": NEUTRAL}

_AS_TYPE = ("key", "answer")
_FORMED = np.isin(np.arange(len(Reason)), (Reason.OK, Reason.OUT_OF_IMAGE))
_MALFORMED = np.int8(Reason.MALFORMED)
_WHITE = SPACE.removeprefix("[").removesuffix("]*")
_USUAL_THINK = rf"^[^<]*<think>{SPACE}[^<{_WHITE}][^<]*</think>"


@dataclass(frozen=True)
class StepKind(OfAlternatives):
    """0.5 for the target's action with all that it takes, 0.1 for another action, 0.0 without either.

    Whatever the response's object has under ``action`` is another action, a number or nothing at all as well.
    A click takes a place, a swipe both ends, text and button where the target has them; the target's action without
    them cannot be judged, and is worth less than another one. ``type`` counts as the action of a target that wants a
    key pressed or an answer given.
    """

    high = 0.5

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        alternatives = rollouts.targets.alternatives
        actions, wanted = alternatives.each(rollouts.predictions.actions), _names(alternatives)
        same: NDArray[np.bool_] = actions == wanted
        for name in _AS_TYPE:
            same |= (wanted == name) & (actions == "type")
        scores = np.where(same, np.where(_complete(rollouts), 0.5, 0.0), 0.1)
        nameless: NDArray[np.bool_] = actions == ""
        if nameless.any():
            other = np.where(alternatives.each(_have_action(rollouts)), 0.1, 0.0)
            scores = np.where(nameless, other, scores)
        return scores


def _have_action(rollouts: Rollouts) -> NDArray[np.bool_]:
    """(n,) which of the responses without an action that has a name have one all the same."""
    acting = np.zeros(len(rollouts), dtype=np.bool_)
    malformed = np.flatnonzero(rollouts.predictions.reason == _MALFORMED).tolist()
    if malformed:
        values = as_texts(rollouts.text).values
        read = [action_of(values[row]) for row in malformed]
        acting[malformed] = [isinstance(value, dict) and "action" in value for value in read]
    return acting


@dataclass(frozen=True)
class Near(OfPlaces):
    """1.0 where the click is in the place, 1.2 times its size, or at most 0.04 from the point marked, else 0.0."""

    def places(self, rollouts: Rollouts) -> Floats:
        xy, regions = rollouts.predictions.xy, rollouts.targets.regions
        hit = inside_regions(xy, regions, enlarge=1.2)
        if regions.shapes is not None:
            hit = hit | within(regions.each(xy), regions.point, 0.04)
        return hit.astype(np.float64)


def _same_button(button: str, wanted: str) -> bool:
    return button.strip().lower() == wanted.strip().lower()


_WORDS = product(
    text=TextAs(either_contains), button=TextAs(_same_button, ("button",)), direction=TextAs(str.__eq__, ("direction",))
)
MATCH = any_of(
    same_action("written", swipe=_WORDS, otherwise=product(place=if_placed(Near()), words=_WORDS)),
    formula="""\
1.0 where the response does what any of the target's alternatives asks for, else 0.0.

The action's name is the target's; a place, which swipes do not need, is in the box enlarged to 1.2 times its
size about its centre, borders included, or at most 0.04 from the marked point, both in unit space; one text is
part of the other, case aside; button, case and white space around it aside, and direction are the target's.""",
)


def _complete(rollouts: Rollouts) -> NDArray[np.bool_]:
    """(k,) whether the response has all that each alternative asks for, right or wrong."""
    alternatives = rollouts.targets.alternatives
    there = ~np.isnan(alternatives.each(rollouts.predictions.xy)[:, 0])
    complete: NDArray[np.bool_] = there | ~_placed(alternatives)
    for name in ("text", "button"):
        written, wanted = argument(rollouts, name)
        if wanted is not None:
            complete &= _is_none(wanted) | ~_is_none(written)
    if alternatives.arguments.direction is not None:
        ends = rollouts.predictions.arguments.to
        both = there & (False if ends is None else ~np.isnan(alternatives.each(ends)[:, 0]))
        complete &= _is_none(alternatives.arguments.direction) | both
    return complete


def _is_none(column: NDArray[np.object_] | None) -> NDArray[np.bool_]:
    return np.array([True] if column is None else [value is None for value in column.tolist()], dtype=np.bool_)


def _names(alternatives: Alternatives) -> NDArray[np.object_]:
    """The actions that are wanted; a place alone asks for a click."""
    places = alternatives.names == ""
    return np.where(places, _CLICKED, alternatives.names) if places.any() else alternatives.names


_CLICKED = np.array("click", dtype=np.object_)


def _placed(alternatives: Alternatives) -> NDArray[np.bool_]:
    """Return True for alternatives that ask for a place: (k,)."""
    placed: NDArray[np.bool_] = (alternatives.place >= 0) & (alternatives.names != "swipe")
    return placed


@dataclass(frozen=True)
class Annotation(Term):
    """Value of the target's ``extra`` for the step: 1.0 for ``HARMFUL``, 0.5 for ``NEUTRAL``, else 0.0."""

    def __call__(self, rollouts: Rollouts) -> Floats:
        scores = np.zeros(len(rollouts))
        if rollouts.targets.alternatives.arguments.raw is not None:
            for row, target in enumerate(rollouts.targets.rows):
                extra = target.extra if target else None
                name = extra.get("annotation") if isinstance(extra, Mapping) else None
                scores[row] = _ANNOTATIONS.get(name, 0.0) if isinstance(name, str) else 0.0
        return scores


class AnnotatedAction(Combination):
    """1.0 for a match, else the kind; of a HARMFUL step 1 minus that, of a NEUTRAL one 0.5, if there is an action.

    Its parts are ``kind``, ``step_reward``, which is above 0 where the step is matched, and ``annotation``.
    """

    def join(self, columns: Sequence[Floats]) -> Floats:
        """Score n rollouts from the scores of the parts: (n,)."""
        kind, matched, annotation = columns
        action = np.where(matched > 0, 1.0, kind)
        if annotation.any():
            action = np.where(annotation == HARMFUL, 1.0 - action, np.where(annotation == NEUTRAL, 0.5, action))
            action = np.where(kind > 0, action, 0.0)
        return action


class StepSuccess(Combination):
    """1.0 for a match; of a HARMFUL step for any other action in its place.

    Its parts are ``kind``, ``step_reward``, which is above 0 where the step is matched, and ``annotation``.
    """

    def join(self, columns: Sequence[Floats]) -> Floats:
        """Score n rollouts from the scores of the parts: (n,)."""
        kind, step_reward, annotation = columns
        matched = step_reward > 0
        if annotation.any():
            matched = np.where(annotation == HARMFUL, (kind > 0) & ~matched, matched)
        return matched.astype(np.float64)


@dataclass(frozen=True)
class StepShare(Term):
    """1 / num_steps: the share of its trajectory that a step is; 1.0 where the target does not say."""

    def __call__(self, rollouts: Rollouts) -> Floats:
        steps = [max(target.num_steps or 1, 1) if target else 1 for target in rollouts.targets.rows]
        return 1.0 / np.array(steps, dtype=np.float64)


@dataclass(frozen=True)
class ThoughtAndAction(Term):
    """1.0 where the first think tags hold more than white space, and the first action tags JSON, else 0.0."""

    def __call__(self, rollouts: Rollouts) -> Floats:
        texts, reason = as_texts(rollouts.text), rollouts.predictions.reason
        formed = _FORMED[reason]
        for row in np.flatnonzero(reason == _MALFORMED).tolist():
            formed[row] = action_of(texts.values[row]) is not UNREAD
        left = formed & ~matches(texts, _USUAL_THINK)
        for row in np.flatnonzero(left).tolist():
            formed[row] = has_thought(texts.values[row])
        return formed.astype(np.float64)


def has_thought(text: str) -> bool:
    """Return whether the first pair of think tags holds more than white space."""
    return bool((tag_text(text, "think") or "").strip())


def action_of(text: str) -> Any:
    """Return the JSON value in the first pair of action tags, of any kind; ``UNREAD`` where there is none."""
    held = tag_text(text, "action")
    return UNREAD if held is None else read_json(held.strip(), UNREAD)
