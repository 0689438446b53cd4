"""Numbers on the way to a verifier's score, where it takes more than the answer and the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grounding_rewards import geometry
from grounding_rewards.arrays import Floats
from grounding_rewards.combine import evaluate
from grounding_rewards.coords.spaces import convert
from grounding_rewards.explain.formulas import listed, number
from grounding_rewards.groups import voting as votes
from grounding_rewards.recipes.published.btl_ui import Blink, read_boxes
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import (
    Consensus,
    DastLength,
    Exploration,
    InConsensus,
    MatchedF1,
    MatchedPrecision,
    MatchedRecall,
    Verdict,
    Verifier,
)
from grounding_rewards.verifiers.group import clicks
from grounding_rewards.verifiers.length import lengths_of
from grounding_rewards.verifiers.points import Matched, collinear

MOST_BOXES = 8
"""Boxes of a list that are described one by one, at most."""


def intermediate_numbers(term: Verifier, rollouts: Rollouts, row: int, score: float) -> str:
    """Return the numbers that one row's score was made of, as its formula names them; "" where none are known."""
    known = _KNOWN.get(type(term))
    return "" if known is None else known(term, rollouts, row, score)


def _length(term: DastLength, rollouts: Rollouts, row: int, score: float) -> str:
    lengths, unit = lengths_of(rollouts), "characters" if rollouts.token_lengths is None else "tokens"
    mine = rollouts.groups == rollouts.groups[row]  # as ``DastLength``, whose docstring names these letters
    right = evaluate(term.correct, rollouts, "correct")[0] > term.above
    p, longest = float(right[mine].mean()), float(lengths[mine].max())
    budget = p * float(lengths[mine & right].mean()) + (1 - p) * longest if p else longest
    over = (float(lengths[row]) - budget) / budget if budget else 0.0
    numbers = {"L": float(lengths[row]), "B": budget, "λ": over, "p": p, "L_max": longest}
    if p:
        numbers["L_r"] = float(lengths[mine & right].mean())
    return f"{listed(numbers)}, in {unit}; it is {'right' if right[row] else 'wrong'}"


def _exploration(term: Exploration, rollouts: Rollouts, row: int, score: float) -> str:
    points, offsets = rollouts.predictions.points, rollouts.predictions.offsets
    if np.isnan(rollouts.predictions.xy[row]).any():
        return "N = 0: no point counts"
    mine = rollouts.predictions.xy[[row]]  # no list of answers: the one point
    if points is not None and offsets is not None:
        mine = points[offsets[row] : offsets[row + 1]]
    count = len(mine)
    if score > 0:
        return f"N = {count}, k = {1 / (count * score * score):.0f}"  # score = 1 / sqrt(N k)
    in_line = count > 2 and collinear(mine, np.array([0, count])).any()
    return f"N = {count}, {'three of them on one line' if in_line else 'none inside'}"


def _matched(term: Matched, rollouts: Rollouts, row: int, score: float) -> str:
    answers, places, matches = (int(column[row]) for column in term.counts(rollouts))
    return listed({"n": answers, "m": places, "k": matches})


def _verdict(term: Verdict, rollouts: Rollouts, row: int, score: float) -> str:
    read = {True: "right", False: "wrong", None: "no verdict"}[term.verdicts(rollouts)[row]]
    return f"the response says {read}, the target {'right' if term.truth(rollouts.targets.rows[row]) else 'wrong'}"


def _votes(term: Consensus | InConsensus, rollouts: Rollouts, row: int, score: float) -> str:
    regions = votes.voting_regions(clicks(rollouts), rollouts.predictions.box, term.size)
    if np.isnan(regions[row]).any():
        return "no vote: there is no place in the image"
    here, most = votes.votes_at(rollouts.predictions.xy, regions, rollouts.groups)
    return listed({"v_max": int(most[row]), "v at the point": int(here[row])})


def _boxes(term: Blink, rollouts: Rollouts, row: int, score: float) -> str:
    regions, into = rollouts.targets.regions, rollouts.predictions.space
    truth = regions.box[regions.row == row]
    boxes = np.array(read_boxes(rollouts.text[row]), dtype=np.float64).reshape(-1, 4)
    if not len(boxes):
        return "no list of boxes"
    if term.response_space is not into:
        sizes = rollouts.image_sizes[[row] * len(boxes)], rollouts.model_image_sizes[[row] * len(boxes)]
        boxes = convert(boxes, term.response_space, into, *sizes)
    described = []
    for box in boxes[:MOST_BOXES]:
        best = _shared(box[None], truth).max(initial=0.0)
        described.append(f"({', '.join(map(number, box.tolist()))}) and the target: {number(best)}")
    if len(boxes) > MOST_BOXES:
        described.append(f"{len(boxes) - MOST_BOXES} more boxes")
    if len(boxes) > 1:
        alike = _shared(boxes, boxes)[np.tril_indices(len(boxes), -1)].max()  # below the diagonal: each pair once
        described.append(f"the two that are most alike: {number(alike)}")
    return "; ".join(described)


def _shared(boxes: Floats, others: Floats) -> Floats:
    """Return |A ∩ B| / |A ∪ B| of each box with each other one: (n, 4) and (m, 4) to (n, m)."""
    a, b = np.repeat(boxes, len(others), axis=0), np.tile(others, (len(boxes), 1))
    shared = geometry.shared_area(a, b)
    union = geometry.area(a) + geometry.area(b) - shared
    share: Floats = np.divide(shared, union, out=np.zeros(len(a)), where=union > 0)  # boxes without area: 0, not NaN
    return share.reshape(len(boxes), len(others))


_KNOWN: dict[type, Callable[[Any, Rollouts, int, float], str]] = {
    DastLength: _length, Exploration: _exploration, Consensus: _votes, InConsensus: _votes, Blink: _boxes,
    MatchedF1: _matched, MatchedPrecision: _matched, MatchedRecall: _matched, Verdict: _verdict,
}  # fmt: skip
