"""Patterns: the pieces that dialects share, and the check that RE2 and Python's re read a pattern alike.

A batch runs RE2 and a single call Python's re, so a pattern must mean the same to both. Where two pieces meet, at most
one may begin or end with white space: two runs of it in a row take quadratic time.
"""

from __future__ import annotations

import re
from typing import Any

from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing.texts import NUMBER, PATTERN_TOKEN, SPACE, compiled, number

SPACES = SPACE.removesuffix("*") + "+"
COMMA = rf"{SPACE},{SPACE}"
GAP = rf"(?:,{SPACE}|{SPACES}(?:,{SPACE})?)"
"""Separator of two numbers: white space, a comma, or both."""

KEY = rf"""["']{SPACE}:{SPACE}"""
"""The quote that ends a JSON key, and the colon."""

X_Y = rf"(?P<x>{NUMBER}){COMMA}(?P<y>{NUMBER})"
XY = r"(?P<x>-?[0-9]+(?:\.[0-9]+)?), ?(?P<y>-?[0-9]+(?:\.[0-9]+)?)"
"""The same as models usually write it: a small pattern, for speed."""

X1_Y1 = rf"(?P<x1>{NUMBER}){COMMA}(?P<y1>{NUMBER})"
X2_Y2 = rf"(?P<x2>{NUMBER}){COMMA}(?P<y2>{NUMBER})"
BRACKETED_POINT = rf"\[{SPACE}{X_Y}{SPACE}\]"

_OPEN = rf"(?:[(\[]{SPACE}){{0,2}}"
_CLOSE = rf"{SPACE}(?:[)\]]{SPACE}){{0,2}}"
_BETWEEN = rf"(?:{GAP}|{SPACE}[)\]]{SPACE}(?:,{SPACE})?[(\[]{SPACE})"
_POINT = rf"(?P<x>{NUMBER}){GAP}(?P<y>{NUMBER})"
_BOX = rf"(?P<x1>{NUMBER}){GAP}(?P<y1>{NUMBER}){_BETWEEN}(?P<x2>{NUMBER}){GAP}(?P<y2>{NUMBER})"

PLACE = rf"{_OPEN}(?:{_POINT}|{_BOX}){_CLOSE}"
"""Two or four numbers with commas or spaces, with brackets or without, for use between a pair of tags or quotes.

White space before it is not part of it.
"""

AXES = ("x", "y", "x1", "y1", "x2", "y2")
_COORDINATES = frozenset(before + axis for before in ("", "t", "a", "c") for axis in AXES)


def place_in(match: re.Match[str]) -> tuple[float, ...]:
    """Return the numbers of a match's groups x and y, or x1, y1, x2 and y2; their names may have a letter before."""
    return tuple([number(value) for name, value in match.groupdict().items() if value and name in _COORDINATES])


_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_GROUPS = ("(?:", "(?s:", "(?P<")
_MOST_REPEATS = 1000  # RE2's limit


def either_case(words: str) -> str:
    """Replace each small letter of a pattern by both cases: under ``(?i:`` Python's re takes a dotless i for i."""
    return re.sub("[a-z]", lambda match: f"[{match[0].upper()}{match[0]}]", words)


def why_invalid(pattern: object) -> str | None:
    """Return the reason why RE2 and Python's re would not read a pattern alike; None if they do."""
    if not isinstance(pattern, str):
        return "a pattern"
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError, Warning) as error:  # re warns of [[a]: an error in some set-ups
        return f"a pattern ({error})"
    return next((reason for token in PATTERN_TOKEN.findall(pattern) if (reason := _why_invalid(token))), None)


def _why_invalid(token: str) -> str | None:
    for escaped in _ESCAPE.findall(token):
        if (escaped.isalnum() or escaped == "_") and escaped not in "nrtfvx":
            return f"a pattern without \\{escaped}: write a set of ASCII characters, such as [0-9]"
    if token[0] == "[" and "[" in _ESCAPE.sub("", token[1:]):
        return r"a pattern with \[ in place of [ inside a set"
    if token.startswith("(?i"):  # under which re takes a dotless i for i, and RE2 does not
        return f"a pattern without {token}: write both cases, such as [Cc]lick"
    if token.startswith("(?") and not token.startswith(_GROUPS):
        return f"a pattern without {token}: groups are (...), (?:...), (?s:...) or (?P<name>...)"
    if token.startswith("{") and (
        token.startswith("{,") or any(int(n) > _MOST_REPEATS for n in re.findall("[0-9]+", token))
    ):
        return f"a pattern with repeats from a number, up to {_MOST_REPEATS}"
    if len(token) > 1 and token[-1] == "+" and token[0] in "*+?{":
        return f"a pattern without {token}: RE2 has no possessive repeats"
    return None


def groups_of(dialect: str, pattern: Any) -> set[str]:
    """Return the names of a pattern's groups; complain where RE2 and Python's re do not read it alike."""
    reason = why_invalid(pattern)
    if reason is None:
        regex = compiled(pattern)
        if regex.groups == len(regex.groupindex):
            return set(regex.groupindex)
        reason = "a name for each group, as in (?P<x>...), and (?:...) for what is none"
    raise RecipeError(f"dialect {dialect}: got the pattern {pattern!r:.80}; expected {reason}")


def check_texts(dialect: Any, *fields: str) -> None:
    """Check that fields are tuples of strings: a string alone would be read letter by letter."""
    for name in fields:
        value = getattr(dialect, name)
        if not isinstance(value, tuple | list) or not all(isinstance(item, str) for item in value):
            raise RecipeError(f'dialect {dialect.name}: {name}: got {value!r:.80}; expected texts, such as ("<tap>",)')
