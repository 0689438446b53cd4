"""Compact JSON, whose keys name the action: AgentCPM-GUI's answers, in thousandths.

{"thought": "The button is at the top.", "POINT": [512, 96]}
{"POINT": [500, 700], "to": "up"}, {"POINT": [500, 700], "duration": 1000}, {"TYPE": "hello"}, {"PRESS": "HOME"},
{"duration": 500}, {"STATUS": "finish"}
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.json5 import Json5Error, read_json5

FENCE, _END = "```json", "```"
WAYS = ("up", "down", "left", "right")
BUTTONS = ("HOME", "BACK", "ENTER")
STATUSES = ("continue", "finish", "satisfied", "impossible", "interrupt", "need_feedback")
THOUGHT = "thought"
_EDGE = 1000


def is_fenced(text: str) -> bool:
    """Return True if the whole text is in a fence of JSON."""
    text = text.strip()
    return text.startswith(FENCE) and text.endswith(_END) and len(text) >= len(FENCE + _END)


def compact_json(text: str) -> Any:
    """Read a text that is JSON5, in a fence of JSON or not.

    Raises:
        Json5Error: it is not.
    """
    text = text.strip()
    return read_json5(text[len(FENCE) : -len(_END)] if is_fenced(text) else text)


def is_compact_action(value: Any) -> bool:
    """Return True for a value in AgentCPM-GUI's schema: an object of only these keys, each of its own kind.

    ``thought`` and ``TYPE`` are texts; ``POINT`` two whole numbers of 0..1000, and ``to`` such a pair or a direction;
    ``duration`` a whole number from 0; ``PRESS`` one of three buttons; ``STATUS`` one of six words. 200.0 is a whole
    number. None of the keys is needed.

    >>> is_compact_action({"POINT": [200.0, 150], "to": "up"}), is_compact_action({"POINT": [200.5, 150]})
    (True, False)
    """
    return isinstance(value, dict) and all(key in _KINDS and _KINDS[key](item) for key, item in value.items())


def read_compact_action(text: str) -> list[Act] | None:
    """Return the action of a text that is one such object; () if it holds nothing but a thought.

    The name is the first of POINT, TYPE, PRESS, STATUS, duration and to that the object has.

    >>> read_compact_action("{thought: 'Scroll.', POINT: [500, 700], to: 'up'}")
    [Act(name='POINT', place=(500.0, 700.0), arguments={'direction': 'up'})]
    >>> read_compact_action('{"POINT": [500, 700], "CLEAR": true}') is None
    True
    """
    try:
        value = compact_json(text)
    except Json5Error:
        return None
    if not is_compact_action(value):
        return None
    names = [name for name in COMPACT_KEYS if name in value]
    if not names:
        return []
    x_y = tuple([float(number) for number in value.get("POINT", ())])
    return [Act(names[0], x_y, dict([_argument(name, value[name]) for name in names if name != "POINT"]))]


COMPACT_KEYS = {"POINT": "", "TYPE": "text", "PRESS": "button", "STATUS": "status", "duration": "duration", "to": "to"}
"""The object's keys, and the arguments that hold their values; ``to`` may also be a ``direction``."""


def _argument(key: str, value: Any) -> tuple[str, Any]:
    if key == "to":
        return ("direction", value) if isinstance(value, str) else (key, tuple([float(number) for number in value]))
    if key == "duration":
        return key, float(min(value, COORDINATE_LIMIT))  # min first: float(10**400) raises
    return COMPACT_KEYS[key], value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value >= 0 and (isinstance(value, int) or (math.isfinite(value) and value.is_integer()))


def _is_place(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) == 2 and all(_is_whole(number) and number <= _EDGE for number in value)
    )


_KINDS: dict[str, Callable[[Any], bool]] = {
    THOUGHT: _is_text,
    "TYPE": _is_text,
    "POINT": _is_place,
    "to": lambda value: value in WAYS if isinstance(value, str) else _is_place(value),
    "duration": _is_whole,
    "PRESS": lambda value: isinstance(value, str) and value in BUTTONS,
    "STATUS": lambda value: isinstance(value, str) and value in STATUSES,
}

_SPACE = "[ \t\n\r]*"
_TEXT = r'[^"\\\x00-\x1f]*'
_NUMBER = "(?:0|[1-9][0-9]{0,2}|1000)"


def _usual(*tokens: str) -> str:
    """Return the pattern of an object of these tokens, after a thought or none."""
    thought = _SPACE.join((f'"{THOUGHT}"', ":", f'"{_TEXT}"', ",", ""))
    return _SPACE.join(("^", r"\{", f"(?:{thought})?{tokens[0]}", *tokens[1:], r"\}", "$"))


def _words(name: str, words: tuple[str, ...]) -> str:
    return f'"(?P<{name}>{"|".join(words)})"'


_POINT = ('"(?P<action>POINT)"', ":", r"\[", f"(?P<x>{_NUMBER})", ",", f"(?P<y>{_NUMBER})", r"\]")

AGENTCPM = ActionDialect(
    "agentcpm",
    read_compact_action,
    patterns=(
        _usual(*_POINT),
        _usual(*_POINT, ",", '"to"', ":", _words("direction", WAYS)),
        _usual('"(?P<action>TYPE)"', ":", f'"(?P<text>{_TEXT})"'),
        _usual('"(?P<action>PRESS)"', ":", _words("button", BUTTONS)),
        _usual('"(?P<action>STATUS)"', ":", _words("status", STATUSES)),
    ),
    signs=("{",),
    must=("}",),
)
"""The whole text is one object in JSON5, in a ```json fence or not, that keeps to AgentCPM-GUI's schema."""
