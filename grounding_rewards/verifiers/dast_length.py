"""Lengths among those of the group: short where the response is right, long where it is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.base import BaseVerifier, Verifier, judges_of, reads_of, scored
from grounding_rewards.verifiers.consensus import NEEDS_GROUPS
from grounding_rewards.verifiers.contract import VERIFIER, complaint
from grounding_rewards.verifiers.hit import Hit


@dataclass(frozen=True)
class DastLength(BaseVerifier):
    """DAST's length reward: max(0.5 - 0.5 λ, 0.1) where the rollout is right, min(0.9 λ - 0.1, -0.1) where it is wrong.

    λ = (L - B) / B, with L the length of the response and B = p · L_r + (1 - p) · L_max the budget of its group: p is
    the share of its rollouts that are right, L_r their mean length and L_max the largest length of all. B = 0: λ = 0.
    -1.0 to 1.0. Right answers are paid for being short, from 0.1 to 1; wrong ones lose from 1 to 0.1, the less, the
    longer: where nothing is right, the longest is the best.

    Lengths are those in tokens where they are given (``token_lengths``), else in characters of the text. The source
    measures the padded batch, in which all rows are equally long, so that its reward hardly tells them apart; here
    every row has its own length.

    Args:
        correct: the verifier that says whether a rollout is right; in a config its name, or ``{"verifier": NAME, ...}``
            with what it takes.
        above: a rollout is right where that is above this number.

    Raises:
        RecipeError: an option does not fit.

    >>> DastLength(correct=Hit(point_radius=14)).needs
    frozenset({'groups'})

    Source: UI-R1 2fe9bf0, ``trainer/DAST_grpo_trainer.py``, after DAST.
    """

    correct: Verifier = field(default=Hit(), metadata={"takes": "verifier"})
    above: float = 0.0

    low = -1.0
    high = 1.0

    def __post_init__(self) -> None:
        options.number(self, "above", low=-np.inf)
        if wrong := complaint(self.correct, VERIFIER):
            expected = f'a verifier (in a config its name, or {{"verifier": NAME, ...}}); this {wrong}'
            raise options.wrong(self, "correct", expected)

    @property
    def needs(self) -> frozenset[str]:
        return NEEDS_GROUPS | self.correct.needs

    @property
    def reads(self) -> frozenset[str]:
        return reads_of(self.correct) | {"token_lengths"}

    @property
    def judges(self) -> frozenset[str]:
        return judges_of(self.correct)

    def __call__(self, rollouts: Rollouts) -> Floats:
        right = scored(self.correct, rollouts, "correct") > self.above
        return length_rewards(right, _lengths(rollouts), rollouts.groups)


def length_rewards(right: NDArray[np.bool_], lengths: Floats, groups: NDArray[np.int64]) -> Floats:
    """The formula of ``DastLength``.

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
