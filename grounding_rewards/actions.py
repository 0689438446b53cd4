"""Actions of an agent: one vocabulary for the names that models and papers use, and columns of arguments.

Directions: a scroll's says where the view goes (``down`` shows what is further down), a swipe's where the finger goes,
which is the opposite. ``normalised`` makes a scroll of either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, made, nowhere

Objects = NDArray[np.object_]

ACTIONS = (
    "click", "double_click", "triple_click", "right_click", "middle_click", "long_press", "hover", "drag", "scroll",
    "type", "clear", "select", "key", "enter", "back", "home", "menu", "recent", "open_app", "wait", "finished",
    "answer", "call_user", "screenshot", "copy", "paste", "mouse_down", "mouse_up", "key_down", "key_up", "no_action",
)  # fmt: skip
"""The names that mean the same everywhere; ``finished`` has a status where the task could not be done."""

NAMES: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "android_control": {
        "input_text": "type", "navigate_back": "back", "navigate_home": "home", "launch_app": "open_app",
        "launch": "open_app", "keyboard_enter": "enter", "double_tap": "double_click", "status": "finished",
    },
    "agentcpm": {"POINT": "click", "TYPE": "type", "CLEAR": "clear", "STATUS": "finished"},
    "aitw": {"DUAL_POINT": "click", "STATUS_TASK_COMPLETE": "finished", "STATUS_TASK_IMPOSSIBLE": "finished"},
    "btl-ui": {"Tap": "click", "LongPress": "long_press", "Swipe": "swipe", "Type": "type", "Home": "home",
               "Back": "back", "Wait": "wait", "Open": "open_app", "Enter": "enter"},
    "computer_use": {"left_click": "click", "mouse_move": "hover", "left_click_drag": "drag", "hscroll": "scroll",
                     "terminate": "finished", "double_left_click": "double_click",
                     "left_mouse_down": "mouse_down", "left_mouse_up": "mouse_up", "hold_key": "key_down"},
    "chinese": {"点击": "click", "单击": "click", "双击": "double_click", "右键点击": "right_click",
                "长按": "long_press", "悬停": "hover", "滑动": "swipe", "滚动": "scroll", "拖动": "drag",
                "拖拽": "drag", "输入": "type", "點擊": "click", "雙擊": "double_click", "右鍵點擊": "right_click",
                "長按": "long_press", "懸停": "hover", "滑動": "swipe", "滾動": "scroll", "拖動": "drag",
                "輸入": "type"},
    "gemini": {"type_text": "type", "drag_and_drop": "drag", "key_combination": "key", "scroll_document": "scroll",
               "wait_5_seconds": "wait", "go_back": "back"},
    "gui-r1": {"press_back": "back", "press_home": "home", "press_enter": "enter", "complete": "finished",
               "impossible": "finished", "rightclick": "right_click", "doubleclick": "double_click",
               "moveto": "hover", "hotkey": "key", "press": "key"},
    "mobile_use": {"open": "open_app", "terminate": "finished"},
    "openai": {"keypress": "key", "move": "hover"},
    "os_atlas": {"CLICK": "click", "TYPE": "type", "SCROLL": "scroll", "OPEN_APP": "open_app", "PRESS_BACK": "back",
                 "PRESS_HOME": "home", "PRESS_RECENT": "recent", "ENTER": "enter", "WAIT": "wait",
                 "COMPLETE": "finished", "LONG_PRESS": "long_press"},
    "os_world": {"DONE": "finished", "FAIL": "finished"},
    "pyautogui": {"leftClick": "click", "doubleClick": "double_click", "tripleClick": "triple_click",
                  "rightClick": "right_click", "middleClick": "middle_click", "moveTo": "hover", "moveRel": "hover",
                  "dragTo": "drag", "dragRel": "drag", "write": "type", "typewrite": "type", "press": "key",
                  "hotkey": "key", "keyDown": "key_down", "keyUp": "key_up", "mouseDown": "mouse_down",
                  "mouseUp": "mouse_up", "vscroll": "scroll"},
    "ui-tars": {"left_single": "click", "left_double": "double_click", "right_single": "right_click",
                "press_back": "back", "press_home": "home", "hotkey": "key"},
    "ui-venus": {"Click": "click", "Drag": "drag", "Scroll": "scroll", "Type": "type", "Launch": "open_app",
                 "Wait": "wait", "Finished": "finished", "CallUser": "call_user", "LongPress": "long_press",
                 "PressBack": "back", "PressHome": "home", "PressEnter": "enter", "PressRecent": "recent"},
    "others": {"tap": "click", "long_click": "long_press", "long_tap": "long_press", "input": "type", "fill": "type",
               "done": "finished", "finish": "finished", "respond": "answer", "mouse_drag": "drag",
               "key_press": "key", "press_key": "key", "noop": "no_action", "none": "no_action",
               "sleep": "wait", "infeasible": "finished", "press_recent": "recent", "press_appselect": "recent",
               "recents": "recent", "app_switch": "recent", "response": "answer", "callUser": "call_user",
               "slide": "swipe", "awake": "open_app", "info": "call_user", "abort": "finished", "refuse": "finished",
               "refusal": "finished", "dblclick": "double_click", "move_mouse": "hover",
               "middle_tap": "middle_click", "right_tap": "right_click", "triple_tap": "triple_click"},
})  # fmt: skip
"""Names of actions by source, where they differ from the vocabulary."""

_CANONICAL = {
    **{name: name for name in (*ACTIONS, "swipe", "system_button")},
    **{written: name for names in NAMES.values() for written, name in names.items()},
    **{written.lower(): name for names in NAMES.values() for written, name in names.items()},
}
WRITTEN = tuple(_CANONICAL)
"""Every name that the vocabulary knows, as models and targets write them."""

_CLICK_KINDS = ("click", "double_click", "triple_click", "right_click", "middle_click", "long_press")

AT_A_PLACE = frozenset({*_CLICK_KINDS, "hover", "drag", "scroll", "swipe", "mouse_down", "mouse_up"})
"""Actions at a place, in the vocabulary's words."""

CLICKS = ("", *(written for written, name in _CANONICAL.items() if name in _CLICK_KINDS))
"""Action names under which a coordinate is a click, as models write them; "" is an answer that names no action."""

_BUTTONS = {"back": "back", "home": "home", "menu": "menu", "enter": "enter", "recent": "recent", "recents": "recent",
            "appselect": "recent", "app_select": "recent", "app_switch": "recent", "overview": "recent"}  # fmt: skip
_SIDES = {"left": "click", "right": "right_click", "middle": "middle_click", "wheel": "middle_click"}
_IMPOSSIBLE = {"impossible", "infeasible", "status_task_impossible", "fail", "abort", "refuse", "refusal"}
_MODIFIERS = {"control": "ctrl", "ctrl": "ctrl", "alt": "alt", "option": "alt", "shift": "shift", "cmd": "cmd",
              "command": "cmd", "meta": "cmd", "super": "cmd", "win": "cmd", "windows": "cmd"}  # fmt: skip
_KEYS = {**_MODIFIERS, "return": "enter", "escape": "esc", "del": "delete", "pgup": "pageup", "pgdn": "pagedown",
         "page_up": "pageup", "page_down": "pagedown", "arrowup": "up", "arrowdown": "down", "arrowleft": "left",
         "arrowright": "right", "spacebar": "space", " ": "space", "\n": "enter", "\r": "enter"}  # fmt: skip
OPPOSITE = {"up": "down", "down": "up", "left": "right", "right": "left"}
"""The way of the finger for that of the view, and the other way round."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Act(NamedTuple):
    """One action as a response wrote it.

    Attributes:
        name: its name there, "" where the answer is a place alone.
        place: x, y, or x1, y1, x2, y2, or nothing.
        arguments: those of "text", "direction", "button", "app", "status" (strings), "keys" (a tuple of strings), "to"
            (x, y: where a drag ends), "duration" (a number), "swiped" and "clicked" (as in ``Arguments``) and "raw"
            (the decoded value in which it was written) that it has.
    """

    name: str
    place: tuple[float, ...] = ()
    arguments: Mapping[str, Any] = _NOTHING


def canonical(name: str) -> str:
    """Return the vocabulary's name for a name as written by a model or a target; an unknown name is unchanged."""
    return _CANONICAL.get(name) or _spelled(name) or name  # as written first: the other spellings cost more


def is_click(name: str) -> bool:
    """Return True for names under which a place is a click or a press, as ``CLICKS`` has them in any spelling."""
    return not name or canonical(name) in _CLICK_KINDS


def _spelled(name: str) -> str:
    """The vocabulary's name of another spelling, such as ``Long press``, ``LongPress`` or ``click_at``; "" of none."""
    return _respelled(name) if len(name) <= _LONGEST_NAME else ""


@lru_cache(maxsize=256)  # of short names alone: it keeps what responses write
def _respelled(name: str) -> str:
    words = _HUMP.sub("_", name.strip()).lower().replace(" ", "_").replace("-", "_")
    for each in (name.lower(), words, words.removesuffix("_at"), words.replace("_", "")):
        if each in _CANONICAL:
            return _CANONICAL[each]
    kind = _CANONICAL.get(_AROUND.sub("", words), "")  # mouse.click, click_on_screen, browser_mouse_click_xy
    return kind if kind in AT_A_PLACE else ""


_HUMP = re.compile("(?<=[a-z])(?=[A-Z])")
_AROUND = re.compile(
    "^[a-z_.]*[.]|^(?:browser|computer|mobile|desktop|mouse|single)_|mouse_"
    "|(?:_(?:at|on|xy|coordinates?|coords|point|position|element|screen|desktop|absolute))+$"
)
_LONGEST_NAME = 48


def is_known(name: str) -> bool:
    """Return True for names that the vocabulary has, and for "", the name of an answer that is a place alone."""
    return not name or name in _CANONICAL or bool(_spelled(name))


def normalised(name: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the canonical name and arguments of an action, the same for every way of writing it.

    Buttons of the system become actions (``system_button`` Back: ``back``), and so do the other buttons of a mouse; a
    key's text becomes ``keys``, in lower case; what is opened is the ``app``; a swipe becomes a scroll the other way.
    ``with_directions`` gives a direction to those that have two ends instead.
    """
    written, name, fields = name, canonical(name), dict(arguments)
    if name in ("system_button", "key"):
        return _pressed(name, fields)
    if name in ("swipe", "scroll"):
        return "scroll", _turned(name, fields)
    if name == "open_app" and "app" not in fields and "text" in fields:
        fields["app"] = fields.pop("text")
    elif name == "click" and fields.get("button") is not None:
        button = str(fields.pop("button")).strip().lower()
        return _SIDES.get(button, f"{button}_click"), fields
    elif name == "finished" and written.lower() in _IMPOSSIBLE:
        fields.setdefault("status", "impossible")
    return name, fields


def _turned(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a scroll or swipe, their direction that in which the view moves."""
    direction = arguments.get("direction")
    if direction is None:
        return arguments
    direction = direction.strip().lower()
    if name == "swipe":
        return {**arguments, "direction": opposite(direction), "swiped": True}
    return {**arguments, "direction": direction}


def opposite(direction: str) -> str:
    """Return the opposite direction; any other text is unchanged."""
    return OPPOSITE.get(direction, direction)


def _pressed(name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Read a key or a button of the system; ``enter`` and ``back`` become actions of their own."""
    written = arguments.pop("keys", None) or arguments.pop("button", None) or arguments.pop("text", None) or ()
    parts = (written,) if isinstance(written, str) else written
    keys = tuple([key_name(key) for part in parts for key in _split(str(part))])
    alone = keys[0] if len(keys) == 1 else ""
    if name == "system_button" and alone in _BUTTONS:
        return _BUTTONS[alone], arguments
    if alone in ("enter", "back"):
        return alone, arguments
    return "key", {**arguments, "keys": keys} if keys else arguments


def key_name(key: str) -> str:
    """Return the canonical name of a key, in lower case."""
    name = key.strip().lower() or key  # a blank is a key, too
    for prefix in ("keycode_", "kp_", "key_"):
        name = name.removeprefix(prefix)
    for side in ("_l", "_r", "left", "right"):
        name = _MODIFIERS.get(name.removesuffix(side), name)  # of modifiers alone: arrowleft is another key than arrow
    return _KEYS.get(name, name)


def _split(written: str) -> tuple[str, ...]:
    """Split ``ctrl+c``, ``ctrl c`` or ``ctrl-c`` into two keys; a key that is "+", "-" or white space stays one."""
    text = written.strip().lower()
    if not text:
        return (written[:1],) if written else ()
    parts = text.replace("+", " ").split()
    if text.endswith("++") or not parts:  # ctrl++ is ctrl and the key "+"
        parts.append("+")
    return tuple([key for part in parts for key in _hyphened(part)])


def _hyphened(part: str) -> tuple[str, ...]:
    """Split ``ctrl-c`` into two keys; text that does not begin with a modifier stays whole."""
    first, hyphen, rest = part.partition("-")
    return (first, *_hyphened(rest)) if hyphen and rest and first in _MODIFIERS else (part,)


def towards(right: float, down: float) -> str | None:
    """Return the main direction of a move, vertical where both sides are equal; None where there is none."""
    if not (right or down) or right != right or down != down:  # the same place, or NaN
        return None
    if abs(right) > abs(down) * _TIE:
        return "right" if right > 0 else "left"
    return "down" if down > 0 else "up"


_TIE = 1 + 1e-9  # conversions round: a diagonal may come out of them with one side longer in the last bits


_PLAIN = ("text", "direction", "to", "button", "keys", "app", "status", "duration")


@dataclass(frozen=True, eq=False)
class Arguments:
    """Arguments of the actions of n rows, beside name and place. A column is None where no row has one.

    Attributes:
        text: (n,) str or None: what is typed, answered or selected.
        direction: (n,) str or None.
        button: (n,) str or None.
        app: (n,) str or None.
        status: (n,) str or None.
        keys: (n,) tuple of str or None.
        to: (n, 2) where a drag ends (of targets (n, 4), a box or a point twice); NaN where there is none.
        duration: (n,) as written; NaN where there is none.
        swiped: (n,) True where the direction is that of a swipe, turned around, or was found from two ends, so that
            that of a scroll is surely the way that the view goes; else None.
        clicked: (n,) True where a text is typed after a click at the place, as two actions of one answer; else None.
        raw: (n,) the decoded value in which the action was written, or None. It is not to be changed.
    """

    text: Objects | None = None
    direction: Objects | None = None
    button: Objects | None = None
    app: Objects | None = None
    status: Objects | None = None
    keys: Objects | None = None
    to: Floats | None = None
    duration: Floats | None = None
    swiped: Objects | None = None
    clicked: Objects | None = None
    raw: Objects | None = None

    def changed(self, **columns: Any) -> Arguments:
        """Return the same arguments with other columns, as ``Predictions.changed`` does."""
        return made(Arguments, **(vars(self) | columns))

    def column(self, name: str, rows: int) -> NDArray[Any]:
        """Return a column, all None or NaN where no row has one."""
        values: NDArray[Any] | None = getattr(self, name)
        return empty(name, rows) if values is None else values

    def by_row(self, rows: int, names: Sequence[str] = _PLAIN) -> list[dict[str, Any]]:
        """Return each row's arguments by name, as plain values; by default without ``swiped``, ``clicked``, ``raw``."""
        every: list[dict[str, Any]] = [{} for _ in range(rows)]
        for name in names:
            if getattr(self, name) is None:
                continue
            for fields, value in zip(every, self.column(name, rows).tolist(), strict=True):
                number = value[0] if name == "to" else value if name == "duration" else 0
                if value is not None and number == number:  # NaN, which is unequal to itself, stands for no number
                    fields[name] = value
        return every


def with_directions(names: Objects, arguments: Arguments, moves: Floats) -> Arguments:
    """Return arguments in which swipes and scrolls with two ends and no direction have one, and are ``swiped``.

    ``moves`` (n, 2) are those from end to end, right and down in pixels of the screen; NaN where there is none.
    """
    rows = np.flatnonzero(~np.isnan(moves[:, 0]) & (arguments.column("direction", len(names)) == None))  # noqa: E711
    direction, swiped = arguments.column("direction", len(names)).copy(), arguments.column("swiped", len(names)).copy()
    for row, name, move in zip(rows.tolist(), names[rows].tolist(), moves[rows].tolist(), strict=True):
        name, way = canonical(name), towards(*move)
        if name in ("swipe", "scroll") and way is not None:
            direction[row], swiped[row] = opposite(way) if name == "scroll" else way, True
    return arguments.changed(direction=direction, swiped=swiped) if (swiped != None).any() else arguments  # noqa: E711


NO_ARGUMENTS = Arguments()
ARGUMENTS = tuple(Arguments.__dataclass_fields__)


def empty(name: str, rows: int, *, ends: int = 2) -> NDArray[Any]:
    """Return an argument column in which no row has a value yet."""
    if name == "to":
        return nowhere(rows, ends)
    return np.full(rows, np.nan) if name == "duration" else np.full(rows, None, dtype=np.object_)


def objects(values: Sequence[Any]) -> Objects:
    """Return a column of any values."""
    column = np.empty(len(values), dtype=np.object_)  # np.array would make a table of lists of equal length
    column[:] = values
    return column


def columns(arguments: Sequence[Mapping[str, Any]], *, ends: int = 2) -> dict[str, NDArray[Any]]:
    """Turn rows of arguments into columns, leaving out arguments that no row has."""
    table: dict[str, NDArray[Any]] = {}
    for row, fields in enumerate(arguments):
        for name, value in fields.items():
            if value is not None:
                column = table.get(name)
                if column is None:
                    column = table[name] = empty(name, len(arguments), ends=ends)
                column[row] = value
    return table
