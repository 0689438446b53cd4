"""GUI-Cursor's turns: which pair of answer tags counts."""

from __future__ import annotations

import pytest

from grounding_rewards.parsing.readers import one_line_answer


@pytest.mark.parametrize(
    ("turn", "held"),
    [
        ("<answer>(1, 2)</answer><answer>STOP</answer>", "(1, 2)"),
        ("<answer>(1,\n2)</answer> <answer>STOP</answer>", "STOP"),
        ("<answer>\n<answer>(1, 2)</answer>", "(1, 2)"),
        ("<answer><answer>x</answer>", "<answer>x"),
        ("</answer><answer>\n", None),
        ("<answer>(1, 2)", None),
        ("(1, 2)", None),
    ],
)
def test_the_first_pair_on_one_line_counts(turn: str, held: str | None) -> None:
    assert one_line_answer(turn) == held
