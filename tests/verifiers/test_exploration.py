import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.arrays import ranges
from grounding_rewards.verifiers import Exploration, Hit
from grounding_rewards.verifiers.points import collinear
from tests.verifiers.judging import judge_all, ragged, rollouts

BOX = {"bbox": [10, 20, 30, 40]}
SQUARE = {"polygon": [0, 0, 10, 0, 10, 10, 0, 10]}


points = st.tuples(st.integers(0, 60), st.integers(0, 60))
targets = st.sampled_from([BOX, SQUARE, {"regions": [BOX, SQUARE]}, {"regions": [BOX, {"bbox": [0, 0, 5, 60]}]}])


@settings(max_examples=200)
@given(st.lists(st.tuples(st.lists(points, max_size=5), targets), min_size=1, max_size=6))
def test_the_formula_row_by_row(rows):
    expected = []
    for row, target in rows:
        hits = Hit()(rollouts(row, [target] * len(row))).tolist() if row else []
        first = hits.index(1.0) + 1 if 1.0 in hits else 0
        worth = 1 / math.sqrt(len(row) * first) if first else -1 / max(len(row), 1)
        expected.append(-1.0 if by_definition(row) else worth)
    together = judge_all(Exploration(), [row for row, _ in rows], [target for _, target in rows])
    assert together == pytest.approx(expected, abs=1e-15)
    alone = [judge_all(Exploration(), [row], [target])[0] for row, target in rows]
    assert together == alone, "to the last bit"


def test_ranges_of_nothing():
    empty = np.zeros(0, dtype=np.int64)
    assert ranges(empty, empty).tolist() == []
    assert ranges(np.array([3, 7]), np.array([0, 2])).tolist() == [7, 8]


def verdicts(*rows):
    return collinear(*ragged(rows)).tolist()


def by_definition(row):
    """The published test, point by point."""
    return any(
        math.isclose((x2 - x1) * (y3 - y1), (y2 - y1) * (x3 - x1))
        for (x1, y1), (x2, y2), (x3, y3) in itertools.combinations(row, 3)
    )


def curve(count):
    """Points of which no three lie on a line."""
    return [(step, step * step) for step in range(count)]


def test_three_points_on_a_line():
    for row, found in [
        ([], False), ([(1, 1)], False), ([(1, 1), (1, 1)], False), ([(0, 0), (1, 1), (2, 3)], False),
        ([(1, 1), (2, 2), (3, 3)], True), ([(1, 1), (1, 5), (1, 9)], True), ([(1, 4), (9, 4), (5, 4)], True),
        ([(0, 0), (0, 0), (7, 3)], True), ([(7, 3), (0, 0), (0, 0)], True), ([(0, 0), (7, 3), (0, 0)], True),
        ([(1, 1), (2, 2), (3, 3.0000001)], False), ([(1, 1), (2, 2), (3, 3 + 1e-10)], True),
        ([(0.1, 0.2), (0.2, 0.4), (0.3, 0.6)], True), ([(0, 0), (1, 0), (0, 1)], False),
        ([(550, 420), (10, 10), (20, 30), (30, 50)], True), ([(3, 3), (2, 2), (-1, -1)], True),
    ]:  # fmt: skip
        assert verdicts(row) == [found], (row, found)
        assert by_definition(row) == found, (row, found)


@pytest.mark.parametrize("count", [3, 6, 7, 30, 256])
def test_one_line_is_found_wherever_it_is_among_many_points(count):
    rng = np.random.default_rng(count)
    spread = curve(count - 1)
    middle = [((spread[0][0] + spread[-1][0]) / 2, (spread[0][1] + spread[-1][1]) / 2)]
    for _ in range(3):
        order = rng.permutation(count)
        assert verdicts([[*spread, *middle][place] for place in order]) == [True]
    assert verdicts([*spread, (-1, 1)]) == [False], "which is on the curve, too"


small = st.tuples(st.integers(0, 12), st.integers(0, 12))
fine = st.tuples(*[st.floats(0, 2000, allow_nan=False)] * 2)
far = st.tuples(*[st.sampled_from([0.0, -0.0, 1.0, -3.0, 1e12, -1e12, 1e-101, 3e-99, 1e-200, 2e-170, 5e-324])] * 2)


@settings(max_examples=300)
@given(st.lists(st.one_of(*[st.lists(each, max_size=9) for each in (small, fine, far)]), max_size=5))
@example([curve(7), curve(7)[::-1]])
@example([[(0, 0), (1e-200, 2e-200), (3e-200, 1e-200), (5, 1), (9, 5), (7, 7), (2, 30)]])
def test_the_verdict_is_the_published_one(rows):
    assert verdicts(*rows) == [by_definition(row) for row in rows]


@settings(max_examples=300)
@given(
    st.lists(st.floats(0, 10), min_size=7, max_size=10), st.floats(-3, 3), st.floats(-5, 5),
    st.lists(st.sampled_from([0.0, 1e-9, -3e-10, 1e-8, 1e-7, 0.5, -2.0]), min_size=10, max_size=10),
)  # fmt: skip
def test_the_verdict_is_the_published_one_also_for_points_next_to_a_line(across, slope, shift, beside):
    row = [(x, slope * x + shift + off) for x, off in zip(across, beside, strict=False)]
    assert verdicts(row) == [by_definition(row)]


def test_the_time_grows_with_the_square_of_the_points():
    rows = [curve(256)] * 20
    start = time.perf_counter()
    assert not any(verdicts(*rows))
    assert time.perf_counter() - start < 5, "the published test of every three points takes some 15 s"
