"""Bare tuples: ``(512, 384)``, as GTA1, Gelato and UGround answer."""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.texts import NUMBER, SPACE

_PAIR = rf"\({SPACE}(?P<x>{NUMBER}){SPACE},{SPACE}(?P<y>{NUMBER}){SPACE}\)"

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
