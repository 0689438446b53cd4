"""Votes of regions: by hand, against a grid of pixels, and what must not change them."""

import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.groups.blocks import CELLS, LARGE, by_size, neighbours
from grounding_rewards.groups.consensus import consensus_scores, votes_at, voting_regions

LIMIT = 1e12


def squares(*points, size=50.0):
    xy = np.array([(np.nan, np.nan) if point is None else point for point in points], dtype=float).reshape(-1, 2)
    return voting_regions(xy, np.full((len(xy), 4), np.nan), size)


def scores(regions, groups=None):
    groups = np.zeros(len(regions), dtype=np.int64) if groups is None else np.array(groups)
    return consensus_scores(np.asarray(regions, dtype=float).reshape(-1, 4), groups)


def most(regions):
    regions = np.asarray(regions, dtype=float)
    return votes_at(regions[:, :2], regions, np.zeros(len(regions), dtype=np.int64))[1][0]


@pytest.mark.parametrize(("width", "apart"), [(400, 125), (800, 62.5), (1280, 39.0625), (200, 250)])
def test_regions_that_touch_before_a_conversion_touch_after_it(width, apart):
    left = np.arange(0.0, 1000 - apart)
    x = np.stack((left, left + apart), axis=1).ravel() * (width / 1000)  # squares of 50 pixels
    regions = voting_regions(np.stack((x, np.zeros(len(x))), axis=1), np.full((len(x), 4), np.nan), 50.0)
    pairs = np.repeat(np.arange(len(left)), 2)
    assert (consensus_scores(regions, pairs) == 1.0).all()
    here, most = votes_at(np.stack((x, np.zeros(len(x))), axis=1), regions, pairs)
    assert (here == 1).all()
    assert (most == 1).all()
    edges = votes_at(np.stack((x - 25, np.zeros(len(x))), axis=1), regions, pairs)[0]
    assert (edges == 1).all()  # left edges are in, and the right edge of the other one is out


def test_regions_that_merely_touch_do_not_vote_for_each_other():
    for other in [(50, 0), (0, 50), (50, 50), (-50, 0), (0, -50), (50, -50)]:
        assert scores(squares((0, 0), other)).tolist() == [1.0, 1.0], other
        assert most(squares((0, 0), other)) == 1, other


def test_the_depth_need_not_lie_at_any_centre():
    # Four squares around (0, 0) that all hold it, while no centre lies in more than one of the others.
    around = squares((-20, -20), (20, -20), (-20, 20), (20, 20))
    assert most(around) == 4
    points = np.array([[-20.0, -20.0], [0, 0], [5, 4], [4, -5]])
    assert votes_at(points, around, np.zeros(4, dtype=np.int64))[0].tolist() == [1, 4, 2, 4]
    # Each shares 10 x 50 with two and 10 x 10 with one: (2500 + 1000 + 100) / (2500 · 4) = 0.36.
    assert scores(around).tolist() == [0.36] * 4


def test_an_edge_belongs_to_the_region_on_its_right_and_below():
    two = np.array([[0.0, 0, 10, 10], [10, 0, 20, 10]])
    points = np.array([[10.0, 5], [0, 10]])
    assert votes_at(points, two, np.zeros(2, dtype=np.int64))[0].tolist() == [1, 0]
    assert votes_at(np.array([[0.0, 0], [20, 5]]), two, np.zeros(2, dtype=np.int64))[0].tolist() == [1, 0]


def test_rows_without_a_place_neither_vote_nor_score():
    assert scores(squares((0, 0), None, (25, 0), None)).tolist() == [0.75, 0.0, 0.75, 0.0]
    assert scores(squares(None, None)).tolist() == [0.0, 0.0]
    here, depth = votes_at(np.zeros((2, 2)), squares((0, 0), None), np.zeros(2, dtype=np.int64))
    assert (here.tolist(), depth.tolist()) == ([1, 0], [1, 0])
    assert scores(np.zeros((0, 4))).tolist() == []


def test_boxes_without_area_count_as_their_centre():
    boxes = np.array([[10.0, 10, 10, 30], [10, 10, 30, 10], [30, 30, 10, 10], [30, 10, 10, 30], [10, 10, 30, 30]])
    regions = voting_regions((boxes[:, :2] + boxes[:, 2:]) / 2, boxes, 50.0)
    assert regions.tolist() == [
        [-15, -5, 35, 45], [-5, -15, 45, 35], [-5, -5, 45, 45], [-5, -5, 45, 45], [10, 10, 30, 30],
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1e-300, 1e-6, 50.0, LIMIT])
def test_far_out_and_tiny_squares_keep_a_width(size):
    regions = squares((LIMIT, -LIMIT), (LIMIT, -LIMIT), (0, 0), size=size)
    assert (regions[:, :2] < regions[:, 2:]).all()
    found = scores(regions)
    assert found[:2].tolist() == [1.0, 1.0]
    assert 0 < found[2] <= 1


whole = st.integers(-12, 12)
boxes = st.tuples(whole, whole, st.integers(1, 9), st.integers(1, 9)).map(lambda b: (*b[:2], b[0] + b[2], b[1] + b[3]))
groups_of_boxes = st.lists(boxes, min_size=1, max_size=7)


def on_a_grid(some):
    """v at every pixel, by its top left corner: of whole coordinates this is exact."""
    v = np.zeros((40, 40))
    for x1, y1, x2, y2 in some:
        v[x1 + 15 : x2 + 15, y1 + 15 : y2 + 15] += 1
    return v


@settings(max_examples=60)
@given(groups_of_boxes)
@example([(0, 0, 4, 4), (4, 0, 8, 4), (2, 4, 6, 8)])
def test_scores_are_means_over_pixels(some):
    v = on_a_grid(some)
    assert most(some) == v.max()
    mean = [v[x1 + 15 : x2 + 15, y1 + 15 : y2 + 15].mean() for x1, y1, x2, y2 in some]
    assert scores(some) == pytest.approx(np.array(mean) / v.max(), abs=1e-12)
    corners = np.array(some, dtype=float)[:, :2]
    here = votes_at(corners, np.array(some, dtype=float), np.zeros(len(some), dtype=np.int64))[0]
    assert here.tolist() == [v[x1 + 15, y1 + 15] for x1, y1, _, _ in some]


# Sixty-fourths, which can be moved without rounding: whether squares touch or overlap must not hang on that.
exact = st.integers(-300 * 64, 300 * 64).map(lambda number: number / 64)
points = st.lists(st.none() | st.tuples(exact, exact), min_size=1, max_size=9)


@settings(max_examples=40)
@given(points, st.randoms(), st.integers(64, 200 * 64).map(lambda number: number / 64))
@example([(0.0, 0.0), (1.5, 0.0)], random.Random(0), 1.5)
def test_what_does_not_change_the_scores(some, shuffler, size):
    found = scores(squares(*some, size=size))
    assert ((found >= 0) & (found <= 1)).all()
    order = list(range(len(some)))
    shuffler.shuffle(order)
    assert scores(squares(*[some[row] for row in order], size=size)) == pytest.approx(found[order], abs=1e-9)
    moved = [point and (point[0] + 1024, point[1] - 512) for point in some]
    assert scores(squares(*moved, size=size)) == pytest.approx(found, abs=1e-6)
    # Every vote counted twice: both the integrals and v_max double.
    assert scores(squares(*some, *some, size=size)) == pytest.approx(np.tile(found, 2), abs=1e-9)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.tuples(whole, whole)), max_size=20))
def test_groups_do_not_see_each_other(rows):
    regions, groups = squares(*[point for _, point in rows], size=10.0), np.array([g for g, _ in rows], dtype=np.int64)
    found, (here, depth) = scores(regions, groups), votes_at(regions[:, :2], regions, groups)
    for group in set(groups.tolist()):
        mine = groups == group
        assert found[mine] == pytest.approx(scores(regions[mine]), abs=1e-12)
        alone = votes_at(regions[mine, :2], regions[mine], groups[mine])
        assert (here[mine].tolist(), depth[mine].tolist()) == (alone[0].tolist(), alone[1].tolist())


def test_64_that_agree_and_64_that_do_not():
    assert scores(squares(*[(100, 80)] * 64)).tolist() == [1.0] * 64
    assert scores(squares(*[(100 * place, 0) for place in range(64)])).tolist() == [1.0] * 64, "all are alone"
    # 63 at one place, one elsewhere: 1 / 63.
    assert scores(squares(*[(100, 80)] * 63, (900, 900))) == pytest.approx([1.0] * 63 + [1 / 63], abs=1e-12)


def test_a_huge_group_is_compared_in_bounded_memory():
    places = np.random.default_rng(0).uniform(0, 1000, (2000, 2)).tolist()
    regions = squares(*places)
    tracemalloc.start()
    found = scores(regions)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * 8 * CELLS, "a dozen tables of CELLS comparisons; all at once would be eight times as many"
    assert 0 < found.min() < found.max() < 1


@settings(max_examples=40)
@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 3))
def test_each_row_is_in_one_block_with_its_group(groups, every):
    groups, rows = np.array(groups, dtype=np.int64), np.arange(0, len(groups), every)
    seen = []
    for block in by_size(groups, rows):
        for members in block.tolist():
            assert members == [row for row in rows.tolist() if groups[row] == groups[members[0]]]
            seen += members
    assert sorted(seen) == rows.tolist()


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.sampled_from([LARGE - 1, LARGE, 3 * LARGE]), st.booleans())
def test_large_groups_score_as_means_over_pixels_too(seed, rows, spread):
    rng = np.random.default_rng(seed)
    corner = rng.integers(-12, 13 if spread else -9, (rows, 2))
    some = np.concatenate((corner, corner + rng.integers(1, 10, (rows, 2))), axis=1)
    v = on_a_grid(some.tolist())
    mean = [v[x1 + 15 : x2 + 15, y1 + 15 : y2 + 15].mean() for x1, y1, x2, y2 in some.tolist()]
    assert scores(some) == pytest.approx(np.array(mean) / v.max(), abs=1e-12)
    at = rng.integers(-15, 22, (rows, 2))
    here, depth = votes_at(at.astype(float), some.astype(float), np.zeros(rows, dtype=np.int64))
    assert here.tolist() == v[at[:, 0] + 15, at[:, 1] + 15].tolist()
    assert set(depth.tolist()) == {int(v.max())}


def test_a_large_group_scores_alone_as_beside_others_to_the_last_bit():
    xy = np.random.default_rng(1).normal((500, 400), 60, (900, 2))
    regions, groups = voting_regions(xy, np.full((900, 4), np.nan), 50.0), np.arange(900) % 3
    together = consensus_scores(regions, groups)
    for group in range(3):
        assert together[groups == group].tolist() == scores(regions[groups == group]).tolist()


intervals = st.lists(st.tuples(st.integers(0, 900), st.integers(0, 40) | st.just(900)), min_size=1, max_size=400)


@settings(max_examples=40)
@given(intervals)
@example([(place % 7, 1) for place in range(2000)])
def test_neighbours_are_all_that_meet_and_few_at_a_time(some):
    low = np.sort(np.array([start for start, _ in some], dtype=float))
    high = low + [length for _, length in some]
    meets = (low[:, None] <= high) & (low <= high[:, None])
    stop = 0
    for part, near in neighbours(low, high):
        assert part.start == stop
        stop = part.stop
        assert not meets[part, : near.start].any()
        assert not meets[part, near.stop :].any()
        assert part.stop - part.start == 1 or (part.stop - part.start) * (near.stop - near.start) <= 2**15
    assert stop == len(low)
