import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.testing import check_verifier
from grounding_rewards.verifiers import DenseDistance, InsideDistance, ScreenDistance
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


def test_dense_is_one_at_the_centre_the_floor_at_the_border_and_half_of_it_one_scale_away():
    # A box of diagonal 10 on a screen of diagonal 100: s = 10 + 0.1 · 100 = 20.
    screen = {"size": (60, 80)}
    points = [(3, 4), (0, 4), (6, 8), (1.5, 4), (3, 6), (26, 4), (-20, 4), (3, 28), (66, 4), None]
    expected = [1, 0.5, 0.5, 0.75, 0.75, 0.25, 0.25, 0.25, 0.125, 0]
    assert judge(DenseDistance(), points, BOX, **screen) == expected
    low = DenseDistance(floor=0.2)
    assert judge(low, points, BOX, **screen) == pytest.approx([1, 0.2, 0.2, 0.6, 0.6, 0.1, 0.1, 0.1, 0.05, 0])
    assert judge(DenseDistance(reach=0.4), [(56, 4)], BOX, **screen) == [0.25]
    assert judge(DenseDistance(), [(18, 24)], BOX, **screen) == [0.25], "12 across and 16 down are 20"


def test_dense_scores_all_hits_alike_where_the_floor_is_one():
    scores = judge(DenseDistance(floor=1), [(3, 4), (0, 0), (26, 4)], BOX, size=(60, 80))
    assert scores == [1, 1, 0.5]


def test_dense_tells_a_hit_from_a_miss_however_near():
    points = [(0, 4), (np.nextafter(0, -1), 4), (-1e-300, 4), (6, 8), (np.nextafter(6, 7), 8)]
    hit, miss, near, corner, out = judge(DenseDistance(), points, BOX, size=(60, 80))
    assert hit == corner == 0.5
    assert miss == near == out == np.nextafter(0.5, 0)


def test_dense_orders_a_far_miss_before_no_answer_and_a_refusal():
    far, none = judge(DenseDistance(), [(1e12, -1e12), None], BOX, size=(60, 80))
    assert 0 < far < 1e-9
    assert none == 0
    assert judge(DenseDistance(), [(3, 4), None], {"refusal": True}, size=(60, 80)) == [0, 0]


def test_dense_on_a_box_without_extent():
    nothing, line = {"bbox": [5, 5, 5, 5]}, {"bbox": [0, 5, 10, 5]}
    assert judge(DenseDistance(), [(5, 5), (15, 5), (5, 5.0001)], nothing, size=(60, 80)) == pytest.approx(
        [1, 0.25, 0.5], abs=1e-5
    )
    assert judge(DenseDistance(), [(5, 5), (0, 5), (7.5, 5)], line, size=(60, 80)) == [1, 0.5, 0.75]


def test_dense_in_a_circle_runs_along_the_radius():
    circle = {"circle": [0, 0, 5]}  # a bounding box of diagonal 200**0.5
    scale = 200**0.5 + 10
    points = [(0, 0), (3, 4), (1.5, 2), (0, 5), (6, 8), (0, -15)]
    expected = [1, 0.5, 0.75, 0.5, 0.5 / (1 + 5 / scale), 0.5 / (1 + 10 / scale)]
    assert judge(DenseDistance(), points, circle, size=(60, 80)) == pytest.approx(expected)


def test_dense_around_a_point_runs_along_its_reach():
    point = {"point": [0, 0]}
    for reach in (DenseDistance(point_radius=5), DenseDistance(point_share=0.05)):
        scores = judge(reach, [(0, 0), (3, 4), (0, 2.5), (9, 12)], point, size=(100, 100))
        scale = 0.1 * 20000**0.5
        assert scores == pytest.approx([1, 0.5, 0.75, 0.5 / (1 + 10 / scale)])
    exact = judge(DenseDistance(point_radius=0), [(0, 0), (6, 8)], point, size=(60, 80))
    assert exact == [1, 0.25]


def test_dense_from_a_polygon_is_the_distance_to_its_outline():
    # An L; its notch is in the bounding box, but outside. Diagonal 50, s = 50 + 10.
    shape = {"polygon": [0, 0, 30, 0, 30, 10, 10, 10, 10, 40, 0, 40]}
    scores = judge(DenseDistance(), [(5, 20), (13, 25), (36, 5), (15, 10)], shape, size=(60, 80))
    assert scores == pytest.approx([0.5 + 0.5 / 3, 0.5 / (1 + 3 / 60), 0.5 / (1 + 6 / 60), 0.75])
    open_border = judge(DenseDistance(polygon="half_open"), [(30, 5), (0, 5)], shape, size=(60, 80))
    assert open_border == [np.nextafter(0.5, 0), 0.5], "a miss on the border itself is worth next to the floor"


def test_dense_takes_the_best_place():
    places = {"regions": [{"bbox": [0, 0, 6, 8]}, {"bbox": [20, 0, 26, 8]}, {"circle": [3, 60, 2]}]}
    assert judge(DenseDistance(), [(23, 4), (0, 4), (3, 60)], places, size=(60, 80)) == [1, 0.5, 1]


@pytest.mark.parametrize("verifier", [DenseDistance(), ScreenDistance()])
def test_a_screen_of_unknown_size_is_an_error_that_names_the_sample(verifier):
    name = type(verifier).__name__
    with pytest.raises(gr.TargetError, match=rf"sample 'a7', field 'image_size': got nothing; .* because {name} meas"):
        judge(verifier, [(3, 4)], {**BOX, "id": "a7"})
    model = {"space": CoordSpace.MODEL_PIXEL}
    with pytest.raises(gr.TargetError, match="row 0, field 'model_image_size': got nothing"):
        judge(verifier, [(3, 4)], BOX, **model)
    assert judge(verifier, [(3, 4)], {"refusal": True}) == [0], "no place, no size needed"
    assert judge(verifier, [(0.3, 0.4)], {"bbox": [0.2, 0.3, 0.4, 0.5]}, space=CoordSpace.UNIT) == pytest.approx([1])


def test_rows_that_abstain_need_no_size():
    recipe = gr.recipe("gelato")
    scored = replace(recipe, reward=ScreenDistance(), space=CoordSpace.PIXEL, target_space=CoordSpace.UNIT)
    targets = [{"bbox": [0.1, 0.1, 0.3, 0.2], "image_size": [1000, 1000]}, {"bbox": [0.1, 0.1, 0.3, 0.2]}]
    scores = scored.score(["(200, 150)"] * 2, targets, bad_target="abstain")
    assert (scores.total.tolist(), scores.valid.tolist()) == ([1, 0], [1, 0])


def test_screen_distance_falls_with_the_square_of_the_share_of_the_screen():
    # Centre (0.25, 0.5) of the screen: the farthest corner is 0.75 across and 0.5 down, dmax² = 0.8125.
    target, screen = {"bbox": [200, 400, 300, 600]}, {"size": (1000, 1000)}
    points = [(250, 500), (500, 500), (250, 1000), (1000, 0), (1250, 500), (1251, 500), (-500, 500), None]
    expected = [1, 1 - 0.0625 / 0.8125, 1 - 0.25 / 0.8125, 0, 0, 0, 1 - 0.5625 / 0.8125, 0]
    assert judge(ScreenDistance(), points, target, **screen) == pytest.approx(expected, abs=1e-12)
    half = judge(ScreenDistance(power=1), points, target, **screen)
    assert half[:3] == pytest.approx([1, 1 - 0.25 / 0.8125**0.5, 1 - 0.5 / 0.8125**0.5])
    assert half[4:6] == [0, 0]


def test_screen_distance_never_goes_below_zero_beside_the_image():
    # Published code gives -0.996 here: d <= 1, but far beyond the farthest corner, 0.7071 away.
    target = {"bbox": [490, 490, 510, 510]}
    assert judge(ScreenDistance(), [(-490, 500), (1500, 500), (1501, 500)], target, size=(1000, 1000)) == [0, 0, 0]


def test_screen_distance_is_in_shares_of_each_side():
    target = {"bbox": [0, 0, 200, 100]}
    wide, high = judge(ScreenDistance(), [(200, 50), (100, 100)], target, size=(200, 100))
    assert wide == high == pytest.approx(0.5)
    assert judge(ScreenDistance(), [(100, 50), (0, 0)], {"refusal": True}, size=(200, 100)) == [0, 0]


def published(x, y, target, width, height):
    """SE-GUI's second term, in plain Python."""
    x1, y1, x2, y2 = target
    cx, cy = (x1 + x2) / 2 / width, (y1 + y2) / 2 / height
    d = math.dist((x / width, y / height), (cx, cy))
    farthest = max(math.dist((cx, cy), corner) for corner in [(0, 0), (0, 1), (1, 0), (1, 1)])
    return max(1 - (d / farthest) ** 2, 0.0) if d <= 1 else 0.0


sides = st.integers(1, 3000)


@settings(max_examples=100)
@given(st.integers(-500, 3500), st.integers(-500, 3500), sides, sides, st.tuples(*[st.floats(0, 1)] * 4))
def test_screen_distance_equals_the_published_decay(x, y, width, height, corners):
    xs, ys = sorted(corners[::2]), sorted(corners[1::2])
    box = [xs[0] * width, ys[0] * height, xs[1] * width, ys[1] * height]
    expected = published(x, y, box, width, height)
    if abs(math.dist((x / width, y / height), ((xs[0] + xs[1]) / 2, (ys[0] + ys[1]) / 2)) - 1) > 1e-9:
        assert judge(ScreenDistance(), [(x, y)], {"bbox": box}, size=(width, height)) == pytest.approx([expected])


boxes = st.tuples(st.floats(0, 900), st.floats(0, 900), st.floats(0, 100), st.floats(0, 100)).map(
    lambda numbers: (numbers[0], numbers[1], numbers[0] + numbers[2], numbers[1] + numbers[3])
)
floors = st.floats(0, 1, exclude_min=True)
anywhere = st.floats(-2000, 3000)


@settings(max_examples=120)
@given(boxes, st.floats(0, 1), st.floats(0, 1), anywhere, anywhere, floors, st.floats(1e-3, 10))
def test_no_miss_is_worth_as_much_as_any_hit(box, u, v, x, y, floor, reach):
    x1, y1, x2, y2 = box
    inside = (min(x1 + u * (x2 - x1), x2), min(y1 + v * (y2 - y1), y2))
    verifier = DenseDistance(floor=floor, reach=reach)
    hit, other, none = judge(verifier, [inside, (x, y), None], {"bbox": box}, size=(1000, 800))
    assert floor <= hit <= 1
    assert none == 0
    if x1 <= x <= x2 and y1 <= y <= y2:
        assert floor <= other <= 1
    else:
        assert none <= other < floor <= hit


@settings(max_examples=120)
@given(boxes, anywhere, anywhere, st.floats(0, 1), st.floats(0, 1), floors)
@pytest.mark.parametrize("build", [lambda floor: DenseDistance(floor=floor), lambda floor: ScreenDistance()])
def test_nearer_to_the_centre_is_never_worth_less(build, box, x, y, u, v, floor):
    centre = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
    nearer = tuple(c + share * (far - c) for c, far, share in zip(centre, (x, y), (u, v), strict=True))
    away = [[abs(a - c) for a, c in zip(point, centre, strict=True)] for point in (nearer, (x, y))]
    assume(away[0] <= away[1])
    assume(away[0][1] <= away[1][1])
    near, far = judge(build(floor), [nearer, (x, y)], {"bbox": box}, size=(1000, 800))
    assert near >= far - 1e-15


@settings(max_examples=60)
@given(boxes, anywhere, anywhere, st.floats(-300, 300), st.floats(-300, 300))
@pytest.mark.parametrize("verifier", [InsideDistance(), DenseDistance()])
def test_moving_click_and_target_together_changes_nothing(verifier, box, x, y, dx, dy):
    # A click within rounding of the border may change sides.
    edges = [abs(x - box[0]), abs(x - box[2]), abs(y - box[1]), abs(y - box[3])]
    assume(min(edges) > 1e-6)
    assume(min(box[2] - box[0], box[3] - box[1]) > 1e-3)
    moved = {"bbox": [box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy]}
    expected = judge(verifier, [(x, y)], {"bbox": box}, size=(1000, 800))
    assert judge(verifier, [(x + dx, y + dy)], moved, size=(1000, 800)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_what_every_verifier_promises():
    for verifier, more in [
        (InsideDistance(), {"scale": True, "translation": True}), (DenseDistance(), {"scale": True}),
        (DenseDistance(floor=0.2, polygon="half_open", point_radius=4), {}), (DenseDistance(point_share=0.1), {}),
        (ScreenDistance(), {"scale": True}), (ScreenDistance(power=1), {"scale": True}),
    ]:  # fmt: skip
        check_verifier(verifier, **more)
