"""AgentCPM-GUI's compact JSON, whose keys name the action, loosely read.

{"thought": "save it", "POINT": [512, 384]}
{"POINT": [500, 500], "to": "up"}
{"TYPE": "hello"}
{"PRESS": "HOME"}
{"STATUS": "finish"}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.parsing.action_dialect import ActionDialect
from grounding_rewards.parsing.dialects.actions._objects import objects
from grounding_rewards.parsing.dialects.actions._places import number_of, place_of
from grounding_rewards.parsing.dialects.actions.json_actions import NUMERAL

_KEYS = ("POINT", "TYPE", "PRESS", "CLEAR", "STATUS", "duration")
_GOING_ON = ("continue", "start")


def read_compact(text: str) -> list[Act] | None:
    """Return the acts of all objects in a text, in order; [] if those that have the keys cannot be used.

    >>> read_compact('{"POINT":[500,500],"to":"up"}')
    [Act(name='swipe', place=(500.0, 500.0), arguments={'direction': 'up'})]
    >>> read_compact('{"POINT":[500,500],"duration":1000}')
    [Act(name='long_press', place=(500.0, 500.0), arguments={'duration': 1000.0})]
    """
    acts = map(compact_act, objects(text))
    return [act for act in acts if act is not None]


def compact_act(item: Mapping[Any, Any]) -> Act | None:
    """Return the act of an object; None if it has none of the keys, or a value that does not fit."""
    place = place_of(item["POINT"]) if "POINT" in item else ()
    arguments: dict[str, Any] = {}
    duration = number_of(item.get("duration"))
    if place is None or (duration is None and item.get("duration") is not None):
        return None
    if duration is not None:
        arguments["duration"] = duration
    status = item.get("STATUS")
    if isinstance(status, str) and status not in _GOING_ON:
        arguments["status"] = status
    name = _name(item, place, arguments)
    return Act(name, place, arguments) if name else None


def _name(item: Mapping[Any, Any], place: tuple[float, ...], arguments: dict[str, Any]) -> str:
    """Return the action's name in the vocabulary, and add its arguments; "" if the keys do not fit."""
    to, text, button = (item.get(key) for key in ("to", "TYPE", "PRESS"))
    if to is not None:
        end = place_of(to) if not isinstance(to, str) else ()
        if not place or end is None or len(end) == 4:
            return ""
        arguments.update({"to": end} if end else {"direction": to})
        return "swipe"
    if text is not None:
        arguments["text"] = text
        return "type" if isinstance(text, str) else ""
    if button is not None:
        arguments["button"] = button
        return "system_button" if isinstance(button, str) else ""
    if place:
        return "long_press" if "duration" in arguments else "click"
    if item.get("CLEAR"):
        return "clear"
    if "status" in arguments:
        return "finished"
    return "wait" if "duration" in arguments and "action" not in item else ""


ACTION_COMPACT = ActionDialect(
    name="action_compact",
    read=read_compact,
    patterns=(
        # One object with a thought, in which no quote or brace can hold another.
        r'^[^{}]*\{(?:"thought": ?"[^"\\{}\x00-\x1f]*", ?)?"(?P<action>POINT)": ?'
        rf"\[(?P<x>{NUMERAL}), ?(?P<y>{NUMERAL})\]\}}[^{{}}]*$",
    ),
    signs=tuple(f"{key}{quote}" for key in _KEYS for quote in "\"'"),
    must=("}",),
    vocabulary=True,
)
"""A point alone is a click, with a duration a long press, with ``to`` a swipe, keys in any order."""
