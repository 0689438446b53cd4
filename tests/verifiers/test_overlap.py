"""Overlap of boxes by hand: a target of 20 x 10 pixels, and what lies on it, beside it and far from it."""

import math
import pickle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.verifiers import BoxSize, Overlap
from tests.verifiers.boxing import boxed, judge_boxes

B = (0, 0, 20, 10)
TARGET = {"bbox": [0, 0, 20, 10]}
KINDS = ("iou", "giou", "diou", "ciou")


def overlap(kind, *boxes, target=TARGET, **more):
    return judge_boxes(Overlap(kind, **more), boxes, target)


def test_iou_and_what_its_extensions_take_off():
    for box, iou, giou, diou in [
        (B, 1.0, 1.0, 1.0),
        ((10, 0, 30, 10), 1 / 3, 1 / 3, 1 / 3 - 100 / 1000),  # hull 30 x 10, all of it covered
        ((10, 5, 30, 15), 50 / 350, 50 / 350 - 100 / 450, 50 / 350 - 125 / 1125),  # hull 30 x 15
        ((5, 2.5, 15, 7.5), 0.25, 0.25, 0.25),  # half as wide and high, inside, same centre
        ((-20, -10, 40, 20), 200 / 1800, 200 / 1800, 200 / 1800),  # around it
        ((20, 0, 40, 10), 0.0, 0.0, -400 / 1700),  # touching: hull 40 x 10
        ((40, 0, 60, 10), 0.0, -1 / 3, -1600 / 3700),  # hull 60 x 10, a third of it empty
        ((980, 490, 1000, 500), 0.0, -(1 - 400 / 500_000), -(980**2 + 490**2) / (1000**2 + 500**2)),
    ]:
        found = [overlap(kind, box)[0] for kind in ("iou", "giou", "diou")]
        assert found == pytest.approx([iou, giou, diou], abs=1e-15), (box, iou, giou, diou)
        # The aspect ratio of every box here is the target's, so that nothing more is taken off.
        assert overlap("ciou", box) == pytest.approx([diou], abs=1e-15), (box, iou, giou, diou)


def test_ciou_takes_off_for_another_aspect_ratio():
    # Upright 10 x 20 about the same centre: 100 shared of 300; atan(2) - atan(1/2) = 0.6435011.
    v = (2 / math.pi * (math.atan(2) - math.atan(0.5))) ** 2
    assert v == pytest.approx(0.1678258, abs=1e-7)
    assert overlap("ciou", (5, -5, 15, 15)) == pytest.approx([1 / 3 - v * v / (1 - 1 / 3 + v)], abs=1e-15)
    assert overlap("diou", (5, -5, 15, 15)) == pytest.approx([1 / 3], abs=1e-15)


def test_the_lowest_ciou_is_neared_by_lines_across_and_upright_far_apart():
    line = {"bbox": [0, 0, 1, 0]}
    (far,) = judge_boxes(Overlap("ciou"), [(1e9, 1e9, 1e9, 1e9 + 1)], line)
    assert -1.5 <= far < -1.4999999
    assert Overlap("ciou").low == -1.5


@pytest.mark.parametrize("kind", KINDS)
def test_no_box_scores_the_least(kind):
    inverted = [(20, 10, 0, 0), (20, 0, 0, 10), (0, 10, 20, 0)]
    assert overlap(kind, None, *inverted) == [Overlap(kind).low] * 4


@pytest.mark.parametrize(("kind", "low"), [("iou", 0.0), ("giou", -1.0), ("diou", -1.0), ("ciou", -1.5)])
def test_bounds(kind, low):
    verifier = Overlap(kind)
    assert (verifier.low, verifier.high, verifier.needs) == (low, 1.0, frozenset())
    assert pickle.loads(pickle.dumps(verifier)) == verifier


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pixel", [True, False])
@pytest.mark.parametrize("corners", [B, (5, 5, 6, 9), (5, 5, 5, 9), (5, 5, 5, 5), (0.25, 0, 0.5, 7)])
def test_equal_boxes_score_one_with_area_or_without(kind, pixel, corners):
    assert overlap(kind, corners, target={"bbox": list(corners)}, pixel_convention=pixel) == [1.0]


def test_boxes_without_area_share_nothing_with_others():
    line = {"bbox": [0, 5, 20, 5]}
    boxes = [(0, 0, 20, 10), (0, 5, 10, 5), (30, 5, 50, 5), (3, 5, 3, 5)]
    assert judge_boxes(Overlap(), boxes, line) == [0, 0, 0, 0]
    # A hull without area is all empty.
    assert judge_boxes(Overlap("giou"), boxes, line) == pytest.approx([0, -1, -1, -1])
    assert judge_boxes(Overlap("diou"), boxes, line) == pytest.approx([0, -25 / 400, -900 / 2500, -49 / 400])


def test_in_the_pixel_convention_a_strip_of_one_pixel_is_not_shared():
    strips = [(19, 0, 39, 10), (18.5, 0, 38.5, 10), (18, 0, 38, 10), (0, 9, 20, 19), (0, 8, 20, 18), (19, 9, 39, 19)]
    assert overlap("iou", *strips) == pytest.approx([10 / 390, 15 / 385, 20 / 380, 20 / 380, 40 / 360, 1 / 399])
    pixels = overlap("iou", *strips, pixel_convention=True)
    assert pixels == pytest.approx([0, 15 / 385, 20 / 380, 0, 40 / 360, 0])


def test_several_places_and_other_shapes():
    either = {"regions": [TARGET, {"bbox": [100, 100, 120, 110]}]}
    assert overlap("iou", (100, 100, 120, 110), B, (50, 50, 60, 60), target=either) == [1, 1, 0]
    assert overlap("iou", (0, 0, 20, 20), target={"circle": [10, 10, 10]}) == [1]
    assert overlap("iou", (0, 0, 20, 20), target={"polygon": [0, 0, 20, 0, 0, 20]}) == [1]
    refusal = Overlap("giou")(boxed([B, None], [{"refusal": True}] * 2))
    assert refusal.tolist() == [0, 0]


coordinates = st.integers(-50, 50) | st.floats(-1e4, 1e4)
boxes = st.tuples(coordinates, coordinates, coordinates, coordinates).map(
    lambda box: (min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3]))
)


@settings(max_examples=300, deadline=None)
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


@settings(max_examples=200, deadline=None)
@given(boxes, boxes)
def test_each_extension_takes_off_from_the_last(a, b):
    iou, giou, diou, ciou = (judge_boxes(Overlap(kind), [a], {"bbox": list(b)})[0] for kind in KINDS)
    assert giou <= iou + 1e-12
    assert ciou <= diou + 1e-12 <= iou + 2e-12


WIDE = {"bbox": [100, 100, 300, 200]}
SCREEN = (1000, 500)


def sizes(*boxes, target=WIDE, size=SCREEN):
    return judge_boxes(BoxSize(), boxes, target, size=size)


def test_the_harmonic_mean_of_what_is_left_of_the_screen():
    for box, score in [
        ((100, 100, 300, 200), 1.0),
        ((200, 100, 300, 200), 4 / (1 / 0.9 + 3)),  # one edge 100 of 1000 away
        ((100, 150, 300, 200), 4 / (1 / 0.9 + 3)),  # one edge 50 of 500 away
        ((200, 150, 400, 250), 0.9),
        ((300, 200, 100, 100), 0.8),  # inverted: every edge a fifth of the screen away
        ((0, 0, 1000, 500), 4 / (1 / 0.9 + 1 / 0.8 + 1 / 0.3 + 1 / 0.4)),
        ((600, 350, 800, 450), 0.5),
        ((1099, 100, 300, 200), 4 / (1000 + 3)),  # 999 of 1000 away
        ((1100, 100, 300, 200), 0.0),  # a whole screen away
        ((-900, 100, 300, 200), 0.0),
        ((100, 600, 300, 200), 0.0),
        # One edge beyond: the source's mean of numbers below 0 gives 8333.5, -416.5 and 0.24.
        ((-1233.34, 100, 300, 200), 0.0),
        ((-1233.2, 100, 300, 200), 0.0),
        ((-2000, 100, 300, 200), 0.0),
        ((-1e12, -1e12, 1e12, 1e12), 0.0),
        (None, 0.0),
    ]:
        assert sizes(box) == pytest.approx([score], abs=1e-12), (box, score)


def test_a_screens_sides_are_distinguished():
    assert sizes((100, 100, 300, 300), size=(500, 1000)) == pytest.approx([4 / (3 + 1 / 0.9)])
    assert sizes((200, 100, 300, 200), size=(500, 1000)) == pytest.approx([4 / (3 + 1 / 0.8)])


def test_in_unit_space_no_size_is_needed():
    rows = boxed([(0.1, 0.1, 0.4, 0.2)], [{"bbox": [0.1, 0.1, 0.3, 0.2], "space": "unit"}], space=CoordSpace.UNIT)
    assert BoxSize()(rows).tolist() == pytest.approx([4 / (3 + 1 / 0.9)])


def test_a_missing_size_is_an_error_that_names_the_sample():
    why = "because BoxSize measures in shares of the screen"
    with pytest.raises(gr.TargetError, match=f"target of row 0, field 'image_size': .* {why}"):
        sizes((100, 100, 300, 200), size=None)
    with pytest.raises(gr.TargetError, match="target of sample 'save-button', field 'image_size'"):
        sizes((100, 100, 300, 200), target={**WIDE, "id": "save-button"}, size=None)


def test_several_places_refusals_and_no_rows():
    either = {"regions": [WIDE, {"bbox": [600, 350, 800, 450]}]}
    assert sizes((600, 350, 800, 450), (100, 100, 300, 200), target=either) == [1, 1]
    assert BoxSize()(boxed([(1, 2, 3, 4)], [{"refusal": True}], size=SCREEN)).tolist() == [0]
    assert BoxSize()(boxed([], [], size=SCREEN)).tolist() == []


def test_box_size_is_at_least_nothing():
    assert (BoxSize().low, BoxSize().high, BoxSize().needs) == (0.0, 1.0, frozenset({"screen"}))
    assert BoxSize() == BoxSize()


numbers = st.floats(-1e12, 1e12) | st.floats(-1500, 2500)


@settings(max_examples=300, deadline=None)
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


@settings(max_examples=100, deadline=None)
@given(st.floats(0, 999), st.floats(0, 999))
def test_the_nearer_the_edge_the_more(one, other):
    near, far = sorted((one, other))
    closer, farther = sizes((100 - near, 100, 300, 200), (100 - far, 100, 300, 200))
    assert closer >= farther > 0
