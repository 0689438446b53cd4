"""GUI-R1: the action with its point or text, and the format around it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.combine import weighted
from grounding_rewards.errors import MISSING
from grounding_rewards.literals import unique_keys
from grounding_rewards.parsing import GUI_R1
from grounding_rewards.parsing.literal import LiteralError, read_literal
from grounding_rewards.parsing.published import GUI_R1_CLOSE, GUI_R1_OPEN, PLAIN_TEXT, WHOLE, usual_answer
from grounding_rewards.parsing.texts import SPACE, compiled, tag_span
from grounding_rewards.recipes._shared import published
from grounding_rewards.recipes.published._solutions import CLICK, clicks_with_places
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import ACTION, BBOX, POINT, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm, RegionKind
from grounding_rewards.verifiers import JudgedFormat
from grounding_rewards.verifiers.alternatives import any_of, same_action
from grounding_rewards.verifiers.match import TextAs
from grounding_rewards.verifiers.options import Share
from grounding_rewards.verifiers.terms import OfPlaces

_PAPER = "GUI-R1: A Generalist R1-Style Vision-Language Action Model for GUI Agents"
_KEYS = ("action", "gt_bbox", "input_text")
_NO_TEXT = "no input text"
_NAMING = ("type", "select", "open_app")
_DIRECTIONS = ("left", "right", "up", "down")
_BRACKETS = str.maketrans("", "", "[]")
_ANSWER = "<think>-</think> <answer>[{{'action': '{}', 'point': {}, 'input_text': '{}'}}]</answer>"
_SIGNS = ("<think>", GUI_R1_OPEN, GUI_R1_CLOSE)
_START, _JOINT = "<think>", re.compile(f"</think>{SPACE}{GUI_R1_OPEN}")
# Strings and comments match first, so that the group holds only words outside of them.
_JSON_WORD = re.compile(
    r'"""(?:[^\\]|\\[\s\S])*?"""' r"|'{3}(?:[^\\]|\\[\s\S])*?'{3}"
    r"|\"(?:[^\"\\]|\\[\s\S])*\"|'(?:[^'\\]|\\[\s\S])*'|#[^\r\n]*|\b(true|false|null)\b"
)  # fmt: skip
_PLACED = rf"', ?'point': ?\[-?{WHOLE}, ?-?{WHOLE}\], ?'input_text': ?'"
_FREE = "(?:click|doubleclick|rightclick|moveto|press_[a-z]+|enter|wait|complete|impossible|close|hotkey)"
_USUAL = usual_answer(
    rf"\[\{{'action': ?'(?:{_FREE}{_PLACED}{PLAIN_TEXT}|(?:type|select|open_app){_PLACED}(?:[^n'\\\[\]{{}}<\r\n\x00]"
    rf"{PLAIN_TEXT})?|scroll{_PLACED}(?:left|right|up|down))'\}}\]"
)


def gui_r1(*, format_weight: Share = 0.2) -> Recipe:
    """GUI-R1's reward: an action with its point or text, points in pixels of the image the model saw, as targets are.

    total = (1 - w) · matched + w · format. matched = 1 where the action is the target's, in any case, and: a click lies
    within the target's box, border excluded, or less than 140 pixels from a target that is only a point; what is typed,
    selected or scrolled has F1 >= 0.5 with the target's text, over their sets of lower-cased words, or both are one
    word and one is part of the other; of every other action nothing more is asked. The first pair of answer tags is
    read, in thinking too, and in it the last ``[x, y]``. format = 1 where the response is
    ``<think>...</think> <answer>[...]</answer>``, and the list in Python's notation holds nothing but dicts with a
    text for ``action`` and ``input_text`` and whole numbers as the first two of ``point``; ``type``, ``select`` and
    ``open_app`` need a text other than "no input text", and ``scroll`` a direction.

    A box without width or height counts with its border, since nothing lies within. Targets with an action other than
    a click may have a place, which nobody looks at; one without a text takes its direction for it.

    Args:
        format_weight: w, the weight of format, 0 to 1; the source trains with 0.2.

    Returns:
        A recipe with parts ``matched`` and ``format``, 0 <= total <= 1; ``acc`` is ``matched``.

    Source: GUI-R1 d43eea2, ``verl/utils/reward_score/r1gui.py``.
    """
    form = JudgedFormat(is_well_formed, _SIGNS, _USUAL)
    return published(
        name="gui-r1",
        dialect=GUI_R1,
        reward=weighted(matched=(1.0 - format_weight, _MATCHED), format=(format_weight, form)),
        success=_MATCHED,
        space="model_pixel",
        accepts={ACTION, BBOX, POINT},
        source=Source(_PAPER, "GUI-R1", "d43eea2", ("verl/utils/reward_score/r1gui.py",)),
        native=NATIVE,
        deviations=_DEVIATIONS,
        exploits=_exploits(format_weight),
        action_names=("close", "close/delete", "no action"),
        formula=(
            "total = (1 - format_weight) · matched + format_weight · format\n"
            "matched = [same action] · ([click inside, or nearer than 140 px] or [F1 of words >= 0.5])"
        ),
        example=Example(_ANSWER.format("click", "[200, 150]", _NO_TEXT), _target("click", "[100, 100, 300, 200]")),
    )


def _target(action: str, place: str = "[-100, -100]", text: str = _NO_TEXT) -> str:
    return f'{{"action": "{action}", "gt_bbox": {place}, "input_text": "{text}"}}'


def _exploits(weight: float) -> tuple[Exploit, ...]:
    letter = Example(_ANSWER.format("type", "[-100, -100]", "a"), _target("type", text="restaurants"))
    app = Example(_ANSWER.format("open_app", "[-100, -100]", "WRONG"), _target("open_app", text="Chrome"))
    far = Example(_ANSWER.format("click", "[339, 200]", _NO_TEXT), _target("click", "[200, 200]"))
    nothing = Example("<think>-</think> <answer>[]</answer>", _target("click", "[100, 100, 300, 200]"))
    known = (
        Exploit("single-letter", "of two single words, one need only be part of the other: a letter is enough", 1.0,
                letter),
        Exploit("any-argument", "of actions other than click, type, select and scroll the name alone counts", 1.0, app),
        Exploit("far-click", "139 pixels away from a target that is only a point is as good as on it", 1.0, far),
    )  # fmt: skip
    return (*known, Exploit("empty-list", "a list of no actions is well formed", weight, nothing)) if weight else known


@dataclass(frozen=True)
class InPlace(OfPlaces):
    """1.0 where the point is in the place, or less than ``reach`` from one that is only a point, else 0.0.

    The border of a box is outside; with ``flat`` that of a box without width or height, all there is of it, is not.
    """

    reach: float
    flat: bool = False

    def places(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        points = regions.each(rollouts.predictions.xy)
        inside = geometry.in_box(points, regions.box, strict=True)
        if not regions.boxes_only:
            away = points - regions.point  # whose squares are compared, since a root would be rounded once more
            inside |= (regions.kind == RegionKind.POINT) & ((away * away).sum(axis=1) < self.reach * self.reach)
        flat = (regions.box[:, :2] == regions.box[:, 2:]).any(axis=1)
        if self.flat and flat.any():
            inside |= flat & (regions.kind == RegionKind.BBOX) & geometry.in_box(points, regions.box)
        return inside.astype(np.float64)


def texts_agree(written: str, wanted: str) -> bool:
    """F1 >= 0.5 over the sets of lower-cased words, brackets aside; one word in another, where both are one word."""
    one, other = (set(text.translate(_BRACKETS).lower().split()) for text in (written, wanted))
    if len(one) == len(other) == 1:
        (word,), (another,) = one, other
        return word in another or another in word
    return 4 * len(one & other) >= len(one) + len(other) > 0  # F1 = 2c / (a + b) >= 0.5, in whole numbers


_WORDS = TextAs(texts_agree, ("text", "direction"), missing=_NO_TEXT)
_MATCHED = any_of(
    same_action("lower", unnamed="no action", click=InPlace(140.0, flat=True), type=_WORDS, select=_WORDS,
                scroll=_WORDS, otherwise=None),
    formula="""1.0 where the action is the target's, case aside, and so is its point or text, else 0.0.

A click must be in the box, its border outside (but not that of a box without width or height), or less than 140
pixels from a target that is only a point. What is typed, selected or scrolled must have F1 >= 0.5 with the target's
text or direction, over the sets of lower-cased words, or both are one word and one is part of the other. Of every
other action nothing more is asked. Of several alternatives any.""",
)  # fmt: skip


def is_well_formed(text: str) -> bool:
    """A list of actions between tags, as the source's prompt asks for it, in Python's notation; nothing is run."""
    text = text.strip()
    if compiled(_USUAL).search(text):
        return True
    joint = _JOINT.search(text, len(_START)) if text.startswith(_START) and text.endswith(GUI_R1_CLOSE) else None
    span = tag_span(text, "answer")
    if joint is None or span is None or joint.end() > len(text) - len(GUI_R1_CLOSE):
        return False
    content = text[slice(*span)].strip()
    try:
        actions = read_literal(content)
    except LiteralError:
        return False
    formed = isinstance(actions, list) and all(map(_is_action, actions))
    return formed and not any(_JSON_WORD.findall(content))


def _is_action(action: Any) -> bool:
    if not isinstance(action, dict):
        return False
    name, text = action.get("action"), action.get("input_text")
    try:
        numbers = action["point"][0], action["point"][1]
    except (KeyError, TypeError, IndexError):
        return False
    if not (isinstance(name, str) and isinstance(text, str) and all(isinstance(number, int) for number in numbers)):
        return False
    if name in _NAMING:
        return text != _NO_TEXT
    return name != "scroll" or text in _DIRECTIONS


def read_native(value: Any) -> dict[str, Any] | None:
    """``{"action": .., "gt_bbox": [..], "input_text": ..}``; clicks alone need the place."""
    if isinstance(value, str) and '"gt_bbox"' in value:  # decoding it here takes half the time
        try:
            value = json.loads(value, object_pairs_hook=unique_keys)
        except (ValueError, RecursionError):
            return None
        if isinstance(value, dict):
            value = {key: field for key, field in value.items() if field is not None}
    if not isinstance(value, dict):
        return None
    if "action" not in value or "gt_bbox" not in value:
        return clicks_with_places(value, any_case=True)
    wire = {key: each for key, each in value.items() if key not in _KEYS}
    name, place = str(value["action"]).lower(), value["gt_bbox"]
    if name == CLICK:  # which is what a place without an action asks for
        wire["point" if isinstance(place, list) and len(place) == 2 else "bbox"] = place
    else:
        text, lacking = value.get("input_text"), MISSING if name in ("type", "select", "scroll") else None
        wire["action"] = {"name": value["action"], "text": lacking if text is None else text}
    return wire


NATIVE = NativeForm(
    '{"action": .., "gt_bbox": [x1, y1, x2, y2] or [x, y], "input_text": ..} in pixels of the image the model saw',
    read_native,
)

_DEVIATIONS = {
    "white-space": "White space around the tags does not count; the source gives no format for a line feed at the end.",
    "target": "A target that does not fit is an error, or abstains, and one need not be JSON in a string; the source "
    "scores nothing but the format for either, in silence.",
    "no-eval": "Nothing in a response is run: an answer of Python that is not a literal is not well formed. The source "
    "gives it to eval(), which may do anything, and scores the format of what comes back.",
    "quotes": "The action and the text may stand in double quotes and hold apostrophes and escapes, as Python writes "
    "them; the source's pattern knows single quotes alone, and ends a text at the first.",
    "numbers": "Where no pair is as the source reads it, one may have decimals and spaces inside its brackets, and its "
    "numbers any count of digits; the source takes such a click for one on (0, 0). The format asks for whole numbers, "
    "as it does in the source.",
    "no-point": "A click without two numbers in ASCII digits is not a hit; the source takes it for one on (0, 0).",
    "no-area": "A box without width or height counts with its border; strictly within it there is nothing, so that the "
    "source never scores above 0 for such a target.",
}
