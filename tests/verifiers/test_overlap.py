"""Overlap of boxes by hand: a target of 20 x 10 pixels, and what lies on it, beside it and far from it."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.verifiers import BoxSize, Overlap
from tests.verifiers.boxing import judge_boxes

B = (0, 0, 20, 10)
TARGET = {"bbox": [0, 0, 20, 10]}
KINDS = ("iou", "giou", "diou", "ciou")


def overlap(kind, *boxes, target=TARGET, **more):
    return judge_boxes(Overlap(kind, **more), boxes, target)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pixel", [True, False])
@pytest.mark.parametrize("corners", [B, (5, 5, 6, 9), (5, 5, 5, 9), (5, 5, 5, 5), (0.25, 0, 0.5, 7)])
def test_equal_boxes_score_one_with_area_or_without(kind, pixel, corners):
    assert overlap(kind, corners, target={"bbox": list(corners)}, pixel_convention=pixel) == [1.0]


coordinates = st.integers(-50, 50) | st.floats(-1e4, 1e4)
boxes = st.tuples(coordinates, coordinates, coordinates, coordinates).map(
    lambda box: (min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3]))
)


@settings(max_examples=300)
@given(boxes, boxes, st.sampled_from(KINDS), st.booleans())
@example((0, 0, 1, 0), (5, 0, 5, 1), "ciou", False)
@example((0, 0, 0, 0), (0, 0, 0, 1e-300), "diou", False)
@example((0, 0, 1e4, 1e-300), (0, 0, 1e4, 2e-300), "giou", False)
def test_any_two_boxes_are_within_bounds_and_it_does_not_matter_which_is_which(a, b, kind, pixel):
    verifier = Overlap(kind, pixel)
    (score,) = judge_boxes(verifier, [a], {"bbox": list(b)})
    (other,) = judge_boxes(verifier, [b], {"bbox": list(a)})
    assert score == pytest.approx(other, abs=1e-9)
    assert score == 1.0 or a != b


@settings(max_examples=200)
@given(boxes, boxes)
def test_each_extension_takes_off_from_the_last(a, b):
    iou, giou, diou, ciou = (judge_boxes(Overlap(kind), [a], {"bbox": list(b)})[0] for kind in KINDS)
    assert giou <= iou + 1e-12
    assert ciou <= diou + 1e-12 <= iou + 2e-12


WIDE = {"bbox": [100, 100, 300, 200]}
SCREEN = (1000, 500)


def sizes(*boxes, target=WIDE, size=SCREEN):
    return judge_boxes(BoxSize(), boxes, target, size=size)


numbers = st.floats(-1e12, 1e12) | st.floats(-1500, 2500)


@settings(max_examples=300)
@given(st.tuples(numbers, numbers, numbers, numbers))
@example((-899.9999999999999, 100, 300, 200))
@example((-900, 100, 300, 200))
def test_any_box_is_within_bounds_and_zero_a_screen_away(box):
    (score,) = sizes(box)
    far = any(abs(a - b) >= side for a, b, side in zip(box, WIDE["bbox"], SCREEN * 2, strict=True))
    assert math.isfinite(score)
    if far:
        assert score == 0
    if box == (100, 100, 300, 200):
        assert score == 1
