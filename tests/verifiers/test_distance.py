"""Distances from a place: inside it, over the screen, to its corners, as f(n) of the offset, and by Gaussians."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.verifiers import (
    Centredness,
    CornerDistance,
    DenseDistance,
    GaussianCoverage,
    GaussianPoint,
    ScreenDistance,
)
from grounding_rewards.verifiers.distance import SHAPES
from tests.verifiers.boxing import judge_boxes
from tests.verifiers.judging import judge

WIDE = {"bbox": [100, 100, 300, 200]}


def test_dense_around_a_point_runs_along_its_reach():
    point = {"point": [0, 0]}
    for reach in (DenseDistance(point_radius=5), DenseDistance(point_share=0.05)):
        scores = judge(reach, [(0, 0), (3, 4), (0, 2.5), (9, 12)], point, size=(100, 100))
        scale = 0.1 * 20000**0.5
        assert scores == pytest.approx([1, 0.5, 0.75, 0.5 / (1 + 10 / scale)])
    exact = judge(DenseDistance(point_radius=0), [(0, 0), (6, 8)], point, size=(60, 80))
    assert exact == [1, 0.25]


def test_rows_that_abstain_need_no_size():
    recipe = gr.recipe("gelato")
    scored = replace(recipe, reward=ScreenDistance(), space=CoordSpace.PIXEL, target_space=CoordSpace.UNIT)
    targets = [{"bbox": [0.1, 0.1, 0.3, 0.2], "image_size": [1000, 1000]}, {"bbox": [0.1, 0.1, 0.3, 0.2]}]
    scores = scored.score(["(200, 150)"] * 2, targets, bad_target="abstain")
    assert (scores.total.tolist(), scores.valid.tolist()) == ([1, 0], [1, 0])


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


numbers = st.integers(-2000, 3000) | st.floats(-2000, 3000).map(lambda number: round(number, 6))


@settings(max_examples=300)
@given(st.tuples(numbers, numbers), st.tuples(*[st.integers(0, 900)] * 2), st.tuples(*[st.floats(0, 99)] * 2))
def test_it_stays_within_its_bounds_and_below_zero_is_outside(point, corner, extent):
    x1, y1, x2, y2 = box = [*corner, corner[0] + extent[0], corner[1] + extent[1]]
    (score,) = judge(CornerDistance(), [point], {"bbox": box}, size=(1000, 800))
    assert -1 <= score <= 1
    if x1 < x2 and y1 < y2:
        assert (score >= 0) == (x1 <= point[0] <= x2 and y1 <= point[1] <= y2)


def test_each_shape_at_the_centre_half_way_and_on_the_border():
    for shape, half, border in [
        ("gaussian", math.exp(-1), math.exp(-4)), ("linear", 0.5, 0.0), ("quadratic", 0.75, 0.0),
        ("inverse_quadratic", 0.8, 0.5), ("exponential", math.exp(-0.5), math.exp(-1)), ("cosine", 0.5, 0.0),
        ("sigmoid", 2 / (1 + math.exp(2)), 2 / (1 + math.exp(4))), ("step", 1.0, 0.0), ("cubic", 0.875, 0.0),
        ("sqrt", 1 - math.sqrt(0.5), 0.0),
    ]:  # fmt: skip
        points = [(200, 150), (250, 150), (200, 125), (250, 175), (300, 150), (100, 100), (300, 200), (301, 150), None]
        scores = judge(Centredness(shape), points, WIDE)
        assert scores == pytest.approx([1.0, half, half, half, border, border, border, 0.0, 0.0], abs=1e-15), shape
        assert [judge(Centredness(shape), [point], WIDE)[0] for point in points] == scores, (shape, half, border)


@pytest.mark.parametrize("shape", SHAPES)
@given(n=st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_nearer_to_the_middle_is_never_worse(shape, n):
    near, far = sorted(n)
    f = SHAPES[shape](np.array([near, far]))
    assert 1.0 >= f[0] >= f[1] >= 0.0
    assert SHAPES[shape](np.array([0.0])).tolist() == [1.0]


def cover(*boxes, target=WIDE, **options):
    return judge_boxes(GaussianCoverage(**options), boxes, target)


def matrix_form(a, b):
    """The coefficient by its textbook form with 2 x 2 covariance matrices, for boxes with area."""
    mean_a, mean_b = (np.array([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]) for box in (a, b))
    one, two = (np.diag([((box[2] - box[0]) / 2) ** 2, ((box[3] - box[1]) / 2) ** 2]) for box in (a, b))
    mean = (one + two) / 2
    apart = mean_a - mean_b
    roots = np.linalg.det(one) * np.linalg.det(two)
    distance = apart @ np.linalg.inv(mean) @ apart / 8 + 0.5 * np.log(np.linalg.det(mean) / np.sqrt(roots))
    return float(np.exp(-distance))


places, extents = st.floats(-2000, 2000), st.floats(1, 2000)
large = st.builds(lambda x, y, w, h: (x, y, x + w, y + h), places, places, extents, extents)


@settings(max_examples=200)
@given(large, large)
def test_the_closed_form_is_the_one_with_matrices(a, b):
    assert cover(a, target={"bbox": list(b)}) == pytest.approx([matrix_form(a, b)], abs=1e-9)


any_number = st.sampled_from([0.0, 1e12, -1e12, 5e-324, 1e-160]) | st.floats(-1e12, 1e12) | st.integers(0, 9)
any_box = st.tuples(any_number, any_number, any_number, any_number)


@settings(max_examples=400)
@given(any_box, any_box, st.sampled_from([0.5, 1e-6, 1e6]))
@example((0, 0, 0, 5e-324), (0, 0, 1e12, 1e12), 0.5)
@example((0, 0, 1e-160, 1e-160), (0, 0, 0, 0), 0.5)
@example((1e12,) * 4, (0, 0, 5e-324, 5e-324), 1e-6)
def test_any_two_boxes_are_within_bounds_and_it_does_not_matter_which_is_which(a, b, alpha):
    a, b = ((min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]), max(c[1], c[3])) for c in (a, b))
    (score,) = cover(a, target={"bbox": list(b)}, alpha=alpha)
    (other,) = cover(b, target={"bbox": list(a)}, alpha=alpha)
    assert score == pytest.approx(other, abs=1e-12)
    assert cover(a, target={"bbox": list(a)}, alpha=alpha) == [1.0]
    (point,) = judge_boxes(GaussianPoint(alpha=alpha), [a], {"bbox": list(b)})
    assert math.isfinite(point)
