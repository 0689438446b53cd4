"""EasyR1's mobile_use reward: a tool call with the right action, and its form among those of a data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grounding_rewards.actions import Act
from grounding_rewards.arrays import Floats
from grounding_rewards.combine import weighted
from grounding_rewards.errors import MISSING
from grounding_rewards.parsing.readers import coordinate, first_call
from grounding_rewards.parsing.reading import Form
from grounding_rewards.recipes._shared import published
from grounding_rewards.recipes.published._solutions import clicks_with_places, thinks_then_answers
from grounding_rewards.recipes.published.gui_r1 import InPlace, texts_agree
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import ACTION, BBOX, POINT, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import any_of, same_action
from grounding_rewards.verifiers.match import TextAs
from grounding_rewards.verifiers.terms import Term

_PLACED = (
    "click", "long_press", "left_click", "right_click", "middle_click", "double_click", "triple_click", "mouse_move",
)  # fmt: skip
_TEXTS = {"type": "text", "open": "text", "system_button": "button", "key": "keys", "terminate": "status"}
_MOBILE = ("click", "long_press", "swipe", "type", "system_button")
_ACTIONS = {"gui_odyssey": (*_MOBILE, "terminate"), "agentnetbench": (*_PLACED[2:], "scroll", "type", "key")}
_OTHERS = (*_MOBILE, "open", "wait")
"""Actions that are known for the kinds of screens (``ui_type``) of targets, and for all other kinds."""

_CALL = '<tool_call>\n{{"name": "mobile_use", "arguments": {}}}\n</tool_call>'
_CLICK = _CALL.format('{"action": "click", "coordinate": [200, 150]}')


def mobile_use() -> Recipe:
    """The mobile_use reward of an EasyR1 fork: a tool call, in pixels of the image the model saw, as are the targets.

    total = matched + format. matched = 1 where the action is the target's, in any case, and: the place of a click,
    press or move lies within the box, border excluded, or ||(dx / width, dy / height)|| < 0.14 from a target that is
    only a point; the text of type and open, the button, keys and status agree with the target's text as in GUI-R1
    (F1 >= 0.5 of their sets of words, or one word is part of the other); a swipe's two places lie in the target's
    direction, the longer side, and up where they are equal; of wait and scroll nothing more is asked. format = 1 where
    the response is ``<thinking>`` or none, then a call with an action of the target's ``ui_type`` and its field.

    Returns:
        A recipe with parts ``matched`` and ``format``, 0 <= total <= 2; ``acc`` is ``matched``.

    Source: Lokshaw-Chau/EasyR1 8673872, ``examples/reward_function/gui.py``.
    """
    return published(
        name="mobile-use",
        dialect=_ANSWER,
        reward=weighted(matched=(1.0, _MATCHED), format=(1.0, _Formed())),
        success=_MATCHED,
        space="unit",
        response_space="model_pixel",
        target_space="model_pixel",
        accepts={ACTION, BBOX, POINT},
        source=Source("Lokshaw-Chau/EasyR1", "EasyR1 (fork)", "8673872", ("examples/reward_function/gui.py",)),
        native=_NATIVE,
        deviations=_DEVIATIONS,
        exploits=(
            Exploit("any-scroll", "a scroll in any direction, and its place, is right", 1.0,
                    Example(_CALL.format('{"action": "scroll"}'), _target("scroll", "down", "agentnetbench"))),
            Exploit("single-letter", "of two single words, one need only be part of the other", 2.0,
                    Example(_CALL.format('{"action": "type", "text": "h"}'), _target("type", "hello"))),
            Exploit("blind-format", "the form scores, whatever it holds", 1.0,
                    Example(_CALL.format('{"action": "wait"}'), _target("click"))),
        ),
        action_names=("open", "terminate", "left_click", "mouse_move"),
        formula=(
            "total = matched + format\n"
            "matched = [same action] · ([click inside, or near] or [F1 of words >= 0.5] or [same way])"
        ),
        example=Example(_CLICK, _target("click")),
    )  # fmt: skip


def _target(action: str, text: str = "", kind: str = "android_control") -> str:
    kind = f'"ui_type": "{kind}", "image_size": [1000, 800]'
    return f'{{"action": "{action}", "gt_bbox": [100, 100, 300, 200], "input_text": "{text}", {kind}}}'


def _arguments(text: str) -> dict[str, Any]:
    """Return the arguments of the first call, which may be the whole object; {} where there are none."""
    call = first_call(text)
    arguments = call.get("arguments", call) if isinstance(call, dict) else None
    return arguments if isinstance(arguments, dict) else {}


def _read(text: str) -> list[Act] | None:
    """Return the call's action, with its place, and its text, button, keys, status or way as its text."""
    arguments = _arguments(text)
    name = arguments.get("action")
    if not isinstance(name, str):
        return None
    place = coordinate({"arguments": arguments})
    written = arguments.get(_TEXTS.get(name.lower(), ""))
    if name.lower() == "key" and written is not None:
        written = str(written)
    if name.lower() == "swipe":
        end = coordinate({"arguments": {"coordinate": arguments.get("coordinate2")}})
        written = _way(end[0] - place[0], end[1] - place[1]) if place and end else None
    return [Act(name, tuple(place or ()), {"text": written} if isinstance(written, str) else {})]


def _way(right: float, down: float) -> str:
    if abs(right) > abs(down):
        return "right" if right > 0 else "left"
    return "down" if down > 0 else "up"


_ANSWER = Form("mobile_use", read=_read, signs=("<tool_call>",))


@dataclass(frozen=True)
class _Formed(Term):
    """1.0 where the response is thinking or none and a call in the form of the target's ``ui_type``, else 0.0."""

    def __call__(self, rollouts: Rollouts) -> Floats:
        kinds = [getattr(target, "extra", None) for target in rollouts.targets.rows]
        pairs = zip(rollouts.text, kinds, strict=True)
        return np.array([_is_formed(text, extra) for text, extra in pairs], dtype=np.float64)


def _is_formed(text: str, extra: Any) -> bool:
    if not thinks_then_answers(text, "thinking", "tool_call", must=False):
        return False
    arguments = _arguments(text)
    name = arguments.get("action")
    actions = _ACTIONS.get(str(extra.get("ui_type")), _OTHERS) if isinstance(extra, Mapping) else _OTHERS
    if not isinstance(name, str) or name not in actions:
        return False
    places = {"swipe": ("coordinate", "coordinate2"), "wait": ()}.get(name, () if name in _TEXTS else ("coordinate",))
    pairs = [arguments.get(key) for key in places]
    placed = all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
    return placed and (name not in _TEXTS or arguments.get(_TEXTS[name]) is not None)


def _same_way(way: str, wanted: str) -> float:
    return float(way == wanted)


_WORDS, _PLACE = TextAs(texts_agree, ("text", "button", "app", "status"), unasked=0.0), InPlace(0.14)
_MATCHED = any_of(
    same_action("lower", otherwise=None, swipe=TextAs(_same_way, ("text", "direction"), unasked=0.0), type=_WORDS,
                open=_WORDS, system_button=_WORDS, key=_WORDS, terminate=_WORDS, click=_PLACE, long_press=_PLACE,
                left_click=_PLACE, right_click=_PLACE, middle_click=_PLACE, double_click=_PLACE, triple_click=_PLACE,
                mouse_move=_PLACE),
    formula="1.0 where the action is the target's, case aside, and so is its place, text or direction, else 0.0.",
)  # fmt: skip


def _read_native(value: Any) -> dict[str, Any] | None:
    """Read ``{"action": .., "gt_bbox": [..], "input_text": .., "ui_type": .., "image_size": [..]}``."""
    if not isinstance(value, Mapping) or not value.keys() >= {"action", "gt_bbox"}:
        return clicks_with_places(value, any_case=True) if isinstance(value, Mapping) else None
    name, place, text = str(value["action"]).lower(), value["gt_bbox"], value.get("input_text", MISSING)
    kind = value.get("ui_type")
    if name not in _ACTIONS.get(str(kind), _OTHERS):
        raise ValueError(f"{name:.40} is no action of ui_type {kind!r:.40}")
    wire = {"model_image_size": value.get("image_size", MISSING), "extra": {"ui_type": kind}}
    if name not in _PLACED:
        return {**wire, "action": {"name": name, "text": text}}
    wire["point" if isinstance(place, list) and len(place) == 2 else "bbox"] = place
    return wire if name == "click" else {**wire, "action": name}


_NATIVE = NativeForm(
    '{"action": .., "gt_bbox": [x1, y1, x2, y2] or [x, y], "input_text": .., "ui_type": .., "image_size": .., } in '
    "pixels of the image the model saw",
    _read_native,
)

_DEVIATIONS = {
    "bad-target": "A target that does not fit, or whose action is none of its ui_type, is an error, or abstains; the "
    "source scores the format alone, or raises.",
    "huge-number": "A number of more digits than Python reads makes no call; the source raises.",
}
