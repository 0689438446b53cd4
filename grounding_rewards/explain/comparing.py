"""The same response and target judged by several recipes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grounding_rewards.errors import GroundingRewardsError
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.target_section import complaint, in_wire_form
from grounding_rewards.rollouts import Reason
from grounding_rewards.scoring import Recipe


@dataclass(frozen=True)
class Compared:
    """What one recipe makes of a case.

    Attributes:
        recipe: how to build it.
        name: its name.
        response_space: the space in which it reads the response.
        low: the lowest total.
        high: the highest.
        total: None, as ``acc`` and ``reason``, where it cannot judge the case.
        acc: 1.0 for full success, else 0.0.
        reason: name of the ``Reason``.
        error: why it cannot judge the case.
    """

    recipe: str
    name: str
    response_space: str
    low: float
    high: float
    total: float | None = None
    acc: float | None = None
    reason: str | None = None
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return dict(vars(self))


def compare(recipes: Sequence[Recipe], case: Case) -> tuple[Compared, ...]:
    """What each recipe pays for the same text and the same target.

    Args:
        recipes: the first is the one whose form of targets the case has; the others get them in the wire form, with
            the space named. Each reads the text in its own dialect and response space.
        case: the response and its target.

    >>> from grounding_rewards import recipe
    >>> case = Case(("(200, 150)",), ([0.1, 0.1, 0.3, 0.3],))
    >>> others = recipe("gelato"), recipe("click", response_space="thousandths")
    >>> [found.error is None for found in compare(others, case)]
    [True, False]
    """
    others = in_wire_form(recipes[0], case)
    return tuple(_compared(recipe, others if index else case) for index, recipe in enumerate(recipes))


def _compared(recipe: Recipe, case: Case) -> Compared:
    found = repr(recipe), recipe.name, recipe.response_space.value, recipe.low, recipe.high
    try:
        scores = case.score(recipe)
    except GroundingRewardsError as error:
        return Compared(*found, error=complaint(error))
    row = case.row
    return Compared(*found, float(scores.total[row]), float(scores.acc[row]), Reason(scores.reason[row]).name)
