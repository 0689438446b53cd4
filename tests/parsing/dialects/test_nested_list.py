"""``[[512, 384]]`` and ``box=[[100,100,300,200]]``: OS-Atlas-4B, GPT, CogAgent."""

import pytest

from grounding_rewards.parsing import NESTED_LIST
from tests.parsing.reading import read, read_action, read_box


@pytest.mark.parametrize(
    ("text", "point", "action"),
    [
        ("[[123,456]]", [123, 456], ""),
        ("[ [ 123 , 456 ]\n]", [123, 456], ""),
        ("It is at [[0.12,0.30,0.18,0.34]].", [0.15, (0.30 + 0.34) / 2], ""),
        ("box=[[102,034,120,050]]", [111, 42], ""),
        ("Grounded Operation: CLICK(box=[[102,34,120,50]], element_info='[save]')", [111, 42], "CLICK"),
        ("DOUBLE_CLICK( box = [[1,2,3,4]])", [2, 3], "DOUBLE_CLICK"),
        ("TYPE(box=[[1,2,3,4]], text='a')", [2, 3], "TYPE"),
        ("Bbox=[[1,2,3,4]]", [2, 3], ""),
        ("[[[1, 2]]]", [1, 2], ""),
    ],
)
def test_reads_one_place_in_double_brackets(text, point, action):
    assert read(text, NESTED_LIST) == (point, "OK")
    assert read_action(text, NESTED_LIST) == action


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2]", "[[1, 2], [3, 4]]", "[[x1,y1,x2,y2]]", "[[1, 2, 3]]", "[[1, 2]", "[[1 2]]", "[(1, 2)]", "[[]]",
        "[[1e3, 2]]",
    ],
)  # fmt: skip
def test_reads_nothing_else(text):
    assert read(text, NESTED_LIST) == (None, "MALFORMED")


def test_the_box_is_kept():
    assert read_box("CLICK(box=[[102,34,120,50]])", NESTED_LIST) == [102, 34, 120, 50]


def test_several():
    text = "CLICK(box=[[1,2,3,4]]) HOVER(box=[[5,6,7,8]])"
    assert read(text, NESTED_LIST) == (None, "SEVERAL_ANSWERS")
    assert (read(text, NESTED_LIST, "first"), read_action(text, NESTED_LIST, "first")) == (([2, 3], "OK"), "CLICK")
    assert (read(text, NESTED_LIST, "last"), read_action(text, NESTED_LIST, "last")) == (([6, 7], "OK"), "HOVER")
