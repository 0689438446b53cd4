"""Figures of rollouts: what counts as scored, and totals that are as good as equal."""

from __future__ import annotations

import numpy as np
import pytest

from grounding_rewards.pool.command import figures
from tests.pool.methods.made import columns


def no_signal(acc, total, **more):
    return figures(columns(acc, total=total, **more))["no_signal"]


def test_a_rollout_that_was_not_scored_does_not_count_whatever_its_total():
    assert no_signal([1.0, 1.0, np.nan], [0.5, 0.5, 0.9]) == 1.0
    assert no_signal([np.nan], [0.5]) is None


def test_verdicts_stand_in_where_no_total_is_known_at_all():
    assert no_signal([1.0, 0.0, 1.0], [0.5, 0.5, np.nan]) == 1.0
    assert no_signal([1.0, 0.0], [np.nan, np.nan]) == 0.0


@pytest.mark.parametrize(("apart", "share"), [(0.0, 1.0), (1e-6, 1.0), (2e-6, 0.0)])
def test_totals_are_equal_up_to_a_millionth(apart, share):
    assert no_signal([1.0, 1.0], [0.0, apart]) == share


def test_samples_without_a_scored_rollout_have_no_pass_rate():
    some = figures(columns([1.0, 0.0, np.nan], sample=[0, 0, 2]))
    assert (some["rollouts"], some["samples"], some["mean_p"]) == (3, 2, 0.5)


def test_a_group_is_of_one_round_and_one_step_of_the_trainer():
    assert no_signal([1.0, 0.0], [1.0, 0.0], round=[1, 2]) == 1.0
    assert no_signal([1.0, 0.0], [1.0, 0.0], train_step=[1, 2]) == 1.0
