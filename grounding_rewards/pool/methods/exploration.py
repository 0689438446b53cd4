"""Outcome-based exploration: a bonus for each rollout by how often its sample's rollouts gave the same answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards.groups.exploration import answer_counts, batch_penalty, constant_bonus, mean_bonus, ucb_bonus
from grounding_rewards.plugins.named import CHOICE
from grounding_rewards.pool.methods import Choice, Method, setting
from grounding_rewards.pool.rollouts import RolloutColumns, groups, moments
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Length, Number


@dataclass(frozen=True)
class OutcomeExploration(Method):
    """All rollouts, with the column ``bonus``, weight · b, to add to their advantages.

    N is how many rollouts of the sample gave the same answer up to and including the rollout's own round and step of
    the trainer; b_ucb = min(1, sqrt(1 / N)). A group is a sample's rollouts of one round and step. b is 0 without an
    answer, and in a group whose scored rollouts are all right, where it would punish what is solved.

    Source: outcome-based exploration, arXiv 2509.06941, from a reading note and reviews: ``leave_one_out`` and the 0 of
    solved groups are the note's, ``mean`` is another note's "mean of the batch"; whether the paper has that 0 in the
    form ``batch``, too, is not known. No bonus without an answer is our own form.

    >>> answers = {"answer": np.array([7, 7, 7, 7, 8]), "round": np.array([1, 2, 2, 2, 2])}
    >>> rollouts = RolloutColumns(np.array(["a"], dtype=object), np.zeros(5, int), np.zeros(5), **answers)
    >>> OutcomeExploration(form="ucb", weight=1)(rollouts).columns["bonus"]
    array([1. , 0.5, 0.5, 0.5, 1. ])
    """

    kind, needs, samples_apart = CHOICE, ("answer",), True

    form: Literal["ucb", "mean", "leave_one_out", "constant", "batch"] = setting(
        "b_ucb; b_ucb - its mean over the answers of the group, or over its other answers; b_ucb - b0; or -(others of "
        "the group with the same answer) / (its size)"
    )
    weight: Length = setting("the factor c of the bonus; a review names 0.2")
    b0: Number | None = setting("the baseline of constant alone; 1 for easy, 0.5 for medium data", None)
    solved: Literal["zero", "bonus"] = setting("0 in groups that are all right, or their bonus", "zero")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.b0 is None) == (self.form == "constant"):
            expected = "a number, such as 0.5" if self.b0 is None else 'None, as form is not "constant"'
            raise options.wrong(self, "b0", expected)

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        group = groups(rollouts)
        if self.form == "batch":
            bonus = batch_penalty(rollouts.answer, group)
        else:
            counts = answer_counts(rollouts.answer, rollouts.sample, moments(rollouts))
            if self.form in ("mean", "leave_one_out"):
                bonus = mean_bonus(counts, group, others=self.form == "leave_one_out")
            else:
                bonus = ucb_bonus(counts) if self.b0 is None else constant_bonus(counts, self.b0)
        if self.solved == "zero" and len(group):
            right, wrong = (np.bincount(group, weights=rollouts.acc == acc) for acc in (1, 0))
            bonus = np.where(((right > 0) & (wrong == 0))[group], 0.0, bonus)
        return Choice(np.arange(len(rollouts)), {"bonus": self.weight * bonus})
