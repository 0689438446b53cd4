"""``[x1,y1,x2,y2]`` anywhere: GUI-G2."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import BOX_LIST, parse
from grounding_rewards.parsing.dialects.lists import read_boxes
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
from tests.parsing.fragments import GLUE, NUMERALS, SPACES
from tests.parsing.reading import read, read_box


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("[500,370,524,398]", [500, 370, 524, 398]),
        (" [ 500 , 370,\n524\t, 398 ] \n", [500, 370, 524, 398]),
        ("[524,398,500,370]", [524, 398, 500, 370]),
        ("[-5, .5, 0.25, 007]", [-5, 0.5, 0.25, 7]),
        ("Sure.\n```json\n[1, 2, 3, 4]\n``` ok", [1, 2, 3, 4]),
        ("[1, 2, 3, 4] [5, 6, 7, 8]", [1, 2, 3, 4]),
        ("[[1, 2, 3, 4]]", [1, 2, 3, 4]),
        ('[{"bbox_2d": [1, 2, 3, 4]}]', [1, 2, 3, 4]),
        ("[1, 2] [3, 4, 5, 6, 7] [5, 6, 7, 8]", [5, 6, 7, 8]),
        ("user: where? assistant\n[1, 2, 3, 4]", [1, 2, 3, 4]),
        ("[9, 9, 9, 9]assistant\n[1, 2, 3, 4]", [1, 2, 3, 4]),
        ("assistant\n[9, 9, 9, 9]assistant\n\n[1, 2, 3, 4]", [1, 2, 3, 4]),
        (f"[{'9' * 400}, -{'9' * 5000}, 3, 4]", [1e12, -1e12, 3, 4]),
    ],
)
def test_reads_the_first_list_of_four_numbers_after_the_last_turn(text, box):
    found = parse([text], BOX_LIST, space=CoordSpace.PIXEL, answers="first", thinking="read")
    assert found.box.tolist() == [box]
    assert found.xy.tolist() == [[(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]]


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2, 3]", "[1, 2, 3, 4, 5]", "[1 2 3 4]", "[1, 2, 3, 4", "[1, 2,", "[x1, y1, x2, y2]", "[nan, 1, 2, 3]",
        "[1e2, 2, 3, 4]", "[+1, 2, 3, 4]", "[1., 2., 3., 4.]", "[１, 2, 3, 4]", "[1，2，3，4]", '["1", "2", "3", "4"]',
        "[1, 2, 3, 4,]", "[1, 2, 3, 4 # x]", "[]", "[" * 60, "[--1, 2, 3, 4]", "[1.2.3, 2, 3, 4]",
        "[1, 2, 3, 4]assistant\n",
    ],
)  # fmt: skip
def test_what_only_looks_like_one_is_malformed(text):
    assert read(text, BOX_LIST, "first", "read") == (None, "MALFORMED")


@pytest.mark.parametrize("text", ["1, 2, 3, 4", "(1, 2, 3, 4)", "1, 2, 3, 4]", "{}", "I cannot find it"])
def test_without_a_bracket_there_is_no_answer(text):
    assert read(text, BOX_LIST, "first", "read") == (None, "NO_ANSWER")


def test_which_of_several_counts():
    two = "[0, 0, 2, 2] or [4, 4, 8, 8]"
    assert read(two, BOX_LIST, "last") == ([6, 6], "OK")
    assert read(two, BOX_LIST, "only") == (None, "SEVERAL_ANSWERS")
    assert read_box(two, BOX_LIST) is None


numbers = st.integers(-2000, 5000).map(str) | st.sampled_from(NUMERALS)
gaps = st.sampled_from(["", "", " ", *SPACES])
boxes = st.builds(
    "{}[{}{}{},{}{},{},{}]{}".format, gaps, gaps, numbers, gaps, gaps, numbers, numbers, numbers, gaps
)  # fmt: skip
texts = boxes | st.lists(boxes | st.sampled_from(["assistant\n", "[1,2,3,4]", *GLUE, *SPACES]), max_size=6).map("".join)


@settings(max_examples=500, deadline=None)
@given(texts)
@example("\u3000[\x1c1\x85, -2.5\xa0, .5, 007]\u2028")
def test_where_the_pattern_matches_read_finds_the_same(text):
    found = compiled(BOX_LIST.pattern).search(text)
    if found:
        assert read_boxes(text) == [[float(number) for number in found.group("x1", "y1", "x2", "y2")]]


@settings(max_examples=200, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5))
def test_many_texts_read_as_each_alone(some):
    many = parse(some * VECTOR_ROWS, BOX_LIST, space=CoordSpace.PIXEL, answers="first", thinking="read")
    for row, text in enumerate(some):
        alone = parse([text], BOX_LIST, space=CoordSpace.PIXEL, answers="first", thinking="read")
        assert many.box[row].tobytes() == alone.box[0].tobytes()
        assert many.xy[row].tobytes() == alone.xy[0].tobytes()
        assert many.reason[row] == alone.reason[0]
