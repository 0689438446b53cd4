"""Patterns that a config gives: checked when the verifier is built, and read alike in a single call and in a batch."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.parsing.texts import Texts, matches

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
    if token.startswith("(?") and not token.startswith(_GROUPS):
        return f"a pattern without {token}: groups are (...), (?:...), (?s:...) or (?P<name>...)"
    if token.startswith("{") and (
        token.startswith("{,") or any(int(n) > _MOST_REPEATS for n in re.findall("[0-9]+", token))
    ):
        return f"a pattern with repeats from a number, up to {_MOST_REPEATS}"
    if len(token) > 1 and token[-1] == "+" and token[0] in "*+?{":
        return f"a pattern without {token}: RE2 has no possessive repeats"
    return None


def occurs(texts: Texts, pattern: str) -> NDArray[np.bool_]:
    """Does the pattern occur in each text? (n,) booleans; ``$`` is the text's very end, before no line feed."""
    return matches(texts, pattern if texts.vectorised else _for_re(pattern))


@cache
def _for_re(pattern: str) -> str:
    r"""The pattern with RE2's meaning of ``$``; re's own also allows a last line feed."""
    return "".join([r"\Z" if token == "$" else token for token in _TOKEN.findall(pattern)])
