"""Calls that together are one action, as pyautogui's programs have them, and single calls that are several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from grounding_rewards.actions import Act, canonical

_AT_THE_POINTER = ("click", "double_click", "triple_click", "right_click", "middle_click", "scroll")
_LEFT = ("left", "primary")


class Call(NamedTuple):
    """A call that was read: what it is called, with what is in front of the dot, and what it says to do."""

    library: str
    name: str
    act: Act


def acts_of_calls(calls: Sequence[Call]) -> list[Act]:
    """The actions that calls come down to, in order; as they are where they are none of the sequences below.

    pyautogui's pointer moves before it clicks, scrolls or drags where it is, its buttons and keys go down and up
    again, and its programs sleep beside what they do; these are one action each.

    >>> moved = Call("pyautogui", "moveTo", Act("moveTo", (5.0, 6.0)))
    >>> [act[:2] for act in acts_of_calls([moved, Call("pyautogui", "click", Act("click"))])]
    [('click', (5.0, 6.0))]
    >>> [act[:2] for act in acts_of_calls([moved, Call("time", "sleep", Act("sleep"))])]
    [('moveTo', (5.0, 6.0))]
    """
    if len(calls) == 1:
        return [calls[0].act]
    doing = [call for call in calls if not (call.library and canonical(call.name) == "wait")]
    if 0 < len(doing) < len(calls):
        calls = doing
    if 1 < len(calls) <= _LONGEST and {call.library for call in calls} == {"pyautogui"}:
        act = _at_the_pointer(calls) or _dragged(calls) or _chord(calls)
        if act is not None:
            return [act]
    return [call.act for call in calls]


_LONGEST = 16
"""Calls of a sequence that is one action."""


def repeated(name: str, item: dict[str, object]) -> list[dict[str, object]]:
    """The arguments of each of the keystrokes that ``press`` makes, which are one after the other.

    >>> repeated("press", {"keys": ["a", "b"]}), repeated("press", {"keys": "tab", "presses": 2})
    ([{'keys': 'a'}, {'keys': 'b'}], [{'keys': 'tab'}, {'keys': 'tab'}])
    """
    if name != "press":
        return [item]
    rest = {key: value for key, value in item.items() if key not in ("keys", "key", "presses")}
    keys, times = item.get("keys") or item.get("key"), item.get("presses", 1)
    times = int(min(max(times, 1), _LONGEST)) if isinstance(times, int | float) else 1
    if isinstance(keys, list) and keys:
        return [{**rest, "keys": key} for key in keys[:_LONGEST]] * times
    return [{key: value for key, value in item.items() if key != "presses"}] * times


def _at_the_pointer(calls: Sequence[Call]) -> Act | None:
    """``moveTo`` and then something where the pointer is."""
    if len(calls) != 2:
        return None
    (_, moved, start), (_, name, act) = calls
    if moved != "moveTo" or len(start.place) != 2 or act.place:
        return None
    if canonical(name) in _AT_THE_POINTER or (name == "dragTo" and "to" in act.arguments):
        return act._replace(place=start.place)
    return None


def _dragged(calls: Sequence[Call]) -> Act | None:
    """``mouseDown``, ``moveTo`` and ``mouseUp``, with another ``moveTo`` in front or not."""
    start: tuple[float, ...] = ()
    if calls[0].name == "moveTo":
        start, calls = calls[0].act.place, calls[1:]
    names = [call.name for call in calls]
    if len(calls) < 2 or names != ["mouseDown", *["moveTo"] * (len(calls) - 2), "mouseUp"]:
        return None
    if any([call.act.arguments.get("button", "left") not in _LEFT for call in calls]):  # noqa: C419 (faster so)
        return None
    start = calls[0].act.place or start
    end = calls[-1].act.place or calls[-2].act.place
    if len(start) != 2 or len(end) != 2 or (len(calls) == 2 and end == start):
        return None
    return Act("drag", start, {"to": end})


def _chord(calls: Sequence[Call]) -> Act | None:
    """As many ``keyDown``, one ``press``, and the same keys' ``keyUp``."""
    held = len(calls) // 2
    if [call.name for call in calls] != ["keyDown"] * held + ["press"] + ["keyUp"] * held:
        return None
    down, up = [sorted(_keys(part)) for part in (calls[:held], calls[held + 1 :])]
    return Act("hotkey", (), {"keys": (*_keys(calls[: held + 1]),)}) if down == up else None


def _keys(calls: Sequence[Call]) -> list[str]:
    found: list[str] = []
    for call in calls:
        said = call.act.arguments
        found += said["keys"] if "keys" in said else [said["text"]] if "text" in said else []
    return found
