"""Orby's reward of described actions: the kind of a call, its place, text or direction, and the tags around it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.combine import product, weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import number, tag_span
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.scoring import ACTION, BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import JudgedFormat
from grounding_rewards.verifiers.each_row import ByRow, Row
from grounding_rewards.verifiers.match import similarity

_NUMBER = r"(-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+))"
_CALL = re.compile(rf"\b(?:(keyboard_type)\('([^']*)'\)|(\w{{1,40}})\(\s*{_NUMBER}\s*,\s*{_NUMBER})")
_ALIKE = 0.8
_SAID = "<think>-</think><answer>{}</answer>"
_TARGET = '{"action": "click(200, 150)", "bbox": [100, 100, 300, 200]}'


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
        dialect=_ANSWER,
        reward=weighted(format=(0.2, JudgedFormat(_has_both, ())), kind=(0.3, kind), argument=(0.5, argument)),
        success=product(kind=kind, argument=argument),
        space=CoordSpace.MODEL_PIXEL,
        accepts={ACTION, BBOX},
        source=Source("Orby", "orby-ai-engineering/verl", "01ec4be", ("orby/reward/action_description.py",)),
        native=_NATIVE,
        deviations=_DEVIATIONS,
        exploits=(
            Exploit("any-call", "the place counts whatever the call does", 0.7,
                    Example(_SAID.format("scroll(200, 150)"), _TARGET)),
            Exploit("blind-kind", "the tags and the name of a call earn their weights", 0.5,
                    Example(_SAID.format("click(0, 0)"), _TARGET)),
        ),
        action_names=("keyboard_type", "select_option", "drag_and_release"),
        formula="total = 0.2 · format + 0.3 · kind + 0.5 · argument\nargument: [click inside], [alike] or [same signs]",
        example=Example(_SAID.format("click(200, 150)"), _TARGET),
    )  # fmt: skip


def _has_both(text: str) -> bool:
    """The tags of thinking and of an answer, in any order."""
    return all(tag_span(text, tag) for tag in ("think", "answer"))


def _call(text: str) -> tuple[str, str | tuple[float, float]] | None:
    """Return the name of the first call, and its text or its first two numbers."""
    found = _CALL.search(text)
    if found is None:
        return None
    return (found[1], found[2]) if found[1] else (found[3], (number(found[4]), number(found[5])))


def _read(text: str) -> list[Act] | None:
    """Return the call in the first answer tags, and itself as its text."""
    span = tag_span(text, "answer")
    call = _call(text[slice(*span)]) if span else None
    if call is None:
        return None
    name, held = call
    return [Act(name, (), {"text": held})] if isinstance(held, str) else [Act(name, held if name != "scroll" else ())]


_ANSWER = Form("orby_action", read=_read, signs=("(",))


def _both(row: Row) -> tuple[Any, Any]:
    """Return name and argument of the response's call and of the target's; (None, None) for none."""
    span, action = tag_span(row.text, "answer"), row.target.action
    said = _call(row.text[slice(*span)]) if span else None
    wanted = _call(action.text or "") if action else None
    return said or (None, None), wanted or (action.name if action else "click", None)


def _kind(row: Row) -> float:
    """1.0 where the call has the name of the target's, else 0.0."""
    said, wanted = _both(row)
    return float(said[0] == wanted[0])


def _argument(row: Row) -> float:
    """1.0 where the place lies in the box, the texts are alike, or the signs of a scroll are the target's; else 0.0."""
    (_, held), (name, wanted) = _both(row)
    if isinstance(wanted, str):
        alike = (
            row.target.extra.get("similarity_threshold", _ALIKE) if isinstance(row.target.extra, Mapping) else _ALIKE
        )
        return float(isinstance(held, str) and similarity(held.lower(), wanted.lower()) >= alike)
    if not isinstance(held, tuple):
        return 0.0
    if name == "scroll" and wanted is not None:
        return float(
            all((one > 0) - (one < 0) == (other > 0) - (other < 0) for one, other in zip(held, wanted, strict=True))
        )
    boxes = [region.numbers for region in row.target.regions]
    return float(any(box[0] <= held[0] <= box[2] and box[1] <= held[1] <= box[3] for box in boxes))


def _read_native(value: Any) -> dict[str, Any] | None:
    """Read ``{"action": "click(1, 1)", "bbox": [..], "similarity_threshold": 0.8}``."""
    if not isinstance(value, Mapping) or not isinstance(value.get("action"), str):
        return None
    call = _call(value["action"])
    if call is None:
        return None
    wire = {"action": {"name": call[0], "text": value["action"]}}
    if isinstance(alike := value.get("similarity_threshold"), int | float):
        wire["extra"] = {"similarity_threshold": alike}
    placed = value.get("bbox") is not None and call[0] not in ("scroll", "keyboard_type")
    return {**wire, "bbox": value["bbox"]} if placed else wire


_NATIVE = NativeForm(
    '{"action": "click(1, 1)", "bbox": [x1, y1, x2, y2]} in pixels of the image the model saw, and a '
    '"similarity_threshold" of typed texts',
    _read_native,
)

_DEVIATIONS = {
    **BAD_TARGET,
    "bare-name": "A target's action may be a name alone; the source then reads none, as from a response without one.",
}
