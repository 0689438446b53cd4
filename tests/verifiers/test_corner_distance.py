"""Inside, the distance to the nearest corner; outside, the distance to the box."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.verifiers import CornerDistance
from tests.verifiers.judging import judge

BOX, SIZE = {"bbox": [100, 100, 300, 200]}, (1000, 800)
DIAGONAL = 50000**0.5
FARTHEST = 850000**0.5  # from the corner (1000, 800): 700 to the right, 600 below


def test_one_box():
    for point, score in [
        ((200, 150), 1.0),
        ((100, 100), 0.0),
        ((300, 200), 0.0),
        ((200, 100), 200 / DIAGONAL),  # the middle of a long edge, on the border: 0.894
        ((200, 101), 2 * 10001**0.5 / DIAGONAL),
        ((100, 150), 100 / DIAGONAL),  # the middle of a short edge: 0.447
        ((130, 140), 2 * 50 / DIAGONAL),
        ((130.5, 199.5), 2 * 930.5**0.5 / DIAGONAL),
        ((301, 150), -1 / FARTHEST),
        ((303, 204), -5 / FARTHEST),
        ((0, 0), -(20000**0.5) / FARTHEST),
        ((1000, 800), -1.0),
        ((-700, 150), -800 / FARTHEST),
        ((-900, 150), -1.0),  # farther than the image's farthest corner
        ((1e12, -1e12), -1.0),
        (None, -1.0),
    ]:
        assert judge(CornerDistance(), [point], BOX, size=SIZE) == pytest.approx([score], abs=1e-15), (point, score)


@pytest.mark.parametrize("box", [[200, 150, 200, 150], [100, 150, 300, 150], [200, 100, 200, 200]])
def test_a_box_without_width_or_height_is_never_right(box):
    assert judge(CornerDistance(), [(200, 150), (0, 0), None], {"bbox": box}, size=SIZE) == [-1, -1, -1]


def test_a_box_over_the_whole_image_leaves_nothing_outside():
    points = [(500, 400), (0, 0), (1000, 800), (1000.5, 400), (-1, -1)]
    assert judge(CornerDistance(), points, {"bbox": [0, 0, 1000, 800]}, size=SIZE) == [1, 0, 0, -1, -1]


def test_a_box_beyond_the_image_measures_from_the_image():
    # x from -10 to 300: the farthest corners are the right ones, 700 away; y from -10 to 200: the lower ones, 600.
    assert judge(CornerDistance(), [(305, 100)], {"bbox": [-10, -10, 300, 200]}, size=SIZE) == pytest.approx(
        [-5 / FARTHEST]
    )


def test_the_best_of_several_places_counts_and_other_shapes_are_their_bounding_boxes():
    target = {"regions": [BOX, {"circle": [600, 600, 50]}, {"polygon": [800, 0, 1000, 0, 900, 100]}]}
    points = [(200, 150), (600, 600), (900, 50), (550, 550)]
    assert judge(CornerDistance(), points, target, size=SIZE) == pytest.approx([1, 1, 1, 0])


def test_the_size_is_asked_for():
    with pytest.raises(gr.TargetError, match=r"field 'image_size'.*CornerDistance"):
        judge(CornerDistance(), [(1, 1)], BOX)
    assert judge(CornerDistance(), [(0.5, 0.5)], {"bbox": [0, 0, 1, 1]}, space=CoordSpace.UNIT) == [1]


def test_boxes_too_small_for_arithmetic():
    for box in ([0, 0, 1e-310, 1e-310], [5, 5, 5 + 1e-15, 5 + 1e-15], [0, 0, 1e-200, 1e-200]):
        scores = judge(CornerDistance(), [(0, 0), (5, 5), (1e-200, 0), (9, 9), None], {"bbox": box}, size=SIZE)
        assert all(-1 <= score <= 1 for score in scores)


numbers = st.integers(-2000, 3000) | st.floats(-2000, 3000).map(lambda number: round(number, 6))


@settings(max_examples=300)
@given(st.tuples(numbers, numbers), st.tuples(*[st.integers(0, 900)] * 2), st.tuples(*[st.floats(0, 99)] * 2))
def test_it_stays_within_its_bounds_and_below_zero_is_outside(point, corner, extent):
    x1, y1, x2, y2 = box = [*corner, corner[0] + extent[0], corner[1] + extent[1]]
    (score,) = judge(CornerDistance(), [point], {"bbox": box}, size=SIZE)
    assert -1 <= score <= 1
    if x1 < x2 and y1 < y2:
        assert (score >= 0) == (x1 <= point[0] <= x2 and y1 <= point[1] <= y2)


@given(st.integers(301, 999), st.integers(1, 50))
def test_farther_outside_is_worth_less(x, step):
    near, far = judge(CornerDistance(), [(x, 150), (x + step, 150)], BOX, size=SIZE)
    assert -1 <= far < near < 0
