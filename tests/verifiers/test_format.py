"""Formats by what was parsed, by patterns and by functions."""

import pickle

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.rollouts import Reason
from grounding_rewards.verifiers import GradedFormat, JudgedFormat
from tests.verifiers.judging import judge, rollouts

BOX = {"bbox": [0, 0, 1, 1]}


weights = st.floats(0, 1e6)


@settings(max_examples=100)
@given(st.lists(weights, min_size=1, max_size=6), weights, st.text("abcdef", max_size=8), st.booleans())
def test_graded_is_a_share_that_grows_with_each_element(steps, parsed, text, answered):
    assume(sum(steps) + parsed > 0)
    verifier = GradedFormat(list(zip("abcdef", steps, strict=False)), parsed=parsed)
    reason = [Reason.OK if answered else Reason.NO_ANSWER]
    less, more = (judge(verifier, [None], BOX, text=[words], reasons=reason)[0] for words in (text, text + "a"))
    assert 0 <= less <= more <= 1
    assert judge(verifier, [None], BOX, text=["abcdef"], reasons=[Reason.OK]) == [1]
    assert judge(verifier, [None], BOX, text=["x"]) == [0]


ASKED = []


def is_even(text):
    ASKED.append(text)
    return int(text[1:]) % 2 == 0


EVEN = JudgedFormat(is_even, ("=",), pattern="^=[0-9]*[02468]$")
SIGNED = JudgedFormat(is_even, ("=",), pattern="^=[0-9]*[02468]$", low=-1.0, high=2.0)


def scores(verifier, texts):
    return verifier(rollouts([None] * len(texts), [{"refusal": True}] * len(texts), text=texts)).tolist()


@pytest.mark.parametrize("copies", [1, VECTOR_ROWS])
def test_well_formed_or_not(copies):
    assert scores(EVEN, ["=2", "=3", "= 4", "x", ""] * copies) == [1, 0, 1, 0, 0] * copies
    assert scores(SIGNED, ["=2", "=3", "= 4", "x", ""] * copies) == [2, -1, 2, -1, -1] * copies


def test_among_many_the_function_sees_only_what_the_pattern_leaves_and_what_has_the_sign():
    ASKED.clear()
    scores(EVEN, ["=2", "=3", "= 4", "x"] * VECTOR_ROWS)
    assert ASKED == ["=3", "= 4"] * VECTOR_ROWS
    ASKED.clear()
    scores(EVEN, ["=2", "x"])
    assert ASKED == ["=2"]


def test_bounds_pickle_and_comparison():
    assert (EVEN.low, EVEN.high, SIGNED.low, SIGNED.high, EVEN.needs) == (0, 1, -1, 2, frozenset())
    assert pickle.loads(pickle.dumps(EVEN)) == EVEN != SIGNED
    assert scores(EVEN, []) == []
