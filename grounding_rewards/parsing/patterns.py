"""What a pattern may hold, so that RE2 and Python's re read it alike: a batch then reads what a single call reads."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^)>:]{0,3}[>:]?|\{[0-9]*,?[0-9]*\}\+?|[*+?]\+|.", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_GROUPS = ("(?:", "(?s:", "(?P<")
_MOST_REPEATS = 1000


def complaint(pattern: object) -> str | None:
    r"""Why a pattern cannot be used, or None where it can: it must mean the same to RE2 and to Python's re.

    >>> complaint("^<answer>[0-9]+</answer>$")
    >>> complaint("[")
    'a pattern (unterminated character set at position 0)'
    >>> complaint(r"\d+")
    'a pattern without \\d: write a set of ASCII characters, such as [0-9]'
    """
    if not isinstance(pattern, str):
        return "a pattern"
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        return f"a pattern ({error})"
    return next((wrong for token in _TOKEN.findall(pattern) if (wrong := _complaint(token))), None)


def _complaint(token: str) -> str | None:
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


def for_re(pattern: str) -> str:
    r"""The pattern with RE2's meaning of ``$``, the text's very end; re's own also allows a last line feed.

    >>> for_re("^a$|[$]")
    '^a\\Z|[$]'
    """
    if "$" not in pattern:
        return pattern
    return "".join([r"\Z" if token == "$" else token for token in _TOKEN.findall(pattern)])
