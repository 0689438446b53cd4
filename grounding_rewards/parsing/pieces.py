"""Pieces of patterns that several dialects share.

Where two of them meet, at most one may end or begin with white space: two runs in a row take quadratic time.
"""

import re

from grounding_rewards.parsing.texts import NUMBER, SPACE

SPACES = SPACE.removesuffix("*") + "+"
COMMA = rf"{SPACE},{SPACE}"
GAP = rf"(?:,{SPACE}|{SPACES}(?:,{SPACE})?)"
"""What stands between two numbers: white space, a comma, or both."""

KEY = rf"""["']{SPACE}:{SPACE}"""
"""The quote that ends a JSON key, and the colon."""

X_Y = rf"(?P<x>{NUMBER}){COMMA}(?P<y>{NUMBER})"
XY = r"(?P<x>-?[0-9]+(?:\.[0-9]+)?), ?(?P<y>-?[0-9]+(?:\.[0-9]+)?)"
"""The same as models usually write it: a small pattern, for speed."""

X1_Y1 = rf"(?P<x1>{NUMBER}){COMMA}(?P<y1>{NUMBER})"
X2_Y2 = rf"(?P<x2>{NUMBER}){COMMA}(?P<y2>{NUMBER})"
CORNERS = X1_Y1 + COMMA + X2_Y2
NUMBERS = NUMBER + COMMA + NUMBER

BRACKETED_POINT = rf"\[{SPACE}{X_Y}{SPACE}\]"
JSON_ACTION = rf"""["'](?:action|type){KEY}["']?(?P<action>[^"',]*)"""
JSON_OBJECT = rf"""\{{{SPACE}(?P<body>["'][^{{}}]*)\}}"""
"""An object that holds a key, and no other object."""

CALL = rf"(?:^|[^A-Za-z_])(?P<action>[A-Za-z_]+)\({SPACE}"
"""A function's name up to its first argument. What stands before the name is taken, so that time stays linear."""

_OPEN = rf"(?:[(\[]{SPACE}){{0,2}}"
_CLOSE = rf"{SPACE}(?:[)\]]{SPACE}){{0,2}}"
_BETWEEN = rf"(?:{GAP}|{SPACE}[)\]]{SPACE}(?:,{SPACE})?[(\[]{SPACE})"
_POINT = rf"(?P<x>{NUMBER}){GAP}(?P<y>{NUMBER})"
_BOX = rf"(?P<x1>{NUMBER}){GAP}(?P<y1>{NUMBER}){_BETWEEN}(?P<x2>{NUMBER}){GAP}(?P<y2>{NUMBER})"


def either_case(words: str) -> str:
    """Words with each small letter in either case. Under ``(?i:`` re takes a dotless i for i, and RE2 does not.

    >>> either_case("tap|up")
    '[Tt][Aa][Pp]|[Uu][Pp]'
    """
    return re.sub("[a-z]", lambda found: f"[{found[0].upper()}{found[0]}]", words)


PLACE = rf"{_OPEN}(?:{_POINT}|{_BOX}){_CLOSE}"
"""Two or four numbers with commas or spaces, with brackets or without, for use between a pair of tags or quotes.

White space before it is not part of it.
"""
