"""Objects to actions, by a table of the keys that sources use for the parts of an action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grounding_rewards.actions import CLICKS, Act, canonical, is_known
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.parsing.dialects.actions._objects import decoded
from grounding_rewards.parsing.dialects.actions._places import number_of, places_of, two_ends
from grounding_rewards.parsing.texts import NUMBER, compiled

KEYS: Mapping[str, tuple[str, ...]] = {
    "name": ("action", "action_type", "function", "Action"),
    "type": ("type",),
    "tool": ("name",),
    "start": ("start_coordinate", "start_point", "start_box", "start", "from_coord", "startCoordinate", "from"),
    "place": ("coordinate", "point_2d", "point", "position", "coordinates", "mean"),
    "box": ("bbox_2d", "bbox", "box"),
    "to": ("coordinate2", "end_coordinate", "end_point", "end_box", "end", "to_coord", "endCoordinate", "to"),
    "text": ("text", "content", "value", "input_text", "message", "answer"),
    "direction": ("direction", "scroll_direction"),
    "button": ("button",),
    "app": ("app", "app_name"),
    "status": ("status", "goal_status"),
    "duration": ("duration", "time", "seconds"),
    "keys": ("keys", "key", "args", "hotkey"),
    "right": ("scroll_x", "delta_x"),
    "down": ("scroll_y", "delta_y"),
    "far": ("pixels", "clicks", "amount"),
}  # fmt: skip
"""Parts of an action, and the keys that sources use for them."""

OPENAI = frozenset({"click", "double_click", "scroll", "type", "wait", "keypress", "drag", "move", "screenshot"})
"""Values of ``type`` that name an action; others, such as ``input``, may be the type of an element."""

AT_A_PLACE = frozenset(
    {"click", "double_click", "triple_click", "right_click", "middle_click", "long_press", "hover", "drag", "scroll",
     "swipe", "mouse_down", "mouse_up"}
)  # fmt: skip
"""Actions at a place, in the vocabulary's words."""

_PART_OF_KEY = {key: part for part, keys in KEYS.items() for key in keys}
_WRAPPERS = frozenset({"action", "Action", "function", "arguments", "parameters", "args"})
_REPLACED = frozenset({"action", "Action", "function"})
_LEVELS = 4  # objects inside objects that are opened; models nest two or three
_STRINGS = ("direction", "button", "app", "status")
_DIRECTIONS = ("up", "down", "left", "right")
_NO_TEXT = "no input text"  # GUI-R1's filler for actions without a text
_NOWHERE = ((-1.0, -1.0), (-100.0, -100.0))
_FIRST_BUTTON = ("left", "primary")
_TIMES = {2.0: "double_click", 3.0: "triple_click"}


def acts_of(items: Sequence[Mapping[Any, Any]]) -> list[Act] | None:
    """Return the acts of several objects, in order; None if none of them names an action.

    >>> acts_of([{"action": "wait"}, {"point_2d": [5, 6]}])
    [Act(name='wait', place=(), arguments={}), Act(name='', place=(5.0, 6.0), arguments={})]
    """
    acts, named = [], False
    for item in items:
        several = item.get("actions")
        inside = [member for member in several if isinstance(member, dict)] if isinstance(several, list) else [item]
        for member in inside:
            act = act_of(member)
            if act is not None:
                acts.append(act)
                named = named or bool(act.name)
    return acts if named else None


def act_of(item: Mapping[Any, Any]) -> Act | None:
    """Return the act of an object; None if it has none, or if its place cannot be read.

    Args:
        item: an object with an action and its arguments, a call of a tool with ``arguments``, or either in an object
            under ``action`` or ``function``.

    >>> act_of({"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [5, 6]}})
    Act(name='left_click', place=(5.0, 6.0), arguments={})
    >>> act_of({"type": "scroll", "x": 5, "y": 6, "scroll_y": 100}).arguments
    {'direction': 'down'}
    """
    item, called = _unwrapped(item)
    parts = _by_part(item)
    name, places = _name(parts, called), places_of(parts, item)
    kind = canonical(name)
    if places is None and name and kind not in AT_A_PLACE:  # an action that needs no place
        places = (), ()
    if places is None or not (name or places[0]):
        return None
    place, to = places
    if kind in ("drag", "swipe") and not to:
        place, to = two_ends(name, place, "start" in parts)
    if place in _NOWHERE and name not in CLICKS:  # GUI-R1's filler for actions without a place
        place = ()
    arguments = _arguments(kind, parts)
    if to:
        arguments["to"] = to
    if kind == "scroll" or kind == "swipe":
        _add_direction(name, parts, arguments)
    elif kind == "click" and number_of(parts.get("far")) in _TIMES:  # pyautogui's click(clicks=2)
        name = _TIMES[number_of(parts["far"]) or 0.0]
    if canonical(name) in _TIMES.values() and "button" in arguments:
        button = arguments.pop("button").strip().lower()
        name = name if button in _FIRST_BUTTON else f"{button}_{canonical(name)}"  # not in the vocabulary
    return Act(name, place, arguments)


def _unwrapped(item: Mapping[Any, Any]) -> tuple[Mapping[Any, Any], bool]:
    """Return the object that holds the arguments, and True if it stood in another one."""
    called = False
    for _ in range(_LEVELS):
        for key, inner in item.items():
            if key in _WRAPPERS:
                if key == "arguments" and isinstance(inner, str):  # OpenAI's calls hold them as a JSON text
                    inner = decoded(inner)
                if isinstance(inner, dict):
                    break
        else:
            break
        if key in _REPLACED:
            item, called = inner, True
        else:
            item, called = {**{other: item[other] for other in item if other != key}, **inner}, True
    return item, called


def _by_part(item: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the parts of an action: of each, the value of the first of its keys that has one."""
    parts: dict[str, Any] = {}
    for key, value in item.items():
        part = _PART_OF_KEY.get(key)
        if part is None or part in parts or value is None or (value == _NO_TEXT and key == "input_text"):
            continue
        if part == "text" and isinstance(value, list):  # pyautogui's typewrite takes a list of keys
            continue
        if key == "from" and not isinstance(value, list | tuple | dict):  # the sender of a mail, for example
            continue
        parts[part] = value
    return parts


def _name(parts: Mapping[str, Any], called: bool) -> str:
    name = parts.get("name")
    if isinstance(name, str) and name.strip():
        return name.strip()
    for part in ("type", "tool"):  # other values of these keys name no action
        name = parts.get(part)
        if isinstance(name, str) and (is_known(name.strip()) if called else name.strip() in OPENAI and part == "type"):
            return name.strip()
    return ""


def _arguments(kind: str, parts: Mapping[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    text = _text(parts.get("text"))
    if text is not None:
        arguments["text"] = text
    for part in _STRINGS:
        value = parts.get(part)
        if isinstance(value, str):
            arguments[part] = value
    keys = parts.get("keys")
    if isinstance(keys, list | tuple):
        keys = tuple([key for key in keys if isinstance(key, str)])
    elif isinstance(keys, str):
        if kind == "key":
            arguments["text"], keys = keys, None  # the vocabulary splits it
        else:
            keys = (keys,)
    if isinstance(keys, tuple) and keys:
        arguments["keys"] = keys
    seconds = _numeral(parts.get("duration"))
    if seconds is not None:
        arguments["duration"] = seconds
    return arguments


def _text(value: Any) -> str | None:
    """Return a string, or a whole number as a string; None for anything else."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int and abs(value) <= COORDINATE_LIMIT else None  # str() of 4300 digits raises


def _numeral(value: Any) -> float | None:
    """Return a number, or the number that a string writes; None for anything else."""
    if isinstance(value, str) and len(value) <= 20 and compiled(NUMBER).fullmatch(value.strip()):
        value = float(value.strip())  # strip knows more white space than float does
    return number_of(value)


def _add_direction(name: str, parts: Mapping[str, Any], arguments: dict[str, Any]) -> None:
    """Add a scroll's direction: from a text, or the sign of its distance (positive is up; with OpenAI's keys down)."""
    if "direction" in arguments:
        return
    for text in (arguments.get("text"), parts.get("to")):
        if isinstance(text, str) and text.strip().lower() in _DIRECTIONS:
            arguments["direction"] = text.strip().lower()
            arguments.pop("text", None)  # the direction is no text of its own
            return
    right, down, far = [_numeral(parts.get(part)) or 0.0 for part in ("right", "down", "far")]
    if name.lower() == "hscroll":
        right = right or far
    else:
        down = down or -far
    if right or down:
        across = abs(right) > abs(down)
        arguments["direction"] = ("right" if right > 0 else "left") if across else ("down" if down > 0 else "up")
