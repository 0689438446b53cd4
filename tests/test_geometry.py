"""Points, boxes, circles and polygons: literal values, and a scalar oracle for the published polygon rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards import geometry

SQUARE = [0.0, 0.0, 4.0, 0.0, 4.0, 4.0, 0.0, 4.0]
L_SHAPE = [0.0, 0.0, 6.0, 0.0, 6.0, 2.0, 2.0, 2.0, 2.0, 6.0, 0.0, 6.0]
BOW_TIE = [0.0, 0.0, 4.0, 4.0, 4.0, 0.0, 0.0, 4.0]


def half_open(x: float, y: float, polygon: list[float]) -> bool:
    """The published rule as a walk along the edges: flip at each one that the ray to the right meets."""
    inside = False
    corners = list(zip(polygon[::2], polygon[1::2], strict=True))
    previous = corners[-1]
    for corner in corners:
        (ax, ay), (bx, by) = corner, previous
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            inside = not inside
        previous = corner
    return inside


def ask(rule, x, y, *polygons):
    vertices = np.array([number for polygon in polygons for number in polygon], dtype=float).reshape(-1, 2)
    offsets = np.cumsum([0, *(len(polygon) // 2 for polygon in polygons)])
    return rule(np.array([[x, y]] * len(polygons), dtype=float).reshape(-1, 2), vertices, offsets).tolist()


def test_the_border_of_a_box_counts():
    for point, inside in [
        ((10, 20), True), ((30, 40), True), ((10, 40), True), ((20, 30), True),
        ((9.999, 30), False), ((30.001, 30), False), ((20, 19.999), False), ((20, 40.001), False),
        ((np.nan, 30), False), ((20, np.nan), False), ((np.inf, 30), False),
    ]:  # fmt: skip
        found = geometry.in_box(np.array([point], dtype=float), np.array([[10.0, 20.0, 30.0, 40.0]]))
        assert found.tolist() == [inside], point


@pytest.mark.parametrize(
    ("point", "inside"), [((3, 4), True), ((-3, -4), True), ((5, 0), True), ((3.01, 4), False), ((np.nan, 0), False)]
)
def test_the_border_of_a_circle_counts(point, inside):
    found = geometry.in_ellipse(np.array([point], dtype=float), np.array([[0.0, 0.0]]), np.array([[5.0, 5.0]]))
    assert found.tolist() == [inside]


def test_the_border_of_a_circle_is_exact_in_whole_numbers():
    # (5 / 13)² + (12 / 13)² is more than 1, and (9 / 41)² + (40 / 41)² less.
    points, radii = np.array([[105.0, 112.0], [109.0, 140.0]]), np.array([[13.0, 13.0], [41.0, 41.0]])
    assert geometry.in_ellipse(points, np.full((2, 2), 100.0), radii).tolist() == [True, True]
    assert geometry.in_ellipse(points, np.full((2, 2), 100.0), radii, strict=True).tolist() == [False, False]


def test_a_circle_that_a_resize_distorted_is_an_ellipse():
    points = np.array([[10.0, 0.0], [0.0, 5.0], [0.0, 5.1], [8.0, 4.0]])
    assert geometry.in_ellipse(points, np.zeros((4, 2)), np.array([[10.0, 5.0]])).tolist() == [True, True, False, False]


def test_a_circle_of_next_to_no_radius_warns_of_nothing():
    # (400 / 1e-300)² overflows; the answer is still no.
    assert geometry.in_ellipse(np.array([[400.0, 0.0]]), np.zeros((1, 2)), np.array([[1e-300, 1e-300]])).tolist() == [
        False
    ]


def test_the_published_polygon_rule_is_half_open():
    for point, inside in [
        ((0, 2), True), ((2, 0), True), ((0, 0), True),  # left and top edges are in
        ((4, 2), False), ((2, 4), False), ((4, 4), False), ((4, 0), False), ((0, 4), False),  # right and bottom are out
        ((3.999, 3.999), True), ((-0.001, 2), False), ((2, 2), True), ((np.nan, 2), False), ((2, np.nan), False),
    ]:  # fmt: skip
        assert ask(geometry.in_polygon_half_open, *point, SQUARE) == [inside], (point, inside)


def test_our_own_polygon_rule_counts_the_border():
    for point, inside in [
        ((0, 2), True), ((4, 2), True), ((2, 4), True), ((4, 4), True), ((2, 2), True),
        ((4.001, 2), False), ((-0.001, 2), False), ((np.nan, 2), False), ((2, np.inf), False),
    ]:  # fmt: skip
        assert ask(geometry.in_polygon, *point, SQUARE) == [inside], (point, inside)


@pytest.mark.parametrize("rule", [geometry.in_polygon, geometry.in_polygon_half_open])
def test_the_notch_of_a_polygon_is_outside(rule):
    assert [ask(rule, x, y, L_SHAPE) for x, y in [(1, 5), (5, 1), (4, 4), (1, 1)]] == [[True], [True], [False], [True]]


@pytest.mark.parametrize("rule", [geometry.in_polygon, geometry.in_polygon_half_open])
def test_a_bow_tie_is_two_triangles(rule):
    asked = [ask(rule, x, y, BOW_TIE)[0] for x, y in [(0.5, 2), (3.5, 2), (2, 0.5), (2, 3.5)]]
    assert asked == [True, True, False, False]


@pytest.mark.parametrize("rule", [geometry.in_polygon, geometry.in_polygon_half_open])
def test_each_point_meets_its_own_polygon_and_none_where_there_are_no_corners(rule):
    assert ask(rule, 1, 5, SQUARE, [], L_SHAPE, []) == [False, False, True, False]
    assert ask(rule, 1, 1, [], SQUARE, [], L_SHAPE) == [False, True, False, True]
    assert ask(rule, 1, 1) == []


@pytest.mark.parametrize("rule", [geometry.in_polygon, geometry.in_polygon_half_open])
def test_a_polygon_with_an_unknown_corner_holds_nothing_and_leaves_the_others_alone(rule):
    # Rows whose size is unknown convert to NaN; they must neither raise nor spoil the rows beside them.
    unknown = [np.nan] * 8
    assert ask(rule, 1, 1, unknown, SQUARE, unknown, L_SHAPE, unknown) == [False, True, False, True, False]


polygons = st.lists(st.integers(0, 8).map(float), min_size=6, max_size=16).filter(lambda flat: len(flat) % 2 == 0)
coordinates = st.sampled_from([number / 4 for number in range(-4, 40)])


@settings(max_examples=200)
@given(st.lists(polygons, min_size=1, max_size=4), coordinates, coordinates)
def test_half_open_equals_a_scalar_walk_along_the_edges(several, x, y):
    # A coarse grid, so that points fall on corners, edges and level with corners all the time.
    assert ask(geometry.in_polygon_half_open, x, y, *several) == [half_open(x, y, polygon) for polygon in several]


@settings(max_examples=200)
@given(st.lists(st.integers(0, 1920).map(float), min_size=6, max_size=6), st.integers(1, 99))
def test_half_open_rounds_on_slanted_edges_as_the_published_rule(polygon, hundredths):
    (x1, y1, x2, y2), share = polygon[:4], hundredths / 100
    point = x1 + share * (x2 - x1), y1 + share * (y2 - y1)
    for turned in (polygon, polygon[2:] + polygon[:2], [polygon[place] for place in (4, 5, 2, 3, 0, 1)]):
        assert ask(geometry.in_polygon_half_open, *point, turned) == [half_open(*point, turned)]


def test_the_corner_at_which_an_edge_ends_is_the_one_it_is_computed_from():
    triangles = [1632, 522, 66, 144, 170, 34], [1592, 420, 872, 114, 985, 746]
    assert ask(geometry.in_polygon_half_open, 379.2, 219.6, triangles[0]) == [True]
    assert ask(geometry.in_polygon_half_open, 944.0, 144.6, triangles[1]) == [False]


def test_the_mean_of_corners_is_not_the_centre_of_the_bounding_box():
    vertices = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0], [2.0, 2.0], [4.0, 2.0], [4.0, 4.0], [2.0, 4.0]])
    means = geometry.polygon_means(vertices, np.array([0, 3, 3, 7]))
    assert means[[0, 2]].tolist() == [[1, 1], [3, 3]]
    assert np.isnan(means[1]).all()


def test_distance_and_diagonal_are_euclidean():
    a, b = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[3.0, 4.0], [1.0, 1.0]])
    assert geometry.distance(a, b).tolist() == [5.0, 0.0]
    assert geometry.diagonal(np.array([[10.0, 10.0, 15.0, 22.0], [1.0, 1.0, 1.0, 1.0]])).tolist() == [13.0, 0.0]


def test_a_strict_border_is_outside():
    box = np.array([[10.0, 20.0, 30.0, 40.0]])
    points = np.array([[10.0, 30.0], [20.0, 40.0], [10.1, 39.9], [np.nan, 30.0]])
    assert geometry.in_box(points, box, strict=True).tolist() == [False, False, True, False]
    assert [geometry.in_box(point[None], box, strict=True)[0] for point in points] == [False, False, True, False]
    circle = np.array([[3.0, 4.0], [2.9, 4.0]]), np.zeros((2, 2)), np.full((2, 2), 5.0)
    assert geometry.in_ellipse(*circle, strict=True).tolist() == [False, True]
    assert [ask(strictly_in_polygon, x, y, SQUARE) for x, y in [(0, 2), (4, 4), (2, 2)]] == [[False], [False], [True]]


def strictly_in_polygon(xy, vertices, offsets):
    return geometry.in_polygon(xy, vertices, offsets, strict=True)


def test_boxes_grow_about_their_centre():
    boxes = np.array([[10.0, 20.0, 20.0, 40.0], [5.0, 5.0, 5.0, 9.0], [-4.0, -2.0, 0.0, 2.0]])
    assert geometry.enlarged(boxes, 1.5).tolist() == [[7.5, 15, 22.5, 45], [5, 4, 5, 10], [-5, -3, 1, 3]]
    assert geometry.enlarged(boxes, 1.0).tolist() == boxes.tolist()


def test_the_gap_to_a_box_is_to_its_nearest_point():
    box = np.array([[0.0, 0.0, 10.0, 10.0]])
    for point, gap in [((5, 5), 0), ((0, 10), 0), ((-3, 5), 3), ((5, 12), 2), ((13, 14), 5), ((-3, -4), 5)]:
        assert geometry.box_gap(np.array([point], dtype=float), box).tolist() == [gap], point
    assert geometry.box_gap(np.array([(13.0, -4.0)]), box).tolist() == [5]


def test_the_distance_to_an_outline_is_to_its_nearest_edge():
    for point, away in [((1, 4), 1), ((4, 4), 2), ((9, 1), 3), ((9, 6), 5), ((1, 1), 1), ((0, 3), 0), ((-3, -4), 5)]:
        assert ask(geometry.outline_distance, *point, L_SHAPE) == pytest.approx([away]), (point, away)


def test_outlines_of_several_polygons_and_of_none():
    several = ask(geometry.outline_distance, 9, 1, SQUARE, [], L_SHAPE, [1.0, 1.0] * 3)
    assert several[:1] + several[2:] == [5, 3, 8]
    assert np.isnan(several[1])
    assert np.isnan(ask(geometry.outline_distance, 9, 1, [])).all()
    assert ask(geometry.outline_distance, 1, 1) == []
    assert np.isnan(ask(geometry.outline_distance, np.nan, 1, SQUARE)).all()


@settings(max_examples=150)
@given(polygons, coordinates, coordinates)
def test_outline_distance_equals_that_of_shapely(polygon, x, y):
    import shapely

    away = shapely.LinearRing(np.array(polygon).reshape(-1, 2)).distance(shapely.Point(x, y))
    assert ask(geometry.outline_distance, x, y, polygon) == pytest.approx([away], abs=1e-9)


many = st.lists(st.tuples(*[st.floats(-1e13, 1e13) | st.just(np.nan)] * 6), min_size=2, max_size=5)


@settings(max_examples=150)
@given(many)
def test_one_row_takes_a_shorter_way_to_the_same_last_bit(numbers):
    table = np.array(numbers)
    xy, box = table[:, :2], table[:, 2:]
    for function, arguments in [
        (geometry.in_box, (xy, box)), (geometry.distance, (xy, box[:, :2])), (geometry.diagonal, (box,)),
        (geometry.lengths, (xy,)), (geometry.box_gap, (xy, box)),
    ]:  # fmt: skip
        together = function(*arguments)
        alone = [function(*[column[row : row + 1] for column in arguments])[0] for row in range(len(table))]
        np.testing.assert_array_equal(np.array(alone), together)


def test_what_two_boxes_share():
    box = np.array([[0.0, 0.0, 20.0, 10.0]] * 5)
    other = np.array([[10, 5, 30, 15], [20, 0, 40, 10], [40, 0, 60, 10], [5, 5, 5, 9], [5, 2, 8, 4]], dtype=float)
    assert geometry.shared_area(box, other).tolist() == [50, 0, 0, 0, 6]
    assert geometry.shared_area(box, other, least=2.0).tolist() == [50, 0, 0, 0, 0]
    assert geometry.area(other).tolist() == [200, 200, 200, 0, 6]
    assert geometry.hull(box, other).tolist() == [[0, 0, 30, 15], [0, 0, 40, 10], [0, 0, 60, 10], *[[0, 0, 20, 10]] * 2]
    assert geometry.centre(other)[0].tolist() == [20, 10]


def test_a_box_with_corners_out_of_order_shares_nothing():
    box = np.array([[0.0, 0.0, 20.0, 10.0]] * 3)
    inverted = np.array([[20, 10, 0, 0], [20, 0, 0, 10], [0, 10, 20, 0]], dtype=float)
    assert (geometry.shared_area(box, inverted) == 0).all()
