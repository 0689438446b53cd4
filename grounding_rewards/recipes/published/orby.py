"""Orby's rewards of grounding, by a hit or by a Gaussian of 5 pixels, and of described actions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from grounding_rewards.actions import Act
from grounding_rewards.combine import product, weighted
from grounding_rewards.parsing.readers import coordinate, first_call
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import number, tag_text
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.scoring import ACTION, BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import GaussianPoint, Hit, JudgedFormat
from grounding_rewards.verifiers.each_row import ByRow, Row
from grounding_rewards.verifiers.match import similarity

ALIKE = 0.8


def source(*files: str) -> Source:
    """Return the repository with files of its rewards."""
    return Source("Orby", "orby-ai-engineering/verl", "01ec4be", tuple(f"orby/reward/{file}.py" for file in files))


def held(text: str, tag: str) -> str:
    """Return what the first tags of a name hold; "" without any."""
    return (tag_text(text, tag) or "").strip()


def _has_both(text: str) -> bool:
    """The tags of thinking and of an answer, in any order."""
    return share(text, "think", "answer") == 1


def _has_call(text: str) -> bool:
    """The tags of a tool call."""
    return tag_text(text, "tool_call") is not None


def share(text: str, *tags: str) -> float:
    """Return the share of tags that are there."""
    return sum(tag_text(text, tag) is not None for tag in tags) / len(tags)


def same_sign(one: Any, other: Any) -> bool:
    """Return True for two numbers above 0, below it, or 0; False for what is no number."""
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    return numbers and (one > 0, one < 0) == (other > 0, other < 0)


_UNSIGNED = r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_CLICKED, _TIGHT = (re.compile(rf"click\({_UNSIGNED}{blank},\s*{_UNSIGNED}\)") for blank in (r"\s*", ""))
_PAIR = re.compile(rf"{_UNSIGNED}\s+{_UNSIGNED}")
_CALL = (
    '<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": {}}}}}\n</tool_call>'
)
_TAGGED = "<think>-</think>\n<answer>click({}, {})</answer>"
_BOX = '{"bbox": [100, 100, 300, 200]}'
_NOTHING = 1e-12  # of the box's sides


def orby(*, form: Literal["uground", "screenspot", "qwen"] = "qwen", gaussian: bool = False) -> Recipe:
    """Orby's rewards of grounding: one click, in pixels of the image the model saw, as are the targets.

    total = 0.2 · format + 0.8 · place, in ``"uground"`` place alone. place = 1 in the box, borders included, or with
    ``gaussian`` exp(-d² / 50), d pixels from the centre of the box. ``"qwen"`` reads the first tool call, of
    computer_use, whose action is not looked at; format = 1 for the tags of a call. ``"uground"`` reads ``click(x, y)``
    without signs at the start of the first answer tags, ``"screenspot"`` anywhere in them, or ``x y``; format = 1 for
    the tags of thinking and of an answer.

    Args:
        form: which of the source's answers.
        gaussian: score the distance from the centre.

    Returns:
        A recipe with parts ``format`` and ``place``, 0 <= total <= 1; ``acc`` is the hit.

    Source: orby-ai-engineering/verl 01ec4be, ``orby/reward/uground.py`` and ``screenspot.py``.
    """
    hit, weight = Hit(), 0.0 if form == "uground" else 0.2
    tags = _has_call if form == "qwen" else _has_both
    place: Any = GaussianPoint(_NOTHING, least=5.0) if gaussian else hit
    said = _CALL if form == "qwen" else _TAGGED
    right, miss = (said.format(*([xy] if form == "qwen" else xy)) for xy in ([200, 150], [0, 0]))
    blind = Exploit("blind-format", "the tags earn their weight", weight, Example(miss, _BOX))
    return published(
        name="orby",
        dialect=_FORMS[form],
        reward=weighted(format=(weight, JudgedFormat(tags, ())), place=(1.0 - weight, place)),
        success=hit,
        space="model_pixel",
        accepts={BBOX},
        source=source("uground", "screenspot"),
        answers="first",
        native=_BOX_NATIVE,
        deviations={
            **BAD_TARGET,
            "no-pair": "Only a list of two finite numbers is a coordinate; the source takes the keys of an object and "
            "the letters of a text for one, scores NaN, and raises for a call that is not an object.",
        },
        exploits=(blind,) if weight and not gaussian else (),
        formula="total = 0.2 · format + 0.8 · place\nplace = hit, or exp(-d² / 50), d from the centre in pixels",
        example=Example(right, _BOX),
    )


def _read_start(text: str) -> list[list[float]] | None:
    return _numbers(_CLICKED.match(held(text, "answer")))


def _read_anywhere(text: str) -> list[list[float]] | None:
    answer = held(text, "answer")
    return _numbers(_TIGHT.search(answer) or _PAIR.match(answer))


def _numbers(match: re.Match[str] | None) -> list[list[float]] | None:
    return [list(map(number, match.groups()))] if match else None


def _read_call(text: str) -> list[list[float]] | None:
    call = first_call(text)
    place = coordinate(call) if isinstance(call, dict) and call.get("name") == "computer_use" else None
    return [place] if place else None


_FORMS = {
    "uground": Form("orby_start", read=_read_start, signs=("<answer>",)),
    "screenspot": Form("orby_anywhere", read=_read_anywhere, signs=("<answer>",)),
    "qwen": Form("orby_call", read=_read_call, signs=("<tool_call>",)),
}


def _wire_form_alone(value: Any) -> None:
    """``{"bbox": [x1, y1, x2, y2]}`` is the wire form."""


_BOX_NATIVE = NativeForm('{"bbox": [x1, y1, x2, y2]} in pixels of the image the model saw', _wire_form_alone)

_NUMBER = r"(-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+))"
_NAMED = re.compile(rf"\b(?:(keyboard_type)\('([^']*)'\)|(\w{{1,40}})\(\s*{_NUMBER}\s*,\s*{_NUMBER})")
_SAID = "<think>-</think><answer>{}</answer>"
_DESCRIBED = '{"action": "click(200, 150)", "bbox": [100, 100, 300, 200]}'


def orby_action() -> Recipe:
    """Orby's reward of described actions: ``click(200, 150)``, in pixels of the image the model saw, as are targets.

    total = 0.2 · format + 0.3 · kind + 0.5 · argument. format = 1 for the tags of thinking and of an answer. kind = 1
    where the call in the first answer tags has the target's name. argument, whatever the name of the response's call:
    for ``keyboard_type('..')`` 1 where the texts, in lower case, are alike from 0.8 on, or from the target's
    ``similarity_threshold``; for ``scroll(x, y)`` 1 where both numbers have the target's signs; for other targets 1
    where the two numbers lie in the box, borders included, and 0 without a box.

    Returns:
        A recipe with parts ``format``, ``kind`` and ``argument``, 0 <= total <= 1; ``acc`` is 1 where the last two are.

    Source: orby-ai-engineering/verl 01ec4be, ``orby/reward/action_description.py``.
    """
    kind, argument = ByRow(_kind), ByRow(_argument)
    return published(
        name="orby-action",
        dialect=_DESCRIPTION,
        reward=weighted(format=(0.2, JudgedFormat(_has_both, ())), kind=(0.3, kind), argument=(0.5, argument)),
        success=product(kind=kind, argument=argument),
        space="model_pixel",
        accepts={ACTION, BBOX},
        source=source("action_description"),
        native=_DESCRIPTION_NATIVE,
        deviations={
            **BAD_TARGET,
            "bare-name": "A target's action may be a name alone; the source then reads none, as from a response "
            "without one.",
        },
        exploits=(
            Exploit("any-call", "the place counts whatever the call does", 0.7,
                    Example(_SAID.format("scroll(200, 150)"), _DESCRIBED)),
            Exploit("blind-kind", "the tags and the name of a call earn their weights", 0.5,
                    Example(_SAID.format("click(0, 0)"), _DESCRIBED)),
        ),
        action_names=("keyboard_type", "select_option", "drag_and_release"),
        formula="total = 0.2 · format + 0.3 · kind + 0.5 · argument\nargument: [click inside], [alike] or [same signs]",
        example=Example(_SAID.format("click(200, 150)"), _DESCRIBED),
    )  # fmt: skip


def _named(text: str) -> tuple[str, str | tuple[float, float]] | None:
    """Return the name of the first call, and its text or its first two numbers."""
    found = _NAMED.search(text)
    if found is None:
        return None
    return (found[1], found[2]) if found[1] else (found[3], (number(found[4]), number(found[5])))


def _read_named(text: str) -> list[Act] | None:
    """Return the call in the first answer tags, and itself as its text."""
    call = _named(tag_text(text, "answer") or "")
    if call is None:
        return None
    name, held = call
    return [Act(name, (), {"text": held})] if isinstance(held, str) else [Act(name, held if name != "scroll" else ())]


_DESCRIPTION = Form("orby_action", read=_read_named, signs=("(",))


def _both(row: Row) -> tuple[Any, Any]:
    """Return name and argument of the response's call and of the target's; (None, None) for none."""
    action = row.target.action
    said, wanted = _named(tag_text(row.text, "answer") or ""), _named(action.text or "") if action else None
    return said or (None, None), wanted or (action.name if action else "click", None)


def _kind(row: Row) -> float:
    """1.0 where the call has the name of the target's, else 0.0."""
    said, wanted = _both(row)
    return float(said[0] == wanted[0])


def _argument(row: Row) -> float:
    """1.0 where the place lies in the box, the texts are alike, or the signs of a scroll are the target's; else 0.0."""
    (_, held), (name, wanted) = _both(row)
    if isinstance(wanted, str):
        extra = row.target.extra if isinstance(row.target.extra, Mapping) else {}
        alike = extra.get("similarity_threshold", ALIKE)
        return float(isinstance(held, str) and similarity(held.lower(), wanted.lower()) >= alike)
    if not isinstance(held, tuple):
        return 0.0
    if name == "scroll" and wanted is not None:
        return float(all(map(same_sign, held, wanted)))
    boxes = [region.numbers for region in row.target.regions]
    return float(any(box[0] <= held[0] <= box[2] and box[1] <= held[1] <= box[3] for box in boxes))


def _read_description(value: Any) -> dict[str, Any] | None:
    """Read ``{"action": "click(1, 1)", "bbox": [..], "similarity_threshold": 0.8}``."""
    call = _named(value["action"]) if isinstance(value, Mapping) and isinstance(value.get("action"), str) else None
    if call is None:
        return None
    wire = {"action": {"name": call[0], "text": value["action"]}}
    if isinstance(alike := value.get("similarity_threshold"), int | float):
        wire["extra"] = {"similarity_threshold": alike}
    placed = value.get("bbox") is not None and call[0] not in ("scroll", "keyboard_type")
    return {**wire, "bbox": value["bbox"]} if placed else wire


_DESCRIPTION_NATIVE = NativeForm(
    '{"action": "click(1, 1)", "bbox": [x1, y1, x2, y2]} in pixels of the image the model saw, and a '
    '"similarity_threshold" of typed texts',
    _read_description,
)
