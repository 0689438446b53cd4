"""UI-AGILE's two rewards for the length of thinking, by hand."""

import math

import pytest

from grounding_rewards.verifiers import ThinkingLength
from tests.verifiers.judging import rollouts


def judge(verifier, *texts):
    return verifier(rollouts([None] * len(texts), [[0, 0, 9, 9]] * len(texts), text=list(texts))).tolist()


def thought(length, end="x"):
    return f"<think>{'a' * (length - 1)}{end if length else ''}</think>ok"


def test_simple_is_a_gaussian_around_150_characters():
    for length, score in [
        (150, 1.0), (75, math.exp(-0.5)), (225, math.exp(-0.5)), (300, math.exp(-2)), (0, math.exp(-2)),
        (7, 0.16240064348945976), (600, 1.522997974471263e-08),
    ]:  # fmt: skip
        assert judge(ThinkingLength(), thought(length)) == pytest.approx([score], abs=1e-15), (length, score)


def test_plain_rises_and_falls_as_a_cosine():
    for length, score in [
        (0, 0.0), (49, 0.0), (50, 0.0), (51, 0.00040277338347411985), (85, 0.4), (119, 0.7995972266165259), (120, 0.8),
        (160, 0.8), (200, 0.8), (201, 0.7998026241462927), (250, 0.4), (299, 0.00019737585370736), (300, 0.0),
        (301, 0.0), (9999, 0.0),
    ]:  # fmt: skip
        assert judge(ThinkingLength("plain"), thought(length)) == pytest.approx([score], abs=1e-12), (length, score)
        if length:
            scores = judge(ThinkingLength("plain"), thought(length, "."))
            assert scores == pytest.approx([score + 0.2], abs=1e-12), length


def test_a_sentence_that_ends_is_a_bonus():
    for end, bonus in [(".", 0.2), ("!", 0.2), ("?", 0.2), ("。", 0.2), (",", 0.0), (")", 0.0)]:
        scores = judge(ThinkingLength("plain"), thought(9, end), thought(9, end + " \n"))
        assert scores == pytest.approx([bonus] * 2), end


def test_white_space_around_the_thinking_is_not_counted():
    assert judge(ThinkingLength(ideal=2), "<think>\n  ab \n</think>") == [1.0]
    assert judge(ThinkingLength(ideal=4, spread=1), "<think>a  b</think>") == [1.0]


@pytest.mark.parametrize(
    "text", ["", "a" * 150, "think>" + "a" * 150 + "</think>", "<think>" + "a" * 150, "<THINK>a</THINK>"]
)
def test_no_thinking_is_worth_nothing(text):
    assert judge(ThinkingLength(), text) == [0.0]
    assert judge(ThinkingLength("plain"), text) == [0.0]


def test_the_first_thinking_counts_and_the_prompt_may_have_opened_it():
    best = ThinkingLength(ideal=3, spread=0.01)
    assert judge(best, "<think>abc</think><think>a</think>", "<think>a</think><think>abc</think>") == [1.0, 0.0]
    opened = ThinkingLength(ideal=3, spread=0.01, thinking="open")
    assert judge(opened, "abc</think>", "<think>abc</think>", "abc", "a</think>abc</think>") == [1.0, 1.0, 0.0, 0.0]


def test_a_ramp_from_a_config_is_a_list():
    assert ThinkingLength("plain", ramp=[1, 2, 2, 3]) == ThinkingLength("plain", ramp=(1, 2, 2, 3))
    assert judge(ThinkingLength("plain", ramp=[1, 2, 2, 3], bonus=0), *[thought(n) for n in range(4)]) == [0, 0, 1, 0]
    assert hash(ThinkingLength("plain", ramp=[1, 2, 2, 3]))
