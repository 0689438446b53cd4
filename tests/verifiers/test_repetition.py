"""The share of a group that clicks the same place, and its opposite."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.groups.blocks import LARGE
from grounding_rewards.groups.exploration import batch_penalty
from grounding_rewards.verifiers import Repetition
from tests.verifiers.judging import judge as judged

BOX = {"bbox": [0, 0, 9, 9]}


def judge(verifier, *points, groups=None, **more):
    return judged(verifier, points, BOX, groups=[0] * len(points) if groups is None else groups, **more)


def test_only_shares_and_cells_need_the_screen():
    assert Repetition(share=0.1).needs == Repetition(grid=4).needs == {"groups", "screen"}
    assert Repetition(radius=5).needs == {"groups"}


def test_by_name_with_a_weight_below_0():
    parts = {"hit": 1.0, "again": {"verifier": "repetition", "weight": -0.5, "radius": 3}}
    recipe = gr.recipe("composite", response_space="pixel", parts=parts)
    assert (recipe.low, recipe.high, recipe.needs) == (-0.5, 1.0, {"groups"})
    assert recipe.score(["(1, 1)", "(1, 1)", "(50, 50)"], [BOX] * 3, groups=[7] * 3).total.tolist() == [0.75, 0.75, 0.0]


points = st.lists(st.none() | st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=10)


@settings(max_examples=40)
@given(points, st.integers(0, 8), st.integers(1, 3))
def test_against_a_count_by_hand(some, radius, groups):
    found = judge(Repetition(radius=radius), *some, groups=[row % groups for row in range(len(some))])
    for row, point in enumerate(some):
        others = [other for place, other in enumerate(some) if place != row and place % groups == row % groups]
        near = [
            other for other in others if point and other
            and (point[0] - other[0]) ** 2 + (point[1] - other[1]) ** 2 <= radius**2
        ]  # fmt: skip
        assert found[row] == (len(near) / len(others) if others else 0.0)


@pytest.mark.parametrize("rows", [LARGE - 1, LARGE, 2 * LARGE])
@pytest.mark.parametrize(
    ("verifier", "reach", "size"), [(Repetition(radius=5), 5, 1), (Repetition(share=0.05), 0.05, 100)]
)
def test_in_a_large_group_the_same_pairs_count(rows, verifier, reach, size):
    points = np.random.default_rng(rows).integers(0, 60, (rows, 2)).astype(float)
    away = np.hypot(*np.moveaxis((points[:, None] - points[None]) / size, 2, 0))
    near = (away <= reach).sum(axis=1) - 1
    assert near.max() > near.min()
    assert judge(verifier, *points.tolist(), size=(100, 100)) == (near / (rows - 1)).tolist()


def test_per_group_it_is_the_published_batch_penalty():
    # Three of four rollouts click in one cell: -1/4 times the two others each.
    points, answers = [(1, 1), (2, 1), (1, 2), (90, 90)], [0, 0, 0, 15]
    repetition = judge(Repetition(grid=4, per="group"), *points, size=(100, 100))
    assert repetition == [0.5, 0.5, 0.5, 0.0]
    assert (-batch_penalty(answers, [0] * 4)).tolist() == repetition


@settings(max_examples=40)
@given(points, st.integers(1, 5), st.integers(1, 3))
def test_per_group_against_the_penalty_of_the_cells(some, grid, groups):
    group = [row % groups for row in range(len(some))]
    side = 13 / grid
    answers = [-1 if point is None else int(point[1] // side) * grid + int(point[0] // side) for point in some]
    repetition = judge(Repetition(grid=grid, per="group"), *some, groups=group, size=(13, 13))
    assert repetition == pytest.approx((-batch_penalty(answers, group)).tolist())
