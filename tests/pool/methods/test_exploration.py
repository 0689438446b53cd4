"""Bonuses of outcome-based exploration on a table of rollouts."""

from __future__ import annotations

import numpy as np
import pytest

from grounding_rewards.pool.methods import choose
from grounding_rewards.pool.methods.exploration import OutcomeExploration
from tests.pool.methods.made import chosen, columns

ROWS = [
    {"sample_id": "x", "round": number, "rollout": rollout, "acc": 0, "answer_key": answer}
    for number, rollout, answer in ((1, 0, "a"), (2, 0, "a"), (2, 1, "a"), (2, 2, "a"), (2, 3, "b"), (2, 4, None))
]
"""N(a) = 4 and N(b) = 1 in the second round, one of whose rollouts has no answer."""


@pytest.mark.parametrize("form", ["ucb", "mean", "leave_one_out", "batch"])
def test_a_group_that_is_all_right_has_no_bonus(form):
    """The first round is solved, the second not; one rollout was not scored."""
    rollouts = columns([1, 1, np.nan, 1, 0, 1], round=[1, 1, 1, 2, 2, 2], answer=[0, 1, 1, 0, 0, 2])
    zero, kept = (
        choose(rollouts, OutcomeExploration(form, weight=1, solved=solved)).columns["bonus"]
        for solved in ("zero", "bonus")
    )
    assert zero[:3].tolist() == [0.0] * 3
    assert kept[:3].any()
    assert zero[3:].tolist() == kept[3:].tolist()
    assert kept[3:].any()


def test_the_baseline_may_be_below_0_and_the_weight_is_a_factor(tmp_path):
    raised = chosen(tmp_path, ROWS, OutcomeExploration("constant", weight=0.5, b0=-1.0))
    assert [value for *_, value in raised] == [1.0, 0.75, 0.75, 0.75, 1.0, 0.0]


def test_the_batch_form_on_a_group_of_four(tmp_path):
    four = chosen(tmp_path, ROWS[1:5], OutcomeExploration("batch", weight=1))
    assert [value for *_, value in four] == [-0.5, -0.5, -0.5, 0.0]


def test_steps_of_the_trainer_are_moments_and_groups_too():
    rollouts = columns([0.0] * 4, train_step=[1, 1, 2, 2], answer=[5, 5, 5, 6])
    bonus = choose(rollouts, OutcomeExploration("ucb", weight=1)).columns["bonus"]
    assert bonus.tolist() == pytest.approx([0.5**0.5, 0.5**0.5, 1 / 3**0.5, 1.0])
    assert choose(rollouts, OutcomeExploration("batch", weight=1)).columns["bonus"].tolist() == [-0.5, -0.5, 0.0, 0.0]


def test_clicks_are_answers_by_their_cell(tmp_path):
    rows = [
        {"sample_id": "x", "acc": 0.0, "x_unit": x, "y_unit": x} for x in (0.01, 0.02, 0.5, None)
    ]  # cells of 1 / 32
    assert [value for *_, value in chosen(tmp_path, rows, OutcomeExploration("batch", weight=1))] == [
        -0.25, -0.25, 0, 0,
    ]  # fmt: skip
