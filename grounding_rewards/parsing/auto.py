"""Answers in any form: ``auto`` for places, ``auto_action`` for actions."""

from __future__ import annotations

import re

from grounding_rewards.actions import Act, canonical, is_known
from grounding_rewards.parsing.calls import ACTION_CALLS, calls_go_first
from grounding_rewards.parsing.objects import ACTION_BLINK, ACTION_COMPACT, ACTION_JSON, AT_A_PLACE, OPENAI
from grounding_rewards.parsing.patterns import PLACE, either_case
from grounding_rewards.parsing.places import NULL_REFUSAL, PLACES, REFUSAL, TUPLE_ALONE
from grounding_rewards.parsing.reading import FirstOf, Form, Gated, Unless
from grounding_rewards.parsing.texts import SPACE, number

# Names of actions in front of a place, which is then no click.

_BEFORE_PLACES = ("at", "on", "to", "in", "from")
_WORD = "[A-Za-z_]+"
_WORDS = rf"(?:{_WORD}[ -])?{_WORD}"
_KEY = rf"(?:{either_case('action(?:s|_type)?|function')})[\"']?{SPACE}[:=>]{SPACE}[\"'`]?"
_PLACE = r"(?:[(\[][(\[ \t]*-?[.0-9]|<[|a-z_]+>|\{[ \n]*[\"'])"
_ALIAS_FORMS = (
    rf"(?P<call>{_WORD})\((?P<ending>(?:s|es|ed)\))?",
    rf"{_KEY}(?P<named>{_WORDS})(?P<prose>[ \t]+[A-Za-z])?",
    rf"type[\"']{SPACE}:{SPACE}[\"'](?P<typed>{_WORD})",
    rf"(?P<before>{_WORDS})(?:[ \t]+(?:{'|'.join(_BEFORE_PLACES)}))?(?:{SPACE}[:=])?{SPACE}{_PLACE}",
)

MAY_NAME = rf"(?:^|[^A-Za-z_])(?:{'|'.join(_ALIAS_FORMS)})"
"""A pattern that occurs in every text for which ``names_another`` is True."""

# Look-behind, which RE2 lacks: of "a(b(" both names match, where a consumed character would hide the second.
_ALIAS_NAMES = re.compile(rf"(?<![A-Za-z_])(?:{'|'.join(_ALIAS_FORMS)})")
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
    return any(_kind(match) not in ("", meant) for match in _ALIAS_NAMES.finditer(front))


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


# Actions of one line: OS-Atlas's actions, the words of OSWorld, and a name in front of a place.

WORDS = {
    "WAIT": "wait", "ENTER": "enter", "PRESS_BACK": "back", "PRESS_HOME": "home", "PRESS_RECENT": "recent",
    "COMPLETE": "finished", "DONE": "finished", "FAIL": "finished", "IMPOSSIBLE": "finished",
}  # fmt: skip
"""Answers of one word, and their actions in the vocabulary; FAIL and IMPOSSIBLE give up the task."""

_FAILED = ("FAIL", "IMPOSSIBLE")
_AT_A_PLACE = {
    "click": "click", "tap": "click", "leftclick": "click", "doubleclick": "double_click", "doubletap": "double_click",
    "tripleclick": "triple_click", "rightclick": "right_click", "middleclick": "middle_click", "hover": "hover",
    "longpress": "long_press", "longclick": "long_press",
}  # fmt: skip
_TOGETHER = str.maketrans("", "", " _-")
_LINE_NAMES = either_case("(?:click|tap|hover|(?:left|double|triple|right|middle|long)[ _-]?(?:click|tap|press))")
_OPEN = rf"(?:(?:<\|box_start\|>|<point>|<box>){SPACE})?"
_CLOSE = rf"(?:(?:<\|box_end\|>|</point>|</box>){SPACE})?"

_START = rf"(?:(?:(?s:.*)\n)?[ \t]*{either_case('actions?')}:)?"
_LINE_FORMS = (
    rf"(?P<word>{'|'.join(WORDS)})",
    r"(?P<typing>TYPE|OPEN_APP) \[(?P<text>[^\n]*)\]",
    rf"SCROLL[ \t]*\[[ \t]*(?P<direction>{either_case('up|down|left|right')})[ \t]*\]",
    rf"(?P<name>{_LINE_NAMES})(?:[ \t]+(?:at|on))?[ \t]*:?[ \t]*{_OPEN}{PLACE}{_CLOSE}",
)
_LINE = rf"^{_START}{SPACE}(?:```[a-z]*{SPACE})?(?:{'|'.join(_LINE_FORMS)}){SPACE}(?:```{SPACE})?$"
_COMPILED = re.compile(_LINE)


def read_line(text: str) -> list[Act] | None:
    r"""Return the action if a text is one line, or one line after its last ``actions:``; else None.

    >>> read_line("thoughts: Type it.\nactions:\nTYPE [hello [1]]")
    [Act(name='type', place=(), arguments={'text': 'hello [1]'})]
    >>> read_line("LONG_PRESS <point>[[5, 6]]</point>")[0][:2], read_line("I would LONG_PRESS [5, 6]")
    (('long_press', (5.0, 6.0)), None)
    """
    match = _COMPILED.search(text)
    if match is None:
        return None
    word, typing, direction = match["word"], match["typing"], match["direction"]
    if word:
        return [Act(WORDS[word], (), {"status": "impossible"} if word in _FAILED else {})]
    if typing:
        name, key = ("type", "text") if typing == "TYPE" else ("open_app", "app")
        return [Act(name, (), {key: match["text"]})]
    if direction:
        return [Act("scroll", (), {"direction": direction.lower()})]
    kind = _AT_A_PLACE.get(match["name"].lower().translate(_TOGETHER))
    place = tuple([number(match[key]) for key in ("x", "y", "x1", "y1", "x2", "y2") if match[key]])
    return [Act(kind, place)] if kind else None


def is_typing(text: str, _name: str = "") -> bool:
    """Return True if a text is OS-Atlas's ``TYPE [...]``."""
    acts = read_line(text)
    return acts is not None and acts[0].name == "type"


ACTION_OS_ATLAS = Gated(
    Form(name="action_os_atlas", read=read_line, signs=("",), vocabulary=True),  # "" is in every text
    pattern=_LINE,
)
"""The whole answer is one such line, after a heading ``actions:`` or ``Action:`` or not, in a fence or not.

The words and OS-Atlas's names are in capitals; the name in front of a place may be in any case.
"""


# ``auto_action``, for recipes that judge actions: refusals, actions, and places, which are clicks, in one order.

_LINES = ("Action:", "TYPE [")
_BRACKETS = ("(", "[", "<", ":")


def _is_line(text: str, name: str) -> bool:
    """Return True if a line names an action: objects in it or before it are then no answer."""
    return calls_go_first(text) or is_typing(text)


_OBJECTS = tuple([Unless(dialect, _is_line, hints=_LINES) for dialect in (ACTION_JSON, ACTION_COMPACT)])
_CALLS = Unless(ACTION_CALLS, is_typing, hints=_LINES[1:])
_CLICKED = Unless(FirstOf(PLACES, name="places", signs=_BRACKETS), names_another, pattern=MAY_NAME)

AUTO_ACTION = FirstOf(
    (REFUSAL, ACTION_BLINK, *_OBJECTS, _CALLS, NULL_REFUSAL, _CLICKED, ACTION_OS_ATLAS),
    name="auto_action",
    usual=(TUPLE_ALONE,),
    sentinels=True,
    vocabulary=True,
)
"""First a text that is nothing but a refusal; then the dialects that read actions, the link of BTL-UI before other
JSON and JSON before calls, because a call may stand in its text; then the places of ``auto`` in its order; at last the
lines of OS-Atlas.

Where a line begins with ``Action:`` and a call, calls go before JSON. A place without an action is a click, unless the
name of another action stands in front of it, whose arguments cannot be read. A click at (-1, -1) or (-100, -100) is a
refusal; for another action these mean that it has no place.
"""
