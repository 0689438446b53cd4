"""Formats by what was parsed, by patterns and by functions."""

import pickle

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.rollouts import Reason
from grounding_rewards.verifiers import Format, GradedFormat, JudgedFormat
from tests.verifiers.judging import judge, rollouts

BOX = {"bbox": [0, 0, 1, 1]}


def test_a_place_a_known_action_and_a_refusal_are_well_formed():
    scored = {Reason.OK, Reason.OUT_OF_IMAGE, Reason.REFUSED}
    scores = judge(Format(), [None] * len(Reason), BOX, reasons=list(Reason))
    assert dict(zip(Reason, scores, strict=True)) == {reason: float(reason in scored) for reason in Reason}


@pytest.mark.parametrize("copies", [1, 30])
def test_a_pattern_judges_the_text_instead(copies):
    text = ["<answer>1</answer>", "answer", "<answer></answer>\n", None or ""] * copies
    scores = judge(Format("^<answer>[0-9]*</answer>"), [None] * len(text), BOX, text=text)
    assert scores == [1, 0, 1, 0] * copies


def test_a_pattern_that_the_engines_read_differently_is_an_error_when_built():
    with pytest.raises(gr.RecipeError, match=r"Format\(pattern=\): got '\\\\d'; expected a pattern without \\d"):
        Format(r"\d")
    with pytest.raises(gr.RecipeError, match=r"Format\(pattern=\): got 5; expected a pattern"):
        Format(5)


TAGS = GradedFormat([["<think>", 1], ["</think>", 1], ["<answer>[0-9]", 2]], parsed=4)


@pytest.mark.parametrize("copies", [1, 30])
def test_graded_scores_the_share_of_what_is_there(copies):
    text = ["", "<think>", "<think></think>", "<answer>1", "<answer>", "<think></think><answer>1", "</think><think>"]
    reasons = [Reason.NO_ANSWER] * 5 + [Reason.OK, Reason.REFUSED]
    expected = [0, 0.125, 0.25, 0.25, 0, 1, 0.75]
    assert judge(TAGS, [None] * 7 * copies, BOX, text=text * copies, reasons=reasons * copies) == expected * copies


def test_graded_counts_each_element_once():
    half = GradedFormat(["<a>", "<b>"], parsed=0)
    assert judge(half, [None] * 2, BOX, text=["<a><a><a>", "<a><b>"]) == [0.5, 1]


def test_graded_elements_alone_weigh_one():
    assert GradedFormat(["a", ["b", 2]]) == GradedFormat((("a", 1.0), ("b", 2.0)), parsed=1.0)
    assert judge(GradedFormat(["a"]), [(1, 1), None], BOX, text=["", "a"]) == [0.5, 0.5]
    assert judge(GradedFormat([]), [(1, 1), None], BOX) == [1, 0], "nothing but the answer"
    assert hash(GradedFormat([["a", 1]])) == hash(GradedFormat(["a"]))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: GradedFormat("a"), r"GradedFormat\(steps=\): got 'a'; expected a list of patterns"),
        (lambda: GradedFormat(["("]), r"GradedFormat\(steps=\): got '\('; expected a pattern \(missing"),
        (lambda: GradedFormat([["a", -1]]), r"got \['a', -1\]; expected a weight from 0"),
        (lambda: GradedFormat([["a", "b"]]), r"got \['a', 'b'\]; expected a weight from 0"),
        (lambda: GradedFormat([["a", True]]), r"got \['a', True\]; expected a weight from 0"),
        (lambda: GradedFormat([["a", 1, 2]]), r"got \['a', 1, 2\]; expected a pattern"),
        (lambda: GradedFormat([["a", 0]], parsed=0), r"GradedFormat\(steps=\): .* weights with a sum above 0"),
        (lambda: GradedFormat([], parsed=0), "weights with a sum above 0"),
    ],
)
def test_steps_that_do_not_fit_are_an_error_when_built(build, message):
    with pytest.raises(gr.RecipeError, match=message):
        build()


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
