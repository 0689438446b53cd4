"""Comparisons of places and directions."""

from __future__ import annotations

from math import hypot

import pytest

from grounding_rewards.evaluators import compare


@pytest.mark.parametrize(
    ("end", "way"),
    [((5, 1), "up"), ((5, 9), "down"), ((1, 5), "left"), ((9, 5), "right"), ((5, 5), ""),
     ((6, 6), "down"), ((4, 6), "down"), ((6, 4), "up"), ((7, 4), "right"), ((4, 7), "down")],
)  # fmt: skip
def test_direction_is_that_of_the_longer_side_and_vertical_of_equal_ones(end: tuple[int, int], way: str) -> None:
    assert compare.direction((5, 5), end) == way


def test_boxes() -> None:
    assert compare.moved_in([0, 0, 0.02, 0.02], 1.2) == pytest.approx((0, 0, 0.024, 0.024))
    assert compare.moved_in([0, 0, 1, 1], 1.2) == (0, 0, 1, 1)
    assert compare.moved_in([0.3, 0.4, 0.2, 0.05], 1.2) == pytest.approx((0.28, 0.395, 0.52, 0.455))
    assert compare.scaled([100, 100, 200, 150], 1.2) == (90, 95, 210, 155)
    assert compare.overlap([0, 0, 2, 2], [1, 0, 3, 2]) == pytest.approx(1 / 3)
    assert compare.overlap([0, 0, 0, 0], [0, 0, 0, 0]) == 0
    boxes = [(0, 0, 1, 1), (4, 4, 5, 5), (2, 2, 3, 3)]
    assert compare.nearest(boxes, (4, 4), 2) == [(4, 4, 5, 5), (2, 2, 3, 3)]
    assert compare.holds((0, 0, 1, 1), (1, 1))
    assert not compare.holds((0, 0, 1, 1), (1, 1.1))
    assert compare.apart((0, 0), (3, 4)) == hypot(3, 4)


@pytest.mark.parametrize("value", ["[1, 2", "1", [1], [1, True], [1, "2"], None, {"0": 1}])
def test_numbers_are_numbers(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        compare.numbers(value, 2)
    assert compare.numbers("[1, 2.5]", 2) == compare.numbers((1, 2.5), 2) == [1, 2.5]
