"""``auto``: what is most surely an answer comes first, and each row may come from another dialect."""

import pytest

from grounding_rewards.columns import Reason
from grounding_rewards.parsing import AUTO, BARE_TUPLE, REFUSAL, AutoDialect, parse
from grounding_rewards.spaces import CoordSpace
from tests.parsing.reading import read

CALL = '<tool_call>{"arguments": {"action": "left_click", "coordinate": [5, 6]}}</tool_call>'
POINT = '{"point_2d": [3, 4]}'


def test_the_order_of_dialects():
    assert AUTO.names == ("refusal", "tool_call", "json_2d", "bare_tuple")


@pytest.mark.parametrize(
    ("text", "expected", "dialect"),
    [
        ("(1, 2)", ([1, 2], "OK"), "bare_tuple"),
        (POINT, ([3, 4], "OK"), "json_2d"),
        (CALL, ([5, 6], "OK"), "tool_call"),
        ("refusal", (None, "REFUSED"), "refusal"),
        ("(-1, -1)", (None, "REFUSED"), "refusal"),
        (f"(1, 2) {POINT} {CALL}", ([5, 6], "OK"), "tool_call"),
        (f"(1, 2) {POINT}", ([3, 4], "OK"), "json_2d"),
        ('<tool_call>{"arguments": {"action": "wait"}}</tool_call> (1, 2)', ([1, 2], "OK"), "bare_tuple"),
        (f"{CALL}{CALL} (1, 2)", (None, "SEVERAL_ANSWERS"), "tool_call"),
        ("refusal (1, 2)", ([1, 2], "OK"), "bare_tuple"),
        ("the tool_call> failed", (None, "MALFORMED"), None),
        ("(x, y)", (None, "MALFORMED"), None),
        ("[512, 384]", (None, "NO_ANSWER"), None),
    ],
)
def test_the_first_dialect_that_finds_an_answer_counts(text, expected, dialect):
    assert read(text, AUTO) == expected
    found = parse([text], AUTO, space=CoordSpace.PIXEL)
    assert (found.dialects[found.dialect[0]] if found.dialect[0] >= 0 else None) == dialect


def test_each_row_has_its_own_dialect():
    texts = ["(1, 2)", CALL, "none", POINT, "hm", ""]
    found = parse(texts, AUTO, space=CoordSpace.PIXEL)
    assert found.dialect.tolist() == [3, 1, 0, 2, -1, -1]
    assert [Reason(code).name for code in found.reason] == ["OK", "OK", "REFUSED", "OK", "NO_ANSWER", "EMPTY"]
    assert found.actions.tolist() == ["", "left_click", "", "", "", ""]


def test_all_answers_of_every_row_are_ragged():
    texts = ["(1, 2) (3, 4)", "none", POINT, "hm", CALL + CALL]
    found = parse(texts, AUTO, space=CoordSpace.PIXEL, answers="all")
    assert found.offsets.tolist() == [0, 2, 2, 3, 3, 5]
    assert found.points.tolist() == [[1, 2], [3, 4], [3, 4], [5, 6], [5, 6]]
    assert found.xy[[0, 2, 4]].tolist() == [[1, 2], [3, 4], [5, 6]]


def test_an_order_of_ones_own():
    backwards = AutoDialect((BARE_TUPLE, REFUSAL))
    assert backwards.names == ("bare_tuple", "refusal")
    assert read("(-1, -1)", backwards) == ([-1, -1], "OK")
    assert read("none", backwards) == (None, "REFUSED")
