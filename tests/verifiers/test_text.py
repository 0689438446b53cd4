import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.actions import Act
from grounding_rewards.verifiers import TextMatch
from grounding_rewards.verifiers.match import either_contains, similarity, token_f1
from tests.verifiers.acting import judged

words = st.text(st.sampled_from("ab \n"), max_size=30)


def typed(*texts):
    return [Act("type", (), {"text": text}) for text in texts]


def test_token_f1():
    for a, b, score in [
        ("hello", "HELLO", 1.0), ("hello hello", "hello", 1.0), ("a b", "b c", 0.5), ("a b c", "a", 0.5),
        ("a", "b", 0.0), ("", "a", 0.0), ("", "", 0.0), (" \t\n", "", 0.0), ("a\tb", "a b", 1.0), ("ab", "a b", 0.0),
    ]:  # fmt: skip
        assert token_f1(a, b) == token_f1(b, a) == score, (a, b, score)


def test_token_f1_is_exact_at_a_half():
    # 2pr / (p + r) of these is 0.4999999999999999.
    eight, twenty = [" ".join(map(str, range(start, start + count))) for start, count in ((0, 8), (1, 20))]
    assert token_f1(eight, twenty) == 0.5


@pytest.mark.parametrize(
    ("a", "b", "contained"),
    [("Hello", "hell", True), ("hell", "HELLO", True), ("", "hello", True), ("e", "hello", True), ("a b", "ab", False)],
)
def test_either_contains(a, b, contained):
    assert either_contains(a, b) is contained
    assert either_contains(b, a) is contained


@pytest.mark.parametrize(
    ("a", "b", "score"),
    [("hello", "hello", 1.0), ("hello", "hallo", 0.8), ("", "", 1.0), ("", "a", 0.0), ("abcd", "bcde", 0.75)],
)
def test_similarity(a, b, score):
    assert similarity(a, b) == score


@given(st.text(max_size=60), st.text(max_size=60))
def test_short_texts_are_as_similar_as_difflib_says(a, b):
    assert similarity(a, b) == difflib.SequenceMatcher(None, a, b).ratio()


@given(words, words)
def test_every_rule_is_within_its_bounds_and_scores_equal_texts(a, b):
    for rule in ("exact", "f1", "contains", "ratio"):
        same, other = judged(TextMatch(rule), typed(a, b), {"action": {"name": "type", "text": a}})
        assert same == 1
        assert 0 <= other <= 1


def test_what_is_beyond_the_characters_compared_is_different():
    assert similarity("xyz" * 1000, "xyz" * 1000) == 1
    long, longer = "".join(map(str, range(600)))[:500], "".join(map(str, range(600)))[:500] + "#" * 9500
    assert similarity(long, longer) <= 2 * 500 / 10500


@pytest.mark.parametrize(("a", "b"), [("a" * 512, "ax" * 99), (" " * 512, "a b " * 50), ("ab" * 5000, "ba" * 5000)])
def test_texts_of_few_characters_are_compared_as_far_as_time_allows(a, b):
    assert 0.0 <= similarity(a, b) <= 2 * sum(min(a.count(each), b.count(each)) for each in set(a)) / (len(a) + len(b))
    assert similarity(a, a) == 1.0
