"""Scores of answered boxes: their overlap with the target's box, and the distance of their edges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats, share
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers.hit import screens
from grounding_rewards.verifiers.terms import NEEDS_SCREEN, OfPlaces

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
    no miss scores less. A refusal target: 0.0. A circle or polygon counts as its bounding box. Several places: the best
    one's score.

    Args:
        kind: which of the four.
        pixel_convention: a common area at most 1 wide or high counts as none, as in code that takes x1..x2-1 for the
            pixels of a box and wants two or more columns and rows of them.

    Source of the convention: GUI-G1 e581fe9, ``open_r1/grpo_rec.py``.
    """

    kind: Kind = "iou"
    pixel_convention: bool = False

    @property
    def low(self) -> float:
        """0.0 for iou, -1.0 for giou and diou, -1.5 for ciou."""
        return _LOWEST[self.kind]

    def places(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        return self.between(regions.each(rollouts.predictions.box), regions.box)

    def between(self, box: Floats, truth: Floats) -> Floats:
        """Score each predicted box against the target's: (m, 4) and (m, 4) to (m,)."""
        shared = geometry.shared_area(box, truth, least=1.0 if self.pixel_convention else 0.0)
        score = self._score(box, truth, shared)
        if np.count_nonzero(shared) < len(shared):  # equal boxes without area share nothing, and are equal
            score = np.where((box == truth).all(axis=1), 1.0, score)
        return score

    def _score(self, box: Floats, truth: Floats, shared: Floats) -> Floats:
        union = geometry.area(box) + geometry.area(truth) - shared
        iou = np.minimum(share(shared, union), 1.0)  # of nearly equal boxes it may round beyond 1
        if self.kind == "iou":  # a box that is none shares nothing
            return iou
        around = geometry.hull(box, truth)
        if self.kind == "giou":
            score = iou + share(union, geometry.area(around)) - 1.0
        else:
            apart, across = geometry.centre(box) - geometry.centre(truth), around[:, 2:] - around[:, :2]
            score = iou - share(_squares(apart), _squares(across))
        if self.kind == "ciou":
            score = score - _aspect(box, truth, iou)
        ordered = (box[:, 0] <= box[:, 2]) & (box[:, 1] <= box[:, 3])
        return np.where(ordered, np.clip(score, self.low, self.high), self.low)


def _squares(vectors: Floats) -> Floats:
    return vectors[:, 0] * vectors[:, 0] + vectors[:, 1] * vectors[:, 1]


def _aspect(box: Floats, truth: Floats, iou: Floats) -> Floats:
    """Return the penalty of ciou for another aspect ratio; the angle of a box without sides is 0."""
    angles = [np.arctan2(each[:, 2] - each[:, 0], each[:, 3] - each[:, 1]) for each in (truth, box)]
    v = (2.0 / math.pi * (angles[0] - angles[1])) ** 2
    return share(v * v, 1.0 - iou + v)


@dataclass(frozen=True)
class BoxSize(OfPlaces):
    """Harmonic mean of the nearness of each edge: 4 / Σ 1 / t_k, with t_k = 1 - |P_k - B_k| / side of the image.

    P and B are the predicted box and the target's, x1 y1 x2 y2; the side is the image's width for x and its height
    for y. 1.0 for equal boxes, towards 0.0 where an edge is a whole image away, and 0.0 from there on and without a
    predicted box. Any box on the screen is worth something. A circle or polygon counts as its bounding box. Several
    places: the best one's score.

    Raises:
        TargetError: the recipe works in a pixel space, and a target's image size is unknown.

    Source: GUI-G1 e581fe9, ``open_r1/grpo_rec.py``, ``box_reward``; there it is neither limited nor 0 beyond an image.
    """

    needs = NEEDS_SCREEN

    def places(self, rollouts: Rollouts) -> Floats:
        regions = rollouts.targets.regions
        screen = screens(rollouts, "BoxSize")
        away = np.abs(regions.each(rollouts.predictions.box) - regions.box)
        near = 1.0 - away / np.concatenate((screen, screen), axis=1)
        reaches = near.min(axis=1) > 0
        parts = 1.0 / np.where(reaches[:, None], near, 1.0)
        score = 4.0 / (parts[:, 0] + parts[:, 1] + parts[:, 2] + parts[:, 3])
        close: Floats = score * reaches
        return close
