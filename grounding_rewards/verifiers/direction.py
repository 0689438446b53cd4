"""Does the scroll or the swipe go the right way?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from grounding_rewards.actions import opposite
from grounding_rewards.columns import Rollouts
from grounding_rewards.spaces import Floats
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.alternatives import argument, compared
from grounding_rewards.verifiers.base import NEEDS_NOTHING

Convention = Literal["content", "finger"]


@dataclass(frozen=True)
class DirectionMatch:
    """1.0 where the direction of the action is the target's, else 0.0; case does not count.

    A direction is the way the view goes (``"content"``: down shows what is further down) or the way the finger goes
    (``"finger"``), which is the opposite. 1.0 where the target has no direction, whatever the response; 0.0 where it
    has one and the response none. Of several alternatives the best; 0.0 for a refusal.

    Args:
        response: what the directions of responses mean.
        target: what those of targets mean.

    Raises:
        RecipeError: an option does not fit.
    """

    response: Convention = "content"
    target: Convention = "content"

    low = 0.0
    high = 1.0
    needs = NEEDS_NOTHING

    def __post_init__(self) -> None:
        options.choice(self, "response", Convention)
        options.choice(self, "target", Convention)

    def __call__(self, rollouts: Rollouts) -> Floats:
        alternatives = rollouts.targets.alternatives
        compare = direction_rule(self.response, self.target)
        scores = compared(argument(rollouts, "direction"), len(alternatives), compare)
        return alternatives.best(scores, len(rollouts))


def direction_rule(response: Convention, target: Convention) -> Callable[[str, str], float]:
    """The comparison of two directions that ``DirectionMatch`` of these options makes.

    >>> direction_rule("content", "content")("Up", "up"), direction_rule("finger", "content")("up", "down")
    (1.0, 1.0)
    """
    return _same if response == target else _turned


def _same(given: str, wanted: str) -> float:
    return float(given.strip().lower() == wanted.lower())


def _turned(given: str, wanted: str) -> float:
    return float(opposite(given.strip().lower()) == wanted.lower())
