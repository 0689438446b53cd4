import numpy as np
import pytest

from grounding_rewards.verifiers import Hit
from tests.verifiers.judging import judge, rollouts

BOX = {"bbox": [10, 20, 30, 40]}
SQUARE = {"polygon": [0, 0, 10, 0, 10, 10, 0, 10]}


def test_the_border_of_a_box_counts():
    points = [(10, 20), (30, 40), (20, 30), (9.99, 30), (20, 40.01), None]
    assert judge(Hit(), points, BOX) == [1, 1, 1, 0, 0, 0]


def test_polygons_follow_the_chosen_border_rule():
    points = [(0, 5), (5, 0), (10, 5), (5, 10), (5, 5), (11, 5)]
    assert judge(Hit(), points, SQUARE) == [1, 1, 1, 1, 1, 0]
    assert judge(Hit(polygon="half_open"), points, SQUARE) == [1, 1, 0, 0, 1, 0]


def test_a_polygon_is_not_its_bounding_box():
    assert judge(Hit(), [(9, 9), (1, 1)], {"polygon": [0, 0, 10, 0, 0, 10]}) == [0, 1]


def test_a_circle_counts_within_its_radius_not_its_bounding_box():
    assert judge(Hit(), [(3, 4), (0, 5), (4, 4), (5, 5), (0, 0), None], {"circle": [0, 0, 5]}) == [1, 1, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("radius", "hits"), [(None, [0, 0, 0, 0]), (0, [1, 0, 0, 0]), (5, [1, 1, 0, 0]), (1e-300, [1, 0, 0, 0])]
)
def test_a_point_target_is_reached_within_the_radius(radius, hits):
    assert judge(Hit(point_radius=radius), [(7, 7), (10, 11), (10.1, 11), None], {"point": [7, 7]}) == hits


def test_a_point_beside_a_box_moves_no_border():
    beside = {**BOX, "point": [11, 21]}
    assert judge(Hit(point_radius=3), [(30, 40), (9, 20), (11, 21)], beside) == [1, 0, 1]


def test_whole_edges_are_cut_towards_zero():
    box = {"bbox": [-0.9, 10.9, 300.9, 20.9]}
    points = [(-0.5, 15), (0, 10), (300, 20), (300.5, 15), (301, 15), (150, 20.5)]
    assert judge(Hit(whole_edges=True), points, box) == [0, 1, 1, 0, 0, 0]
    assert judge(Hit(), points, box) == [1, 0, 1, 1, 0, 1]


def test_any_of_several_places_counts_whatever_their_kinds():
    target = {"regions": [BOX, SQUARE, {"circle": [100, 100, 5]}, {"point": [200, 200]}]}
    points = [(20, 30), (5, 5), (103, 104), (201, 200), (50, 50)]
    assert judge(Hit(point_radius=2), points, target) == [1, 1, 1, 1, 0]


def test_each_row_meets_its_own_target():
    targets = [BOX, {"refusal": True}, SQUARE, {"circle": [5, 5, 1]}, {"action": "wait"}, {"regions": [BOX, SQUARE]}]
    assert Hit()(rollouts([(5, 5)] * 6, targets)).tolist() == [0, 0, 1, 1, 0, 1]


def test_actions_that_are_no_click_do_not_hit():
    clicks = Hit(actions=("", "left_click"))
    names = ["", "left_click", "type", "LEFT_CLICK"]
    assert judge(clicks, [(20, 30)] * 4, BOX, actions=names) == [1, 1, 0, 0]
    assert judge(Hit(), [(20, 30)] * 4, BOX, actions=names) == [1, 1, 1, 1]


def test_no_rows_no_scores():
    scores = Hit(actions=("",))(rollouts([], []))
    assert (scores.tolist(), scores.dtype) == ([], np.float64)


def test_hits_do_not_change_when_everything_moves_or_grows():
    points = [(12, 22), (31, 22), (30, 40)]
    grown = {"bbox": [5 * number for number in BOX["bbox"]]}
    moved = {"bbox": [17, 33, 37, 53]}
    assert judge(Hit(), [(5 * x, 5 * y) for x, y in points], grown) == judge(Hit(), points, BOX) == [1, 0, 1]
    assert judge(Hit(), [(x + 7, y + 13) for x, y in points], moved) == [1, 0, 1]
