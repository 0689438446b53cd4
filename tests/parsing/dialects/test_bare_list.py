"""``[512, 384]`` and ``[100, 100, 300, 200]``: UI-Venus, GUI-G2."""

import pytest

from grounding_rewards.parsing import BARE_LIST
from tests.parsing.reading import read, read_all, read_box


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("[512, 384]", [512, 384]),
        ("[512,384]", [512, 384]),
        ("[ 512 ,\n384 ]", [512, 384]),
        ("[0.25, .75]", [0.25, 0.75]),
        ("[-3, -4.5]", [-3, -4.5]),
        ("<answer>[512,384]</answer>", [512, 384]),
        ("Answer: [512, 384]", [512, 384]),
        ("The 'Save' button is at [512, 384].", [512, 384]),
        ("'[512, 384]'", [512, 384]),
        ("[100,100,300,200]", [200, 150]),
        ("[0.1, 0.2, 0.3, 0.4]", [0.2, (0.2 + 0.4) / 2]),
        ("[[123, 456]]", [123, 456]),
        ("point=[1, 2]", [1, 2]),
        ("[1] shows it: [3, 4]", [3, 4]),
    ],
)
def test_reads_two_or_four_numbers_in_brackets(text, point):
    assert read(text, BARE_LIST) == (point, "OK")


@pytest.mark.parametrize(
    "text",
    [
        "[1]", "[1, 2, 3]", "[1, 2, 3, 4, 5]", "[1 2]", "[x, y]", "[x1, y1, x2, y2]", "[1, 2", "[+1, 2]", "[1e3, 2]",
        "[NaN, 1]", "[１, ２]", '["1", "2"]', "[]", "[1, 2)", '{"foo": [1, 2]}', "{'foo' : [1, 2, 3, 4]}",
        '"size":\n[1, 2]',
    ],
)  # fmt: skip
def test_other_lists_and_the_values_of_json_keys_are_no_answer(text):
    assert read(text, BARE_LIST) == (None, "MALFORMED")


def test_a_tuple_is_no_list():
    assert read("(1, 2)", BARE_LIST) == (None, "NO_ANSWER")


def test_a_box_stays_as_it_was_written():
    assert read_box("[300, 200, 100, 100]", BARE_LIST) == [300, 200, 100, 100]
    assert read_box("[300, 200]", BARE_LIST) is None


def test_several_lists():
    text = "[1, 2] {'k': [9, 9]} [0, 0, 4, 8]"
    assert read(text, BARE_LIST) == (None, "SEVERAL_ANSWERS")
    assert read(text, BARE_LIST, "first") == ([1, 2], "OK")
    assert read(text, BARE_LIST, "last") == ([2, 4], "OK")
    assert read_all(text, BARE_LIST) == [[1, 2], [2, 4]]
