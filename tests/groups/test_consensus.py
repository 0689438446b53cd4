"""The region that most answers share: its shape, its middle, and what is not to be a region."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.groups.consensus import consensus_region
from tests.groups.test_voting import boxes, on_a_grid


def test_the_square_that_two_share():
    found = consensus_region([(100, 80), (110, 90), (400, 300)])
    assert (found.xy, found.votes, found.of, found.members) == ((105.0, 85.0), 2, 3, (0, 1))
    assert (found.box, found.area) == ((85.0, 65.0, 125.0, 105.0), 1600.0)
    assert found.polygon == (85.0, 65.0, 125.0, 65.0, 125.0, 105.0, 85.0, 105.0)


def test_one_answer_is_its_own_square():
    found = consensus_region([(np.nan, np.nan), (100, 80)], size=10)
    assert (found.xy, found.votes, found.of, found.members, found.box) == ((100, 80), 1, 2, (1,), (95, 75, 105, 85))


@pytest.mark.parametrize("size", [np.int64(10), np.float32(10), 10])
def test_numbers_of_numpy_will_do(size):
    assert consensus_region([(100, 80)], size=size).box == (95, 75, 105, 85)


def test_an_l_is_clicked_inside_it():
    # A bar on the left and a bar at the bottom, both touching the corner square that joins them: v is 1 everywhere.
    found = consensus_region([[0, 0, 10, 90], [0, 90, 10, 100], [10, 90, 100, 100]])
    assert found.polygon == (0, 0, 10, 0, 10, 90, 100, 90, 100, 100, 0, 100)
    assert (found.area, found.box, found.votes) == (1900.0, (0, 0, 100, 100), 1)
    x, y = found.xy
    assert (0 < x < 10 and 0 < y < 100) or (0 < x < 100 and 90 < y < 100), "the centre (28.7, 71.3) lies outside"
    assert len(found.members) == 1
    with_another = consensus_region([[0, 0, 10, 90], [0, 90, 10, 100], [10, 90, 100, 100], [25, 68, 32, 75]])
    assert (with_another.xy, with_another.polygon) == (found.xy, found.polygon), "v is 1 at the centre, but apart"


def test_an_l_of_deep_cells_around_a_shallow_one():
    # Two L's made of two boxes each, on top of each other: v is 2 on both bars, and 4 where they cross.
    found = consensus_region([[0, 0, 20, 100], [0, 80, 100, 100]] * 2)
    assert (found.votes, found.members, found.box) == (4, (0, 1, 2, 3), (0, 80, 20, 100))


def test_edges_join_and_corners_do_not():
    joined = consensus_region([[0, 0, 10, 10], [10, 0, 20, 10], [50, 50, 64, 64]])
    assert (joined.area, joined.box, joined.xy, joined.members) == (200.0, (0, 0, 20, 10), (10.0, 5.0), (1,))
    apart = consensus_region([[0, 0, 10, 10], [10, 10, 20, 20], [50, 50, 61, 61]])
    assert (apart.area, apart.box) == (121.0, (50, 50, 61, 61))


def test_of_equally_large_ones_the_topmost_then_the_leftmost():
    assert consensus_region([(900, 100), (100, 900)]).members == (0,)
    assert consensus_region([(900, 100), (100, 100)]).members == (1,)
    # In floats the square on the right is larger by 1e-12.
    assert consensus_region([(103.3, 0.7), (0.1, 0.7)]).members == (1,), "equal but for rounding"


def test_the_border_of_the_image_ends_regions():
    found = consensus_region([(0, 0), (0, 0)], image_size=(640, 480))
    assert (found.box, found.xy, found.area) == ((0, 0, 25, 25), (12.5, 12.5), 625.0)
    found = consensus_region([(900, 900), (900, 900), (600, 470)], image_size=(640, 480))
    assert (found.members, found.box, found.of) == ((2,), (575, 445, 625, 480), 3)
    assert consensus_region([(900, 900)], image_size=(640, 480)) is None


def test_no_answer_no_region():
    for places in [[], np.zeros((0, 4)), [[np.nan, np.nan]], [[np.inf, 1.0]], [[np.nan] * 4], [[1e300, 1e300]] * 3]:
        assert consensus_region(places) is None, places


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2],), r"places=\): got \[1, 2\]; expected n points x y, n boxes"),
        (([[1, 2, 3]],), r"places=\)"),
        (("(1, 2)",), r"places=\)"),
        (([(1, 2)], 0), r"size=\): got 0; expected a length above 0"),
        (([(1, 2)], np.nan), r"size=\)"),
        (([(1, 2)], True), r"size=\)"),
        ((np.zeros((2, 2), complex),), r"places=\)"),
        (([["1", "2"]],), r"places=\)"),
        (([(1, 2)], "50"), r"size=\)"),
        (([(1, 2)], 50, (0, 100)), r"image_size=\): got \(0, 100\); expected \(width, height\)"),
        (([(1, 2)], 50, 100), r"image_size=\)"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(gr.RecipeError, match=message):
        consensus_region(*arguments)


def test_from_texts_boxes_stay_and_what_lies_outside_does_not_vote():
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    texts = ["(100, 80)", json.dumps({"bbox_2d": [90, 70, 110, 90]}), "(700, 80)", "(700, 80)", "(700, 80)", None]
    scores = recipe.score(texts, None, groups=[0] * 6, image_sizes=(640, 480))
    found = consensus_region(scores.predictions, image_size=(640, 480))
    assert (found.xy, found.votes, found.of, found.members) == ((100.0, 80.0), 2, 6, (0, 1))
    assert found.box == (90, 70, 110, 90)


def test_boxes_answered_outside_the_image_do_not_vote():
    texts = ["[90, 90, 140, 130]", "[90, 90, 140, 130]", "(10, 10)"]
    beside = {"image_sizes": [(100, 100)] * 3, "groups": [0] * 3}
    scores = gr.recipe("gui-rcpo", response_space="pixel").score(texts, None, **beside)
    assert (scores.total.tolist(), scores.acc.tolist()) == ([0, 0, 1], [0, 0, 0])  # one vote is no agreement of two
    region = consensus_region(scores.predictions)
    assert (region.xy, region.votes, region.members) == ((10.0, 10.0), 1, (2,))


@pytest.mark.parametrize("size", [1e-9, 50.0, 1e12])
def test_whatever_was_answered_there_is_a_click(size):
    far = [(1e12, 1e12), (1e12 - 50, 1e12 - 50), (1e12 - 49.9999, 1e12), (-1e12, 3), (0, 0), (0, 1e-9)]
    found = consensus_region(far, size=size)
    assert np.isfinite(found.xy).all()
    assert len(found.members) == found.votes


def flood(deep):
    """Connected pixels, by edges: the sizes of all parts."""
    left, sizes = set(zip(*map(list, np.nonzero(deep)), strict=True)), []
    while left:
        todo, count = [left.pop()], 0
        while todo:
            x, y = todo.pop()
            count += 1
            for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                if near in left:
                    left.remove(near)
                    todo.append(near)
        sizes.append(count)
    return sizes


@settings(max_examples=50)
@given(st.lists(boxes, min_size=1, max_size=7))
def test_it_is_the_largest_part_of_the_deepest_pixels(some):
    v = on_a_grid(some)
    found = consensus_region(some)
    assert found.votes == v.max()
    assert found.area == pytest.approx(max(flood(v == v.max())), abs=1e-9)
    x, y = found.xy
    assert v[int(np.floor(x)) + 15, int(np.floor(y)) + 15] == v.max()
    assert len(found.members) == found.votes
    assert found.members == tuple(row for row, (x1, y1, x2, y2) in enumerate(some) if x1 <= x < x2 and y1 <= y < y2)
