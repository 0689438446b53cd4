"""The share of a group that clicks the same place, and its opposite."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.groups.blocks import LARGE
from grounding_rewards.groups.exploration import batch_penalty
from grounding_rewards.rollouts import Reason
from grounding_rewards.verifiers import Novelty, Repetition
from tests.verifiers.judging import rollouts

BOX = {"bbox": [0, 0, 9, 9]}


def judge(verifier, *points, groups=None, **more):
    rows = rollouts(points, [BOX] * len(points), **more)
    groups = [0] * len(points) if groups is None else groups
    return verifier(replace(rows, groups=np.array(groups, dtype=np.int64))).tolist()


def test_the_share_of_the_others_within_reach():
    # Distances from the first: 5, 10, 50; from the second: 5, 5, 45; from the third: 10, 5, 40.
    points = [(0, 0), (3, 4), (6, 8), (30, 40)]
    assert judge(Repetition(radius=5), *points) == [1 / 3, 2 / 3, 1 / 3, 0.0], "the reach itself is within"
    assert judge(Repetition(radius=4.9), *points) == [0.0] * 4
    assert judge(Repetition(radius=10), *points) == [2 / 3, 2 / 3, 2 / 3, 0.0]
    assert judge(Repetition(radius=50), *points) == [1.0] * 4
    assert judge(Repetition(radius=0), (1, 1), (1, 1), (2, 2)) == [0.5, 0.5, 0.0]


def test_novelty_is_the_rest_of_it():
    assert judge(Novelty(radius=5), (0, 0), (3, 4), (6, 8)) == [0.5, 0.0, 0.5]


def test_those_that_do_not_click_are_near_nothing_and_not_new():
    reasons = [Reason.OK, Reason.OK, Reason.REFUSED, Reason.OUT_OF_IMAGE, Reason.OUT_OF_IMAGE]
    points = [(0, 0), (0, 0), None, (700, 0), (700, 0)]
    assert judge(Repetition(radius=5), *points, reasons=reasons) == [0.25, 0.25, 0.0, 0.0, 0.0]
    assert judge(Novelty(radius=5), *points, reasons=reasons) == [0.75, 0.75, 0.0, 0.0, 0.0]
    assert judge(Novelty(radius=5), None, None) == [0.0, 0.0]


def test_a_share_of_the_screen():
    # 40 of 400 is 0.1 of the width; 20 of 100 is 0.2 of the height.
    points, size = [(0, 0), (40, 0), (0, 20)], (400, 100)
    assert judge(Repetition(share=0.1), *points, size=size) == [0.5, 0.5, 0.0]
    assert judge(Repetition(share=0.2), *points, size=size) == [1.0, 0.5, 0.5]
    assert judge(Repetition(share=0.1), (0, 0), (0.1, 0), (0, 0.2), space=CoordSpace.UNIT) == [0.5, 0.5, 0.0]


def test_a_screen_must_be_known_where_somebody_clicks():
    with pytest.raises(gr.TargetError, match=r"'image_size': got nothing; .* because Novelty measures in shares"):
        judge(Novelty(share=0.1), (0, 0), (1, 1))
    assert judge(Novelty(share=0.1), None, None) == [0.0, 0.0]
    assert Repetition(share=0.1).needs == {"groups", "screen"}
    assert Repetition(radius=5).needs == {"groups"}


def test_by_name_with_a_weight_below_0():
    parts = {"hit": 1.0, "again": {"verifier": "repetition", "weight": -0.5, "radius": 3}}
    recipe = gr.recipe("composite", response_space="pixel", parts=parts)
    assert (recipe.low, recipe.high, recipe.needs) == (-0.5, 1.0, {"groups"})
    assert recipe.score(["(1, 1)", "(1, 1)", "(50, 50)"], [BOX] * 3, groups=[7] * 3).total.tolist() == [0.75, 0.75, 0.0]


points = st.lists(st.none() | st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=10)


@settings(max_examples=40, deadline=None)
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


def test_cells_of_a_grid():
    # Cells of 100 x 25 pixels: the second lies on a border, and so in the next cell; the last column ends at 400.
    points, size = [(99, 24), (100, 24), (0, 0), (399, 99), (400, 100)], (400, 100)
    assert judge(Repetition(grid=4), *points, size=size) == [0.25, 0.0, 0.25, 0.25, 0.25]
    assert judge(Novelty(grid=4), *points, size=size) == [0.75, 1.0, 0.75, 0.75, 0.75]
    assert judge(Repetition(grid=1), *points, size=size) == [1.0] * 5
    assert judge(Repetition(grid=4), (0.2, 0.2), None, (0.1, 0.0), space=CoordSpace.UNIT) == [0.5, 0.0, 0.5]
    assert judge(Repetition(grid=4), (1, 1), (1, 1), groups=[0, 1], size=size) == [0.0, 0.0]
    assert Repetition(grid=4).needs == {"groups", "screen"}


def test_per_group_it_is_the_published_batch_penalty():
    # Three of four rollouts click in one cell: -1/4 times the two others each.
    points, answers = [(1, 1), (2, 1), (1, 2), (90, 90)], [0, 0, 0, 15]
    repetition = judge(Repetition(grid=4, per="group"), *points, size=(100, 100))
    assert repetition == [0.5, 0.5, 0.5, 0.0]
    assert (-batch_penalty(answers, [0] * 4)).tolist() == repetition
    assert judge(Repetition(radius=3, per="group"), *points) == repetition
    # A rollout that does not click counts in the group.
    assert judge(Repetition(grid=4, per="group"), (1, 1), (1, 1), None, None, size=(100, 100)) == [0.25, 0.25, 0, 0]
    assert judge(Repetition(grid=4, per="group"), (1, 1), size=(100, 100)) == [0.0]


@settings(max_examples=40, deadline=None)
@given(points, st.integers(1, 5), st.integers(1, 3))
def test_per_group_against_the_penalty_of_the_cells(some, grid, groups):
    group = [row % groups for row in range(len(some))]
    side = 13 / grid
    answers = [-1 if point is None else int(point[1] // side) * grid + int(point[0] // side) for point in some]
    repetition = judge(Repetition(grid=grid, per="group"), *some, groups=group, size=(13, 13))
    assert repetition == pytest.approx((-batch_penalty(answers, group)).tolist())
