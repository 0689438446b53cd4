"""The parts of UI-AGILE's reward, each over the alternatives of a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards import geometry
from grounding_rewards.actions import Arguments
from grounding_rewards.arrays import Floats
from grounding_rewards.parsing.texts import SPACE, as_texts, matches
from grounding_rewards.recipes.published._solutions import CLICK
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import Overlap
from grounding_rewards.verifiers.base import BaseVerifier
from grounding_rewards.verifiers.distance import centredness

Kind = Literal["iou", "diou", "ciou"]
Bools = NDArray[np.bool_]

BINARY = "binary"
_SAID = ("text", "direction", "app", "button", "status")
_TAGS = (rf"^{SPACE}<think>", rf"</think>{SPACE}<answer>", rf"</answer>{SPACE}$")


@dataclass(frozen=True)
class Named(BaseVerifier):
    """1.0 where the response's action contains the name of the target's; a place alone asks for a click."""

    low = 0.0
    high = 1.0

    def __call__(self, rollouts: Rollouts) -> Floats:
        """Score n rollouts: (n,)."""
        return _best(rollouts, _named(rollouts).astype(np.float64))


@dataclass(frozen=True)
class Grounding(BaseVerifier):
    """Where the action is right, 1 + f(n) of a click inside, or 2 · ``overlap`` of a box; else 0.0.

    n = max(|dx| / half the width, |dy| / half the height), 0 at the centre of the target and 1 at its edge; f is the
    ``shape``, as of ``Centredness``, such as exp(-4 n²) for gaussian; binary pays 1.0 for a click or a centre
    inside, and nothing for boxes. Everything is cut to whole pixels first, and borders count. ``overlap`` is an overlap
    of both boxes, at least 0. An action without a place is worth 1.0, one that is not the target's 0.0.
    """

    shape: str
    overlap: Kind

    low = 0.0

    @property
    def high(self) -> float:
        """What a hit of the centre is worth."""
        return 1.0 if self.shape == BINARY else 2.0

    def __call__(self, rollouts: Rollouts) -> Floats:
        """Score n rollouts: (n,)."""
        return _best(rollouts, _named(rollouts) * _placed(rollouts, self._score(rollouts)))

    def _score(self, rollouts: Rollouts) -> Floats:
        """The score of each place, whatever the action: (m,)."""
        points, boxes, truth = _whole(rollouts)
        if self.shape == BINARY:
            return geometry.in_box(points, truth).astype(np.float64)
        score = 1.0 + centredness(points, truth, self.shape, outside=-1.0)
        boxed = ~np.isnan(boxes[:, 0])
        if not boxed.any():
            return score
        shared = np.maximum(Overlap(self.overlap).between(boxes, truth), 0.0)
        return np.where(boxed, 2.0 * shared, score)


@dataclass(frozen=True)
class Written(BaseVerifier):
    """1.0 where the response thinks and then answers, and its answer is a point or another action than a click."""

    low = 0.0
    high = 1.0

    def __call__(self, rollouts: Rollouts) -> Floats:
        """Score n rollouts: (n,)."""
        predictions, texts = rollouts.predictions, as_texts(rollouts.text)
        written: Bools = ~np.isnan(predictions.xy[:, 0]) & np.isnan(predictions.box[:, 0])
        if not written.all():
            others = [name != "" and CLICK not in name for name in predictions.actions.tolist()]
            written = written | np.array(others, dtype=np.bool_)
        for pattern in _TAGS:
            written = written & matches(texts, pattern)
        return written.astype(np.float64)


@dataclass(frozen=True)
class Parameter(BaseVerifier):
    """1.0 where the target has a parameter, and the response's, in lower case, is part of it."""

    low = 0.0
    high = 1.0

    def __call__(self, rollouts: Rollouts) -> Floats:
        """Score n rollouts: (n,)."""
        if not rollouts.targets.special:
            return np.zeros(len(rollouts))
        part = [float(bool(said) and said in wanted) for said, wanted in _said(rollouts)]
        return _best(rollouts, np.array(part, dtype=np.float64))


@dataclass(frozen=True)
class Done(BaseVerifier):
    """1.0 where the name is the target's, the place, if it has one, and but for case the parameter, if it has one."""

    low = 0.0
    high = 1.0

    def __call__(self, rollouts: Rollouts) -> Floats:
        """Score n rollouts: (n,)."""
        points, _, truth = _whole(rollouts)
        done = _hit(rollouts, geometry.in_box(points, truth).astype(np.float64)) * _is_named(rollouts)
        return _best(rollouts, done * _is_said(rollouts) if rollouts.targets.special else done)


def _best(rollouts: Rollouts, scores: Floats) -> Floats:
    """The best alternative's score of each sample: (k,) to (n,)."""
    targets, rows = rollouts.targets, len(rollouts)
    return targets.alternatives.best(scores, rows) if targets.special else targets.regions.best(scores, rows)


def _placed(rollouts: Rollouts, scores: Floats) -> Floats:
    """The scores of places for each alternative, 1.0 for other actions than clicks: (m,) to (k,)."""
    if not rollouts.targets.special:
        return scores
    names = rollouts.targets.alternatives.names.tolist()
    others = np.array([name not in ("", CLICK) for name in names], dtype=np.bool_)
    return np.where(others, 1.0, _hit(rollouts, scores))


def _hit(rollouts: Rollouts, scores: Floats) -> Floats:
    """The scores of places for each alternative, 1.0 for those without a place: (m,) to (k,)."""
    if not rollouts.targets.special:
        return scores
    alternatives = rollouts.targets.alternatives
    return np.where(alternatives.place < 0, 1.0, alternatives.place_scores(scores))


def _named(rollouts: Rollouts) -> Bools:
    """Whether the response's action contains the name that each alternative asks for: (k,)."""
    given, targets = rollouts.predictions.actions, rollouts.targets
    if not targets.special:
        return np.array([CLICK in name for name in targets.regions.each(given).tolist()], dtype=np.bool_)
    alternatives = targets.alternatives
    pairs = zip(alternatives.each(given).tolist(), alternatives.names.tolist(), strict=True)
    return np.array([(wanted or CLICK) in name for name, wanted in pairs], dtype=np.bool_)


def _is_named(rollouts: Rollouts) -> Bools:
    """Whether the response's action is the one that each alternative asks for, letter for letter: (k,)."""
    given, targets = rollouts.predictions.actions, rollouts.targets
    if not targets.special:
        return np.array([name == CLICK for name in targets.regions.each(given).tolist()], dtype=np.bool_)
    alternatives = targets.alternatives
    pairs = zip(alternatives.each(given).tolist(), alternatives.names.tolist(), strict=True)
    return np.array([name == (wanted or CLICK) for name, wanted in pairs], dtype=np.bool_)


def _whole(rollouts: Rollouts) -> tuple[Floats, Floats, Floats]:
    """Points (the centre of an answered box), answered boxes and targets, all cut to whole pixels: m rows of each."""
    regions, predictions = rollouts.targets.regions, rollouts.predictions
    # Below 0 this cuts away from 0, unlike int(), so that what is outside the image stays outside.
    points, boxes = np.floor(predictions.xy), np.floor(predictions.box)
    boxed = ~np.isnan(boxes[:, 0])
    if boxed.any():
        points = np.where(boxed[:, None], geometry.centre(boxes), points)
    return regions.each(points), regions.each(boxes), np.floor(regions.box)


def _said(rollouts: Rollouts) -> list[tuple[str, str]]:
    """What the response says and what each alternative asks for, in lower case, "" for nothing: k pairs."""
    alternatives = rollouts.targets.alternatives
    given = alternatives.each(_first(rollouts.predictions.arguments, len(rollouts))).tolist()
    wanted = _first(alternatives.arguments, len(alternatives)).tolist()
    return [(a.lower(), b.lower()) for a, b in zip(given, wanted, strict=True)]


def _is_said(rollouts: Rollouts) -> Bools:
    """Whether the response says what each alternative asks for, if it asks for anything: (k,)."""
    return np.array([not wanted or said == wanted for said, wanted in _said(rollouts)], dtype=np.bool_)


def _first(arguments: Arguments, rows: int) -> NDArray[np.object_]:
    """The first argument of each row that is a text, "" where there is none."""
    found = np.full(rows, "", dtype=np.object_)
    for name in reversed(_SAID):
        column = getattr(arguments, name)
        if column is not None:
            found = np.where(column == None, found, column)  # noqa: E711 (row by row)
    return found
