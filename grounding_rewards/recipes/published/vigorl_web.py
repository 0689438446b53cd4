"""ViGoRL's web actions: an element by its number, or a word, after thinking that may have to name a place."""

from __future__ import annotations

import re
from typing import Any, Literal

from grounding_rewards.actions import Act
from grounding_rewards.combine import product, steps, weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing.readers import one_line_answer
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import tag_span
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.recipes.published._solutions import thinks_then_answers
from grounding_rewards.scoring import ACTION, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import JudgedFormat
from grounding_rewards.verifiers.match import TextAs

_KINDS = ("go_back", "stop", "scroll", "click", "type")
_OTHERS = ("hover", "press", "goto", "new_tab", "tab_focus", "close_tab", "go_forward")
_HELD = {"click": re.compile(r"\[(\d+)\]"), "type": re.compile(r"\[(.*?)\]")}
_NAME = re.compile(r"\s*([a-z_]+)\s*(?:\[.*)?", re.DOTALL)
_PLACE = re.compile(r"\(\d+,\s*\d+\)")
_SAID = "<think>at (200, 150)</think>\n<answer>{}</answer>"


def vigorl_web(*, form: Literal["action", "grounded"] = "action") -> Recipe:
    """ViGoRL's reward of web actions: ``<think>...</think> <answer>click [12]</answer>``, 12 the number of an element.

    total = 0.5 · matched + 0.5 · format. The first of go_back, stop, scroll, click and type that occurs in the answer,
    the first answer tags on one line or the whole response, is its action. matched = 1 where the target holds that
    word; of click and type 0.5, and 0.5 more where what the first brackets hold is equal, of click a whole number; 0
    without such brackets. format = 1 where the response is thinking and an answer in tags, and nothing else; with
    ``"grounded"``, where the first block of thinking also holds a place such as (200, 150).

    Args:
        form: which of the source's two rewards.

    Returns:
        A recipe with parts ``matched`` and ``format``, 0 <= total <= 1; ``acc`` is 1 where ``matched`` is.

    Source: ViGoRL e7970c0, ``examples/reward_function``, its rewards of web actions.
    """
    matched = TextAs(_agree, unasked=0.0)
    formed: Any = JudgedFormat(_is_formed, ("<think>", "</answer>"))
    if form == "grounded":
        formed = product(well_formed=formed, grounded=JudgedFormat(_is_grounded, ("<think>",)))
    return published(
        name="vigorl-web",
        dialect=_ANSWER,
        reward=weighted(matched=(0.5, matched), format=(0.5, formed)),
        success=steps("matched", matched, edges=[1.0], values=[0.0, 1.0]),
        space=CoordSpace.MODEL_PIXEL,
        accepts={ACTION},
        source=Source("ViGoRL", "ViGoRL", "e7970c0", ("examples/reward_function",)),
        native=_NATIVE,
        deviations=_DEVIATIONS,
        exploits=(
            Exploit("any-stop", "a text that is typed ends the task where it holds stop, whatever the answer", 1.0,
                    Example(_SAID.format("type [stop]"), "stop [42]")),
            Exploit("any-scroll", "a scroll in any direction is right", 1.0,
                    Example(_SAID.format("scroll [up]"), "scroll [down]")),
            Exploit("blind-format", "the form alone earns its weight", 0.5, Example(_SAID.format("-"), "click [12]")),
        ),
        action_names=(*_KINDS, *_OTHERS),
        formula="total = 0.5 · matched + 0.5 · format\nmatched = [same word], or half of it and half [same brackets]",
        example=Example(_SAID.format("click [12]"), "click [12]"),
    )  # fmt: skip


def _is_formed(text: str) -> bool:
    """Thinking, then an answer in tags, and nothing around them."""
    return thinks_then_answers(text, "think", "answer")


def _is_grounded(text: str) -> bool:
    """Return True if the first block of thinking holds a ``(x, y)`` of whole numbers."""
    span = tag_span(text, "think")
    return span is not None and _PLACE.search(text, *span) is not None


def _read(text: str) -> list[Act] | None:
    """Return the first of the source's words that is in the answer, and the answer itself as its text."""
    answer = one_line_answer(text)
    answer = (text if answer is None else answer).strip()
    name = next((kind for kind in _KINDS if kind in answer), None)
    return [Act(name, (), {"text": answer})] if name else None


_ANSWER = Form("vigorl_web", read=_read)


def _agree(answer: str, wanted: str) -> float:
    name = next(kind for kind in _KINDS if kind in answer)
    if name not in _HELD:
        return float(name in wanted)
    held, other = (_HELD[name].search(text) for text in (answer, wanted))
    same = held is not None and other is not None and held[1] == other[1]
    return 0.5 * (name in wanted) + 0.5 * same if held else 0.0


def _read_native(value: Any) -> dict[str, Any] | None:
    """``"click [12]"``, an action as the answers write it."""
    named = _NAME.fullmatch(value) if isinstance(value, str) else None
    return {"action": {"name": named[1], "text": value}} if named else None


_NATIVE = NativeForm('a text such as "click [12]", "type [12] [hello] [1]", "scroll [down]" or "go_back"', _read_native)

_DEVIATIONS = {**BAD_TARGET}
