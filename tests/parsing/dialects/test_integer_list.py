"""Two whole numbers in brackets, anywhere: what UI-Ins reads."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import INTEGER_LIST, parse
from grounding_rewards.parsing.texts import VECTOR_ROWS
from tests.parsing.fragments import responses
from tests.parsing.reading import read


@pytest.mark.parametrize(
    "text",
    [
        "[200,150]", "[200, 150]", "[ 200 ,\n150 ]", "a [200,150].", "(5, 5)[200,150]", "[[200,150]]", "[0200,00150]",
        '<tool_call>\n{"name": "grounding", "arguments": {"action": "click", "coordinate": [200, 150]}}\n</tool_call>',
        "[1] [1.5, 2] [-1, 2] [1, 2, 3] [a, b] [200, 150] [1, 2", "[200,150] [１,１]",
    ],
)  # fmt: skip
def test_a_list_of_two_whole_numbers(text):
    assert read(text, INTEGER_LIST) == ([200, 150], "OK")


@pytest.mark.parametrize(
    "text",
    ["[200.0, 150.0]", "[-200, 150]", "[+200, 150]", "[2_00, 150]", "[200]", "[200, 150, 7]", "[2, 1", "[２, １]"],
)
def test_a_list_of_anything_else_is_malformed(text):
    assert read(text, INTEGER_LIST) == (None, "MALFORMED")


def test_no_bracket_no_answer():
    assert read("(200, 150)", INTEGER_LIST) == (None, "NO_ANSWER")
    assert read(" ", INTEGER_LIST) == (None, "EMPTY")


def test_several():
    assert read("[1,2] [3,4]", INTEGER_LIST) == (None, "SEVERAL_ANSWERS")
    assert read("[1,2] [3,4]", INTEGER_LIST, "first") == ([1, 2], "OK")
    assert read("[1,2] [3,4]", INTEGER_LIST, "last") == ([3, 4], "OK")


numbers = st.sampled_from(["0", "7", "512", "-3", "1.5", "9" * 16, "9" * 400, "", "x"])
pairs = st.builds("[{}{}{}]".format, numbers, st.sampled_from([",", ", ", " ,", "\xa0,", ";"]), numbers)
texts = st.lists(st.one_of(pairs, responses), min_size=1, max_size=4).map("".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(texts, min_size=1, max_size=4), st.sampled_from(["only", "first", "last", "all"]))
def test_one_text_and_many_read_alike(some, answers):
    many = parse(some * VECTOR_ROWS, INTEGER_LIST, space=CoordSpace.PIXEL, answers=answers, thinking="read")
    for row, text in enumerate(some):
        alone = parse([text], INTEGER_LIST, space=CoordSpace.PIXEL, answers=answers, thinking="read")
        assert many.xy[row].tobytes() == alone.xy[0].tobytes()
        assert many.reason[row] == alone.reason[0]
