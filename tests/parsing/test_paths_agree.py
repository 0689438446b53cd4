"""Many texts run through arrow and RE2, few through Python's re: both must read the same, to the last bit."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.columns import Predictions, Reason
from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing import AUTO, BARE_TUPLE, BARE_TUPLE_WHOLE, REFUSAL, AutoDialect, PatternDialect, parse
from grounding_rewards.parsing.texts import VECTOR_ROWS, Texts, matches
from grounding_rewards.recipes.gta1 import _THINK_ANSWER
from grounding_rewards.spaces import CoordSpace
from tests.parsing.fragments import ANSWERS, responses


def inside(dialect):
    """The dialects that an AutoDialect tries; the dialect itself where it is none."""
    return [part for one in dialect.dialects for part in inside(one)] if isinstance(dialect, AutoDialect) else [dialect]


DIALECTS = [AUTO, BARE_TUPLE_WHOLE, *inside(AUTO)]
POLICIES = ["only", "first", "last", "all"]


def read(texts, dialect, answers, thinking) -> Predictions:
    return parse(texts, dialect, space=CoordSpace.PIXEL, answers=answers, thinking=thinking)


def bits(found: Predictions, row: int) -> tuple:
    """Everything about a row, floats as their bytes, so that -0.0 is not 0.0 and NaN is NaN."""
    points = b""
    if found.points is not None:
        points = found.points[found.offsets[row] : found.offsets[row + 1]].tobytes()
    return (
        found.xy[row].tobytes(), found.box[row].tobytes(), int(found.reason[row]), int(found.dialect[row]),
        found.actions[row], points,
    )  # fmt: skip


def agree(texts, dialect, answers, thinking):
    assert len(texts) < VECTOR_ROWS
    # Each text often enough that those that one dialect leaves for the next are again many: arrow takes rows of arrow.
    many = texts * VECTOR_ROWS
    vectorised = read(many, dialect, answers, thinking)
    for row, text in enumerate(texts):
        alone = bits(read([text], dialect, answers, thinking), 0)
        assert bits(vectorised, row) == alone
        assert bits(vectorised, row + len(texts)) == alone, "the same text further down"


@settings(max_examples=400, deadline=None)
@given(
    st.lists(responses, min_size=1, max_size=6),
    st.sampled_from(DIALECTS),
    st.sampled_from(POLICIES),
    st.sampled_from(["closed", "open", "read"]),
)
@example(["(1, 2)(3, 4)"], BARE_TUPLE, "only", "closed")
@example(["refu\u017fal"], REFUSAL, "only", "closed")
@example(["none\n"], REFUSAL, "only", "read")
@example(["(1, 2)\n"], BARE_TUPLE_WHOLE, "only", "read")
def test_whatever_the_text(texts, dialect, answers, thinking):
    agree(texts, dialect, answers, thinking)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("answers", POLICIES)
def test_on_every_answer_we_know_and_each_pair_of_them(dialect, answers):
    pairs = [first + second for first, second in zip(ANSWERS, ANSWERS[5:], strict=False)]
    for start in (0, 1):
        agree(ANSWERS[start::2], dialect, answers, "closed")
        agree(pairs[start::2], dialect, answers, "read")


@pytest.mark.parametrize(
    "numeral",
    [
        "9" * 400, "9" * 5000, "-" + "9" * 400, "0." + "0" * 400 + "1", "0." + "3" * 800, "1" * 17, "9007199254740993",
        "0.1000000000000000055511151231257827021181583404541015625", "123456789.123456789", "12.", ".5", "-0",
        "00000000001",
        "4.35", "2.675", "1.0000000000000002220446049250313", "1.00000000000000011102230246251565",
    ],
)  # fmt: skip
def test_numerals_become_the_nearest_float_on_both_paths(numeral):
    agree([f"({numeral}, {numeral})"], BARE_TUPLE, "first", "read")
    found = read([f"({numeral}, 1)"] * VECTOR_ROWS, BARE_TUPLE, "first", "read")
    assert (found.xy[:, 0] == np.clip(float(numeral), -1e12, 1e12)).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(responses, min_size=1, max_size=5))
@example(["<think>a</think><answer>(1,2)</answer>\n"])
def test_a_format_pattern_judges_alike(texts):
    texts = [*texts, *(f"<think>{text}</think> <answer>(1, 2)</answer>" for text in texts)]
    many = matches(Texts(texts * VECTOR_ROWS), _THINK_ANSWER)
    assert many[: len(texts)].tolist() == [bool(matches(Texts([text]), _THINK_ANSWER)[0]) for text in texts]


def test_a_pattern_with_an_anchor_inside_is_counted_alike():
    anchored = PatternDialect("anchored", r"(?:^|;)@(?P<x>[0-9]+):(?P<y>[0-9]+)", signs=("@",))
    for text, reason in (("@1:2@3:4", "OK"), ("@1:2;@3:4", "SEVERAL_ANSWERS")):
        for rows in (1, 60):
            found = parse([text] * rows, anchored, space=CoordSpace.PIXEL)
            assert {Reason(code).name for code in found.reason} == {reason}


@pytest.mark.parametrize(
    "pattern", [r"@([0-9]+):([0-9]+)", r"@(?P<x>[0-9]+)", r"@(?P<left>[0-9]+):(?P<top>[0-9]+)", r"(refusal)"]
)
def test_a_pattern_whose_groups_say_no_place_is_an_error(pattern):
    with pytest.raises(RecipeError, match=r"dialect own: got groups .* expected x and y"):
        parse(["@1:2"], PatternDialect("own", pattern), space=CoordSpace.PIXEL)
