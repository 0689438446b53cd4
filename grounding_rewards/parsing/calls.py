"""Actions written as calls, ``name(key=value, ...)``, and calls that together are one action."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from grounding_rewards.actions import AT_A_PLACE, Act, canonical, is_known
from grounding_rewards.parsing.objects import (
    KEYS,
    MAY_BE_WORDS,
    MOST,
    NUMERAL,
    act_of,
    decoded,
    end_of_object,
    number_in,
    written_place,
)
from grounding_rewards.parsing.texts import NUMBER, SPACE, number, on_use

# Calls that together are one action, as in programs for pyautogui, and single calls that are several actions.

_AT_THE_POINTER = ("click", "double_click", "triple_click", "right_click", "middle_click", "scroll")
_LEFT = ("left", "primary")


def acts_of_calls(calls: Sequence[tuple[str, Act]]) -> list[Act]:
    """Return the actions of calls, each with its library, in order; calls of pyautogui that are one are joined."""
    doing = [call for call in calls if not (call[0] and canonical(call[1].name) == "wait")]
    if 0 < len(doing) < len(calls):  # sleeping alone is an action
        calls = doing
    acts = [act for _, act in calls]
    if 1 < len(calls) <= _LONGEST and {library for library, _ in calls} == {"pyautogui"}:
        act = _at_the_pointer(acts) or _dragged(acts) or _chord(acts)
        if act is not None:
            return [act]
    return acts


_LONGEST = 16
"""Calls of a sequence that is one action."""


def repeated(name: str, item: dict[str, object]) -> list[dict[str, object]]:
    """Return the arguments of each keystroke of a ``press``, in order; of another call its own."""
    if name != "press":
        return [item]
    rest = {key: value for key, value in item.items() if key not in ("keys", "key", "presses")}
    keys, times = item.get("keys") or item.get("key"), item.get("presses", 1)
    times = int(min(max(times, 1), _LONGEST)) if isinstance(times, int | float) else 1
    if isinstance(keys, list) and keys:
        return [{**rest, "keys": key} for key in keys[:_LONGEST]] * times
    return [{key: value for key, value in item.items() if key != "presses"}] * times


def _at_the_pointer(acts: Sequence[Act]) -> Act | None:
    """Join ``moveTo`` and an action at the pointer; None for other calls."""
    if len(acts) != 2:
        return None
    start, act = acts
    if start.name != "moveTo" or len(start.place) != 2 or act.place:
        return None
    if canonical(act.name) in _AT_THE_POINTER or (act.name == "dragTo" and "to" in act.arguments):
        return act._replace(place=start.place)
    return None


def _dragged(acts: Sequence[Act]) -> Act | None:
    """Join ``mouseDown``, ``moveTo``, ``mouseUp``, after another ``moveTo`` or not, to a drag; None for other calls."""
    start: tuple[float, ...] = ()
    if acts[0].name == "moveTo":
        start, acts = acts[0].place, acts[1:]
    if len(acts) < 2 or [act.name for act in acts] != ["mouseDown", *["moveTo"] * (len(acts) - 2), "mouseUp"]:
        return None
    if any([act.arguments.get("button", "left") not in _LEFT for act in acts]):  # noqa: C419 (faster so)
        return None
    start = acts[0].place or start
    end = acts[-1].place or acts[-2].place
    if len(start) != 2 or len(end) != 2 or (len(acts) == 2 and end == start):
        return None
    return Act("drag", start, {"to": end})


def _chord(acts: Sequence[Act]) -> Act | None:
    """Join ``keyDown`` calls, one ``press``, and the same keys' ``keyUp`` to a hotkey; None for other calls."""
    held = len(acts) // 2
    if [act.name for act in acts] != ["keyDown"] * held + ["press"] + ["keyUp"] * held:
        return None
    down, up = [sorted(_keys(part)) for part in (acts[:held], acts[held + 1 :])]
    return Act("hotkey", (), {"keys": (*_keys(acts[: held + 1]),)}) if down == up else None


def _keys(acts: Sequence[Act]) -> list[str]:
    keys: list[str] = []
    for act in acts:
        keys += act.arguments.get("keys") or ([act.arguments["text"]] if "text" in act.arguments else [])
    return keys


# Calls to actions: arguments by key, and those without a key by the kind of action.


class Argument(NamedTuple):
    """An argument of a call: its key, "" if it has none; its text; and True if that was in quotes."""

    key: str
    text: str
    quoted: bool


_NUMBER = re.compile(NUMBER)
_STRINGS = re.compile(r"'([^'\\]*)'|\"([^\"\\]*)\"")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
_WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_PLACES = frozenset({*KEYS["start"], *KEYS["place"], *KEYS["box"], *KEYS["to"]})
_ARG_CLICKS = ("click", "double_click", "triple_click")
_DIRECTIONS = ("up", "down", "left", "right")
_BUTTONS = ("left", "right", "middle")
_TEXTS = ("type", "answer", "finished", "call_user", "select", "copy")
_STRING_KEYS = {**dict.fromkeys(_TEXTS, "text"), "open_app": "app", "terminate": "status"}
_CONTROLS = {"\n": "enter", "\r": "enter", "\t": "tab"}
_KEYBOARD = ("key", "key_down", "key_up")
_UNREAD = object()
_WRAPPERS = ("do", "act", "perform", "execute", "action", "perform_action", "execute_action")


def acts_of_call(name: str, arguments: Sequence[Argument], library: bool = False) -> list[Act]:
    """Return the actions of a call, several of a ``press``; [] if an argument cannot be read or does not fit."""
    item: dict[str, Any] = {}
    plain = []
    for key, text, quoted in arguments:
        value = _value(key, text, quoted)
        if value is _UNREAD:
            needing = AT_A_PLACE if text else ("drag", "swipe")  # in others an empty place is none
            if key in _PLACES and canonical(name) not in needing:
                continue
            return []
        if key in KEYS["keys"] or (not key and canonical(name) in _KEYBOARD):
            value = _CONTROLS.get(value, value) if isinstance(value, str) else value
        if key:
            item[key] = value
        elif isinstance(value, dict):
            item.update(value)
        else:
            plain.append(value)
    if plain and not _add_plain(name, plain, item, library):
        return []
    if name in _WRAPPERS and isinstance(item.get("action"), str):
        name = item["action"]
    acts = [act_of({**keystroke, "action": name}) for keystroke in repeated(name, item)]
    return [act for act in acts if act is not None]


def _value(key: str, text: str, quoted: bool) -> Any:
    """Return an argument's value: a place, an object, a string, a number, a list of strings or a word."""
    if text[:1] == "{" and not quoted:
        value = decoded(text)
        return value if isinstance(value, dict) else _UNREAD
    if key in _PLACES and not (key == "to" and quoted and text in _DIRECTIONS):  # to='up' is a direction
        return _numbers(text) or (text if key in MAY_BE_WORDS else _UNREAD)
    if quoted:
        return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[0]), text) if "\\" in text else text
    if _NUMBER.fullmatch(text):  # more digits may go beyond COORDINATE_LIMIT, to which ``number`` clips them
        return int(text) if len(text) <= 12 and "." not in text else number(text)
    if text in _WORDS:
        return _WORDS[text]
    if text[:1] == "[" and ("'" in text or '"' in text):
        return [single or double for single, double in _STRINGS.findall(text)]
    return _numbers(text) or (text if key or text in _DIRECTIONS else _UNREAD)


def _numbers(text: str) -> list[float] | None:
    """Return the numbers of a place, in any brackets or tags; None if the text is no place."""
    place = written_place(text)
    return None if place is None else [*place]


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
    numbers = [each for value in plain if (each := number_in(value)) is not None]
    for value in plain:
        if isinstance(value, str) and kind in ("scroll", "swipe") and value.lower() in _DIRECTIONS:
            item.setdefault("direction", value)
        elif isinstance(value, str) and kind in _ARG_CLICKS and value in _BUTTONS:
            item.setdefault("button", value)
        elif isinstance(value, str | bool) and not library and number_in(value) is None:
            return False
    if kind == "scroll" and (library or len(numbers) == 1):
        item.setdefault("pixels", numbers[0] if numbers else 0)  # pyautogui.scroll(-5, x, y)
        numbers = numbers[1:]
    if kind in ("drag", "swipe") and len(numbers) >= 4 and not library:
        places += [numbers[:2], numbers[2:4]]
    elif len(numbers) >= 2:
        boxed = len(numbers) == 4 and not library and kind != "scroll"
        if boxed and (numbers[0] > numbers[2] or numbers[1] > numbers[3]):
            return False  # long_press(300, 200, 600, 1)
        places.append(numbers if boxed else numbers[:2])
        if kind == "click" and len(numbers) > 2 and not boxed:
            item.setdefault("clicks", numbers[2])  # pyautogui.click(x, y, 2)
    elif numbers and not places:
        return False
    for key, place in zip(("coordinate", "end"), places, strict=False):
        item.setdefault(key, place)
    return True


# Actions as calls: UI-TARS, pyautogui, UI-Venus, Holo and others. Several calls are several actions.

_ANSWER = re.compile(r"(?:^|\n)[ \t]*Action:")
_WORD = string.ascii_letters + string.digits + "_."
_TOKEN = re.compile(r"""[^()\[\]{,'"]+|[()\[\]{,'"]""")
_OBJECT = re.compile(r"""\{[ \t\r\n]*["'A-Za-z_]""")
# A quote without a comma or bracket after it is part of the text, as in 'it's'.
_QUOTED = {quote: re.compile(rf"(?:[^{quote}\\]+|\\.|{quote}(?!{SPACE}[,)\]]))*", re.DOTALL) for quote in ("'", '"')}
_KEY = on_use(rf"([A-Za-z_][A-Za-z0-9_]*(?={SPACE}=)|[xyXY](?={SPACE}:)){SPACE}[=:]{SPACE}")


def calls_in(text: str) -> Iterator[tuple[int, int, str, str, list[Act] | None]]:
    """Begin, end, library, name and acts of each call in a text; None for those of a known action that is unreadable.

    A call of an unknown name counts if an argument has a key, if it is pyautogui's, or right after ``Action:``.
    """
    position, found = 0, 0
    bracket = text.find("(", position)
    last = max(map(text.rfind, (")", "'", '"')))  # behind it no call closes, and nothing hides another one
    while bracket >= 0 and found < MOST:
        head = text[position:bracket]
        name = head[len(head.rstrip(_WORD)) :]  # dots, too, as in pyautogui.click
        position = bracket + 1
        if name and (bracket < last or is_known(name.rpartition(".")[2])):
            arguments, position = arguments_of(text, position)
            library, _, short = name.rpartition(".")
            known, begin = bool(short) and is_known(short), bracket - len(name)
            meant = known or library == "pyautogui" or text[max(begin - 20, 0) : begin].rstrip().endswith("Action:")
            if arguments is None and position < len(text) and known:
                found += 1
                yield begin, position, "", short, None
            if short and arguments is not None and (meant or any([argument.key for argument in arguments])):  # noqa: C419
                acts = acts_of_call(short, arguments, library == "pyautogui")
                found += len(acts)
                if acts:
                    yield begin, position, library, short, acts
                elif known and not (len(arguments) == 1 and arguments[0].text in _ENDINGS):
                    yield begin, position, library or "-", short, None
        bracket = text.find("(", position)


_ENDINGS = ("s", "es", "ed")  # as in "tap(s)"


def arguments_of(text: str, position: int) -> tuple[list[Argument] | None, int]:
    """Return the arguments of a call from behind its bracket, and its end; None and where to go on if they are none."""
    arguments: list[Argument] = []
    start, depth, quoted, before = position, 0, "", "("
    while True:
        token = _TOKEN.match(text, position)
        if token is None:
            return None, len(text)
        sign, first, position = token[0], position, token.end()
        if sign in _QUOTED:
            if before not in "(=[,":  # an apostrophe in a text without quotes
                continue
            end = _QUOTED[sign].match(text, position).end()  # type: ignore[union-attr]
            if text[end : end + 1] != sign:
                return None, len(text)
            if depth == 0:
                quoted = text[first : end + 1]
            position = end + 1
        elif sign == "{":
            if before in "(=[," and _OBJECT.match(text, first):
                position = end_of_object(text, first)
                if not position:
                    return None, len(text)
        elif sign in "([":
            if sign == "(" and before in _WORD:  # a call in a call
                # Go on at the name of the inner call, which may be an answer of its own.
                return None, first - len(text[start:first]) + len(text[start:first].rstrip(_WORD))
            depth += 1
        elif depth and sign in ")]":
            depth -= 1
        elif sign == "]":
            return None, position
        elif not depth and sign in ",)":
            written = text[start:first].strip()
            if written or sign == ",":
                arguments.append(_argument(written, quoted))
            if sign == ")":
                return arguments, position
            start, quoted = position, ""
        before = sign.rstrip()[-1:] or before  # blanks do not part a bracket or comma from a quote


def _argument(written: str, quoted: str) -> Argument:
    key = _KEY.match(written)
    value = written[key.end() :] if key else written
    if quoted and value.startswith(quoted):
        return Argument(key[1] if key else "", quoted[1:-1], True)
    return Argument(key[1] if key else "", value, False)


STEP, END = "^(?:(?:Thought:[^(<\n`◁]*\n)?Action: ?)?", "[ \n]*$"
POINT = rf"'(?:<\|box_start\|>|<point>)?\(?(?P<x>{NUMERAL})(?:, ?| )(?P<y>{NUMERAL})\)?(?:<\|box_end\|>|</point>)?'"
PYAUTOGUI_CLICK = r"pyautogui\.(?P<action>click|doubleClick|rightClick|moveTo)\("
_CLICKS = "click|left_double|right_single|left_single|double_click|right_click|long_press|hover"
AT_PLACES = (
    rf"{STEP}(?P<action>{_CLICKS})\((?:start_box|point)={POINT}\){END}",
    rf"{STEP}(?P<action>scroll)\((?:start_box|point)={POINT}, ?direction='(?P<direction>up|down|left|right)'\){END}",
)
"""Usual calls at a place."""
