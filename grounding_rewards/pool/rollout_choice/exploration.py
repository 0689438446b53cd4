"""Outcome-based exploration: a bonus for each rollout by how often its sample's rollouts gave the same answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.groups.exploration import answer_counts, batch_penalty, constant_bonus, mean_bonus, ucb_bonus
from grounding_rewards.pool.rollout_choice.columns import RolloutColumns
from grounding_rewards.pool.rollout_choice.grouping import groups, moments
from grounding_rewards.pool.rollout_choice.protocol import Choice
from grounding_rewards.verifiers import options

Form = Literal["ucb", "mean", "constant", "batch"]


@dataclass(frozen=True)
class OutcomeExploration:
    """All rollouts, with the column ``bonus``, weight · b, to add to their advantages.

    N is how many rollouts of the sample gave the same answer up to and including the rollout's own round and step of
    the trainer; b_ucb = min(1, sqrt(1 / N)). A group is a sample's rollouts of one round and step. Without an answer,
    such as a click, b is 0 in all forms; whether it was right, or scored at all, does not matter.

    Args:
        form: "ucb": b = b_ucb. "mean": b_ucb - its mean over the answers of the group. "constant": b_ucb - ``b0``.
            "batch": -(the number of other rollouts of the group with the same answer) / (the size of the group).
        weight: the factor c of the bonus, from 0; a review names 0.2.
        b0: the baseline of "constant", which needs it, and of no other; a review names 1 for easy data and 0.5 for data
            of medium difficulty.

    Raises:
        RecipeError: an argument does not fit.

    Source: outcome-based exploration, arXiv 2509.06941. The formulas are from memory; that N counts over all of
    training, and the values of ``weight`` and ``b0``, are from a review; no bonus without an answer is our own form.

    >>> answers = {"answer": np.array([7, 7, 7, 7, 8]), "round": np.array([1, 2, 2, 2, 2])}
    >>> rollouts = RolloutColumns(np.array(["a"], dtype=object), np.zeros(5, int), np.ones(5), **answers)
    >>> OutcomeExploration(form="ucb", weight=1)(rollouts).columns["bonus"]
    array([1. , 0.5, 0.5, 0.5, 1. ])
    """

    form: Form
    weight: float
    b0: float | None = None

    needs = ("answer",)
    samples_apart = True

    def __post_init__(self) -> None:
        options.choice(self, "form", Form)
        options.number(self, "weight")
        if (self.b0 is None) == (self.form == "constant"):
            expected = "a number, such as 0.5" if self.b0 is None else 'None, as form is not "constant"'
            raise options.wrong(self, "b0", expected)
        if self.b0 is not None:
            options.number(self, "b0", low=-math.inf)

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        """Keep all rollouts, and add the bonus of each."""
        return Choice(np.arange(len(rollouts)), {"bonus": self.weight * self._bonus(rollouts)})

    def _bonus(self, rollouts: RolloutColumns) -> Floats:
        if self.form == "batch":
            return batch_penalty(rollouts.answer, groups(rollouts))
        counts = answer_counts(rollouts.answer, rollouts.sample, moments(rollouts))
        if self.form == "mean":
            return mean_bonus(counts, groups(rollouts))
        return ucb_bonus(counts) if self.b0 is None else constant_bonus(counts, self.b0)
