"""Refusals: Gelato's word, UI-Venus's (-1, -1), VLM-R1's None; only where they are the whole answer."""

import pytest

from grounding_rewards.parsing import REFUSAL, parse
from grounding_rewards.spaces import CoordSpace
from tests.parsing.reading import read


@pytest.mark.parametrize(
    "text",
    [
        "refusal", "Refusal", "REFUSAL.", '"refusal"', "'refusal'", "`refusal`", "  refusal \n", "null", "None",
        "none.",
        "[-1,-1]", "[-1, -1]", "(-1, -1)", "( -1 ,\n-1 )", "(-100,-100)", "[-100, -100]", '"None".',
        "<think>nothing there</think>refusal",
    ],
)  # fmt: skip
def test_the_whole_answer_refuses(text):
    assert read(text, REFUSAL) == (None, "REFUSED")


@pytest.mark.parametrize(
    "text",
    [
        "refusal (1, 2)", "no refusal", "refusal refusal", "I refuse", "[-1, 5]", "(-1, -100)", "(-1)",
        "[-1, -1], [-1, -1]",
        "nonetheless", "nil", "There are none.", "{-1, -1}", "(-1.0, -1.0)", "(1, 1)", "refusal\x00",
    ],
)  # fmt: skip
def test_anything_else_does_not(text):
    assert read(text, REFUSAL) == (None, "NO_ANSWER")


def test_a_refusal_has_no_place_under_any_policy():
    for answers in ("only", "first", "last"):
        assert parse(["null"], REFUSAL, space=CoordSpace.PIXEL, answers=answers).points is None
    found = parse(["null", "x"], REFUSAL, space=CoordSpace.PIXEL, answers="all")
    assert (found.points.tolist(), found.offsets.tolist()) == ([], [0, 0, 0])
