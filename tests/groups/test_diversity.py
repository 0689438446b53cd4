"""Diversity of texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import RecipeError
from grounding_rewards.groups.diversity import distinct_ngrams


def test_distinct_ngrams():  # pool.md, example 7: three of four trigrams are different
    assert distinct_ngrams([[1, 2, 3, 4], [1, 2, 3, 5]]) == 0.75
    assert distinct_ngrams(["abc", "abc"]) == 0.5
    assert distinct_ngrams([["click", "here"], ["click"]], n=1) == 2 / 3
    assert distinct_ngrams([[1, 2], []]) == distinct_ngrams([]) == 0.0


@given(st.lists(st.text("ab", max_size=6), max_size=6), st.integers(1, 4))
def test_the_share_is_from_0_to_1_and_no_order_of_answers_changes_it(answers, n):
    assert 0.0 <= distinct_ngrams(answers, n) <= 1.0
    assert distinct_ngrams(answers, n) == distinct_ngrams(answers[::-1], n)


@pytest.mark.parametrize("n", [0, 1.5, True, "3"])
def test_a_wrong_n_is_an_error(n):
    with pytest.raises(RecipeError, match=r"n: got .*; expected a whole number from 1"):
        distinct_ngrams(["ab"], n)
