"""GUI-Libra: the action with its point or text, and a format in which only samples of grounding do without thinking."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from grounding_rewards.actions import Act
from grounding_rewards.arrays import Floats
from grounding_rewards.combine import product, weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import MISSING
from grounding_rewards.parsing.literal import read_json
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import SPACE, as_texts, compiled, contains, number, tag_span, tag_text
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.recipes.published._solutions import clicks_with_places, thinks_then_answers
from grounding_rewards.recipes.published.gui_r1 import InPlace, texts_agree
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import ACTION, BBOX, POINT, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import JudgedFormat, any_of, same_action
from grounding_rewards.verifiers.match import TextAs
from grounding_rewards.verifiers.options import Share
from grounding_rewards.verifiers.terms import Term

Model = Literal["qwen2_5_vl", "qwen3_vl"]

_NAMES = {
    "type": "write", "long_press": "longpress", "open_app": "openapp", "press_back": "navigateback",
    "pressback": "navigateback", "press_home": "navigatehome", "presshome": "navigatehome",
}  # fmt: skip
_POINTING = ("click", "longpress")
_TEXTS = ("action_description", "action_type", "value")
_NO_TEXT = "no input text"
_FIELDS = tuple(rf'"{key}":{SPACE}"([^"\n]*)"' for key in _TEXTS[1:])
_POINT = rf'"point_2d":{SPACE}\[{SPACE}(-?[0-9]+){SPACE},{SPACE}(-?[0-9]+){SPACE}\]'
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


def gui_libra(*, version: Model = "qwen2_5_vl", format_weight: Share = 0.1) -> Recipe:
    """GUI-Libra's reward: a JSON object in answer tags with the keys action_type, value and point_2d.

    total = (1 - w) · matched + w · format. matched = 1 where the action is the target's, in any case, and: a click or
    long press lies within the target's box, border excluded, or less than 0.05 in shares of the screen from a target
    that is only a point; the value of write, select, scroll, openapp, swipe, terminate and answer agrees with the
    target's text as in GUI-R1 (F1 >= 0.5 of their sets of words, or one word is part of the other); of every other
    action nothing more is asked. format = 1 where the response is one such object in answer tags, after a block of
    thinking or none, and thinks, unless the target says ``is_grounding``: then it must not.

    Args:
        version: ``"qwen2_5_vl"`` answers in pixels of the image the model saw and thinks in ``<think>``,
            ``"qwen3_vl"`` in thousandths and in ``<thinking>``.
        format_weight: w, the weight of format, 0 to 1; the source trains with 0.1.

    Returns:
        A recipe with parts ``matched``, ``well_formed``, ``thinks`` and ``format``, 0 <= total <= 1; ``acc`` is
        ``matched``.

    Source: GUI-Libra 14566cf (a fork), ``EasyR1/examples/reward_function/r1gui.py`` and ``r1gui_qwen3vl.py``.
    """
    thousandths = version == "qwen3_vl"
    tag, file = ("thinking", "r1gui_qwen3vl.py") if thousandths else ("think", "r1gui.py")
    formed = product(well_formed=JudgedFormat(_WellFormed(tag), ("<answer>", "</answer>")), thinks=_Thinks(tag))
    return published(
        name="gui-libra",
        dialect=_ANSWER,
        reward=weighted(matched=(1.0 - format_weight, _MATCHED), format=(format_weight, formed)),
        success=_MATCHED,
        space=CoordSpace.UNIT,
        response_space=CoordSpace.THOUSANDTHS if thousandths else CoordSpace.MODEL_PIXEL,
        target_space=CoordSpace.THOUSANDTHS,
        accepts={ACTION, BBOX, POINT},
        source=Source("GUI-Libra", "GUI-Libra", "14566cf", (f"EasyR1/examples/reward_function/{file}",)),
        native=_NATIVE,
        deviations=_DEVIATIONS,
        exploits=_exploits(tag, format_weight),
        action_names=("write", "longpress", "openapp", "navigateback", "navigatehome", "terminate"),
        formula=(
            "total = (1 - format_weight) · matched + format_weight · format\n"
            "matched = [same action] · ([click inside, or nearer than 0.05] or [F1 of words >= 0.5])"
        ),
        example=_example(tag, "Click", _target("Click")),
    )


def _example(tag: str, action: str, target: str, value: str = "None") -> Example:
    """Answer with the place (200, 150), which both spaces of responses have in common."""
    fields = f'"action_description": "-", "action_type": "{action}", "value": "{value}", "point_2d": [200, 150]'
    return Example(f"<{tag}>-</{tag}>\n<answer>\n{{{fields}}}\n</answer>", target)


def _target(action: str, text: str = "None", place: str = "[100, 100, 300, 200]") -> str:
    sizes = '"image_width_new": 1000, "image_height_new": 1000'
    return f'{{"gt_action": "{action}", "gt_bbox": {place}, "gt_input_text": "{text}", {sizes}}}'


def _exploits(tag: str, weight: float) -> tuple[Exploit, ...]:
    letter = _example(tag, "Write", _target("Write", "restaurants"), "a")
    known = (
        Exploit("single-letter", "of two single words, one need only be part of the other", 1.0, letter),
        Exploit("any-argument", "of actions without a rule of their own the name alone counts", 1.0,
                _example(tag, "Wait", _target("Wait", "9"))),
        Exploit("far-click", "0.049 of the screen beside a target that is only a point is as good as on it", 1.0,
                _example(tag, "Click", _target("Click", place="[151, 150]"))),
    )  # fmt: skip
    miss = _example(tag, "Click", _target("Click", place="[700, 700, 800, 800]"))
    return (
        (*known, Exploit("blind-format", "any object of the form earns its weight", weight, miss)) if weight else known
    )


def _read(text: str) -> list[Act] | None:
    """Return the first action, value and point in the first answer tags; without an action "no action"."""
    span = tag_span(text, "answer")
    if span is None:
        return None
    name, value, point = (compiled(pattern).search(text, *span) for pattern in (*_FIELDS, _POINT))
    place = (number(point[1]), number(point[2])) if point else ()
    return [Act(name[1] if name else "no action", place, {"text": value[1] if value else _NO_TEXT})]


_ANSWER = Form("gui_libra", read=_read, signs=("<answer>",))


@dataclass(frozen=True)
class _WellFormed:
    """Judges whether a text is thinking or none, then answer tags whose first pair holds an object of the form."""

    tag: str

    def __call__(self, text: str) -> bool:
        if not thinks_then_answers(text.removesuffix("\n"), self.tag, "answer", must=False):
            return False
        item = read_json(tag_text(text, "answer") or "")
        if not isinstance(item, dict) or not all(isinstance(item.get(key), str) for key in _TEXTS):
            return False
        point = item.get("point_2d")
        if isinstance(point, str):
            return point.lower() == "none"
        return isinstance(point, list) and len(point) == 2 and all(isinstance(each, int) for each in point)


@dataclass(frozen=True)
class _Thinks(Term):
    """1.0 where the response thinks between the tags, or does not and its target says ``is_grounding``; else 0.0."""

    tag: str

    def __call__(self, rollouts: Rollouts) -> Floats:
        texts = as_texts(rollouts.text)
        thinks = contains(texts, f"<{self.tag}>") & contains(texts, f"</{self.tag}>")
        extras = [getattr(target, "extra", None) for target in rollouts.targets.rows]
        grounding = [isinstance(extra, Mapping) and bool(extra.get("is_grounding")) for extra in extras]
        return np.not_equal(thinks, grounding).astype(np.float64)


_PLACE = InPlace(0.05)
_WORDS = TextAs(texts_agree, ("text", "direction", "app", "status"), missing=_NO_TEXT)
_MATCHED = any_of(
    same_action("lower", unnamed="no action", otherwise=None, click=_PLACE, longpress=_PLACE, write=_WORDS,
                select=_WORDS, scroll=_WORDS, openapp=_WORDS, swipe=_WORDS, terminate=_WORDS, answer=_WORDS),
    formula="""1.0 where the action is the target's, case aside, and so is its point or text, else 0.0.

A click or long press must be in the box, its border outside, or less than 0.05 in shares of the screen from a target
that is only a point. The text of write, select, scroll, openapp, swipe, terminate and answer must have F1 >= 0.5 with
the target's over the sets of lower-cased words, or both are one word and one is part of the other. Of every other
action nothing more is asked. Of several alternatives any.""",
)  # fmt: skip


def _read_native(value: Any) -> dict[str, Any] | None:
    """Read ``{"gt_action": .., "gt_bbox": [..], "gt_input_text": .., "image_width_new": .., ..}``."""
    if not isinstance(value, Mapping) or "gt_action" not in value:
        return clicks_with_places(value, any_case=True) if isinstance(value, Mapping) else None
    name, text = str(value["gt_action"]).lower(), value.get("gt_input_text", MISSING)
    wire: dict[str, Any] = {
        "model_image_size": [
            value.get(f"image_{side}_new", value.get(f"image_{side}", MISSING)) for side in ("width", "height")
        ],
        "extra": {"is_grounding": bool(value.get("is_grounding"))},
    }
    name = _NAMES.get(name, name)
    if isinstance(text, str):
        text = _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text)
    if name not in _POINTING or not isinstance(text, str):
        return {**wire, "action": {"name": name, "text": text}}
    place = value.get("gt_bbox")
    if place is None and "gt_point_2d" in value:
        place, wire["space"] = value["gt_point_2d"], "unit"
    wire["point" if isinstance(place, list) and len(place) == 2 else "bbox"] = MISSING if place is None else place
    return wire if name == "click" else {**wire, "action": name}


_NATIVE = NativeForm(
    '{"gt_action": .., "gt_bbox": [x1, y1, x2, y2] or [x, y] in thousandths, or "gt_point_2d" in shares of the screen, '
    '"gt_input_text": .., "image_width_new": .., "image_height_new": .., "is_grounding": ..}',
    _read_native,
)

_DEVIATIONS = {
    **BAD_TARGET,
    "no-point": "A click without two whole numbers in ASCII digits is not a hit; the source clicks on (0, 0).",
}
