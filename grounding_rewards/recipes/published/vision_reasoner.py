"""VisionReasoner: boxes and points of several objects, matched one to one with the targets'."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.combine import steps, weighted
from grounding_rewards.coords.spaces import CoordSpace, as_space, convert
from grounding_rewards.parsing.literal import read_json
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import limited, tag_text
from grounding_rewards.recipes._shared import BAD_TARGET, published
from grounding_rewards.recipes.published._solutions import thinks_then_answers
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers import JudgedFormat
from grounding_rewards.verifiers.terms import PLACES, Term

_MOST, _LARGEST = 120, sys.float_info.max
_ANSWERED = '<think>-</think>\n<answer>[{{"bbox_2d": {}, "point_2d": {}}}]</answer>'
_TARGET = '[{"bbox_2d": [100, 100, 300, 200], "point_2d": [200, 150]}]'


def vision_reasoner(*, response_space: CoordSpace | str = CoordSpace.MODEL_PIXEL) -> Recipe:
    """VisionReasoner's reward: lists of ``{"bbox_2d": [..], "point_2d": [..]}``, in pixels of the image the model saw.

    total = tags + items + matched + fresh. tags = 1 for thinking, then answer tags, and nothing else. items: the mean
    over the objects of the JSON list in the tags of 1 for a list of four as box and 1 for a list of two as point.
    matched = Σ s / max(n, m) over the one-to-one pairs of n objects and m targets with the largest sum, at most 120 of
    each; s = [IoU > 0.5] + [mean distance of the edges < 10 pixels] + [points nearer than 30 pixels, and in the
    object's own box]. fresh = 1 unless two sentences, which end in a point, or one of them twice, occur again.

    Args:
        response_space: the space that the model answers in; the source reads pixels of the resized image.

    Returns:
        A recipe with parts ``tags``, ``items``, ``matched`` and ``fresh``, 0 <= total <= 7; ``acc`` is 1 where all are
        matched in full.

    Source: Seg-Zero 42a3345, ``verl/utils/reward_score/vision_reasoner.py``.
    """
    space = as_space(response_space)
    matched = _Matched(space)
    return published(
        name="vision-reasoner",
        dialect=_ANSWER,
        reward=weighted(
            tags=(1.0, JudgedFormat(_is_tagged, ("<think>", "</answer>"))), items=(1.0, _Items()),
            matched=(1.0, matched), fresh=(1.0, JudgedFormat(_is_fresh, ())),
        ),
        success=steps("matched", matched, edges=[3.0], values=[0.0, 1.0]),
        space=CoordSpace.MODEL_PIXEL,
        response_space=space,
        accepts={BBOX},
        source=Source("VisionReasoner", "Seg-Zero", "42a3345", ("verl/utils/reward_score/vision_reasoner.py",)),
        answers="first",
        native=_NATIVE,
        deviations=_DEVIATIONS,
        exploits=(
            Exploit("loose-box", "a box 9 pixels and a point 28 pixels off score in full", 7.0,
                    Example(_ANSWERED.format([109, 109, 309, 209], [228, 150]), _TARGET)),
            Exploit("any-text", "any text at all scores for not repeating itself", 1.0, Example("-", _TARGET)),
        ),
        formula="total = tags + items + matched + fresh\nmatched = the largest Σ of 3 terms a pair / max(n, m)",
        example=Example(_ANSWERED.format([100, 100, 300, 200], [200, 150]), _TARGET),
    )  # fmt: skip


def _items(text: str) -> Any:
    """Return the JSON value in the first answer tags; None without one."""
    return read_json(tag_text(text, "answer") or "")


def _numbers(item: Any, key: str, count: int) -> list[float]:
    """Return the numbers of an object under a key; [] where these are not so many."""
    values = item.get(key) if isinstance(item, dict) else None
    if not isinstance(values, list) or len(values) != count:
        return []
    readable = all(isinstance(each, float) or (isinstance(each, int) and abs(each) <= _LARGEST) for each in values)
    return [limited(each) for each in values] if readable else []


def _objects(text: str) -> list[tuple[list[float], list[float]]]:
    """Return box and point of each object; [] where one of them lacks either."""
    items = _items(text)
    items = items if isinstance(items, list) else []
    pairs = [(_numbers(item, "bbox_2d", 4), _numbers(item, "point_2d", 2)) for item in items]
    return pairs if all(box and point for box, point in pairs) else []


def _read(text: str) -> list[list[float]] | None:
    return [box for box, _ in _objects(text)] or None


_ANSWER = Form("vision_reasoner", read=_read, signs=("bbox_2d",))


def _is_tagged(text: str) -> bool:
    """Thinking, then answer tags, and nothing around them."""
    return thinks_then_answers(text, "think", "answer")


def _is_fresh(text: str) -> bool:
    """No two sentences, and none twice, that were there before; a sentence ends in a point."""
    counts = Counter([sentence.strip() for sentence in text.split(".") if sentence.strip()])
    return sum(counts.values()) - len(counts) < 2


@dataclass(frozen=True)
class _Items(Term):
    """The mean over the objects of 1 for a list of four under bbox_2d, and 1 for a list of two under point_2d."""

    high = 2.0

    def __call__(self, rollouts: Rollouts) -> Floats:
        return np.array([_formed(_items(text)) for text in rollouts.text], dtype=np.float64)


def _formed(items: Any) -> float:
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        return 0.0
    lists = [(item.get(key), count) for item in items for key, count in (("bbox_2d", 4), ("point_2d", 2))]
    return sum(isinstance(each, list) and len(each) == count for each, count in lists) / len(items)


@dataclass(frozen=True)
class _Matched(Term):
    """Σ s / max(n, m) over the best one-to-one pairs of n objects and m targets, s three terms of box and point."""

    space: CoordSpace

    high = 3.0
    judges = PLACES

    def __call__(self, rollouts: Rollouts) -> Floats:
        regions, scores = rollouts.targets.regions, np.zeros(len(rollouts))
        original, seen = rollouts.targets.image_sizes, rollouts.model_image_sizes
        for row, text in enumerate(rollouts.text):
            objects, mine = _objects(text)[:_MOST], np.flatnonzero(regions.row == row)[:_MOST]
            if objects and len(mine):
                boxes, points = (
                    convert(np.array(column), self.space, CoordSpace.MODEL_PIXEL, original[row], seen[row])
                    for column in zip(*objects, strict=True)
                )
                scores[row] = _matched(boxes, points, regions.box[mine], regions.point[mine])
        return scores


def _matched(boxes: Floats, points: Floats, targets: Floats, marks: Floats) -> float:
    """Return the mean of the best pairs' terms, of n objects and m targets."""
    from scipy.optimize import linear_sum_assignment  # slow to import

    n, m = len(boxes), len(targets)
    one, other = np.repeat(boxes, m, axis=0), np.tile(targets, (n, 1))
    lower, upper = np.maximum(one[:, :2], other[:, :2]), np.minimum(one[:, 2:], other[:, 2:])
    shared = np.maximum(upper - lower + 1.0, 0.0).prod(axis=1)
    areas = [(box[:, 2:] - box[:, :2] + 1.0).prod(axis=1) for box in (one, other)]
    close = np.repeat(geometry.in_box(points, boxes), m)
    away = geometry.distance(np.repeat(points, m, axis=0), np.tile(marks, (n, 1)))
    with np.errstate(divide="ignore", invalid="ignore"):
        overlap = shared / (areas[0] + areas[1] - shared)
    terms = np.stack((overlap > 0.5, np.abs(one - other).mean(axis=1) < 10.0,
                      close & (away < 30.0))).sum(axis=0).reshape(n, m)  # fmt: skip
    return float(terms[linear_sum_assignment(terms, maximize=True)].sum() / max(n, m))


def _read_native(value: Any) -> dict[str, Any] | None:
    """``[{"bbox_2d": [..], "point_2d": [..]}, ..]``, each with both."""
    if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
        return None
    return {"regions": [{"bbox": each["bbox_2d"], "point": each["point_2d"]} for each in value]}


_NATIVE = NativeForm(
    'a list [{"bbox_2d": [x1, y1, x2, y2], "point_2d": [x, y]}, ..] in pixels of the image the model saw', _read_native
)

_DEVIATIONS = {
    **BAD_TARGET,
    "no-text": "None is an empty response, and anything else but a text is an error; the source raises for both.",
}
