"""Bare lists: UI-Venus, GUI-G2.

[512, 384]
[500, 370, 524, 398]
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.pieces import COMMA, CORNERS, NUMBERS, X_Y, XY
from grounding_rewards.parsing.texts import SPACE

BARE_LIST = PatternDialect(
    name="bare_list",
    pattern=rf"""(?P<body>(?:["']{SPACE}:{SPACE})?\[{SPACE}{NUMBERS}(?:{COMMA}{NUMBERS})?{SPACE}\])""",
    inner=(rf"^\[{SPACE}(?:{X_Y}|{CORNERS}){SPACE}\]$",),
    signs=("[",),
    usual=rf"^[ \n]*\[{XY}\][ \n]*$",
)
"""A point or a box in brackets, anywhere but as the value of a JSON key: what that means, the key says."""
