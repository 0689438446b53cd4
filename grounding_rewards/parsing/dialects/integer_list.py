"""Lists of two whole numbers: ``[512,384]``, as UI-Ins reads them out of its tool calls."""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.texts import SPACE

INTEGER_LIST = PatternDialect(
    name="integer_list",
    pattern=rf"\[{SPACE}(?P<x>[0-9]+){SPACE},{SPACE}(?P<y>[0-9]+){SPACE}\]",
    signs=("[",),
)
"""Two unsigned whole numbers in square brackets, anywhere in the text; lists of anything else are no answer."""
