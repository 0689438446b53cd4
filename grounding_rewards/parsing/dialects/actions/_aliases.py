"""Names of actions that stand in front of a place: what is then said of the place is no click."""

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
"""What occurs in every text that ``names_another`` says yes to."""

# A name may begin where what stood in front of it was taken: a call in a call.
_NAMES = re.compile(rf"(?<![A-Za-z_])(?:{'|'.join(_FORMS)})")
_CAMEL = re.compile("[a-z][A-Z]")


def names_another(text: str, name: str) -> bool:
    """Whether the name of another action stands in front of the last number of a text.

    It may stand there as a call; behind ``Action:`` or a key such as ``action``; and right before a place, where it is
    an action at a place, ``type``, or in the form of a name in code: what is called "Home" or "Menu" is a label.

    Args:
        text: in which a place was found.
        name: the action found with it; "" is a click.

    >>> names_another("Action: type(content='go to (5, 6)", ""), names_another("long press (5, 6)", "")
    (True, True)
    >>> names_another("click(5, 6)", "click"), names_another("Home (5, 6)", ""), names_another("(5, 6), then wait(", "")
    (False, False, False)
    """
    meant = canonical(name or "click")
    front = text[: max([text.rfind(digit) for digit in "0123456789"]) + 1]
    return any(_kind(found) not in ("", meant) for found in _NAMES.finditer(front))


def _kind(found: re.Match[str]) -> str:
    """The action that is named, in the vocabulary's words; "" where none is."""
    if found["call"]:
        return "" if found["ending"] else _known(found["call"])
    if found["typed"]:
        return _known(found["typed"]) if found["typed"] in OPENAI else ""
    words = found["named"] or found["before"]
    first, _, last = words.replace("-", " ").partition(" ")
    kind = _known(f"{first}_{last}") if last else ""
    if kind:
        return kind
    if found["named"]:
        kind = _known(first)
        return kind if not (last or found["prose"]) or _is_sure(first, kind) else ""
    word = first if last in _BEFORE_PLACES else last or first
    kind = _known(word)
    return kind if _is_sure(word, kind) else ""


def _known(word: str) -> str:
    return canonical(word) if is_known(word) and word not in _BEFORE_PLACES else ""


def _is_sure(word: str, kind: str) -> bool:
    """Whether a word in front of others means the action."""
    return kind in AT_A_PLACE or word.lower() == "type" or "_" in word or bool(_CAMEL.search(word))
