"""Orby's rewards of grounding: a click in tags or in a tool call of Qwen's, by a hit or by a Gaussian of 5 pixels."""

from __future__ import annotations

import re
from typing import Any, Literal

from grounding_rewards.combine import weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing.readers import coordinate, first_call
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import number, tag_span
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.scoring import BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import GaussianPoint, Hit, JudgedFormat

_NUMBER = r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_CLICK, _TIGHT = (re.compile(rf"click\({_NUMBER}{blank},\s*{_NUMBER}\)") for blank in (r"\s*", ""))
_PAIR = re.compile(rf"{_NUMBER}\s+{_NUMBER}")
_CALL = (
    '<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": {}}}}}\n</tool_call>'
)
_TAGGED = "<think>-</think>\n<answer>click({}, {})</answer>"


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
    hit, share = Hit(), 0.0 if form == "uground" else 0.2
    tags = _has_call if form == "qwen" else _has_both
    place: Any = GaussianPoint(_NOTHING, least=5.0) if gaussian else hit
    said = _CALL if form == "qwen" else _TAGGED
    right, miss = (said.format(*([xy] if form == "qwen" else xy)) for xy in ([200, 150], [0, 0]))
    blind = Exploit("blind-format", "the tags earn their weight", share, Example(miss, _TARGET))
    return published(
        name="orby",
        dialect=_FORMS[form],
        reward=weighted(format=(share, JudgedFormat(tags, ())), place=(1.0 - share, place)),
        success=hit,
        space=CoordSpace.MODEL_PIXEL,
        accepts={BBOX},
        source=Source("Orby", "orby-ai-engineering/verl", "01ec4be", _FILES),
        answers="first",
        native=_NATIVE,
        deviations=_DEVIATIONS,
        exploits=(blind,) if share and not gaussian else (),
        formula="total = 0.2 · format + 0.8 · place\nplace = hit, or exp(-d² / 50), d from the centre in pixels",
        example=Example(right, _TARGET),
    )


_TARGET = '{"bbox": [100, 100, 300, 200]}'
_NOTHING = 1e-12  # of the box's sides
_FILES = ("orby/reward/uground.py", "orby/reward/screenspot.py")


def _answer(text: str) -> str:
    span = tag_span(text, "answer")
    return text[slice(*span)].strip() if span else ""


def _read_start(text: str) -> list[list[float]] | None:
    return _numbers(_CLICK.match(_answer(text)))


def _read_anywhere(text: str) -> list[list[float]] | None:
    answer = _answer(text)
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


def _has_both(text: str) -> bool:
    """The tags of thinking and of an answer, in any order."""
    return all(tag_span(text, tag) for tag in ("think", "answer"))


def _has_call(text: str) -> bool:
    """The tags of a tool call."""
    return tag_span(text, "tool_call") is not None


def _read_native(value: Any) -> dict[str, Any] | None:
    """``{"bbox": [x1, y1, x2, y2]}`` is the wire form."""
    return None


_NATIVE = NativeForm('{"bbox": [x1, y1, x2, y2]} in pixels of the image the model saw', _read_native)

_DEVIATIONS = {
    **BAD_TARGET,
    "no-pair": "Only a list of two finite numbers is a coordinate; the source takes the keys of an object and the "
    "letters of a text for one, scores NaN, and raises for a call that is no object.",
}
