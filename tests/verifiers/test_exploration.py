import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.arrays import ranges
from grounding_rewards.rollouts import Reason
from grounding_rewards.verifiers import Exploration, Hit, NotCollinear
from grounding_rewards.verifiers.points import collinear
from tests.verifiers.judging import judge_all, ragged, rollouts

BOX = {"bbox": [10, 20, 30, 40]}
SQUARE = {"polygon": [0, 0, 10, 0, 10, 10, 0, 10]}
IN = (20, 30)


def explore(*rows, target=BOX, verifier=None):
    return judge_all(verifier or Exploration(), rows, [target] * len(rows))


def test_the_rank_of_the_first_hit_and_the_number_of_points():
    for row, worth in [
        ([IN, (0, 0)], 1 / math.sqrt(2)), ([(0, 0), IN], 0.5), ([(0, 0), (1, 0)], -0.5),
        ([IN, (0, 0), (1, 5)], 1 / math.sqrt(3)), ([(0, 0), (1, 5), IN], 1 / 3), ([(0, 0), (1, 5), (7, 7)], -1 / 3),
        ([(0, 0), IN, (1, 5), (21, 31)], 1 / math.sqrt(8)), ([(0, 0), (1, 5), (7, 7), (100, 2)], -0.25),
    ]:  # fmt: skip
        assert explore(row) == pytest.approx([worth], abs=1e-15), (row, worth)


def test_each_row_meets_its_own_target_whatever_its_shape():
    targets = [BOX, SQUARE, {"refusal": True}, {"circle": [5, 5, 3]}, {"regions": [BOX, SQUARE]}, {"action": "wait"}]
    rows = [[(5, 5), IN], [(11, 5), (5, 5)], [(5, 5), IN], [(8.5, 8.5), (5, 8)], [IN, (100, 100)], [(1, 1), (2, 2)]]
    assert judge_all(Exploration(), rows, targets) == [0.5, 0.5, -0.5, 0.5, 1 / math.sqrt(2), -0.5]


def test_borders_and_reach_are_those_of_hit():
    rows = [[(11, 0), (10, 10)], [(0, 0), (11, 0)]]
    assert explore(*rows, target=SQUARE) == [0.5, 1 / math.sqrt(2)]
    assert explore(*rows, target=SQUARE, verifier=Exploration(polygon="half_open")) == [-0.5, 1 / math.sqrt(2)]
    point = {"point": [7, 7]}
    assert explore([(0, 0), (7, 12)], [(7, 8), (0, 0)], target=point) == [-0.5, -0.5]
    near = Exploration(point_radius=5)
    assert explore([(0, 0), (7, 12)], [(7, 8), (0, 0)], target=point, verifier=near) == [0.5, 1 / math.sqrt(2)]


points = st.tuples(st.integers(0, 60), st.integers(0, 60))
targets = st.sampled_from([BOX, SQUARE, {"regions": [BOX, SQUARE]}, {"regions": [BOX, {"bbox": [0, 0, 5, 60]}]}])


@settings(max_examples=200, deadline=None)
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


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(*[st.lists(each, max_size=9) for each in (small, fine, far)]), max_size=5))
@example([curve(7), curve(7)[::-1]])
@example([[(0, 0), (1e-200, 2e-200), (3e-200, 1e-200), (5, 1), (9, 5), (7, 7), (2, 30)]])
def test_the_verdict_is_the_published_one(rows):
    assert verdicts(*rows) == [by_definition(row) for row in rows]


@settings(max_examples=300, deadline=None)
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


def test_the_verifier_asks_for_an_answer_without_a_line():
    rows = [[(1, 1)], [(1, 1), (2, 2), (3, 3)], [], [(1, 1), (2, 2), (3, 4)], [], []]
    reasons = [Reason.OK, Reason.OK, Reason.MALFORMED, Reason.OUT_OF_IMAGE, Reason.REFUSED, Reason.TOO_MANY]
    targets = [{"bbox": [0, 0, 9, 9]}] * 6
    table = rollouts([row[0] if row else None for row in rows], targets, reasons=reasons)
    assert NotCollinear()(table).tolist() == [1, 1, 0, 1, 1, 0], "one answer a row lies on no line"
    assert judge_all(NotCollinear(), rows, targets, reasons=reasons) == [1, 0, 0, 1, 1, 0]
