"""A factor for each sample, from the target's own fields or from a column beside them."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.combine import product, weighted
from grounding_rewards.verifiers import Difficulty, Hit
from tests.verifiers.judging import rollouts

BOX = {"bbox": [0, 0, 9, 9]}


def factors(extras, verifier=None, **columns):
    targets = [{**BOX, "extra": extra} if extra is not None else BOX for extra in extras]
    rows = rollouts([(1, 1)] * len(targets), targets, extras=columns)
    return (verifier or Difficulty(most=2)).__call__(rows).tolist()


def test_numbers_of_numpy_and_those_that_are_none():
    assert factors([{"difficulty": np.float32(0.5)}, {"difficulty": math.nan}]) == [0.5, 1]
    assert factors([{"difficulty": value} for value in (math.inf, -math.inf)]) == [2, 0]


@pytest.mark.parametrize("column", [[1.5, None, math.nan], np.array([1.5, np.nan, np.nan]), (1.5, None, None)])
def test_a_column_goes_before_the_target_where_it_has_a_number(column):
    assert factors([{"difficulty": 0.1}, {"difficulty": 0.2}, None], difficulty=column) == [1.5, 0.2, 1]
    assert factors([{"difficulty": 0.1}, None, None], rate=column) == [0.1, 1, 1], "another column"


@pytest.mark.parametrize("value", ["0.7", True, [1], {"a": 1}, "hard", 1j])
def test_a_factor_that_is_no_number_is_an_error_that_names_the_sample(value):
    target = {**BOX, "id": "a7", "extra": {"difficulty": value}}
    with pytest.raises(
        gr.TargetError, match=r"sample 'a7', field 'extra.difficulty': got .*; expected a number, or not"
    ):
        Difficulty(most=1)(rollouts([(1, 1)] * 2, [BOX, target]))
    with pytest.raises(gr.TargetError, match=r"row 1, field 'extras.difficulty'"):
        factors([None, None], difficulty=[1.0, value])


def test_rows_that_abstain_are_left_alone():
    targets = [{"bbox": [1, 2], "extra": {"difficulty": "x"}}, {**BOX, "extra": {"difficulty": 0.5}}]
    recipe = gr.Recipe(
        **{**vars(gr.recipe("click", response_space="pixel")), "reward": Difficulty(most=1), "name": "own"}
    )
    scores = recipe.score(["(1, 1)"] * 2, targets, bad_target="abstain")
    assert (scores.total.tolist(), scores.valid.tolist()) == ([0, 0.5], [0, 1])


def test_it_scales_a_reward_in_a_product():
    reward = product(main=weighted(hit=(1.0, Hit())), rate=Difficulty(most=2.0))
    assert (reward.low, reward.high) == (0, 2)
    rows = rollouts([(1, 1), (90, 1), (1, 1)], [{**BOX, "extra": {"difficulty": rate}} for rate in (1.5, 1.5, 0.5)])
    assert reward(rows).tolist() == [1.5, 0, 0.5]


def test_it_comes_through_a_recipe_in_every_form_of_target():
    base = gr.recipe("click", response_space="pixel")
    recipe = gr.Recipe(**{**vars(base), "reward": Difficulty(most=1), "name": "own"})
    target = {**BOX, "extra": {"difficulty": 0.25}}
    assert recipe.score(["(1, 1)"] * 2, [target, json.dumps(target)]).total.tolist() == [0.25, 0.25]
    assert recipe.score(["(1, 1)"], [BOX], extras={"difficulty": [0.75]}).total.tolist() == [0.75]


numbers = st.none() | st.floats() | st.integers(-(10**30), 10**30)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5), st.floats(0, 1e6), st.floats(0, 1e6))
def test_factors_stay_within_their_bounds(pairs, a, b):
    verifier = Difficulty(most=max(a, b), least=min(a, b))
    own, column = zip(*pairs, strict=True)
    found = factors([{"difficulty": value} for value in own], verifier, difficulty=list(column))
    assert all(verifier.low <= factor <= verifier.high for factor in found)
