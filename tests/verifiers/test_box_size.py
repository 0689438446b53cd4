"""How near four edges are, on a screen of 1000 x 500: a target of 200 x 100 pixels."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.verifiers import BoxSize
from tests.verifiers.boxing import boxed, judge_boxes

TARGET = {"bbox": [100, 100, 300, 200]}
SIZE = (1000, 500)


def sizes(*boxes, target=TARGET, size=SIZE):
    return judge_boxes(BoxSize(), boxes, target, size=size)


@pytest.mark.parametrize(
    ("box", "score"),
    [
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
        # One edge beyond: the source's mean of numbers below 0 pays 8333.5, -416.5 and 0.24.
        ((-1233.34, 100, 300, 200), 0.0),
        ((-1233.2, 100, 300, 200), 0.0),
        ((-2000, 100, 300, 200), 0.0),
        ((-1e12, -1e12, 1e12, 1e12), 0.0),
        (None, 0.0),
    ],
)
def test_the_harmonic_mean_of_what_is_left_of_the_screen(box, score):
    assert sizes(box) == pytest.approx([score], abs=1e-12)


def test_a_screens_sides_are_told_apart():
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
        sizes((100, 100, 300, 200), target={**TARGET, "id": "save-button"}, size=None)


def test_several_places_refusals_and_no_rows():
    either = {"regions": [TARGET, {"bbox": [600, 350, 800, 450]}]}
    assert sizes((600, 350, 800, 450), (100, 100, 300, 200), target=either) == [1, 1]
    assert BoxSize()(boxed([(1, 2, 3, 4)], [{"refusal": True}], size=SIZE)).tolist() == [0]
    assert BoxSize()(boxed([], [], size=SIZE)).tolist() == []


def test_bounds():
    assert (BoxSize().low, BoxSize().high, BoxSize().needs) == (0.0, 1.0, frozenset({"screen"}))
    assert BoxSize() == BoxSize()


numbers = st.floats(-1e12, 1e12) | st.floats(-1500, 2500)


@settings(max_examples=300, deadline=None)
@given(st.tuples(numbers, numbers, numbers, numbers))
@example((-899.9999999999999, 100, 300, 200))
@example((-900, 100, 300, 200))
def test_any_box_is_within_bounds_and_paid_nothing_a_screen_away(box):
    (score,) = sizes(box)
    far = any(abs(a - b) >= side for a, b, side in zip(box, TARGET["bbox"], SIZE * 2, strict=True))
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


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-2000, 2000)] * 4), min_size=1, max_size=8))
def test_one_row_alone_scores_as_in_a_batch_to_the_last_bit(rows):
    batch = np.array(sizes(*rows * 9))
    for row, box in enumerate(rows):
        assert np.array(sizes(box)).tobytes() == batch[row + len(rows)].tobytes()
