"""Selectors by difficulty: item response, the moving target, and screening."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.errors import SelectorError
from grounding_rewards.pool import ItemResponse, MovingTarget, Screening, next_target, sample_stats, select, selector
from tests.pool.methods.test_filters import counted


def measured(*difficulty):
    """Samples of known difficulty; None: without a scored rollout."""
    stats = counted(*[(0, 0 if each is None else 4) for each in difficulty])
    return replace(stats, item_difficulty=np.array(difficulty, dtype=np.float64))


def test_without_any_difficulty_the_error_says_how_to_measure_it():
    for stats in (counted((1, 4)), measured(None, None)):
        with pytest.raises(
            SelectorError, match=r"no sample has a difficulty; .*pool stats ROLLOUTS --item-response pol"
        ):
            select(stats, ItemResponse())
    assert select(measured(50).taken([]), ItemResponse()).tolist() == []


@pytest.mark.parametrize("chosen", [ItemResponse(), MovingTarget(batch=1)])
@pytest.mark.parametrize("wrong", [-1.0, 101.0, np.inf])
def test_a_difficulty_out_of_range_is_an_error_that_names_the_sample(chosen, wrong):
    with pytest.raises(SelectorError, match=f"item_difficulty of sample '1': got {wrong:g}; expected 0 to 100"):
        select(measured(5, wrong), chosen)


def test_pass_rates_stand_in_for_difficulties_and_unscored_samples_are_out():
    stats = counted((4, 4), (3, 4), (1, 4), (0, 0))
    assert select(stats, MovingTarget(batch=1, target=20)).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert select(stats, MovingTarget(batch=9)).tolist() == [1.0, 1.0, 1.0, 0.0]
    known = replace(stats, item_difficulty=np.array([np.nan, 90.0, np.nan, 20.0]))
    assert select(known, MovingTarget(batch=1, target=20)).tolist() == [0.0, 0.0, 0.0, 1.0]


def test_every_option_moves_the_target():
    still = {"batch": 1, "mean_reward": 1.0}  # by 50 tanh(2 (1 - 0.5)) = 38.08
    stats = measured(30, 38, 40, 50, 60)
    assert select(stats, MovingTarget(**still)).tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert select(stats, MovingTarget(**still, eta=80)).tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]  # 60.9
    assert select(stats, MovingTarget(**still, alpha=50)).tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]  # 50
    assert select(stats, MovingTarget(**still, beta=0.655)).tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]  # 29.9
    assert select(stats, MovingTarget(**still, hardest=30)).tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    lowered = MovingTarget(batch=1, target=60, mean_reward=0.0, easiest=50)  # 21.9, but for easiest
    assert select(stats, lowered).tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]
    assert next_target(20, 1.0, easiest=30, hardest=30) == 30.0


def test_distances_are_equal_up_to_rounding_and_no_further():
    tied = counted((7, 10), (5, 10))  # difficulties 100 (1 - 0.7), which is no 30 in floats, and 50
    drawn = {tuple(select(tied, MovingTarget(batch=1, target=40, seed=seed)).tolist()) for seed in range(20)}
    assert drawn == {(1.0, 0.0), (0.0, 1.0)}
    for seed in range(20):
        nearest = MovingTarget(batch=1, target=40, seed=seed)
        assert select(measured(30, 49.999), nearest).tolist() == [0.0, 1.0]


@given(st.integers(1, 12), st.floats(0, 100), st.permutations(range(10)), st.integers(0, 3))
def test_a_batch_is_met_exactly_and_the_order_of_rows_changes_nothing(batch, target, order, seed):
    stats = measured(0, 25, 25, 25, 50, 50, 75, 100, 100, None)
    chosen = MovingTarget(batch=batch, target=target, seed=seed)
    weights = select(stats, chosen)
    assert set(weights.tolist()) <= {0.0, 1.0}
    assert weights.sum() == min(batch, 9)
    distance = np.abs(stats.item_difficulty - target)
    if weights.sum() < 9:
        assert distance[weights > 0].max() <= np.nanmin(distance[weights == 0])
    assert select(stats.taken(order), chosen).tolist() == weights[order].tolist()


def test_a_whole_number_may_be_written_as_a_float():
    assert selector({"name": "moving_target", "batch": 2.0, "seed": 3.0}) == MovingTarget(batch=2, seed=3)
    assert select(measured(50, 60, 70), MovingTarget(batch=2.0)).tolist() == [1.0, 1.0, 0.0]


def test_ties_go_by_the_seed():
    chosen = {tuple(select(measured(*[50] * 6), MovingTarget(batch=3, seed=seed)).tolist()) for seed in range(9)}
    assert len(chosen) > 1


@given(st.floats(0, 100), st.floats(0, 1))
def test_a_target_stays_in_its_range(target, reward):
    after = next_target(target, reward, easiest=10, hardest=80)
    assert 10.0 <= after <= 80.0
    assert next_target(target, reward) - target <= 50.0


def test_the_chance_to_pass_a_screening_of_four():  # pool.md, example 14
    stats = counted((1, 20), (1, 8), (1, 4), (1, 2))
    assert select(stats, Screening()).round(4).tolist() == [0.1855, 0.4136, 0.6797, 0.875]
    groups = sample_stats(["go"] * 4 + ["stop"] * 4 + ["easy"] * 4 + ["new"], [1, 0, 0, 0] + [0] * 4 + [1] * 4 + [None])
    assert (select(groups, Screening()) > 0).tolist() == [True, False, False, False]


def test_a_tiny_pass_rate_keeps_its_digits():
    assert select(counted((1, 10**12)), Screening(2)).tolist() == pytest.approx([2e-12], rel=1e-11, abs=0)


@given(st.integers(1, 10**6), st.integers(2, 64))
def test_screening_is_the_same_for_a_rate_and_its_mirror_and_grows_with_rollouts(right, rollouts):
    n = 10**6 + 1
    weights = select(counted((right, n), (n - right, n)), Screening(rollouts))
    assert weights[0] == pytest.approx(weights[1], rel=1e-6)
    assert 0.0 < weights[0] <= select(counted((right, n)), Screening(rollouts + 1))[0] <= 1.0


def test_a_reward_out_of_range_is_an_error_that_says_why():
    with pytest.raises(
        gr.RecipeError, match=r"mean_reward: got -1; .* where the mean reward is above beta, a reward in"
    ):
        next_target(0, -1)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("target", {"target": float("nan")}),
        ("eta", {"eta": float("nan")}),
        ("alpha", {"alpha": 10**400}),
        ("easiest", {"easiest": 90, "hardest": 10}),
    ],
)
def test_a_next_target_of_no_numbers_is_an_error(name, arguments):
    with pytest.raises(gr.RecipeError, match=f"{name}: got .*; expected a finite number, easiest at most hardest"):
        next_target(**{"target": 0, "mean_reward": 0.5, **arguments})
