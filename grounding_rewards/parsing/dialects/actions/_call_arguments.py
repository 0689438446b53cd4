"""Calls to actions: arguments by key, and those without a key by the kind of action."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from grounding_rewards.actions import Act, canonical
from grounding_rewards.parsing.dialects.actions._keys import AT_A_PLACE, KEYS, act_of
from grounding_rewards.parsing.dialects.actions._several import repeated
from grounding_rewards.parsing.patterns import PLACE
from grounding_rewards.parsing.texts import NUMBER, SPACE, number

Argument = tuple[str, str, bool]
"""Key or "", text, and True if the text was in quotes."""

_OPEN = rf"(?:(?:<\|box_start\|>|<point>|<bbox>|<box>){SPACE})?"
_CLOSE = rf"(?:(?:<\|box_end\|>|</point>|</bbox>|</box>){SPACE})?"
_PLACE = re.compile(rf"{SPACE}{_OPEN}{PLACE}{_CLOSE}")
_NUMBER = re.compile(NUMBER)
_STRINGS = re.compile(r"'([^'\\]*)'|\"([^\"\\]*)\"")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
_WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_PLACES = frozenset({*KEYS["start"], *KEYS["place"], *KEYS["box"], *KEYS["to"]})
_CLICKS = ("click", "double_click", "triple_click")
_DIRECTIONS = ("up", "down", "left", "right")
_BUTTONS = ("left", "right", "middle")
_TEXTS = ("type", "answer", "finished", "call_user", "select", "copy")
_STRING_KEYS = {**dict.fromkeys(_TEXTS, "text"), "open_app": "app", "terminate": "status"}
_CONTROLS = {"\n": "enter", "\r": "enter", "\t": "tab"}
_KEYBOARD = ("key", "key_down", "key_up")
_UNREAD = object()


def acts_of_call(name: str, arguments: Sequence[Argument], library: bool = False) -> list[Act]:
    """Return the actions of a call; [] if an argument cannot be read, or does not fit the action.

    ``press`` with several keys presses one after the other: these are several actions, as it is with ``presses``.

    Args:
        name: the function's name.
        arguments: in order.
        library: True for pyautogui's functions, whose ``scroll`` begins with the distance.

    >>> acts_of_call("drag", [("start_box", "(1,2)", True), ("end_box", "(3,4)", True)])
    [Act(name='drag', place=(1.0, 2.0), arguments={'to': (3.0, 4.0)})]
    >>> acts_of_call("scroll", [("", "-5", False), ("x", "1", False), ("y", "2", False)], library=True)
    [Act(name='scroll', place=(1.0, 2.0), arguments={'direction': 'down'})]
    >>> len(acts_of_call("press", [("", "tab", True), ("presses", "3", False)], library=True))
    3
    """
    item: dict[str, Any] = {}
    plain = []
    for key, text, quoted in arguments:
        value = _value(key, text, quoted)
        if value is _UNREAD:
            if key in _PLACES and canonical(name) not in AT_A_PLACE:  # an action that needs no place
                continue
            return []
        if key in KEYS["keys"] or (not key and canonical(name) in _KEYBOARD):
            value = _CONTROLS.get(value, value) if isinstance(value, str) else value
        if key:
            item[key] = value
        else:
            plain.append(value)
    if plain and not _add_plain(name, plain, item, library):
        return []
    acts = [act_of({**keystroke, "action": name}) for keystroke in repeated(name, item)]
    return [act for act in acts if act is not None]


def _value(key: str, text: str, quoted: bool) -> Any:
    """Return an argument's value: a place, a string, a number, a list of strings or a word."""
    if key in _PLACES and not (key == "to" and quoted and text in _DIRECTIONS):  # to='up' is a direction
        return _numbers(text) or _UNREAD
    if quoted:
        return _ESCAPE.sub(_escaped, text) if "\\" in text else text
    if _NUMBER.fullmatch(text):
        return _numeral(text)
    if text in _WORDS:
        return _WORDS[text]
    if text[:1] == "[" and ("'" in text or '"' in text):
        return [single or double for single, double in _STRINGS.findall(text)]
    return _numbers(text) or (text if key or text in _DIRECTIONS else _UNREAD)


def _numeral(text: str) -> int | float:
    # More digits may go beyond COORDINATE_LIMIT, to which ``number`` clips them.
    return int(text) if len(text) <= 12 and "." not in text else number(text)


def _numbers(text: str) -> list[float] | None:
    """Return the numbers of a place, in any brackets or tags; None if the text is no place."""
    return [number(numeral) for numeral in _NUMBER.findall(text)] if _PLACE.fullmatch(text) else None


def _escaped(match: re.Match[str]) -> str:
    return _ESCAPED.get(match[1], match[0])


def _add_plain(name: str, plain: list[Any], item: dict[str, Any], library: bool) -> bool:
    """Add arguments without a key, under the key that they would have; return True if all fit."""
    kind = "terminate" if name.lower() == "terminate" else canonical(name)
    strings = [value for value in plain if isinstance(value, str)]
    if kind in _STRING_KEYS:
        item.setdefault(_STRING_KEYS[kind], plain[0])
        return len(strings) == len(plain) or (library and bool(strings))  # pyautogui.write("a", 0.25): the interval
    if kind in _KEYBOARD:
        item.setdefault("keys", (plain[0] if isinstance(plain[0], list) else strings) if len(plain) > 1 else plain[0])
        return isinstance(plain[0], str | list)
    if kind == "wait":
        item.setdefault("duration", plain[0])
        return len(plain) == 1 and isinstance(plain[0], int | float)
    return _add_places(
        kind, [_numbers(value) or value if isinstance(value, str) else value for value in plain], item, library
    )


def _add_places(kind: str, plain: list[Any], item: dict[str, Any], library: bool) -> bool:
    """Do the same for actions at a place: lists are places, numbers are x and y, or the distance of a scroll."""
    places = [value for value in plain if isinstance(value, list)]
    numbers = [value for value in plain if type(value) in (int, float)]
    for value in plain:
        if isinstance(value, str) and kind in ("scroll", "swipe") and value.lower() in _DIRECTIONS:
            item.setdefault("direction", value)
        elif isinstance(value, str) and kind in _CLICKS and value in _BUTTONS:
            item.setdefault("button", value)
        elif isinstance(value, str | bool) and not library:
            return False
    if kind == "scroll" and (library or len(numbers) == 1):
        item.setdefault("pixels", numbers[0] if numbers else 0)  # pyautogui.scroll(-5, x, y)
        numbers = numbers[1:]
    if kind in ("drag", "swipe") and len(numbers) >= 4 and not library:
        places += [numbers[:2], numbers[2:4]]
    elif len(numbers) >= 2:
        places.append(numbers[:2])
        if kind == "click" and len(numbers) > 2:
            item.setdefault("clicks", numbers[2])  # pyautogui.click(x, y, 2)
    elif numbers and not places:
        return False
    for key, place in zip(("coordinate", "end"), places, strict=False):
        item.setdefault(key, place)
    return True
