"""BTL-UI's first step: the target among the boxes that a response looks at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import CoordSpace, convert
from grounding_rewards.parsing.literal import read_json
from grounding_rewards.parsing.published import BLANK, BLINK, USUAL_BOXES, fenced
from grounding_rewards.parsing.reading import MAX_ANSWERS
from grounding_rewards.parsing.texts import Texts, as_texts, contains, extract, limited
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.regions import Regions
from grounding_rewards.targets.target import RegionKind
from grounding_rewards.verifiers.options import Share
from grounding_rewards.verifiers.terms import Term

Ints = NDArray[np.int64]

_BOX_KEY = "bbox_2d"
_BBOX = np.int8(RegionKind.BBOX)
_USUAL = rf"^{BLANK}<blink>{BLANK}```json(?P<boxes>[^<`]*)```{BLANK}</blink>"
_SHAPE = rf"^{BLANK}{USUAL_BOXES}{BLANK}$"
_BESIDE_NUMBERS = str.maketrans("", "", '[]{}": \n')


@dataclass(frozen=True)
class Blink(Term):
    """1.0 where one of the boxes in ``<blink>`` fits the target's box and no two of them are alike, else 0.0.

    P fits B where |P ∩ B| / |P ∪ B| > ``overlap``; two boxes are alike where the same holds of them, so that
    suppressing all but one of those that are alike (NMS) leaves the list as it is. 1.0 for a target without a box,
    whatever the response. No list of boxes, a list of more than 256, or anything but boxes in it: 0.0. Several boxes
    of the target: any of them.

    Args:
        response_space: the space that the model answers in; the boxes are brought from it into the recipe's.
        overlap: the share that two boxes have in common.
    """

    response_space: CoordSpace
    overlap: Share = 0.5

    def __call__(self, rollouts: Rollouts) -> Floats:
        targets, into, rows = rollouts.targets, rollouts.predictions.space, len(rollouts)
        boxes, owner = _boxes_of(as_texts(rollouts.text))
        if self.response_space is not into:
            sizes = targets.image_sizes[owner], targets.model_image_sizes[owner]
            boxes = convert(boxes, self.response_space, into, *sizes)
        score, fits = np.ones(rows), np.zeros(rows, dtype=np.bool_)  # 1.0 stays for targets without a box
        for row, truth in _by_rank(targets.regions, rows):
            score[row] = 0.0
            fits[owner[self._alike(boxes, truth[owner])]] = True
        fits[self._crowded(boxes, owner, fits)] = False
        score[fits] = 1.0
        return score

    def _alike(self, a: Floats, b: Floats) -> geometry.Bools:
        shared = geometry.shared_area(a, b)
        # A box with its corners out of order shares nothing, and its area may be below 0.
        alike: geometry.Bools = shared > np.maximum(self.overlap * (geometry.area(a) + geometry.area(b) - shared), 0.0)
        return alike

    def _crowded(self, boxes: Floats, owner: Ints, chosen: geometry.Bools) -> Ints:
        """Those of the chosen rows in which two boxes are alike."""
        crowded: list[Ints] = []
        left = np.flatnonzero(chosen[owner])
        if len(left) < 2:
            return left[:0]
        boxes, owner = boxes[left], owner[left]
        first, apart = np.arange(len(owner)), 1
        # Each box with the next one of its row, then with the one after that, while any row is so long.
        while len(first := first[first < len(owner) - apart]):
            first = first[owner[first] == owner[first + apart]]
            crowded.append(owner[first[self._alike(boxes[first], boxes[first + apart])]])
            apart += 1
        return np.concatenate(crowded) if crowded else np.zeros(0, dtype=np.int64)


def _by_rank(regions: Regions, rows: int) -> list[tuple[Any, Floats]]:
    """The targets' boxes, the first of each sample, then the second: which rows have one, and (n, 4) with NaN."""
    if regions.one_per_row and regions.boxes_only:
        return [(slice(None), regions.box)]
    chosen = np.flatnonzero(regions.kind == _BBOX)
    owner = regions.row[chosen]
    rank, boxes = np.arange(len(owner)) - np.searchsorted(owner, owner), []
    for each in range(rank.max(initial=-1) + 1):
        mine = rank == each
        truth = np.full((rows, 4), np.nan)
        truth[owner[mine]] = regions.box[chosen[mine]]
        boxes.append((owner[mine], truth))
    return boxes


def _boxes_of(texts: Texts) -> tuple[Floats, Ints]:
    """The boxes that n texts look at: (k, 4), and whose each is, in order."""
    if not texts.vectorised:
        read = [read_boxes(text) if BLINK in text else [] for text in texts.values]
        return _flat(read, np.arange(len(texts)))
    bodies = extract(texts.arrow, _USUAL)["boxes"]
    import pyarrow.compute as pc

    usual = pc.fill_null(pc.match_substring_regex(bodies, pattern=_SHAPE), False)
    is_usual = np.asarray(usual.to_numpy(zero_copy_only=False), dtype=np.bool_)
    boxes, owner = _usual_boxes(bodies.filter(usual).to_pylist(), np.flatnonzero(is_usual))
    left = np.flatnonzero(~is_usual)
    for sign in ("</blink>", "```json"):
        left = left[contains(texts.take(left), sign)]
    if not len(left):
        return boxes, owner
    others, whose = _flat([read_boxes(texts.values[row]) for row in left.tolist()], left)
    boxes, owner = np.concatenate((boxes, others)), np.concatenate((owner, whose))
    order = np.argsort(owner, kind="stable")  # _crowded asks for the boxes of a row side by side
    return boxes[order], owner[order]


def _usual_boxes(bodies: list[str], rows: Ints) -> tuple[Floats, Ints]:
    """The boxes of lists in the usual form, which hold nothing but numbers beside brackets and keys."""
    counts = [body.count("{") for body in bodies]
    kept = [body for body, count in zip(bodies, counts, strict=True) if 0 < count <= MAX_ANSWERS]
    numbers = ",".join(kept).replace(_BOX_KEY, "").translate(_BESIDE_NUMBERS)
    boxes = np.array(json.loads(f"[{numbers}]"), dtype=np.float64).reshape(-1, 4)
    return boxes, rows.repeat([count if count <= MAX_ANSWERS else 0 for count in counts])


def _flat(read: list[list[tuple[float, ...]]], rows: Ints) -> tuple[Floats, Ints]:
    boxes = [box for each in read for box in each]
    stacked = np.array(boxes, dtype=np.float64) if boxes else np.zeros((0, 4))
    return stacked, rows.repeat([len(each) for each in read])


def read_boxes(text: str) -> list[tuple[float, ...]]:
    """The boxes that one text looks at; none where the list has too many, or anything else in it.

    >>> read_boxes('<blink>```json [{"bbox_2d": [1, 2, 3.5, 4]}, {"bbox_2d": [5, 6, 7, 8]}] ```</blink>')
    [(1.0, 2.0, 3.5, 4.0), (5.0, 6.0, 7.0, 8.0)]
    >>> read_boxes('<blink>```json [{"bbox_2d": [1, 2, 3.5, 4]}, {}] ```</blink>')
    []
    """
    body = fenced(text, BLINK)
    items = None if body is None else read_json(body)
    if not isinstance(items, list) or len(items) > MAX_ANSWERS:
        return []
    boxes = [box for item in items if (box := _box(item)) is not None]
    return boxes if len(boxes) == len(items) else []


def _box(item: Any) -> tuple[float, ...] | None:
    box = item.get(_BOX_KEY) if isinstance(item, dict) else None
    if not isinstance(box, list) or len(box) != 4 or not all(isinstance(edge, int | float) for edge in box):
        return None
    return tuple(map(limited, box))
