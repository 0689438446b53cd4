"""ViGoRL: a hit and a format, which may ask for a place in the thinking, or grow with the crops of several turns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import dist
from typing import Any, Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.combine import product, weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import LITERAL_PAIR
from grounding_rewards.parsing.literal import LiteralError, read_json, read_literal
from grounding_rewards.parsing.readers import call_texts, whole_pair
from grounding_rewards.parsing.texts import tag_span
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.recipes.published._solutions import thinks_then_answers
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import Hit, JudgedFormat
from grounding_rewards.verifiers.terms import Term

_FILE = "examples/reward_function/point_in_bbox{}.py"
_TARGET = "(100, 100, 300, 200)"
_SIGNS = "<think>", "<answer>", "</answer>"
_MOST_CROPS, _APART = 256, 10.0
_TAG = re.compile("<(/?)(think|tool_call|observation|answer)>", re.IGNORECASE)
_TURN, _LAST = ("think", "tool_call", "observation"), ("think", "answer")
_PLACE = re.compile(r"\(-?\d+\s*,\s*-?\d+\s*\)")
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
    formed: Any = _Turns() if several else JudgedFormat(is_well_formed, _SIGNS)
    if form == "grounded":
        formed = product(well_formed=formed, grounded=JudgedFormat(is_grounded, ("<think>",)))
    file = _FILE.format({"point": "", "grounded": "_grounded_thinking", "multicrop": "_multicrop"}[form])
    return published(
        name="vigorl",
        dialect=LITERAL_PAIR,
        reward=weighted(hit=(0.6, hit), format=(0.4, formed)) if several
        else weighted(hit=(0.5, hit), format=(0.5, formed)),
        success=hit,
        space=CoordSpace.MODEL_PIXEL,
        accepts={BBOX},
        source=Source("ViGoRL", "ViGoRL", "e7970c0", (file,)),
        native=_NATIVE,
        deviations=_DEVIATIONS,
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
    span = tag_span(text, "answer")
    return span is not None and thinks_then_answers(text, "think", "answer") and _is_tuple(text[slice(*span)].strip())


def _is_tuple(body: str) -> bool:
    return body.startswith("(") and body.endswith(")") and whole_pair(body) is not None


def is_grounded(text: str) -> bool:
    """Return True if the first block of thinking holds a ``(x, y)`` of whole numbers."""
    span = tag_span(text, "think")
    return span is not None and _PLACE.search(text, *span) is not None


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
    span = tag_span(text, "answer")
    body = text[slice(*span)].strip() if span else ""
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


def _read_native(value: Any) -> dict[str, Any] | None:
    """``"(x1, y1, x2, y2)"``, four whole numbers in a text."""
    try:
        box = read_literal(value) if isinstance(value, str) else None
    except LiteralError:
        return None
    whole = isinstance(box, tuple | list) and len(box) == 4 and all(type(each) is int for each in box)
    return {"bbox": [*box]} if whole and box else None


_NATIVE = NativeForm('a text "(x1, y1, x2, y2)" of whole numbers, in pixels of the image the model saw', _read_native)

_DEVIATIONS = {
    **BAD_TARGET,
    "wire-target": "A target need not be a text of four whole numbers; for others the source raises, or sees no hit.",
    "no-pair": "Only a tuple or a list is a point; the source takes sets, dicts and bytes of two numbers for one, and "
    "raises for a number alone.",
}
