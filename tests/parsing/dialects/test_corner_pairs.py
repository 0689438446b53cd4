"""``(100,100),(300,200)`` and ``[100,100],[300,200]``: a box by two corners, not two points."""

import pytest

from grounding_rewards.parsing import CORNER_LISTS, CORNER_TUPLES
from tests.parsing.reading import read, read_all, read_box


def square(text):
    return text.replace("(", "[").replace(")", "]")


@pytest.mark.parametrize(
    "text",
    [
        "(12,34),(56,78)", "( 12 , 34 ) ,\n( 56 , 78 )", "save(12,34),(56,78)", "Box: (12.0,34.),(56,78).",
        "the ((first) one: (12,34),(56,78)",
    ],
)  # fmt: skip
def test_reads_exactly_two_pairs_as_a_box(text):
    assert read(text, CORNER_TUPLES) == ([34, 56], "OK")
    assert read_box(text, CORNER_TUPLES) == [12, 34, 56, 78]
    assert read(square(text), CORNER_LISTS) == ([34, 56], "OK")
    assert read_box(square(text), CORNER_LISTS) == [12, 34, 56, 78]


@pytest.mark.parametrize(
    "text",
    [
        "(1,2)", "(1,2)(3,4)", "(1,2) (3,4)", "(1,2) and (3,4)", "(1,2),(3,4),(5,6)", "(1,2),(3,4),(5,6),(7,8)",
        "((1,2),(3,4))", "[(1,2),(3,4)]", "((1,2),(3,4)", "(x1,y1),(x2,y2)", "(1,2),(3", "(1,2,3,4)", "(1,2),(3,4,5)",
        "(1,2),,(3,4)", "(1e3,2),(3,4)",
    ],
)  # fmt: skip
def test_points_lists_of_points_and_beginnings_are_no_box(text):
    assert read(text, CORNER_TUPLES) == (None, "MALFORMED")
    assert read(square(text), CORNER_LISTS) == (None, "MALFORMED")


def test_round_and_square_do_not_mix():
    for dialect in (CORNER_TUPLES, CORNER_LISTS):
        assert read("(1,2),[3,4]", dialect) == (None, "MALFORMED")
    assert read("[1,2],[3,4]", CORNER_TUPLES) == (None, "NO_ANSWER")
    assert read("(1,2),(3,4)", CORNER_LISTS) == (None, "NO_ANSWER")


def test_several_boxes_and_what_is_no_box_among_them():
    text = "(0,0),(2,2)(4,4),(6,6) (1,1),(2,2),(3,3) (8,8),(10,10)"
    assert read(text, CORNER_TUPLES) == (None, "SEVERAL_ANSWERS")
    assert read(text, CORNER_TUPLES, "first") == ([1, 1], "OK")
    assert read(text, CORNER_TUPLES, "last") == ([9, 9], "OK")
    assert read_all(text, CORNER_TUPLES) == [[1, 1], [5, 5], [9, 9]]
