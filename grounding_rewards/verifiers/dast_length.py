"""Length of the response among those of its group: short is good where it is right, long where it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.plugins.frozen import frozen
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.base import Verifier, scored
from grounding_rewards.verifiers.consensus import NEEDS_GROUPS
from grounding_rewards.verifiers.contract import VERIFIER, why_invalid
from grounding_rewards.verifiers.named import verifier_named


@dataclass(frozen=True)
class DastLength:
    """DAST's length reward: max(0.5 - 0.5 λ, 0.1) where the rollout is right, min(0.9 λ - 0.1, -0.1) where it is wrong.

    λ = (L - B) / B, with L the length of the response and B = p · L_r + (1 - p) · L_max the budget of its group: p is
    the share of its rollouts that are right, L_r their mean length and L_max the largest length of all. B = 0: λ = 0.
    -1.0 to 1.0. Right answers score from 0.1 to 1, the more, the shorter; wrong ones lose from 1 to 0.1, the less, the
    longer: where nothing is right, the longest is the best.

    Lengths are those in tokens where they are known (``token_lengths``), else in characters of the text. The source
    measures the padded batch, in which all rows are equally long, so that its rewards hardly differ; here
    every row has its own length.

    Args:
        correct: what says whether a rollout is right: a verifier, its name, or ``{"verifier": NAME, ...}`` with what it
            takes.
        above: a rollout is right where that is above this number.

    Raises:
        RecipeError: an option does not fit.

    >>> DastLength(correct={"verifier": "hit", "point_radius": 14}).needs
    frozenset({'groups'})

    Source: UI-R1 2fe9bf0, ``trainer/DAST_grpo_trainer.py``, after DAST.
    """

    correct: Verifier | str | Mapping[str, Any] = "hit"
    above: float = 0.0
    judge: Verifier = field(init=False, repr=False, compare=False)

    low = -1.0
    high = 1.0

    reads_further = True

    def __post_init__(self) -> None:
        options.number(self, "above", low=-np.inf)
        if isinstance(self.correct, str | Mapping):
            object.__setattr__(self, "correct", frozen(self.correct))
        object.__setattr__(self, "judge", self._judge())

    def _judge(self) -> Verifier:
        expected = 'a verifier, its name, or {"verifier": NAME, ...}'
        if isinstance(self.correct, str):
            return verifier_named(self.correct)
        if isinstance(self.correct, Mapping):
            given = dict(self.correct)
            name = given.pop("verifier", None)
            if isinstance(name, str):
                return verifier_named(name, given)
        else:
            wrong = why_invalid(self.correct, VERIFIER)
            if not wrong:
                return self.correct
            expected += f"; this {wrong}"
        raise options.wrong(self, "correct", expected)

    @property
    def needs(self) -> frozenset[str]:
        return NEEDS_GROUPS | self.judge.needs

    def __call__(self, rollouts: Rollouts) -> Floats:
        right = scored(self.judge, rollouts, "correct") > self.above
        return length_rewards(right, _lengths(rollouts), rollouts.groups)


def length_rewards(right: NDArray[np.bool_], lengths: Floats, groups: NDArray[np.int64]) -> Floats:
    """Compute the formula of ``DastLength``.

    Args:
        right: (n,) booleans.
        lengths: (n,) from 0.
        groups: (n,) whole numbers from 0.

    Returns:
        (n,) from -1 to 1.

    >>> group = np.zeros(3, dtype=np.int64)
    >>> length_rewards(np.array([True, True, False]), np.array([10.0, 30.0, 40.0]), group).round(4)
    array([ 0.8125,  0.4375, -0.1   ])
    """
    longest = np.zeros(int(groups.max(initial=-1)) + 1)
    np.maximum.at(longest, groups, lengths)
    rollouts = np.maximum(np.bincount(groups), 1)
    wrong = np.bincount(groups, weights=~right)
    budgets = ((np.bincount(groups, weights=lengths * right) + wrong * longest) / rollouts)[groups]
    over = np.where(budgets > 0, lengths - budgets, 0.0) / np.where(budgets > 0, budgets, 1.0)
    return np.where(right, np.maximum(0.5 - 0.5 * over, 0.1), np.minimum(0.9 * over - 0.1, -0.1))


def _lengths(rollouts: Rollouts) -> Floats:
    if rollouts.token_lengths is not None:
        return rollouts.token_lengths.astype(np.float64)
    return np.array([len(text) for text in rollouts.text], dtype=np.float64)
