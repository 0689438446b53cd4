"""Gaussians of a target of 200 x 100 pixels about (200, 150): σ = 100 and 50 where alpha is 0.5."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.verifiers import GaussianCoverage, GaussianPoint
from tests.verifiers.boxing import boxed, judge_boxes
from tests.verifiers.judging import judge, rollouts

TARGET = {"bbox": [100, 100, 300, 200]}


def cover(*boxes, target=TARGET, **options):
    return judge_boxes(GaussianCoverage(**options), boxes, target)


def test_the_density_at_the_point_over_that_at_the_centre():
    for point, score in [
        ((200, 150), 1.0),
        ((300, 150), 0.6065307),  # the middle of an edge: exp(-1/2)
        ((200, 100), 0.6065307),
        ((100, 200), 0.3678794),  # a corner: exp(-1)
        ((400, 150), 0.1353353),  # one width beside the centre: exp(-2)
        ((250, 175), 0.7788008),  # half way to a corner: exp(-1/4)
        ((1200, 650), 0.0),
        ((1e12, -1e12), 0.0),
        (None, 0.0),
    ]:
        assert judge(GaussianPoint(), [point], TARGET) == pytest.approx([score], abs=1e-7), (point, score)


def test_a_box_counts_as_its_centre_whatever_its_size_and_the_order_of_its_corners():
    boxes = [(100, 100, 300, 200), (300, 200, 100, 100), (200, 150, 200, 150), (-9800, -9850, 10200, 10150)]
    assert judge_boxes(GaussianPoint(), boxes, TARGET) == [1, 1, 1, 1]


def test_alpha_widens():
    assert judge(GaussianPoint(alpha=1.0), [(300, 150), (100, 200)], TARGET) == pytest.approx(
        [math.exp(-1 / 8), math.exp(-1 / 4)]
    )


def test_the_smallest_sigma_helps_tiny_targets():
    dot = {"bbox": [10, 10, 12, 11]}
    assert judge(GaussianPoint(), [(15, 10.5)], dot) == pytest.approx([math.exp(-8)])
    assert judge(GaussianPoint(least=4.0), [(15, 10.5), (11, 14.5)], dot) == pytest.approx([math.exp(-0.5)] * 2)
    # The predicted box has σ = 1 and 0.5, which count as 4 too.
    assert cover((12, 10, 14, 11), target=dot, least=4.0) == pytest.approx([math.exp(-4 / (4 * 32))])


def test_digits_round():
    assert judge(GaussianPoint(digits=3), [(300, 150), (100, 200), (201, 150), (203, 150)], TARGET) == [
        0.607, 0.368, 1.0, 1.0,
    ]  # fmt: skip
    assert judge(GaussianPoint(digits=0), [(300, 150), (100, 200)], TARGET) == [1, 0]
    assert cover((0, 50, 400, 250), digits=3) == [0.8]


@pytest.mark.parametrize(("target", "hit"), [([10, 20, 10, 20], (10, 20)), ([10, 20, 30, 20], (20, 20))])
def test_a_target_without_extent_scores_exactly_at_its_centre(target, hit):
    beside = (hit[0], hit[1] + 0.001)
    assert judge(GaussianPoint(), [hit, beside, (0, 0)], {"bbox": target}) == [1, 0, 0]


def test_the_bhattacharyya_coefficient():
    for box, score in [
        ((100, 100, 300, 200), 1.0),
        ((300, 200, 100, 100), 1.0),  # inverted
        ((0, 50, 400, 250), 0.8),  # twice as wide and high: √(2·2/5) on each axis
        ((150, 125, 250, 175), 0.8),
        ((0, 100, 400, 200), 0.8944272),  # √0.8
        ((300, 100, 500, 200), 0.6065307),  # touching: exp(-200² / (4 · 2 · 100²))
        ((200, 150, 400, 250), 0.7788008),  # half a width and half a height off: exp(-1/8) twice
        ((-10_000_000, -10_000_000, 10_000_400, 10_000_300), 1.4142136e-05),
        ((1100, 100, 1300, 200), 3.7266532e-06),  # five widths off: exp(-12.5)
        ((200, 150, 200, 150), 0.0),
        ((100, 100, 300, 100), 0.0),
        (None, 0.0),
    ]:
        assert cover(box) == pytest.approx([score], abs=1e-7, rel=1e-6), (box, score)


def matrix_form(a, b):
    """The coefficient by its textbook form with 2 x 2 covariance matrices, for boxes with area."""
    mean_a, mean_b = (np.array([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]) for box in (a, b))
    one, two = (np.diag([((box[2] - box[0]) / 2) ** 2, ((box[3] - box[1]) / 2) ** 2]) for box in (a, b))
    mean = (one + two) / 2
    apart = mean_a - mean_b
    roots = np.linalg.det(one) * np.linalg.det(two)
    distance = apart @ np.linalg.inv(mean) @ apart / 8 + 0.5 * np.log(np.linalg.det(mean) / np.sqrt(roots))
    return float(np.exp(-distance))


sides = st.floats(1, 2000)
places = st.floats(-2000, 2000)
boxes = st.builds(lambda x, y, w, h: (x, y, x + w, y + h), places, places, sides, sides)


@settings(max_examples=200, deadline=None)
@given(boxes, boxes)
def test_the_closed_form_is_the_one_with_matrices(a, b):
    assert cover(a, target={"bbox": list(b)}) == pytest.approx([matrix_form(a, b)], abs=1e-9)


def test_boxes_of_next_to_no_size():
    for box, target, score in [
        # Equal boxes without extent are equal; the source's additions of 1e-8 give infinity.
        ((200, 150, 200, 150), [200, 150, 200, 150], 1),
        ((100, 150, 300, 150), [100, 150, 300, 150], 1),
        ((200, 150, 200, 150), [201, 150, 201, 150], 0),
        ((100, 150, 300, 150), [100, 151, 300, 151], 0),
        ((200, 150, 200, 150), [100, 150, 300, 150], 0),
        ((0, 150, 400, 150), [100, 150, 300, 150], math.sqrt(0.8)),  # equally flat, twice as wide
        # The same in unit space: the source gives 200.
        ((0.10, 0.10, 0.12, 0.11), [0.10, 0.10, 0.12, 0.11], 1),
        ((0.10, 0.10, 0.14, 0.11), [0.11, 0.10, 0.13, 0.11], math.sqrt(0.8)),
    ]:
        assert cover(box, target={"bbox": target}) == pytest.approx([score], abs=1e-12), (box, target, score)


@pytest.mark.parametrize("alpha", [0.25, 1.0, 3.0])
def test_alpha_widens_coverage_without_changing_that_of_one_centre(alpha):
    assert cover((0, 50, 400, 250), alpha=alpha) == pytest.approx([0.8])
    # touching: exp(-200² / (8 (alpha · 200)²))
    assert cover((300, 100, 500, 200), alpha=alpha) == pytest.approx([math.exp(-1 / (8 * alpha * alpha))])


def test_several_places_other_shapes_refusals_and_no_rows():
    either = {"regions": [TARGET, {"bbox": [500, 500, 600, 600]}]}
    assert cover((500, 500, 600, 600), (100, 100, 300, 200), target=either) == [1, 1]
    assert judge(GaussianPoint(), [(550, 550), (200, 150)], either) == [1, 1]
    assert cover((0, 0, 10, 10), target={"circle": [5, 5, 5]}) == [1]
    assert judge(GaussianPoint(), [(10, 5)], {"circle": [5, 5, 5]}) == pytest.approx([math.exp(-0.5)])
    for verifier in (GaussianPoint(digits=3), GaussianCoverage(digits=3)):
        assert verifier(boxed([(1, 2, 3, 4), None], [{"refusal": True}] * 2)).tolist() == [0, 0]
        assert verifier(rollouts([], [])).tolist() == []


any_number = st.sampled_from([0.0, 1e12, -1e12, 5e-324, 1e-160]) | st.floats(-1e12, 1e12) | st.integers(0, 9)
any_box = st.tuples(any_number, any_number, any_number, any_number)


@settings(max_examples=400, deadline=None)
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


@settings(max_examples=100, deadline=None)
@given(boxes, st.floats(-5, 5), st.floats(0.1, 50), st.floats(-500, 500))
def test_moving_and_growing_everything_changes_nothing(box, shift, factor, more):
    def moved(corners):
        return [number * factor + more for number in corners]

    off = tuple(number + shift for number in box)
    before = cover(off, target={"bbox": list(box)}), judge_boxes(GaussianPoint(), [off], {"bbox": list(box)})
    target = {"bbox": moved(box)}
    after = cover(moved(off), target=target), judge_boxes(GaussianPoint(), [moved(off)], target)
    assert after[0] == pytest.approx(before[0], abs=1e-6)
    assert after[1] == pytest.approx(before[1], abs=1e-6)
