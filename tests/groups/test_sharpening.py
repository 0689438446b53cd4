"""Sharpened advantages of unlikely right answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import RecipeError
from grounding_rewards.groups.sharpening import sharpened


def test_the_worked_example():
    """eta is 1.649, 1 and 0.607; 2.5 · 0.393 is above the bound of 0.5 · 0.5."""
    assert sharpened([0.5] * 3, [-0.5, -1.0, -1.5], ["a"] * 3).tolist() == pytest.approx([0.5, 0.5, 0.75])
    free = sharpened([0.5] * 3, [-0.5, -1.0, -1.5], ["a"] * 3, bound=10)
    assert free.tolist() == pytest.approx([0.5, 0.5, 0.5 + 2.5 * (1 - 0.60653066)])


def test_only_positive_advantages_change():
    assert sharpened([-0.5, 0.0, 0.5], [-3.0, -3.0, -1.0], ["a"] * 3).tolist() == [-0.5, 0.0, 0.5]


def test_rows_without_a_log_probability_stay_out():
    advantages = sharpened([0.5, 0.5, 0.5, 0.5], [-1.0, None, -2.0, np.nan], ["a", "a", "a", "b"])
    assert advantages.tolist() == [0.5, 0.5, 0.75, 0.5]
    near = sharpened([1.0, 1.0, 1.0], [-1.0, None, -1.2], ["a"] * 3)  # the mean is -1.1
    assert near.tolist() == pytest.approx([1.0, 1.0, 1 + 2.5 * (1 - 0.904837418)])


@pytest.mark.parametrize("setting", ["novelty", "bound"])
def test_a_setting_of_0_adds_nothing(setting):
    assert sharpened([0.5, 0.5], [-1.0, -2.0], ["a"] * 2, **{setting: 0}).tolist() == [0.5, 0.5]


def test_the_largest_advantages():
    assert sharpened([1e12, -1e12], [-1.0, -1.0], ["a"] * 2).tolist() == [1e12, -1e12]


def test_groups_are_compared_within():
    assert sharpened([1.0, 1.0], [-1.0, -9.0], ["a", "b"]).tolist() == [1.0, 1.0]
    assert sharpened([], [], []).tolist() == []


ROWS = st.lists(st.tuples(st.floats(-5, 5), st.floats(-800, 0), st.sampled_from("abc")), min_size=1, max_size=20)


@given(ROWS, st.randoms())
def test_invariants(rows, random):
    advantages, logprobs, groups = zip(*rows, strict=True)
    result, before = sharpened(advantages, logprobs, groups), np.array(advantages)
    assert np.isfinite(result).all()
    assert (result >= before).all()
    assert (result <= before + 0.5 * np.abs(before)).all()
    assert (result[before <= 0] == before[before <= 0]).all()
    order = random.sample(range(len(rows)), len(rows))
    again = sharpened(before[order], np.array(logprobs)[order], [groups[row] for row in order])
    assert again == pytest.approx(result[order], abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, None], [-1, -1], ["a", "a"]), "advantages: row 1 has nan; expected a number, 0 for a rollout that"),
        (([1, 2e12], [-1, -1], ["a", "a"]), "advantages: row 1 has 2e[+]12; expected a number within"),
        ((["x"], [-1], ["a"]), r"advantages: got \['x'\]; expected one number for each row"),
        (([1], [float("-inf")], ["a"]), "mean_logprobs: row 0 has -inf; expected a number within"),
        (([1], [-1, -1], ["a"]), "mean_logprobs: got 2; expected one for each of 1 rows"),
        (([1], [-1], ["a", "b"]), "groups: got 2; expected one for each of 1 rows"),
    ],
)
def test_bad_rows(arguments, message):
    with pytest.raises(RecipeError, match=message):
        sharpened(*arguments)


def test_bad_settings():
    for name in ("novelty", "bound"):
        with pytest.raises(RecipeError, match=f"{name}: got -1; expected a number from 0"):
            sharpened([1], [-1], ["a"], **{name: -1})
