"""GUI-G1: a hit of the box's centre, its overlap with the target, and how near its edges are."""

from __future__ import annotations

from grounding_rewards.combine import weighted
from grounding_rewards.parsing import LITERAL_BOX
from grounding_rewards.recipes._shared import BAD_TARGET, listed_boxes, published
from grounding_rewards.scoring import BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.verifiers import BoxSize, Hit, Overlap
from grounding_rewards.verifiers.options import Length

_PAPER = "GUI-G1: Understanding R1-Zero-Like Training for Visual Grounding in GUI Agents"
_TARGET, _SIZE = (100, 100, 300, 200), (1000, 1000)
_ANSWER = '```json\n[{{"bbox_2d": {}, "label": "save"}}]\n```'


def gui_g1(*, iou_weight: Length = 0.25, box_weight: Length = 0.125) -> Recipe:
    """GUI-G1's rewards: a fenced list of dicts with ``bbox_2d``, boxes in pixels of the original image.

    total = hit + v · iou + w · box. hit = 1 where the centre of the predicted box lies in the target's, borders
    included. iou is the intersection over union, in which a common area at most 1 pixel wide or high counts as none.
    box = 4 / Σ 1 / t_k, with t_k = 1 - |P_k - B_k| / side of the image over the four edges, 0 where a t_k is not above
    0. The first dict counts, and in it the first four numbers.

    Args:
        iou_weight: v, the weight of the overlap, from 0; the source trains with 0.25.
        box_weight: w, the weight of the size of the box, from 0; the source trains with 0.125.

    Returns:
        A recipe with parts ``hit``, ``iou`` and ``box``, 0 <= total <= 1 + v + w; ``acc`` is the hit. It needs the
        size of the original image of each row.

    Source: GUI-G1 e581fe9, ``open_r1/grpo_rec.py``.
    """
    hit = Hit()
    return published(
        name="gui-g1",
        dialect=LITERAL_BOX,
        reward=weighted(hit=(1.0, hit), iou=(iou_weight, Overlap(pixel_convention=True)), box=(box_weight, BoxSize())),
        success=hit,
        space="pixel",
        accepts={BBOX},
        source=Source(_PAPER, "GUI-G1", "e581fe9", ("open_r1/grpo_rec.py",)),
        answers="first",
        native=NATIVE,
        deviations=_DEVIATIONS,
        exploits=_exploits(iou_weight, box_weight),
        formula=(
            "total = hit + iou_weight · iou + box_weight · box, hit by the centre of the box\n"
            "box = 4 / Σ 1 / t_k, t_k = 1 - |P_k - B_k| / side of the image, 0 where a t_k is not above 0"
        ),
        example=Example(_ANSWER.format([100, 100, 300, 200]), _TARGET, image_size=_SIZE),
    )


def _exploits(iou_weight: float, box_weight: float) -> tuple[Exploit, ...]:
    giant = Example(_ANSWER.format([-899999999800, -899999999850, 900000000200, 900000000150]), _TARGET, _SIZE)
    middle = Example(_ANSWER.format([400, 400, 600, 600]), _TARGET, _SIZE)
    far = Exploit(
        "any-box", "a box on the screen scores for edges less than an image away, whatever it holds",
        box_weight * 0.672, middle,
    )  # fmt: skip
    return (
        Exploit("giant-box", "the hit asks for the centre of the box alone, so that its size is free", 1.0, giant),
        *((far,) if box_weight else ()),
    )


NATIVE = listed_boxes("a bare list of 4 numbers x1 y1 x2 y2, in pixels of the original image")

_DEVIATIONS = {
    **BAD_TARGET,
    "json-words": "JSON's true, false and null are read; the source reads Python alone, and scores such answers 0.",
    "spaces": "Spaces and tabs beside ```json, in front of the list's first line or after its last, are read over; the "
    "source takes such a fence for none, and such a line for wrongly indented Python, and scores 0.",
    "one-dict": "A dict that is in no list is the answer; the source looks for a first item in it, and scores 0.",
    "outside-image": "An edge that is a whole image or more away from the target's scores 0 for edges; the source's "
    "harmonic mean of numbers not above 0 is anything from -infinity to infinity.",
    "thin-target": "An exact answer to a target at most 1 pixel wide or high has an overlap of 1; the source scores 0.",
}
