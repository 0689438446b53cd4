"""Diversity of the texts of a group."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from grounding_rewards.errors import RecipeError


def distinct_ngrams(answers: Sequence[Sequence[Hashable]], n: int = 3) -> float:
    """Return distinct-n: the share of different n-grams among all of a group's answers.

    Args:
        answers: the tokens, words or letters of each answer of one sample; a text is a sequence of letters.
        n: tokens in an n-gram, from 1.

    Returns:
        Above 0 to 1; 0.0 where no answer has n tokens.

    Raises:
        RecipeError: n is no whole number from 1.

    Source: MMR1, arXiv 2509.21268, section 3 (its text: the diversity of texts in its score), as its code counts.

    >>> distinct_ngrams([[1, 2, 3, 4], [1, 2, 3, 5]])
    0.75
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise RecipeError(f"n: got {n!r:.80}; expected a whole number from 1")
    ngrams = [tuple(answer[start : start + n]) for answer in answers for start in range(len(answer) - n + 1)]
    return len(set(ngrams)) / len(ngrams) if ngrams else 0.0
