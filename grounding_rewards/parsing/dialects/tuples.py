"""Boxes as two corners, each in its own brackets: box tokens after decoding, Qwen2-VL, UI-Venus 1.0.

(500,370),(524,398)
[500,370],[524,398]
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.pieces import COMMA, NUMBERS, X1_Y1, X2_Y2
from grounding_rewards.parsing.texts import SPACE


def _corners(name: str, opening: str, closing: str) -> PatternDialect:
    """Exactly two pairs in such brackets with a comma between them.

    Three or more are a list of points; so are two inside further brackets. The pattern takes all of them, so that no
    two of three are read.
    """
    pair = rf"{opening}{SPACE}{NUMBERS}{SPACE}{closing}"
    return PatternDialect(
        name=name,
        pattern=rf"(?P<body>(?:[(\[]{SPACE})?{pair}(?:{COMMA}{pair})+)",
        inner=(rf"^{opening}{SPACE}{X1_Y1}{SPACE}{closing}{COMMA}{opening}{SPACE}{X2_Y2}{SPACE}{closing}$",),
        signs=(opening[-1],),
    )


CORNER_TUPLES = _corners("corner_tuples", r"\(", r"\)")
"""``(500,370),(524,398)``, what decoding leaves of ``<|box_start|>(500,370),(524,398)<|box_end|>``."""

CORNER_LISTS = _corners("corner_lists", r"\[", r"\]")
"""``[500,370],[524,398]``."""
