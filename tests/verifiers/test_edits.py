"""Similarities of texts by their edits."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.verifiers import edits
from grounding_rewards.verifiers.match import text_rule

WORDS = st.text("abc d", max_size=9)


@given(WORDS, WORDS)
def test_edits_and_common_characters_are_those_of_their_tables(a: str, b: str) -> None:
    row = list(range(len(b) + 1))
    common = [0] * (len(b) + 1)
    for i, one in enumerate(a, 1):
        above, row = row, [i]
        held, common = common, [0]
        for j, two in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (one != two)))
            common.append(held[j - 1] + 1 if one == two else max(held[j], common[-1]))
    assert edits.edits(a, b) == row[-1]
    assert edits.common_ratio(a, b) == (2 * common[-1] / (len(a) + len(b)) if a or b else 1.0)
    assert edits.common_ratio(a, b) >= SequenceMatcher(None, a, b, autojunk=False).ratio() - 1e-12


@pytest.mark.parametrize(
    ("a", "b", "likeness", "ratio"),
    [("redhat", "red hat", 6 / 7, 12 / 13), ("hat red", "red hat", 1 / 7, 3 / 7), ("", "", 1, 1), ("", "a", 0, 0)],
)
def test_published_similarities(a: str, b: str, likeness: float, ratio: float) -> None:
    assert edits.likeness(a, b) == pytest.approx(likeness)
    assert edits.common_ratio(a, b) == pytest.approx(ratio)


@pytest.mark.parametrize(("wrong", "of", "threshold"), [(7, 100, 0.93), (4, 5, 0.2), (9, 10, 0.1), (11, 20, 0.45)])
def test_a_text_exactly_as_alike_as_the_threshold_is_right(wrong: int, of: int, threshold: float) -> None:
    # 1 - 7 / 100 is 0.9299999999999999.
    written, wanted = "b" * wrong + "a" * (of - wrong), "a" * of
    assert text_rule("edits", threshold)(written, wanted) == 1.0
    assert text_rule("edits", threshold)("b" + written[:-1], wanted) == 0.0


def test_a_long_text_takes_no_long() -> None:
    assert edits.edits("x" * 1_000_000, "hat" * 10) == 1_000_000
    assert edits.likeness("\ud800" * 1_000_000, "\ud800") == pytest.approx(1e-6)
