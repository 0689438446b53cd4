"""UIShift: the action between two screenshots, as one JSON object, and the tags around it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.combine import weighted
from grounding_rewards.errors import MISSING
from grounding_rewards.parsing.literal import read_json
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import limited, tag_text
from grounding_rewards.recipes._shared import BAD_TARGET, numerals, published
from grounding_rewards.scoring import ACTION, BBOX, POINT, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import ActionType, Hit, JudgedFormat, any_of, same_action
from grounding_rewards.verifiers.match import TextAs

_TARGET = '{"action_type": "click", "x": 200, "y": 150, "bbox": [100, 100, 300, 200]}'
_FENCE = re.compile(r"```(?:json)?(.*?)```", re.DOTALL)
_TEXTS = {"scroll": "direction", "open_app": "app_name", "input_text": "text"}


def uishift() -> Recipe:
    """UIShift's reward: one JSON object such as ``{"action_type": "click", "x": 200, "y": 150}``, in original pixels.

    total = action + format. action = 1 where the action is the target's, in lower case, and: a click lies in the box,
    borders included, or exactly on the point of a target without one; direction of scroll, app_name of open_app and
    text of input_text are equal, white space around them and case aside; of navigate_back nothing more is asked. Every
    other action is worth 0. The object may stand in a fence, or outside of tags. format = 1 where there is a pair of
    answer tags.

    Returns:
        A recipe with parts ``action`` and ``format``, 0 <= total <= 2; ``acc`` is ``action``.

    Source: UIShift d1dc722, ``train/grpo_uishift.py``.
    """
    return published(
        name="uishift",
        dialect=_ANSWER,
        reward=weighted(action=(1.0, _ACTION), format=(1.0, JudgedFormat(_is_tagged, ("<answer>", "</answer>")))),
        success=_ACTION,
        space="pixel",
        accepts={ACTION, BBOX, POINT},
        source=Source("UIShift", "UIShift", "d1dc722", ("train/grpo_uishift.py",)),
        native=_NATIVE,
        deviations=BAD_TARGET,
        exploits=(
            Exploit("blind-format", "the tags score, whatever they hold", 1.0, Example("<answer></answer>", _TARGET)),
        ),
        action_names=("input_text", "navigate_back", "navigate_home"),
        formula="total = action + format\naction = [same action] · ([click in the box] or [same text])",
        example=Example('<answer>{"action_type": "click", "x": 200, "y": 150}</answer>', _TARGET),
    )  # fmt: skip


def _is_tagged(text: str) -> bool:
    """A pair of answer tags, whatever it holds."""
    return tag_text(text, "answer") is not None


def _read(text: str) -> list[Act] | None:
    """Return the object in the first answer tags, or of a text without them, in a fence or not."""
    held = tag_text(text, "answer")
    body = text if held is None else held
    fenced = _FENCE.search(body)
    item = read_json((fenced[1] if fenced else body).replace("\\n", ""))
    name = item.get("action_type") if isinstance(item, dict) else None
    if not isinstance(name, str):
        return None
    text = item.get(_TEXTS.get(name, ""))
    return [Act(name, _place(item.get("x"), item.get("y")), {"text": text} if isinstance(text, str) else {})]


def _place(*numbers: Any) -> tuple[float, ...]:
    """Return two numbers as floats, which may be numerals; () where one of them is none."""
    try:
        return tuple([limited(float(each) if isinstance(each, str) else each) for each in numbers])
    except (TypeError, ValueError):
        return ()


_ANSWER = Form("uishift", read=_read, signs=("{",))


def _same_text(text: str, wanted: str) -> float:
    return float(text.strip().lower() == wanted.strip().lower())


_TEXT = TextAs(_same_text, ("text", "direction", "app"), unasked=0.0)
_ACTION = any_of(
    same_action("written", click=Hit(point_radius=0.0), scroll=_TEXT, open_app=_TEXT, input_text=_TEXT,
                navigate_back=None, otherwise=weighted(never=(0.0, ActionType("written")))),
    formula="1.0 where the action is the target's, and so is its place or text, else 0.0; of other actions 0.0.",
)  # fmt: skip


def _read_native(value: Any) -> dict[str, Any] | None:
    """Read ``{"action_type": .., ..}`` with the fields of an answer, and the box of a click."""
    if not isinstance(value, Mapping) or not isinstance(value.get("action_type"), str):
        return None
    name = value["action_type"].lower()
    if name == "click":
        box = numerals(value.get("bbox"))
        point = [value.get("x", MISSING), value.get("y", MISSING)]
        return {"point": numerals(point)} if box is None else {"bbox": box}
    return {"action": {"name": name, "text": value.get(_TEXTS.get(name, ""))}}


_NATIVE = NativeForm(
    'an object like the answers, {"action_type": .., "x": .., "y": ..}, with "bbox" of a click, in original pixels',
    _read_native,
)
