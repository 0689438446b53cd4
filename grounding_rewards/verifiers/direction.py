"""Direction of scrolls and swipes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards.actions import Objects, opposite
from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.alternatives import Mask, OfAlternatives, argument, compared

Convention = Literal["content", "finger"]


@dataclass(frozen=True)
class DirectionMatch(OfAlternatives):
    """1.0 where the direction of the action is the target's, else 0.0; case does not count.

    Of what is called a scroll, the direction is the way the view goes (``"content"``: down shows what is further down)
    or the way the finger goes (``"finger"``), which is the opposite. Of a swipe, and of a scroll that has two ends and
    no direction, it always is the finger's, so that a swipe up is a scroll down. 1.0 where the target has no direction,
    whatever the response; 0.0 where it has one and the response none. Of several alternatives the best; 0.0 for a
    refusal.

    Args:
        response: what the directions of scrolls mean in responses. They must be read by a dialect that shares the
            vocabulary, such as ``auto_action``.
        target: what they mean in targets.

    Raises:
        RecipeError: an option does not fit.
    """

    response: Convention = "content"
    target: Convention = "content"

    low = 0.0
    high = 1.0

    def __post_init__(self) -> None:
        options.choice(self, "response", Convention)
        options.choice(self, "target", Convention)

    def each(self, rollouts: Rollouts, among: Mask = None) -> Floats:
        alternatives = rollouts.targets.alternatives.normal
        given, wanted = argument(rollouts, "direction", alternatives)
        swiped, meant = argument(rollouts, "swiped", alternatives)
        columns = _content(given, swiped, self.response), _content(wanted, meant, self.target)
        return compared(columns, len(alternatives), _same, among)


def _content(directions: Objects | None, swiped: Objects | None, convention: Convention) -> Objects | None:
    """Return directions as those of the view; those of swipes already are."""
    if directions is None or convention == "content":
        return directions
    surely = [None] * len(directions) if swiped is None else swiped.tolist()
    pairs = zip(directions.tolist(), surely, strict=True)
    found = np.empty(len(directions), dtype=np.object_)
    found[:] = [way if way is None or sure else opposite(way.strip().lower()) for way, sure in pairs]
    return found


def _same(given: str, wanted: str) -> float:
    return float(given.strip().lower() == wanted.lower())
