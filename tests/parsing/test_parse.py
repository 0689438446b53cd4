"""Cap, thinking, policy and reason."""

import numpy as np
import pytest

from grounding_rewards.actions import Act
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import DialectError, RecipeError, TargetError
from grounding_rewards.parsing import AUTO, BARE_LIST, BARE_TUPLE, FirstOf, Form, parse
from grounding_rewards.parsing.reading import MAX_ANSWERS
from grounding_rewards.parsing.responses import MAX_LENGTH
from grounding_rewards.rollouts import Reason
from tests.cases import cases
from tests.parsing.reading import read


def test_the_reasons_and_their_codes_are_public():
    assert {reason.name: int(reason) for reason in Reason} == {
        "OK": 0, "EMPTY": 1, "NO_ANSWER": 2, "SEVERAL_ANSWERS": 3, "TOO_MANY": 4, "MALFORMED": 5, "OUT_OF_IMAGE": 6,
        "REFUSED": 7, "UNFINISHED": 8, "BAD_TARGET": 9, "UNKNOWN_ACTION": 10,
    }  # fmt: skip


def test_columns_have_their_stated_types_and_shapes():
    found = parse(["(1, 2)", None, "x"], AUTO, space=CoordSpace.UNIT)
    assert (found.xy.shape, found.xy.dtype) == ((3, 2), np.float64)
    assert (found.box.shape, found.box.dtype) == ((3, 4), np.float64)
    assert (found.reason.dtype, found.dialect.dtype, found.actions.dtype) == (np.int8, np.int8, np.object_)
    assert (found.space, len(found), found.points, found.offsets) == (CoordSpace.UNIT, 3, None, None)
    assert found.parsed.tolist() == [True, False, False]


@cases(
    ("answers", "expected"),
    [
        ("only", (None, "SEVERAL_ANSWERS")), ("first", ([1, 2], "OK")), ("last", ([5, 6], "OK")),
        ("all", ([1, 2], "OK")),
    ],
)  # fmt: skip
def test_the_policy_says_which_of_several_answers_counts(answers, expected):
    assert read("(1, 2) (3, 4) (5, 6)", BARE_TUPLE, answers) == expected


@cases("answers", ["only", "first", "last", "all"])
def test_one_answer_counts_under_every_policy(answers):
    assert read("so (1, 2).", BARE_TUPLE, answers) == ([1, 2], "OK")


def test_the_same_answer_twice_is_two_answers():
    assert read("(1, 2) (1, 2)", BARE_TUPLE) == (None, "SEVERAL_ANSWERS")


@cases("rows", [1, 60])
def test_256_answers_are_read_and_257_are_too_many(rows):
    for count, reason, kept in ((256, "OK", 256), (257, "TOO_MANY", 0)):
        found = parse(["(1, 2)" * count] * rows, BARE_TUPLE, space=CoordSpace.PIXEL, answers="all")
        assert {Reason(code).name for code in found.reason} == {reason}
        assert found.offsets[1] == kept
    assert MAX_ANSWERS == 256
    assert read("(1, 2)" * 256, BARE_TUPLE) == (None, "SEVERAL_ANSWERS")
    assert read("(1, 2)" * 257, BARE_TUPLE) == (None, "TOO_MANY")


@cases("rows", [1, 60])
def test_only_the_last_64_ki_characters_are_read(rows):
    def reasons(text):
        found = parse([text] * rows, BARE_TUPLE, space=CoordSpace.PIXEL)
        return {Reason(code).name for code in found.reason}

    assert MAX_LENGTH == 65536
    assert reasons("(1, 2)" + "x" * (65536 - 6)) == {"OK"}
    assert reasons("(1, 2)" + "x" * (65536 - 5)) == {"NO_ANSWER"}
    assert reasons("x" * 1_000_000 + "(1, 2)") == {"OK"}
    assert reasons("(3, 4)" + " " * 70_000 + "(1, 2)") == {"OK"}, "what was cut off does not count as a second answer"


@cases(
    ("text", "closed", "opened", "as_read"),
    [
        ("(1, 2)", ([1, 2], "OK"), (None, "UNFINISHED"), ([1, 2], "OK")),
        ("<think>hm</think>(1, 2)", ([1, 2], "OK"), ([1, 2], "OK"), ([1, 2], "OK")),
        ("hm</think>(1, 2)", ([1, 2], "OK"), ([1, 2], "OK"), ([1, 2], "OK")),
        ("<think>(1, 2)</think>", (None, "EMPTY"), (None, "EMPTY"), ([1, 2], "OK")),
        ("(1, 2)</think>", (None, "EMPTY"), (None, "EMPTY"), ([1, 2], "OK")),
        ("<think>(1, 2)", (None, "UNFINISHED"), (None, "UNFINISHED"), ([1, 2], "OK")),
        ("(1, 2)<think>hm", (None, "UNFINISHED"), (None, "UNFINISHED"), ([1, 2], "OK")),
        ("<think>a</think>(3, 4)</think>(1, 2)", ([1, 2], "OK"), ([1, 2], "OK"), (None, "SEVERAL_ANSWERS")),
        ("<think>(3, 4)</think>hm</think>", (None, "EMPTY"), (None, "EMPTY"), ([3, 4], "OK")),
        ("<think>a</think>(1, 2)<think>b", (None, "UNFINISHED"), (None, "UNFINISHED"), ([1, 2], "OK")),
        ("<think></think>no", (None, "NO_ANSWER"), (None, "NO_ANSWER"), (None, "NO_ANSWER")),
        ("<think></think>(x)", (None, "MALFORMED"), (None, "MALFORMED"), (None, "MALFORMED")),
        ("", (None, "EMPTY"), (None, "EMPTY"), (None, "EMPTY")),
        (" \n", (None, "EMPTY"), (None, "EMPTY"), (None, "EMPTY")),
        ("think> (1, 2)", ([1, 2], "OK"), (None, "UNFINISHED"), ([1, 2], "OK")),
        ("<thinking>(3, 4)</thinking>", ([3, 4], "OK"), (None, "UNFINISHED"), ([3, 4], "OK")),
    ],
)
def test_thinking_is_never_the_answer_unless_it_is_read(text, closed, opened, as_read):
    assert read(text, BARE_TUPLE) == closed
    assert read(text, BARE_TUPLE, thinking="open") == opened
    assert read(text, BARE_TUPLE, thinking="read") == as_read


def test_thinking_longer_than_the_cap_is_still_thinking():
    # Cut first, and the opening tag or the closing one would be lost.
    assert read("<think>" + "(3, 4) " * 20_000 + "</think>(1, 2)", BARE_TUPLE) == ([1, 2], "OK")
    assert read("<think>" + "(3, 4) " * 20_000, BARE_TUPLE) == (None, "UNFINISHED")
    assert read("a</think>" + "x" * 70_000 + "(1, 2)", BARE_TUPLE) == ([1, 2], "OK")


def test_thinking_differs_by_row():
    texts = ["<think>(9, 9)</think>(1, 2)", "(3, 4)", "<think>(5, 6)"]
    found = parse(texts, BARE_TUPLE, space=CoordSpace.PIXEL)
    assert found.xy[:2].tolist() == [[1, 2], [3, 4]]
    assert found.reason.tolist() == [Reason.OK, Reason.OK, Reason.UNFINISHED]


def test_none_counts_as_empty_beside_strings():
    found = parse([None, "(1, 2)", ""], BARE_TUPLE, space=CoordSpace.PIXEL)
    assert found.reason.tolist() == [Reason.EMPTY, Reason.OK, Reason.EMPTY]


@cases("other", [5, 1.5, b"(1, 2)", ["(1, 2)"], {"content": "(1, 2)"}, True, float("nan")])
def test_what_is_no_string_is_a_type_error_that_names_its_row(other):
    with pytest.raises(TypeError, match=r"response of row 2: got .*; expected a string or None"):
        parse(["a", None, other], BARE_TUPLE, space=CoordSpace.PIXEL)


@cases("rows", [0, 1, 47, 48, 100])
def test_any_number_of_rows(rows):
    found = parse(["(1, 2)"] * rows, AUTO, space=CoordSpace.PIXEL, answers="all")
    assert (len(found), found.xy.shape, found.offsets.tolist()) == (rows, (rows, 2), list(range(rows + 1)))


def test_numpy_strings_are_strings():
    texts = np.array(["(1, 2)", "no"] * 30)
    assert parse(texts, BARE_TUPLE, space=CoordSpace.PIXEL).reason[:2].tolist() == [Reason.OK, Reason.NO_ANSWER]


def fails(error):
    def read_text(text):
        raise error

    return read_text


@cases(
    ("reads", "message"),
    [
        (lambda text: [(1.0,)], "raised ValueError: read returned a place of 1 number; expected 2 or 4, or an act wit"),
        (lambda text: [(1.0, 2.0, 3.0)], "raised ValueError: read returned a place of 3 numbers"),
        (lambda text: [(1.0, "2")], "raised TypeError: read returned '2' in a place; expected numbers"),
        (lambda text: [5], "raised TypeError"),
        (fails(SystemExit(2)), "raised SystemExit: 2"),
    ],
)
def test_what_a_function_reads_is_a_place(reads, message):
    own = Form("own", read=reads)
    for dialect in (own, FirstOf((BARE_LIST, own), name="mixed")):
        with pytest.raises(DialectError, match=f"^dialect 'own' {message}.* on 'tap 1 2'"):
            parse(["tap 1 2"], dialect, space=CoordSpace.PIXEL)
    with pytest.raises(TargetError, match=r"^target of sample 'a'"):  # an error of this package says enough
        parse([""], Form("own", read=fails(TargetError("a", "bbox", 1, "2"))), space=CoordSpace.PIXEL)


def test_a_place_that_is_no_number_is_far_away():
    for act in ((float("nan"), 5.0), Act("click", (float("nan"), 5.0))):
        dialect = Form("own", read=lambda text, act=act: [act], signs=("n",))
        assert parse(["none"], dialect, space=CoordSpace.PIXEL).xy.tolist() == [[1e12, 5.0]]


def test_a_pattern_without_a_place_is_an_error():
    with pytest.raises(RecipeError, match=r"^dialect own: got groups"):
        parse(["1"], Form("own", "(?P<x>1)"), space=CoordSpace.PIXEL)
