import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.verifiers import InsideDistance
from tests.verifiers.judging import judge

BOX = {"bbox": [0, 0, 6, 8]}  # diagonal 10, centre (3, 4)


def test_one_at_the_centre_a_half_at_the_corner_nothing_outside():
    points = [(3, 4), (0, 0), (6, 8), (3, 0), (0, 4), (6.01, 4), (-1, -1), None]
    assert judge(InsideDistance(), points, BOX) == pytest.approx([1, 0.5, 0.5, 0.6, 0.7, 0, 0, 0], abs=1e-15)


def test_a_box_without_extent_is_worth_one_exactly_there():
    assert judge(InsideDistance(), [(5, 5), (5, 5.001), None], {"bbox": [5, 5, 5, 5]}) == [1, 0, 0]


def test_a_line_has_a_diagonal():
    assert judge(InsideDistance(), [(5, 5), (0, 5), (2.5, 5)], {"bbox": [0, 5, 10, 5]}) == [1, 0.5, 0.75]


def test_a_polygon_measures_from_the_mean_of_its_corners_over_its_bounding_box():
    # Corners (0,0) (30,0) (0,40): mean (10, 40/3), diagonal 50. At (10, 10) the distance is 10/3.
    triangle = {"polygon": [0, 0, 30, 0, 0, 40]}
    assert judge(InsideDistance(), [(10, 10), (29, 39)], triangle) == pytest.approx([1 - (10 / 3) / 50, 0])


def test_a_polygon_far_from_the_mean_of_its_corners_never_goes_below_zero():
    # Nearly all corners lie on the right, so that the mean is far from the left tip.
    corners = [0, 0, *(number for y in range(1, 40) for number in (100, y / 40)), 100, 0.999]
    scores = judge(InsideDistance(), [(1, 0.005)], {"polygon": corners})
    assert 0 < scores[0] < 0.1


def test_a_circle_measures_over_its_bounding_square():
    assert judge(InsideDistance(), [(0, 0), (3, 4), (4, 4)], {"circle": [0, 0, 5]}) == pytest.approx(
        [1, 1 - 5 / 200**0.5, 0]
    )


def test_the_border_rule_of_polygons_is_chosen():
    square = {"polygon": [0, 0, 10, 0, 10, 10, 0, 10]}
    assert judge(InsideDistance(), [(10, 10)], square) == pytest.approx([0.5])
    assert judge(InsideDistance(polygon="half_open"), [(10, 10), (0, 0)], square) == pytest.approx([0, 0.5])


def test_the_best_of_several_places_counts():
    target = {"regions": [{"bbox": [0, 0, 10, 10]}, {"bbox": [5, 5, 15, 15]}]}
    assert judge(InsideDistance(), [(10, 10), (5, 5), (0, 0)], target) == pytest.approx([1, 1, 0.5])


@settings(max_examples=100)
@given(st.floats(0, 1), st.floats(0, 1), st.floats(1, 100), st.floats(1, 100), st.floats(-500, 500))
def test_a_hit_is_worth_a_half_to_one_and_less_further_out(u, v, width, height, shift):
    target = {"bbox": [shift, shift, shift + width, shift + height]}
    centre = (shift + width / 2, shift + height / 2)
    point = (min(shift + u * width, shift + width), min(shift + v * height, shift + height))
    nearer = tuple((a + b) / 2 for a, b in zip(point, centre, strict=True))
    far, near = judge(InsideDistance(), [point, nearer], target)
    assert 0.5 - 1e-9 <= far <= near + 1e-12
    assert near <= 1
