"""ViGoRL: a place and a format, which may ask for places in the thinking, or grow with crops; and web actions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import dist
from typing import Any, Literal

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.actions import Act
from grounding_rewards.arrays import Floats
from grounding_rewards.combine import product, steps, weighted
from grounding_rewards.parsing import LITERAL_PAIR
from grounding_rewards.parsing.literal import LiteralError, read_json, read_literal
from grounding_rewards.parsing.readers import call_texts, one_line_answer, whole_pair
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import tag_text, tag_texts
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.recipes.published._solutions import thinks_then_answers
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import ACTION, BBOX, POINT, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import Hit, JudgedFormat, NearPoint
from grounding_rewards.verifiers.match import TextAs
from grounding_rewards.verifiers.terms import PLACES, OfPlaces, Term

_FOLDER = "examples/reward_function"
_SIGNS = "<think>", "</think>", "<answer>", "</answer>"


def _said(text: str) -> str:
    """Return what the first answer tags on one line hold, or the whole response."""
    answer = one_line_answer(text)
    return (text if answer is None else answer).strip()


def _whole_numbers(value: Any, count: int, kinds: Any) -> list[int]:
    """Return the ``count`` whole numbers of a text in Python's notation, of these kinds; [] for anything else."""
    try:
        numbers: Any = read_literal(value) if isinstance(value, str) else None
    except LiteralError:
        return []
    whole = isinstance(numbers, kinds) and len(numbers) == count and all(type(each) is int for each in numbers)
    return [*numbers] if whole else []


_TARGET = "(100, 100, 300, 200)"
_MOST_CROPS, _APART = 256, 10.0
_SIGNED = re.compile(r"\(-?\d+\s*,\s*-?\d+\s*\)")
_TAG = re.compile("<(/?)(think|tool_call|observation|answer)>", re.IGNORECASE)
_TURN, _LAST = ("think", "tool_call", "observation"), ("think", "answer")
_ENDS = "</answer>", "</answer><|im_end|>"


def vigorl(*, form: Literal["point", "grounded", "multicrop"] = "point") -> Recipe:
    """ViGoRL's reward: ``<think>...</think> <answer>(x, y)</answer>``, in pixels of the image the model saw.

    total = 0.5 · hit + 0.5 · format. hit = 1 in the box, borders included, for two whole numbers in the first answer
    tags on one line, or as the whole response. format = 1 where the response is thinking and such a tuple in tags, and
    nothing else; in ``"grounded"``, where the first block of thinking also holds a ``(x, y)``. In ``"multicrop"`` total
    = 0.6 · hit + 0.4 · format, and the turns (think, tool_call, observation, ..., think, answer) of a response whose
    calls all have a coordinate are worth 1, and 0.2 more for each crop after the first, those nearer than 10 pixels to
    an earlier one left out.

    Args:
        form: which of the source's three files.

    Returns:
        A recipe with parts ``hit`` and ``format``, total 0 to 1, or to 21.4 in ``"multicrop"``; ``acc`` is the hit.

    Source: ViGoRL e7970c0, ``examples/reward_function/point_in_bbox.py``, ``point_in_bbox_grounded_thinking.py`` and
    ``point_in_bbox_multicrop.py``.
    """
    hit, several = Hit(), form == "multicrop"
    formed: Any = _Turns() if several else JudgedFormat(is_well_formed, ("<think>", "<answer>", "</answer>"))
    if form == "grounded":
        formed = product(well_formed=formed, grounded=JudgedFormat(is_grounded, ("<think>",)))
    file = {"point": "", "grounded": "_grounded_thinking", "multicrop": "_multicrop"}[form]
    return published(
        name="vigorl",
        dialect=LITERAL_PAIR,
        reward=weighted(hit=(0.6, hit), format=(0.4, formed)) if several
        else weighted(hit=(0.5, hit), format=(0.5, formed)),
        success=hit,
        space="model_pixel",
        accepts={BBOX},
        source=Source("ViGoRL", "ViGoRL", "e7970c0", (f"{_FOLDER}/point_in_bbox{file}.py",)),
        native=_BOX,
        deviations=_BOX_DEVIATIONS,
        exploits=_exploits(several),
        formula=(
            "total = 0.5 · hit + 0.5 · format, or 0.6 · hit + 0.4 · format of several crops\n"
            "format = [well formed] (· [a place in the thinking]), or 1 + 0.2 · (crops - 1)"
        ),
        example=Example("<think>at (190, 140)</think>\n<answer>(200, 150)</answer>", _TARGET),
    )  # fmt: skip


def _exploits(several: bool) -> tuple[Exploit, ...]:
    miss = "<think>at (0, 0)</think>\n<answer>(0, 0)</answer>"
    blind = Exploit("blind-format", "the form alone earns its weight", 0.4 if several else 0.5, Example(miss, _TARGET))
    call = '<think></think><tool_call>{{"arguments": {{"coordinate": [{}, 0]}}}}</tool_call><observation></observation>'
    crops = "".join(call.format(20 * crop) for crop in range(12))
    many = Exploit("many-crops", "a miss after twelve crops is worth more than a hit without any", 1.28,
                   Example(crops + miss, _TARGET))  # fmt: skip
    return (blind, many) if several else (blind,)


def is_well_formed(text: str) -> bool:
    """Thinking, then a tuple of two whole numbers in answer tags, and nothing around them.

    >>> [is_well_formed(f"<think>-</think><answer>{answer}</answer>") for answer in ("(1, 2)", "1, 2")]
    [True, False]
    """
    return thinks_then_answers(text, "think", "answer") and _is_tuple((tag_text(text, "answer") or "").strip())


def _is_tuple(body: str) -> bool:
    return body.startswith("(") and body.endswith(")") and whole_pair(body) is not None


def is_grounded(text: str) -> bool:
    """Return True if the first block of thinking holds a ``(x, y)`` of whole numbers."""
    return _SIGNED.search(tag_text(text, "think") or "") is not None


@dataclass(frozen=True)
class _Turns(Term):
    """1 + 0.2 · (crops - 1) where the response is turns that crop and one that answers, else 0.0.

    Crops nearer than 10 pixels to one that counts are left out; at most 256 count.
    """

    high = 1.0 + 0.2 * (_MOST_CROPS - 1)

    def __call__(self, rollouts: Rollouts) -> Floats:
        counts = [_crops(text) for text in rollouts.text]
        return np.array([0.0 if n is None else 1.0 + 0.2 * max(n - 1, 0) for n in counts], dtype=np.float64)


def _crops(text: str) -> int | None:
    """Return the number of crops in a text of turns; None for other texts."""
    tags = [f"{match[1]}{match[2].lower()}" for match in _TAG.finditer(text)]
    turns = len(tags[:-4]) // 6
    names = [*_TURN * turns, *_LAST]
    if tags != [each for name in names for each in (name, f"/{name}")] or not text.strip().endswith(_ENDS):
        return None
    body = (tag_text(text, "answer") or "").strip()
    if not _is_tuple(body) or "(" in body[1:]:
        return None
    counted: list[Any] = []
    for call in map(read_json, call_texts(text)):
        arguments = call.get("arguments") if isinstance(call, dict) else None
        point = arguments.get("coordinate") if isinstance(arguments, dict) else None
        if not (isinstance(point, list) and len(point) == 2 and all(isinstance(each, int) for each in point)):
            return None
        if len(counted) < _MOST_CROPS and all(_far(point, other) for other in counted):
            counted.append(point)
    return len(counted)


def _far(one: Any, other: Any) -> bool:
    return max(abs(one[0] - other[0]), abs(one[1] - other[1])) >= _APART or dist(one, other) >= _APART


def _read_box(value: Any) -> dict[str, Any] | None:
    """``"(x1, y1, x2, y2)"``, four whole numbers in a text."""
    box = _whole_numbers(value, 4, (tuple, list))
    return {"bbox": box} if box else None


_BOX = NativeForm('a text "(x1, y1, x2, y2)" of whole numbers, in pixels of the image the model saw', _read_box)

_BOX_DEVIATIONS = {
    **BAD_TARGET,
    "wire-target": "A target need not be a text of four whole numbers; for others the source raises, or sees no hit.",
    "no-pair": "Only a tuple or a list is a point; the source takes sets, dicts and bytes of two numbers for one, and "
    "raises for a number alone.",
}

_REACH = 100.0
_POINT = r"\(\d+,\s*\d+\)"
_ANSWERED = re.compile(rf"\s*{_POINT}\s*")
_PLACES = re.compile(rf"{_POINT}[.!?]?")
_MOST_LEFT = 10
_BY_POINTS = "<think>at the bar (10, 20), then (190, 140)</think>\n<answer>({}, {})</answer>"


def vigorl_uground(*, form: Literal["point", "intermediate"] = "point") -> Recipe:
    """ViGoRL's reward of points: ``<think>...</think> <answer>(x, y)</answer>``, in pixels of the image the model saw.

    total = 0.5 · nearness + 0.5 · format. nearness = exp(-d / 100), d pixels from the target's point, for a tuple of
    two whole numbers in the first answer tags on one line, or as the whole response. format = 1 where the response is
    thinking and such a tuple in tags, and nothing else. In ``"intermediate"`` format = 1 where it is one block of
    thinking and one answer ``(x, y)`` without signs, in any order, and the thinking holds two such points or more and
    at most 10 characters beside the sentences, or parts of them, that end in one; without it nearness is 0.

    Args:
        form: which of the source's two rewards.

    Returns:
        A recipe with parts ``nearness`` and ``format``, 0 <= total <= 1; ``acc`` is 1 up to 69.3 pixels from the point,
        where nearness is a half.

    Source: ViGoRL e7970c0, ``examples/reward_function``, its rewards of UGround's points.
    """
    near: Any = _Nearness()
    hit: Any = NearPoint(radius=_REACH * float(np.log(2.0)))
    formed = JudgedFormat(is_well_formed, _SIGNS)
    if form == "intermediate":
        formed = JudgedFormat(_goes_by_points, _SIGNS)
        near, hit = product(formed=formed, near=near), product(formed=formed, near=hit)
    return published(
        name="vigorl-uground",
        dialect=_PAIR,
        reward=weighted(nearness=(0.5, near), format=(0.5, formed)),
        success=hit,
        space="model_pixel",
        accepts={POINT},
        source=Source("ViGoRL", "ViGoRL", "e7970c0", (_FOLDER,)),
        native=NativeForm('a text "(x, y)" of whole numbers, in pixels of the image the model saw', _read_point),
        deviations={
            **BAD_TARGET,
            "huge-number": "Numbers of any length are read; the source raises for some hundreds of digits.",
        },
        exploits=(
            Exploit("blind-format", "the form alone earns its weight", 0.5 + 0.5 * float(np.exp(-20.0)),
                    Example(_BY_POINTS.format(1400, 1750), "(200, 150)")),
        ),
        formula="total = 0.5 · nearness + 0.5 · format\nnearness = exp(-d / 100), d pixels from the point",
        example=Example(_BY_POINTS.format(200, 150), "(200, 150)"),
    )  # fmt: skip


@dataclass(frozen=True)
class _Nearness(OfPlaces):
    """exp(-d / 100), d pixels from the target's point; 0.0 without a predicted point."""

    judges = PLACES | {"point"}

    def places(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        away = geometry.distance(regions.each(rollouts.predictions.xy), regions.point)
        return np.exp(-np.nan_to_num(away, nan=np.inf) / _REACH)


def _goes_by_points(text: str) -> bool:
    """One block of thinking in sentences that end in points, two at least, and one point as the answer."""
    thoughts, answers = tag_texts(text, "think"), tag_texts(text, "answer")
    if len(thoughts) != 1 or len(answers) != 1 or not _ANSWERED.fullmatch(answers[0]):
        return False
    *before, after = _PLACES.split(thoughts[0])
    beside = [text[: 1 + max(map(text.rfind, ".!?"))] for text in before]  # but for the sentence that the point ends
    left = "".join([*beside, after]).strip()
    alone = text.replace(f"<think>{thoughts[0]}</think>", "").strip() == f"<answer>{answers[0]}</answer>"
    return alone and len(before) > 1 and len(left) <= _MOST_LEFT


def _read_pair(text: str) -> list[tuple[float, float]] | None:
    said = _said(text)
    pair = None if said.startswith("[") else whole_pair(said)
    return None if pair is None else [pair]


_PAIR = Form("vigorl_uground", read=_read_pair, signs=(",",))


def _read_point(value: Any) -> dict[str, Any] | None:
    """``"(x, y)"``, two whole numbers in a text."""
    point = _whole_numbers(value, 2, tuple)
    return {"point": point} if point else None


_KINDS = ("go_back", "stop", "scroll", "click", "type")
_OTHERS = ("hover", "press", "goto", "new_tab", "tab_focus", "close_tab", "go_forward")
_HELD = {"click": re.compile(r"\[(\d+)\]"), "type": re.compile(r"\[(.*?)\]")}
_NAME = re.compile(r"\s*([a-z_]+)\s*(?:\[.*)?", re.DOTALL)
_ACTING = "<think>at (200, 150)</think>\n<answer>{}</answer>"


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
        formed = product(well_formed=formed, grounded=JudgedFormat(_names_a_place, ("<think>",)))
    return published(
        name="vigorl-web",
        dialect=_ANSWER,
        reward=weighted(matched=(0.5, matched), format=(0.5, formed)),
        success=steps("matched", matched, edges=[1.0], values=[0.0, 1.0]),
        space="model_pixel",
        accepts={ACTION},
        source=Source("ViGoRL", "ViGoRL", "e7970c0", (_FOLDER,)),
        native=NativeForm(
            'a text such as "click [12]", "type [12] [hello] [1]", "scroll [down]" or "go_back"', _read_action
        ),
        deviations=BAD_TARGET,
        exploits=(
            Exploit("any-stop", "a text that is typed ends the task where it holds stop, whatever the answer", 1.0,
                    Example(_ACTING.format("type [stop]"), "stop [42]")),
            Exploit("any-scroll", "a scroll in any direction is right", 1.0,
                    Example(_ACTING.format("scroll [up]"), "scroll [down]")),
            Exploit("blind-format", "the form alone earns its weight", 0.5, Example(_ACTING.format("-"), "click [12]")),
        ),
        action_names=(*_KINDS, *_OTHERS),
        formula="total = 0.5 · matched + 0.5 · format\nmatched = [same word], or half of it and half [same brackets]",
        example=Example(_ACTING.format("click [12]"), "click [12]"),
    )  # fmt: skip


def _is_formed(text: str) -> bool:
    """Thinking, then an answer in tags, and nothing around them."""
    return thinks_then_answers(text, "think", "answer")


def _names_a_place(text: str) -> bool:
    """A ``(x, y)`` of whole numbers without signs in the first block of thinking."""
    return re.search(_POINT, tag_text(text, "think") or "") is not None


def _read(text: str) -> list[Act] | None:
    """Return the first of the source's words that is in the answer, and the answer itself as its text."""
    answer = _said(text)
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


def _read_action(value: Any) -> dict[str, Any] | None:
    """``"click [12]"``, an action as the answers write it."""
    named = _NAME.fullmatch(value) if isinstance(value, str) else None
    return {"action": {"name": named[1], "text": value}} if named else None
