import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.verifiers import Exploration, Hit
from grounding_rewards.verifiers.exploration import ranges
from tests.verifiers.judging import rollouts
from tests.verifiers.test_collinear import by_definition, curve, ragged

BOX = {"bbox": [10, 20, 30, 40]}
SQUARE = {"polygon": [0, 0, 10, 0, 10, 10, 0, 10]}
IN = (20, 30)


def score(verifier, rows, targets):
    """Rows of points, each with its own target."""
    table = rollouts([row[0] if row else None for row in rows], targets)
    points, offsets = ragged(rows)
    return verifier(replace(table, predictions=replace(table.predictions, points=points, offsets=offsets))).tolist()


def explore(*rows, target=BOX, verifier=None):
    return score(verifier or Exploration(), rows, [target] * len(rows))


def test_one_point_wins_or_loses_all():
    assert explore([IN], [(10, 20)], [(30, 40)], [(9, 30)], [(20, 41)], []) == [1, 1, 1, -1, -1, -1]


@pytest.mark.parametrize(
    ("row", "worth"),
    [
        ([IN, (0, 0)], 1 / math.sqrt(2)), ([(0, 0), IN], 0.5), ([(0, 0), (1, 0)], -0.5),
        ([IN, (0, 0), (1, 5)], 1 / math.sqrt(3)), ([(0, 0), (1, 5), IN], 1 / 3), ([(0, 0), (1, 5), (7, 7)], -1 / 3),
        ([(0, 0), IN, (1, 5), (21, 31)], 1 / math.sqrt(8)), ([(0, 0), (1, 5), (7, 7), (100, 2)], -0.25),
    ],
)  # fmt: skip
def test_the_rank_of_the_first_hit_and_the_number_of_points(row, worth):
    assert explore(row) == pytest.approx([worth], abs=1e-15)


def test_points_on_a_line_are_worth_the_least():
    assert explore([IN, (0, 0), (40, 60)], [IN, IN, (1, 1)], [IN, IN], [IN, (1, 1), (2, 3), (3, 5)]) == [
        -1, -1, 1 / math.sqrt(2), -1,
    ]  # fmt: skip


def test_fifty_misses_cost_next_to_nothing():
    away = [(100 + x, y) for x, y in curve(50)]
    assert explore(away, [*away[:-1], IN]) == pytest.approx([-1 / 50, 1 / 50])


def test_each_row_meets_its_own_target_whatever_its_shape():
    targets = [BOX, SQUARE, {"refusal": True}, {"circle": [5, 5, 3]}, {"regions": [BOX, SQUARE]}, {"action": "wait"}]
    rows = [[(5, 5), IN], [(11, 5), (5, 5)], [(5, 5), IN], [(8.5, 8.5), (5, 8)], [IN, (100, 100)], [(1, 1), (2, 2)]]
    assert score(Exploration(), rows, targets) == [0.5, 0.5, -0.5, 0.5, 1 / math.sqrt(2), -0.5]


def test_any_of_several_boxes_counts():
    target = {"regions": [BOX, {"bbox": [100, 100, 110, 110]}, {"bbox": [5, 5, 6, 6]}]}
    rows = [[(0, 0), (105, 105)], [(5, 5), (0, 0)], [(0, 0), (1, 3)], [IN]]
    assert explore(*rows, target=target) == [0.5, 1 / math.sqrt(2), -0.5, 1]


def test_borders_and_reach_are_those_of_hit():
    rows = [[(11, 0), (10, 10)], [(0, 0), (11, 0)]]
    assert explore(*rows, target=SQUARE) == [0.5, 1 / math.sqrt(2)]
    assert explore(*rows, target=SQUARE, verifier=Exploration(polygon="half_open")) == [-0.5, 1 / math.sqrt(2)]
    point = {"point": [7, 7]}
    assert explore([(0, 0), (7, 12)], [(7, 8), (0, 0)], target=point) == [-0.5, -0.5]
    near = Exploration(point_radius=5)
    assert explore([(0, 0), (7, 12)], [(7, 8), (0, 0)], target=point, verifier=near) == [0.5, 1 / math.sqrt(2)]


def test_without_a_list_of_answers_the_one_that_counts_is_the_only_one():
    assert Exploration()(rollouts([IN, (0, 0), None], [BOX] * 3)).tolist() == [1, -1, -1]


@pytest.mark.parametrize("options", [{"polygon": "round"}, {"point_radius": -1}, {"point_radius": math.nan}])
def test_options_are_checked(options):
    with pytest.raises(gr.RecipeError, match="Exploration"):
        Exploration(**options)


def test_bounds():
    assert (Exploration().low, Exploration().high) == (-1.0, 1.0)


points = st.tuples(st.integers(0, 60), st.integers(0, 60))
targets = st.sampled_from([BOX, SQUARE, {"regions": [BOX, SQUARE]}, {"regions": [BOX, {"bbox": [0, 0, 5, 60]}]}])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.lists(points, max_size=5), targets), min_size=1, max_size=6))
def test_the_formula_row_by_row(rows):
    expected = []
    for row, target in rows:
        hits = Hit()(rollouts(row, [target] * len(row))).tolist() if row else []
        first = hits.index(1.0) + 1 if 1.0 in hits else 0
        worth = 1 / math.sqrt(len(row) * first) if first else -1 / max(len(row), 1)
        expected.append(-1.0 if by_definition(row) else worth)
    together = score(Exploration(), [row for row, _ in rows], [target for _, target in rows])
    assert together == pytest.approx(expected, abs=1e-15)
    alone = [score(Exploration(), [row], [target])[0] for row, target in rows]
    assert together == alone, "to the last bit"


def test_ranges_of_nothing():
    empty = np.zeros(0, dtype=np.int64)
    assert ranges(empty, empty).tolist() == []
    assert ranges(np.array([3, 7]), np.array([0, 2])).tolist() == [7, 8]
