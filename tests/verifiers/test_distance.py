import math
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.verifiers import DenseDistance, InsideDistance, ScreenDistance
from tests.verifiers.judging import judge


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
