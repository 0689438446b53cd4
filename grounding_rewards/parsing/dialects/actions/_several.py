"""Calls that together are one action, as in programs for pyautogui, and single calls that are several actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from grounding_rewards.actions import Act, canonical

_AT_THE_POINTER = ("click", "double_click", "triple_click", "right_click", "middle_click", "scroll")
_LEFT = ("left", "primary")


class Call(NamedTuple):
    """A call: the name before the dot, the name after it, and the act."""

    library: str
    name: str
    act: Act


def acts_of_calls(calls: Sequence[Call]) -> list[Act]:
    """Return the actions of calls, in order, with the sequences below joined to one action.

    Programs for pyautogui move the pointer before they click, scroll or drag there, press and release buttons and keys,
    and sleep between actions; each such sequence is one action.

    >>> moved = Call("pyautogui", "moveTo", Act("moveTo", (5.0, 6.0)))
    >>> [act[:2] for act in acts_of_calls([moved, Call("pyautogui", "click", Act("click"))])]
    [('click', (5.0, 6.0))]
    >>> [act[:2] for act in acts_of_calls([moved, Call("time", "sleep", Act("sleep"))])]
    [('moveTo', (5.0, 6.0))]
    """
    if len(calls) == 1:
        return [calls[0].act]
    doing = [call for call in calls if not (call.library and canonical(call.name) == "wait")]
    if 0 < len(doing) < len(calls):  # sleeping alone is an action
        calls = doing
    if 1 < len(calls) <= _LONGEST and {call.library for call in calls} == {"pyautogui"}:
        act = _at_the_pointer(calls) or _dragged(calls) or _chord(calls)
        if act is not None:
            return [act]
    return [call.act for call in calls]


_LONGEST = 16
"""Calls of a sequence that is one action."""


def repeated(name: str, item: dict[str, object]) -> list[dict[str, object]]:
    """Return the arguments of each keystroke of a ``press``, in order; of another call its own.

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
    """Join ``moveTo`` and an action at the pointer; None for other calls."""
    if len(calls) != 2:
        return None
    (_, moved, start), (_, name, act) = calls
    if moved != "moveTo" or len(start.place) != 2 or act.place:
        return None
    if canonical(name) in _AT_THE_POINTER or (name == "dragTo" and "to" in act.arguments):
        return act._replace(place=start.place)
    return None


def _dragged(calls: Sequence[Call]) -> Act | None:
    """Join ``mouseDown``, ``moveTo``, ``mouseUp``, after another ``moveTo`` or not, to a drag; None for other calls."""
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
    """Join ``keyDown`` calls, one ``press``, and the same keys' ``keyUp`` to a hotkey; None for other calls."""
    held = len(calls) // 2
    if [call.name for call in calls] != ["keyDown"] * held + ["press"] + ["keyUp"] * held:
        return None
    down, up = [sorted(_keys(part)) for part in (calls[:held], calls[held + 1 :])]
    return Act("hotkey", (), {"keys": (*_keys(calls[: held + 1]),)}) if down == up else None


def _keys(calls: Sequence[Call]) -> list[str]:
    keys: list[str] = []
    for call in calls:
        arguments = call.act.arguments
        keys += arguments["keys"] if "keys" in arguments else [arguments["text"]] if "text" in arguments else []
    return keys
