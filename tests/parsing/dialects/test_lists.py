"""Points and boxes in square brackets."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.parsing import (
    BARE_LIST,
    BOX_LIST,
    INTEGER_LIST,
    LIST_BOX,
    LIST_POINT,
    LIST_POINT_OR_REFUSAL,
    LIST_REFUSAL,
    NESTED_LIST,
    parse,
)
from grounding_rewards.parsing.readers import read_boxes
from grounding_rewards.parsing.texts import VECTOR_ROWS, compiled
from grounding_rewards.plugins.registry import collect
from tests.cases import cases
from tests.parsing.fragments import GLUE, NUMERALS, SPACES, responses
from tests.parsing.reading import read, read_action, read_all, read_box
from tests.parsing.test_paths_agree import agree


@cases(
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


@cases(
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


def test_a_bare_box_stays_as_it_was_written():
    assert read_box("[300, 200, 100, 100]", BARE_LIST) == [300, 200, 100, 100]
    assert read_box("[300, 200]", BARE_LIST) is None


def test_several_bare_lists():
    text = "[1, 2] {'k': [9, 9]} [0, 0, 4, 8]"
    assert read(text, BARE_LIST) == (None, "SEVERAL_ANSWERS")
    assert read(text, BARE_LIST, "first") == ([1, 2], "OK")
    assert read(text, BARE_LIST, "last") == ([2, 4], "OK")
    assert read_all(text, BARE_LIST) == [[1, 2], [2, 4]]


@cases(
    "text",
    [
        "[200,150]", "[200, 150]", "[ 200 ,\n150 ]", "a [200,150].", "(5, 5)[200,150]", "[[200,150]]", "[0200,00150]",
        '<tool_call>\n{"name": "grounding", "arguments": {"action": "click", "coordinate": [200, 150]}}\n</tool_call>',
        "[1] [1.5, 2] [-1, 2] [1, 2, 3] [a, b] [200, 150] [1, 2", "[200,150] [１,１]",
    ],
)  # fmt: skip
def test_a_list_of_two_whole_numbers(text):
    assert read(text, INTEGER_LIST) == ([200, 150], "OK")


@cases(
    "text",
    ["[200.0, 150.0]", "[-200, 150]", "[+200, 150]", "[2_00, 150]", "[200]", "[200, 150, 7]", "[2, 1", "[２, １]"],
)
def test_a_list_of_anything_else_is_malformed(text):
    assert read(text, INTEGER_LIST) == (None, "MALFORMED")


def test_no_bracket_no_answer():
    assert read("(200, 150)", INTEGER_LIST) == (None, "NO_ANSWER")
    assert read(" ", INTEGER_LIST) == (None, "EMPTY")


def test_several_lists_of_two_whole_numbers():
    assert read("[1,2] [3,4]", INTEGER_LIST) == (None, "SEVERAL_ANSWERS")
    assert read("[1,2] [3,4]", INTEGER_LIST, "first") == ([1, 2], "OK")
    assert read("[1,2] [3,4]", INTEGER_LIST, "last") == ([3, 4], "OK")


WHOLE = st.sampled_from(["0", "7", "512", "-3", "1.5", "9" * 16, "9" * 400, "", "x"])
PAIRS = st.builds("[{}{}{}]".format, WHOLE, st.sampled_from([",", ", ", " ,", "\xa0,", ";"]), WHOLE)
TEXTS = st.lists(st.one_of(PAIRS, responses), min_size=1, max_size=4).map("".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4), st.sampled_from(["only", "first", "last", "all"]))
def test_one_integer_list_and_many_read_alike(some, answers):
    many = parse(some * VECTOR_ROWS, INTEGER_LIST, space=CoordSpace.PIXEL, answers=answers, thinking="read")
    for row, text in enumerate(some):
        alone = parse([text], INTEGER_LIST, space=CoordSpace.PIXEL, answers=answers, thinking="read")
        assert many.xy[row].tobytes() == alone.xy[0].tobytes()
        assert many.reason[row] == alone.reason[0]


@cases(
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


@cases(
    "text",
    [
        "[1, 2]", "[[1, 2], [3, 4]]", "[[x1,y1,x2,y2]]", "[[1, 2, 3]]", "[[1, 2]", "[[1 2]]", "[(1, 2)]", "[[]]",
        "[[1e3, 2]]",
    ],
)  # fmt: skip
def test_other_brackets_are_no_nested_list(text):
    assert read(text, NESTED_LIST) == (None, "MALFORMED")


def test_a_nested_box_is_kept():
    assert read_box("CLICK(box=[[102,34,120,50]])", NESTED_LIST) == [102, 34, 120, 50]


def test_several_nested_lists():
    text = "CLICK(box=[[1,2,3,4]]) HOVER(box=[[5,6,7,8]])"
    assert read(text, NESTED_LIST) == (None, "SEVERAL_ANSWERS")
    assert (read(text, NESTED_LIST, "first"), read_action(text, NESTED_LIST, "first")) == (([2, 3], "OK"), "CLICK")
    assert (read(text, NESTED_LIST, "last"), read_action(text, NESTED_LIST, "last")) == (([6, 7], "OK"), "HOVER")


PLAIN = (LIST_BOX, LIST_POINT, LIST_REFUSAL, LIST_POINT_OR_REFUSAL)


def test_plain_lists_are_registered_under_their_names():
    names = ["list_box", "list_point", "list_refusal", "list_point_or_refusal"]
    assert [dialect.name for dialect in PLAIN] == names
    parsers = collect([]).parsers
    assert all(parsers[dialect.name] is dialect for dialect in PLAIN)
    assert LIST_POINT_OR_REFUSAL.names == ("list_refusal", "list_point")


@cases(
    ("text", "point", "box"),
    [
        ("[500,370,524,398]", [512, 384], [500, 370, 524, 398]),
        ("[500,370],[524,398]", [512, 384], [500, 370, 524, 398]),
        ("at [ 1 , .5 ] , [ 3.0 ,\n2.5 ].", [2, 1.5], [1, 0.5, 3, 2.5]),
        ("[-1,-1,-1,-1]", [-1, -1], [-1, -1, -1, -1]),
    ],
)
def test_boxes(text, point, box):
    assert read(text, LIST_BOX) == (point, "OK")
    assert read_box(text, LIST_BOX) == box


@cases("text", ["[1,2]", "[1,2,3]", "[1,2,3,4,5]", "[1,2][3,4]", "[1,2,3,x]", "[1,2,3,4"])
def test_what_is_no_box(text):
    assert read(text, LIST_BOX) == (None, "MALFORMED")


@cases(("text", "point"), [("[512,384]", [512, 384]), ("at [ .5 , -2. ]", [0.5, -2])])
def test_points(text, point):
    for dialect in (LIST_POINT, LIST_POINT_OR_REFUSAL):
        assert read(text, dialect) == (point, "OK")
        assert read_box(text, dialect) is None


@cases("text", ["[1]", "[1,2,3]", "[1 2]", "[1,x]", "[1,2"])
def test_what_is_no_point(text):
    assert read(text, LIST_POINT) == read(text, LIST_POINT_OR_REFUSAL) == (None, "MALFORMED")


def test_a_refusal_is_minus_one_twice_and_nothing_else():
    for text in ("[-1,-1]", " [ -1 , -1 ]\n"):
        assert read(text, LIST_REFUSAL) == read(text, LIST_POINT_OR_REFUSAL) == (None, "REFUSED")
        assert read(text, LIST_POINT) == ([-1, -1], "OK")
    for text in ("not there: [-1,-1]", "[-1.0,-1.0]"):
        assert read(text, LIST_REFUSAL) == (None, "MALFORMED")
        assert read(text, LIST_POINT_OR_REFUSAL) == ([-1, -1], "OK")
    assert read("[-100,-100]", LIST_POINT_OR_REFUSAL) == ([-100, -100], "OK")
    assert read("refusal", LIST_POINT_OR_REFUSAL) == (None, "NO_ANSWER")


@pytest.mark.parametrize("dialect", PLAIN, ids=lambda dialect: dialect.name)
@cases("answers", ["only", "first", "last", "all"])
def test_many_plain_lists_are_read_as_one(dialect, answers):
    agree(["[1,2]", "[-1,-1]", "[1,2,3,4]", "[1,2],[3,4]", "a [1,2] [3,4]", "[", ""], dialect, answers, "closed")
    found = parse(["[1,2,3,4]", "[1,2]"] * VECTOR_ROWS, dialect, space=CoordSpace.PIXEL, answers=answers)
    assert found.parsed[:2].tolist() == [dialect is LIST_BOX, dialect in (LIST_POINT, LIST_POINT_OR_REFUSAL)]


@cases(
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


@cases(
    "text",
    [
        "[1, 2, 3]", "[1, 2, 3, 4, 5]", "[1 2 3 4]", "[1, 2, 3, 4", "[1, 2,", "[x1, y1, x2, y2]", "[nan, 1, 2, 3]",
        "[1e2, 2, 3, 4]", "[+1, 2, 3, 4]", "[1., 2., 3., 4.]", "[１, 2, 3, 4]", "[1，2，3，4]", '["1", "2", "3", "4"]',
        "[1, 2, 3, 4,]", "[1, 2, 3, 4 # x]", "[]", "[" * 60, "[--1, 2, 3, 4]", "[1.2.3, 2, 3, 4]",
        "[1, 2, 3, 4]assistant\n",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_box_is_malformed(text):
    assert read(text, BOX_LIST, "first", "read") == (None, "MALFORMED")


@cases("text", ["1, 2, 3, 4", "(1, 2, 3, 4)", "1, 2, 3, 4]", "{}", "I cannot find it"])
def test_without_a_bracket_there_is_no_box(text):
    assert read(text, BOX_LIST, "first", "read") == (None, "NO_ANSWER")


def test_which_of_several_boxes_counts():
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
def test_where_the_pattern_of_a_box_matches_the_reader_reads_the_same(text):
    found = compiled(BOX_LIST.usual[0]).search(text)
    if found:
        assert read_boxes(text) == [[float(number) for number in found.group("x1", "y1", "x2", "y2")]]


@settings(max_examples=200, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5))
def test_many_boxes_read_as_each_alone(some):
    many = parse(some * VECTOR_ROWS, BOX_LIST, space=CoordSpace.PIXEL, answers="first", thinking="read")
    for row, text in enumerate(some):
        alone = parse([text], BOX_LIST, space=CoordSpace.PIXEL, answers="first", thinking="read")
        assert many.box[row].tobytes() == alone.box[0].tobytes()
        assert many.xy[row].tobytes() == alone.xy[0].tobytes()
        assert many.reason[row] == alone.reason[0]
