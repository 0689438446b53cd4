"""``(512, 384)``: GTA1, Gelato and UGround; the whole text for Gelato, anywhere in it for the others."""

import pytest

from grounding_rewards.parsing import BARE_TUPLE, BARE_TUPLE_WHOLE
from tests.parsing.reading import read, read_box


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
def test_reads_nothing_else(text, reason):
    assert read(text, BARE_TUPLE) == (None, reason)


def test_a_number_of_400_digits_is_read_as_far_away():
    assert read(f"({'9' * 400}, 1)", BARE_TUPLE) == ([1e12, 1], "OK")
    assert read(f"(-{'9' * 5000}, 1)", BARE_TUPLE) == ([-1e12, 1], "OK")


def test_a_point_has_no_box():
    assert read_box("(1, 2)", BARE_TUPLE) is None


@pytest.mark.parametrize("text", ["(200, 150)", " (200,150)\n", "(\t200 ,\n150 )", "\u3000(200, 150)\x1c"])
def test_whole_reads_a_tuple_and_white_space_around_it(text):
    assert read(text, BARE_TUPLE_WHOLE) == ([200, 150], "OK")


@pytest.mark.parametrize(
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
