"""Names of actions in front of a place, which is then no click."""

from __future__ import annotations

import re

from grounding_rewards.actions import canonical, is_known
from grounding_rewards.parsing.dialects.actions._keys import AT_A_PLACE, OPENAI
from grounding_rewards.parsing.patterns import either_case
from grounding_rewards.parsing.texts import SPACE

_BEFORE_PLACES = ("at", "on", "to", "in", "from")
_WORD = "[A-Za-z_]+"
_WORDS = rf"(?:{_WORD}[ -])?{_WORD}"
_KEY = rf"(?:{either_case('action(?:s|_type)?|function')})[\"']?{SPACE}[:=>]{SPACE}[\"'`]?"
_PLACE = r"(?:[(\[][(\[ \t]*-?[.0-9]|<[|a-z_]+>|\{[ \n]*[\"'])"
_FORMS = (
    rf"(?P<call>{_WORD})\((?P<ending>(?:s|es|ed)\))?",
    rf"{_KEY}(?P<named>{_WORDS})(?P<prose>[ \t]+[A-Za-z])?",
    rf"type[\"']{SPACE}:{SPACE}[\"'](?P<typed>{_WORD})",
    rf"(?P<before>{_WORDS})(?:[ \t]+(?:{'|'.join(_BEFORE_PLACES)}))?(?:{SPACE}[:=])?{SPACE}{_PLACE}",
)

MAY_NAME = rf"(?:^|[^A-Za-z_])(?:{'|'.join(_FORMS)})"
"""A pattern that occurs in every text for which ``names_another`` is True."""

# Look-behind, which RE2 lacks: of "a(b(" both names match, where a consumed character would hide the second.
_NAMES = re.compile(rf"(?<![A-Za-z_])(?:{'|'.join(_FORMS)})")
_CAMEL = re.compile("[a-z][A-Z]")


def names_another(text: str, name: str) -> bool:
    """Return True if the name of another action stands before the last number of a text.

    It counts as a call; after ``Action:`` or a key such as ``action``; and right before a place if it is an action at a
    place, ``type``, or written like a name in code: "Home" or "Menu" before a place is a label.

    Args:
        text: a text with a place.
        name: the action of that place; "" is a click.

    >>> names_another("Action: type(content='go to (5, 6)", ""), names_another("long press (5, 6)", "")
    (True, True)
    >>> names_another("click(5, 6)", "click"), names_another("Home (5, 6)", ""), names_another("(5, 6), then wait(", "")
    (False, False, False)
    """
    meant = canonical(name or "click")
    front = text[: max([text.rfind(digit) for digit in "0123456789"]) + 1]
    return any(_kind(match) not in ("", meant) for match in _NAMES.finditer(front))


def _kind(match: re.Match[str]) -> str:
    """Return the named action in the vocabulary's words; "" if there is none."""
    if match["call"]:
        return "" if match["ending"] else _known(match["call"])  # "tap(s)" is prose
    if match["typed"]:
        return _known(match["typed"]) if match["typed"] in OPENAI else ""
    words = match["named"] or match["before"]
    first, _, last = words.replace("-", " ").partition(" ")
    kind = _known(f"{first}_{last}") if last else ""
    if kind:
        return kind
    if match["named"]:
        kind = _known(first)
        return kind if not (last or match["prose"]) or _is_sure(first, kind) else ""
    word = first if last in _BEFORE_PLACES else last or first
    kind = _known(word)
    return kind if _is_sure(word, kind) else ""


def _known(word: str) -> str:
    return canonical(word) if is_known(word) and word not in _BEFORE_PLACES else ""


def _is_sure(word: str, kind: str) -> bool:
    """Return True if a word before others means the action."""
    return kind in AT_A_PLACE or word.lower() == "type" or "_" in word or bool(_CAMEL.search(word))
