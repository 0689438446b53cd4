"""Points and boxes in parentheses, and boxes as two corners, each in its own brackets.

(512, 384)                     GTA1, Gelato, UGround
(500,370),(524,398)            box tokens after decoding, Qwen2-VL
[500,370],[524,398]            UI-Venus 1.0
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.patterns import COMMA, NUMBERS, X1_Y1, X2_Y2, X_Y
from grounding_rewards.parsing.texts import SPACE

_PAIR = rf"\({SPACE}{X_Y}{SPACE}\)"

BARE_TUPLE = PatternDialect(
    name="bare_tuple",
    pattern=_PAIR,
    usual=f"^{SPACE}{_PAIR}{SPACE}$",
    signs=("(",),
)
"""Two numbers in parentheses, anywhere in the text."""

BARE_TUPLE_WHOLE = PatternDialect(
    name="bare_tuple_whole",
    pattern=rf"\({SPACE}(?P<x>[0-9]+){SPACE},{SPACE}(?P<y>[0-9]+){SPACE}\)",
    signs=("(",),
    whole=True,
)
"""Two unsigned integers in parentheses and nothing else, as Gelato's reward demands."""


def _corners(name: str, opening: str, closing: str) -> PatternDialect:
    """Build the dialect of exactly two pairs in such brackets with a comma between them.

    Three or more pairs are a list of points; so are two inside further brackets. The pattern matches all of them, so
    that it never reads two of three.
    """
    pair = rf"{opening}{SPACE}{NUMBERS}{SPACE}{closing}"
    return PatternDialect(
        name=name,
        pattern=rf"(?P<body>(?:[(\[]{SPACE})?{pair}(?:{COMMA}{pair})+)",
        inner=(rf"^{opening}{SPACE}{X1_Y1}{SPACE}{closing}{COMMA}{opening}{SPACE}{X2_Y2}{SPACE}{closing}$",),
        signs=(opening[-1],),
    )


CORNER_TUPLES = _corners("corner_tuples", r"\(", r"\)")
"""``(500,370),(524,398)``, the rest of ``<|box_start|>(500,370),(524,398)<|box_end|>`` after decoding."""

CORNER_LISTS = _corners("corner_lists", r"\[", r"\]")
"""``[500,370],[524,398]``."""
