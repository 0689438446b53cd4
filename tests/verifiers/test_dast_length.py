"""DAST's length reward by hand: short where right, long where wrong, by the budget of the group."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.plugins.named import build
from grounding_rewards.verifiers import DastLength, Hit, InsideDistance, ScreenDistance
from grounding_rewards.verifiers.length import length_rewards
from tests.verifiers.judging import judge

BOX = {"bbox": [0, 0, 10, 10]}


def test_a_config_names_the_verifier_that_says_what_is_right():
    for correct in ("inside_distance", {"verifier": "inside_distance"}):
        assert build("verifiers", "dast_length", {"correct": correct}) == DastLength(InsideDistance())
    inner = {"verifier": "dast_length", "correct": {"verifier": "hit", "point_radius": 3}}
    assert build("verifiers", "dast_length", {"correct": inner}) == DastLength(DastLength(Hit(point_radius=3)))


def test_it_is_compared_hashed_and_pickled():
    one = DastLength(correct=Hit(actions=("click",)), above=0.5)
    for other in (DastLength(Hit(actions=("click",)), 0.5), pickle.loads(pickle.dumps(one))):
        assert other == one
        assert hash(other) == hash(one)
        assert judge(other, [(5, 5)], BOX, text=["xxx"]) == [-0.1], "no action is named"
    assert DastLength() == DastLength(Hit()) != DastLength(InsideDistance())
    assert (DastLength().low, DastLength().high, DastLength().needs) == (-1.0, 1.0, {"groups"})
    assert DastLength(correct=ScreenDistance()).needs == {"groups", "screen"}


@pytest.mark.parametrize(
    ("correct", "message"),
    [
        ("hti", "unknown verifier 'hti'; did you mean 'hit'"),
        ({"verifier": "hit", "radius": 3}, "dast_length: hit: unknown argument 'radius'"),
        (Hit, r"DastLength\(correct=\)"),
    ],
)
def test_bad_verifiers(correct, message):
    with pytest.raises(gr.RecipeError, match=message):
        build("verifiers", "dast_length", {"correct": correct})


def test_as_a_part_of_ones_own():
    parts = {"hit": 1.0, "brief": {"verifier": "dast_length", "weight": 0.5, "correct": {"verifier": "hit"}}}
    recipe = gr.recipe("composite", response_space="pixel", parts=parts)
    assert (recipe.low, recipe.high, recipe.needs) == (-0.5, 1.5, {"groups"})
    texts, targets = ["(5, 5)", "it is at (5, 5)"], [BOX] * 2
    # 6 and 15 characters, B = 10.5: λ = -3/7 and 3/7; 4 and 12 tokens, B = 8: λ = -1/2 and 1/2.
    assert recipe.score(texts, targets, groups=[0, 0]).total == pytest.approx([1 + 5 / 14, 1 + 1 / 7], abs=1e-12)
    assert recipe.score(texts, targets, groups=[0, 0], token_lengths=[4, 12]).total.tolist() == [1.375, 1.125]


rows = st.lists(st.tuples(st.booleans(), st.integers(0, 10**6), st.integers(0, 3)), max_size=20)


@settings(max_examples=60)
@given(rows)
def test_in_bounds_and_on_the_right_side(some):
    right, lengths, groups = (np.array([row[column] for row in some]) for column in range(3))
    found = length_rewards(right.astype(bool), lengths.astype(float), groups.astype(np.int64))
    assert ((found >= -1) & (found <= 1)).all()
    assert ((found >= 0.1) == right.astype(bool)).all()
    assert ((found <= -0.1) != right.astype(bool)).all()
    for one, (ok, length, group) in zip(found, some, strict=True):
        longer = [f for f, (o, n, g) in zip(found, some, strict=True) if (o, g) == (ok, group) and n >= length]
        assert all(other <= one if ok else other >= one for other in longer)
