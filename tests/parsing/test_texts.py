"""Texts of an arrow array are those of a list, in all that is asked of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from grounding_rewards.parsing.texts import VECTOR_ROWS, Texts, contains, matches, occurrences, trimmed

ANSWERS = ["(1, 2)", "", "点击 (3, 4)", "é", "(5, 6)<|im_end|>", "x" * 50, "(7, 8) \n", "“"]


def both(values: list[str]) -> tuple[Texts, Texts]:
    """Return texts as a list, and the same in arrow alone."""
    values = values * VECTOR_ROWS
    return Texts(values), Texts(None, pa.array(values, pa.large_string()))


@pytest.mark.parametrize("values", [ANSWERS, ["(1, 2)", "é"], [""]])
def test_texts_in_arrow_are_trimmed_cut_and_taken_as_a_list_is(values: list[str]) -> None:
    listed, texts = both(values)
    assert (len(texts), texts.rows, texts.vectorised, texts.long) == (len(listed), listed.rows, True, listed.long)
    for rows in (np.arange(3), np.arange(0, len(listed), 2), np.arange(len(listed))):
        assert list(texts.take(rows)) == [listed.values[row] for row in rows]
    assert [texts[row] for row in (0, -1, np.int64(1))] == [listed[0], listed[-1], listed[1]]
    assert texts[:3] == listed[:3]
    for change in (trimmed, lambda some: some.capped(20), lambda some: trimmed(some.capped(5))):
        assert list(change(both(values)[1])) == list(change(listed))


def test_what_needs_no_list_makes_none() -> None:
    listed, texts = both(["(1, 2)", "(3, 40)"])
    assert trimmed(texts) is texts
    assert texts.capped(7) is texts
    assert texts[1] == "(3, 40)"
    some = texts.take(np.arange(VECTOR_ROWS))
    for find in (matches, contains, occurrences):
        assert find(texts, "40").tolist() == find(listed, "40").tolist()
    assert [each.is_listed for each in (texts, some, listed)] == [False, False, True]


def test_few_of_many_texts_are_a_list() -> None:
    _, texts = both(["(1, 2)", "(3, 4)"])
    few = texts.take(np.array([1, 2]))
    assert (few.values, few.vectorised) == (["(3, 4)", "(1, 2)"], False)
