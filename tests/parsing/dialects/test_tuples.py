"""Points in parentheses, and boxes as two corners."""

from grounding_rewards.parsing import BARE_TUPLE, BARE_TUPLE_WHOLE, CORNER_LISTS, CORNER_TUPLES
from tests.cases import cases
from tests.parsing.reading import read, read_all, read_box


@cases(
    ("text", "point"),
    [
        ("(512, 384)", [512, 384]),
        ("(512,384)", [512, 384]),
        ("( 512 , 384 )", [512, 384]),
        ("(512,\n384)", [512, 384]),
        ("The button is at (512, 384).", [512, 384]),
        ("<think>look</think><answer>(512,384)</answer>", [512, 384]),
        ("pyautogui.click(512, 384)", [512, 384]),
        ("Click(352, 348)", [352, 348]),
        ("(0.25, .75)", [0.25, 0.75]),
        ("(12., 7)", [12, 7]),
        ("(-3, -4.5)", [-3, -4.5]),
        ("(007, 010)", [7, 10]),
        ("((1, 2))", [1, 2]),
        ("(1, 2, 3) (4, 5)", [4, 5]),
        ("(\u3000512\xa0,\u2003384\x85)", [512, 384]),
    ],
)
def test_reads_a_pair_of_numbers_in_parentheses(text, point):
    assert read(text, BARE_TUPLE) == (point, "OK")


@cases(
    ("text", "reason"),
    [
        ("(1, 2, 3)", "MALFORMED"),
        ("(1; 2)", "MALFORMED"),
        ("(1 2)", "MALFORMED"),
        ("(x, y)", "MALFORMED"),
        ("(1, 2", "MALFORMED"),
        ("(+1, 2)", "MALFORMED"),
        ("(1e3, 2)", "MALFORMED"),
        ("(NaN, inf)", "MALFORMED"),
        ("(1_000, 2)", "MALFORMED"),
        ("(1., .)", "MALFORMED"),
        ("(--1, 2)", "MALFORMED"),
        ("(２００,１５０)", "MALFORMED"),  # full-width digits are not digits here
        ("(٣, ٤)", "MALFORMED"),
        ("(1\u200b, 2)", "MALFORMED"),  # a zero-width space is no white space
        ("[512, 384]", "NO_ANSWER"),
        ("512, 384", "NO_ANSWER"),
        ("no idea", "NO_ANSWER"),
        ("", "EMPTY"),
        (" \n\t\u3000", "EMPTY"),
    ],
)
def test_anything_else_is_no_tuple(text, reason):
    assert read(text, BARE_TUPLE) == (None, reason)


def test_a_number_of_400_digits_is_read_as_far_away():
    assert read(f"({'9' * 400}, 1)", BARE_TUPLE) == ([1e12, 1], "OK")
    assert read(f"(-{'9' * 5000}, 1)", BARE_TUPLE) == ([-1e12, 1], "OK")


def test_a_point_has_no_box():
    assert read_box("(1, 2)", BARE_TUPLE) is None


@cases("text", ["(200, 150)", " (200,150)\n", "(\t200 ,\n150 )", "\u3000(200, 150)\x1c"])
def test_whole_reads_a_tuple_and_white_space_around_it(text):
    assert read(text, BARE_TUPLE_WHOLE) == ([200, 150], "OK")


@cases(
    "text",
    [
        "(200, 150).",
        "at (200, 150)",
        "(200.0, 150)",
        "(-200, 150)",
        "(200, 150)(1, 2)",
        "((200, 150))",
        "(200, 150)\x00",
    ],
)
def test_whole_reads_no_other_text_and_no_decimals_or_signs(text):
    assert read(text, BARE_TUPLE_WHOLE) == (None, "MALFORMED")


def test_whole_without_a_parenthesis_is_no_answer():
    assert read("refusal", BARE_TUPLE_WHOLE) == (None, "NO_ANSWER")


def square(text):
    return text.replace("(", "[").replace(")", "]")


@cases(
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


@cases(
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
