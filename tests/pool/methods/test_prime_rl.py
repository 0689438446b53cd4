"""Pools of easy, normal and hard samples."""

import json
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.pool import DifficultyBuffer, DifficultyPools, select, selector
from tests.pool.methods.test_filters import counted


def averaging(*means):
    """Samples with these mean totals; None: without a scored rollout."""
    stats = counted(*[(0, 0) if mean is None else (2, 4) for mean in means])
    return replace(stats, mean=np.array(means, dtype=np.float64))


def test_the_last_pool_catches_all_and_the_first_whatever_is_below():
    assert select(averaging(-3.0, 2.5), DifficultyPools()).tolist() == [0.2, 0.2]
    assert select(averaging(-3.0, 2.5, None), DifficultyPools([[0.5, 3]], unseen=0)).tolist() == [3.0, 3.0, 0.0]


def test_pools_come_as_json_and_go_by_either_average():
    config = json.loads('{"name": "difficulty_pools", "pools": [[0.5, 0], [1, 2]], "unseen": 0.5, "of": "pass_rate"}')
    chosen = selector(config)
    assert (chosen.low, chosen.high) == (0.0, 2.0)
    assert (DifficultyPools(unseen=3).high, DifficultyPools(unseen=0.1).low) == (3.0, 0.1)
    stats = replace(counted((1, 2), (2, 2), (0, 0)), mean=np.array([0.9, 0.1, np.nan]))
    assert select(stats, chosen).tolist() == [0.0, 2.0, 0.5]
    assert select(stats, replace(chosen, of="mean")).tolist() == [2.0, 0.0, 0.5]
    without_totals = counted((1, 2), (2, 2))
    assert select(without_totals, replace(chosen, of="mean")).tolist() == [0.0, 2.0]


def test_thresholds_of_the_buffer_are_inside():  # pool.md, example 15
    stats = averaging(0.8, 0.2, 0.79, 0.21, None)
    assert select(stats, DifficultyBuffer(0.8, 0.2)).tolist() == [0.0, 0.0, 1.0, 1.0, 1.0]
    assert select(stats, DifficultyBuffer(0.8, None)).tolist() == [0.0, 1.0, 1.0, 1.0, 1.0]
    assert select(stats, DifficultyBuffer(None, 0.2)).tolist() == [1.0, 0.0, 1.0, 1.0, 1.0]
    assert select(stats, selector("difficulty_buffer", easy_threshold=None, hard_threshold=None)).tolist() == [1.0] * 5


def test_what_is_put_back_goes_by_the_seed_and_the_pool():
    hard = averaging(*[0.0] * 6)
    drawn = [select(hard, DifficultyBuffer(0.8, 0.2, 0.5, 0.5, seed=seed)).tolist() for seed in range(20)]
    assert len(set(map(tuple, drawn))) > 1
    easy = averaging(*[1.0] * 6)  # of the same names
    assert drawn != [select(easy, DifficultyBuffer(0.8, 0.2, 0.5, 0.5, seed=seed)).tolist() for seed in range(20)]


@given(st.integers(0, 20), st.integers(0, 20), st.floats(0, 1), st.floats(0, 1), st.integers(0, 5))
def test_shares_are_put_back_exactly_and_by_name(easy, hard, easy_fraction, hard_fraction, seed):
    stats = averaging(*[1.0] * easy, *[0.0] * hard, 0.5, None)
    chosen = DifficultyBuffer(0.8, 0.2, easy_fraction, hard_fraction, seed=seed)
    weights = select(stats, chosen)
    assert weights[:easy].sum() == round(easy * easy_fraction)
    assert weights[easy : easy + hard].sum() == round(hard * hard_fraction)
    assert weights[-2:].tolist() == [1.0, 1.0]
    order = np.random.default_rng(seed).permutation(len(stats))
    assert select(stats.taken(order), chosen).tolist() == weights[order].tolist()
