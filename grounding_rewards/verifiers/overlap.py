"""How much of the answered box is the target's?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.alternatives import OfPlaces

Kind = Literal["iou", "giou", "diou", "ciou"]

_LOWEST = {"iou": 0.0, "giou": -1.0, "diou": -1.0, "ciou": -1.5}


@dataclass(frozen=True)
class Overlap(OfPlaces):
    """Intersection over union of the predicted box P and the target's box B, or one of its three extensions.

    By ``kind``, with C the smallest box around both, w and h the sides of a box, and c its centre:

    iou = |P ∩ B| / |P ∪ B|, in [0, 1].
    giou = iou - (|C| - |P ∪ B|) / |C|, in [-1, 1].
    diou = iou - ||c_P - c_B||² / (w_C² + h_C²), in [-1, 1].
    ciou = diou - v² / (1 - iou + v), v = (4/π²)(atan(w_B/h_B) - atan(w_P/h_P))², in [-1.5, 1]: v is at most 1, so
    that the last term is at most 1/2, for boxes that do not touch and lie as a line upright and a line across do.

    Equal boxes score 1, with area or without. Other boxes without area share nothing: iou 0. A predicted box with
    corners out of order (x1 > x2 or y1 > y2) is no box; no box, or no predicted box, scores the lowest value, so that
    no miss is paid less. A circle or polygon counts as its bounding box. Several places: the best one's score.

    Args:
        kind: which of the four.
        pixel_convention: a common area at most 1 wide or high counts as none, as in code that takes x1..x2-1 for the
            pixels of a box and wants two or more columns and rows of them.

    Source of the convention: GUI-G1 e581fe9, ``open_r1/grpo_rec.py``.
    """

    kind: Kind = "iou"
    pixel_convention: bool = False

    high = 1.0

    def __post_init__(self) -> None:
        options.choice(self, "kind", Kind)
        options.choice(self, "pixel_convention", Literal[True, False])

    @property
    def low(self) -> float:
        """0.0 for iou, -1.0 for giou and diou, -1.5 for ciou."""
        return _LOWEST[self.kind]

    def places(self, rollouts: Rollouts) -> Floats:
        """Score m places."""
        regions = rollouts.targets.regions
        return self.between(regions.each(rollouts.predictions.box), regions.box)

    def between(self, box: Floats, truth: Floats) -> Floats:
        """The score of each predicted box with the target's: (m, 4) and (m, 4) to (m,)."""
        shared = geometry.shared_area(box, truth, least=1.0 if self.pixel_convention else 0.0)
        score = self._score(box, truth, shared)
        if np.count_nonzero(shared) < len(shared):
            score = np.where((box == truth).all(axis=1), 1.0, score)
        return score

    def _score(self, box: Floats, truth: Floats, shared: Floats) -> Floats:
        union = geometry.area(box) + geometry.area(truth) - shared
        iou = np.minimum(_share(shared, union), 1.0)
        if self.kind == "iou":  # a box that is none shares nothing
            return iou
        around = geometry.hull(box, truth)
        if self.kind == "giou":
            score = iou + _share(union, geometry.area(around)) - 1.0
        else:
            apart, across = geometry.centre(box) - geometry.centre(truth), around[:, 2:] - around[:, :2]
            score = iou - _share(_squares(apart), _squares(across))
        if self.kind == "ciou":
            score = score - _aspect(box, truth, iou)
        ordered = (box[:, 0] <= box[:, 2]) & (box[:, 1] <= box[:, 3])
        return np.where(ordered, np.clip(score, self.low, self.high), self.low)


def _share(part: Floats, whole: Floats) -> Floats:
    """Part / whole, 0.0 where the whole is nothing."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _squares(vectors: Floats) -> Floats:
    return vectors[:, 0] * vectors[:, 0] + vectors[:, 1] * vectors[:, 1]


def _aspect(box: Floats, truth: Floats, iou: Floats) -> Floats:
    """What ciou takes off for another aspect ratio; that of a box without sides is 0."""
    angles = [np.arctan2(each[:, 2] - each[:, 0], each[:, 3] - each[:, 1]) for each in (truth, box)]
    v = (2.0 / math.pi * (angles[0] - angles[1])) ** 2
    return _share(v * v, 1.0 - iou + v)
