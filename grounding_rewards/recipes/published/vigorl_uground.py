"""ViGoRL's reward of points: nearness to the target's point, and a format that may ask for points on the way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.combine import product, weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing.literal import LiteralError, read_literal
from grounding_rewards.parsing.readers import one_line_answer, whole_pair
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import tag_texts
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.recipes.published.vigorl import is_well_formed
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import POINT, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import JudgedFormat, NearPoint
from grounding_rewards.verifiers.terms import PLACES, OfPlaces

_REACH = 100.0
_POINT = r"\(\d+,\s*\d+\)"
_ANSWERED = re.compile(rf"\s*{_POINT}\s*")
_PLACES = re.compile(rf"{_POINT}[.!?]?")
_MOST_LEFT = 10
_TARGET = "(200, 150)"
_SAID = "<think>at the bar (10, 20), then (190, 140)</think>\n<answer>({}, {})</answer>"


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
        dialect=_ANSWER,
        reward=weighted(nearness=(0.5, near), format=(0.5, formed)),
        success=hit,
        space=CoordSpace.MODEL_PIXEL,
        accepts={POINT},
        source=Source("ViGoRL", "ViGoRL", "e7970c0", ("examples/reward_function",)),
        native=_NATIVE,
        deviations=_DEVIATIONS,
        exploits=(
            Exploit("blind-format", "the form alone earns its weight", 0.5 + 0.5 * float(np.exp(-20.0)),
                    Example(_SAID.format(1400, 1750), _TARGET)),
        ),
        formula="total = 0.5 · nearness + 0.5 · format\nnearness = exp(-d / 100), d pixels from the point",
        example=Example(_SAID.format(200, 150), _TARGET),
    )  # fmt: skip


_SIGNS = "<think>", "</think>", "<answer>", "</answer>"


@dataclass(frozen=True)
class _Nearness(OfPlaces):
    """exp(-d / 100), d pixels from the target's point; 0.0 without a predicted point."""

    @property
    def judges(self) -> frozenset[str]:
        return PLACES | {"point"}

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


def _read(text: str) -> list[tuple[float, float]] | None:
    answer = one_line_answer(text)
    answer = (text if answer is None else answer).strip()
    pair = None if answer.startswith("[") else whole_pair(answer)
    return None if pair is None else [pair]


_ANSWER = Form("vigorl_uground", read=_read, signs=(",",))


def _read_native(value: Any) -> dict[str, Any] | None:
    """``"(x, y)"``, two whole numbers in a text."""
    try:
        pair = read_literal(value) if isinstance(value, str) else None
    except LiteralError:
        return None
    whole = isinstance(pair, tuple) and len(pair) == 2 and all(type(each) is int for each in pair)
    return {"point": [*pair]} if whole and pair else None


_NATIVE = NativeForm('a text "(x, y)" of whole numbers, in pixels of the image the model saw', _read_native)

_DEVIATIONS = {
    **BAD_TARGET,
    "huge-number": "Numbers of any length are read; the source raises for some hundreds of digits.",
}
