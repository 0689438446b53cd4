"""The parts of UI-AGILE's reward, each over the alternatives of a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.combine import product
from grounding_rewards.recipes.published._solutions import CLICK, THOUGHT, all_occur
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import Overlap, any_of, if_placed, same_action
from grounding_rewards.verifiers.any_of import AnyOf
from grounding_rewards.verifiers.distance import centredness
from grounding_rewards.verifiers.terms import OfPlaces, Term
from grounding_rewards.verifiers.text import TextAs

Kind = Literal["iou", "diou", "ciou"]
Bools = NDArray[np.bool_]

BINARY = "binary"
_WORDS = ("text", "direction", "app", "button", "status")


@dataclass(frozen=True)
class Near(OfPlaces):
    """1 + f(n) of a click inside, 2 · ``overlap`` of a box, as ``grounding`` says."""

    shape: str
    overlap: Kind

    @property
    def high(self) -> float:
        """The score of a hit of the centre."""
        return 1.0 if self.shape == BINARY else 2.0

    def places(self, rollouts: Rollouts) -> Floats:
        points, boxes, truth = _whole(rollouts)
        if self.shape == BINARY:
            return geometry.in_box(points, truth).astype(np.float64)
        score = 1.0 + centredness(points, truth, self.shape, outside=-1.0)  # so that a miss comes to 0.0
        boxed = ~np.isnan(boxes[:, 0])
        if not boxed.any():
            return score
        shared = np.maximum(Overlap(self.overlap).between(boxes, truth), 0.0)
        return np.where(boxed, 2.0 * shared, score)


@dataclass(frozen=True)
class Written(Term):
    """1.0 where the response thinks and then answers, and its answer is a point or another action than a click."""

    def __call__(self, rollouts: Rollouts) -> Floats:
        predictions = rollouts.predictions
        written: Bools = ~np.isnan(predictions.xy[:, 0]) & np.isnan(predictions.box[:, 0])
        if not written.all():
            others = [name != "" and CLICK not in name for name in predictions.actions.tolist()]
            written = written | np.array(others, dtype=np.bool_)
        return (written & all_occur(rollouts, THOUGHT)).astype(np.float64)


def _whole(rollouts: Rollouts) -> tuple[Floats, Floats, Floats]:
    """Points (the centre of an answered box), answered boxes and targets, all cut to whole pixels: m rows of each."""
    regions, predictions = rollouts.targets.regions, rollouts.predictions
    # Below 0 this cuts away from 0, unlike int(), so that what is outside the image stays outside.
    points, boxes = np.floor(predictions.xy), np.floor(predictions.box)
    boxed = ~np.isnan(boxes[:, 0])
    if boxed.any():
        points = np.where(boxed[:, None], geometry.centre(boxes), points)
    return regions.each(points), regions.each(boxes), np.floor(regions.box)


def _part_of(written: str, wanted: str) -> float:
    return float(bool(written) and written.lower() in wanted.lower())


def _same(written: str, wanted: str) -> float:
    return float(not wanted or written.lower() == wanted.lower())


NAMED = any_of(
    same_action("contained", otherwise=None),
    formula="1.0 where the response's action contains the name of the target's; a place alone asks for a click.",
)
PARAMETER = any_of(
    TextAs(_part_of, _WORDS, missing="", unasked=0.0),
    formula="1.0 where the target has a parameter, and the response's, in lower case, is part of it.",
)
DONE = any_of(
    same_action(
        "written", otherwise=product(place=if_placed(Near(BINARY, "iou")), words=TextAs(_same, _WORDS, missing=""))
    ),
    formula=(
        "1.0 where the name is the target's, the place, if it has one, and but for case the parameter, if it has one."
    ),
)


def grounding(shape: str, overlap: Kind) -> AnyOf:
    """Return the score of an action with its place."""
    return any_of(
        same_action("contained", click=if_placed(Near(shape, overlap)), otherwise=None),
        formula="""\
Where the action is right, 1 + f(n) of a click inside, or 2 · overlap of a box; else 0.0.

n = max(|dx| / half the width, |dy| / half the height), 0 at the centre of the target and 1 at its edge; f is the
shape, as of Centredness, such as exp(-4 n²) for gaussian; binary scores 1.0 for a click or a centre
inside, and 0.0 for boxes. Everything is cut to whole pixels first, and borders count. overlap is an overlap
of both boxes, at least 0. An action without a place is worth 1.0, one that is not the target's 0.0.""",
    )
