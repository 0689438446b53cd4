"""Gaussians of a target of 200 x 100 pixels about (200, 150): σ = 100 and 50 where alpha is 0.5."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.verifiers import GaussianCoverage, GaussianPoint
from tests.verifiers.boxing import judge_boxes

TARGET = {"bbox": [100, 100, 300, 200]}


def cover(*boxes, target=TARGET, **options):
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


sides = st.floats(1, 2000)
places = st.floats(-2000, 2000)
boxes = st.builds(lambda x, y, w, h: (x, y, x + w, y + h), places, places, sides, sides)


@settings(max_examples=200, deadline=None)
@given(boxes, boxes)
def test_the_closed_form_is_the_one_with_matrices(a, b):
    assert cover(a, target={"bbox": list(b)}) == pytest.approx([matrix_form(a, b)], abs=1e-9)


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
