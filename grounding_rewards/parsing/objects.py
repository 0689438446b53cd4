"""Actions written as objects, in JSON or in Python's quotes, and the keys of their parts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from grounding_rewards.actions import AT_A_PLACE, Act, canonical, is_click, is_known
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.parsing.literal import LiteralError, read_json, read_json5, read_literal
from grounding_rewards.parsing.patterns import KEY, PLACE, place_in
from grounding_rewards.parsing.reading import MAX_ANSWERS
from grounding_rewards.parsing.texts import NUMBER, SPACE, compiled, limited, on_use
from grounding_rewards.targets.box_format import BoxFormat, corners

# Objects in a text, in JSON or Python syntax.

MOST = MAX_ANSWERS + 1
"""Answers of one form read in a text, objects and places from either end; more show that there are too many."""

# Objects without a quote hold no key: a run of them is skipped as a whole.
_TOKEN = re.compile(r"""(?:\{[^{}"']*\}[^{}"']*)+|[{}]|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?""", re.DOTALL)

_LOOSELY = json.JSONDecoder(strict=False)  # models break lines in strings

# In single quotes, up to a quote behind which there is a colon, the next key or the end. Nothing is read twice.
_LOOSE = on_use(
    rf""""(?:[^"\\]++|\\.)*+(?:"|$)|'((?:[^'\\]++|\\.|'(?!{SPACE}(?:[:}}\]]|,{SPACE}["'])))*+)(?:'|$)""", re.DOTALL
)


def object_spans(text: str) -> list[tuple[int, int, Any]]:
    """Begin, end and value of the outermost braces, in order; None for what is neither JSON nor Python."""
    start, end = text.find("{"), text.rfind("}") + 1
    if start < 0 or end <= start:
        return []
    whole = text[start:end]
    if whole.count("{") == 1 and whole.count("}") == 1:
        return [(start, end, decoded(whole))]
    value = _json(whole)  # mostly the outermost braces are one object with others inside
    if isinstance(value, dict):
        return [(start, end, value)]
    spans = _spans(text, start)
    if len(spans) > 2 * MOST:
        spans = spans[:MOST] + spans[-MOST:]
    return [(first, last, decoded(text[first:last])) for first, last in spans]


_FIELD = on_use(
    rf"""["']([A-Za-z_0-9]{{1,40}}){KEY}(?:(\[[^\[\]{{}}]*\])|"([^"\n]*)"|'([^'\n]*)'|({NUMBER})|([a-z]+))"""
)


def loosely(text: str) -> dict[str, Any] | None:
    """Read the fields of an object that is neither JSON nor Python: lists, strings and numbers; None without any."""
    item: dict[str, Any] = {}
    for key, several, double, single, numeral, _ in _FIELD.findall(text):
        if several:
            value = decoded(several)  # no JSON: zeros in front, or words, which are no empty list
            item.setdefault(key, several if value is None else value)
        elif double or single:
            item.setdefault(key, double or single)
        elif numeral:
            item.setdefault(key, limited(float(numeral)))
    return item or None


def decoded(text: str) -> Any:
    """Return the value that a text writes down, in JSON, Python or JSON5; None if it is none of them."""
    # In quotes of one kind JSON and Python mean the same, and JSON takes a tenth of the time.
    value = _json(text if '"' in text or "\\" in text else text.replace("'", '"'))
    if value is not None:
        return value
    try:
        return read_literal(text)
    except LiteralError:
        value = _json(_LOOSE.sub(_in_json, text)) if text.count("{") == 1 and "'" in text else None
    try:
        return read_json5(text) if value is None else value
    except LiteralError:
        return None


def _in_json(match: re.Match[str]) -> str:
    """A string of an object with apostrophes inside single quotes, which ends where the object continues."""
    return match[0] if match[1] is None else json.dumps(match[1].replace("\\'", "'"))


def _json(text: str) -> Any:
    return read_json(text, decoder=_LOOSELY)


def _spans(text: str, start: int) -> list[tuple[int, int]]:
    """Return start and end of the outermost complete pairs of braces; the first brace is at ``start``."""
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    while True:
        if not opened:  # skip the text between objects: a quote there opens no string
            start = text.find("{", start)
            if start < 0:
                break
        token = _TOKEN.search(text, start)
        if token is None:
            break
        first, start = token.span()
        sign = text[first]
        if sign == "{":
            if start == first + 1:  # longer is a run of objects without keys
                opened.append(first)
        elif sign == "}":
            first = opened.pop()
            while spans and spans[-1][0] > first:  # those inside of this one
                spans.pop()
            spans.append((first, start))
    return spans


def end_of_object(text: str, start: int) -> int:
    """Return the end of the object that opens at ``start``; 0 where it never closes."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if len(token[0]) == 1 and token[0] in "{}":
            depth += 1 if token[0] == "{" else -1
            if not depth:
                return token.end()
        elif token[0][0] == "{" and not depth:  # objects without a quote
            return token.start() + token[0].find("}") + 1
    return 0


# Places of an object's action: points, boxes and the ends of drags, by the keys in ``_keys.KEYS``.

_Place = tuple[float, ...]

_EDGES = (("x1", "y1", "x2", "y2"), ("x_min", "y_min", "x_max", "y_max"), ("xmin", "ymin", "xmax", "ymax"),
          ("left", "top", "right", "bottom"))  # fmt: skip
_SIDES = (("x", "y", "width", "height"), ("left", "top", "width", "height"), ("x", "y", "w", "h"))
_ANY_SIDE = {side for sides in _SIDES for side in sides}
_CENTRES = (("cx", "cy"), ("center_x", "center_y"), ("click_x", "click_y"))
_STARTS = (("start_x", "start_y"), ("from_x", "from_y"), ("startX", "startY"))
_ENDS = (("destination_x", "destination_y"), ("end_x", "end_y"), ("to_x", "to_y"), ("endX", "endY"), ("x2", "y2"))
_FORMATS = ("format", "box_format", "bbox_format")
_XYWH = ("coco", "ltwh")
_END_ALONE = ("left_click_drag", "dragTo", "drag_to", "mouse_drag")
_INFINITY = float("inf")


def places_of(parts: Mapping[str, Any], item: Mapping[Any, Any], name: str) -> tuple[_Place, _Place] | None:
    """Return the place and the other end, () for one that is absent; None if one of them cannot be read."""
    value, end = parts.get("place") or parts.get("box"), parts.get("to") or _held(item, _ENDS)
    if start := parts.get("start") or _held(item, _STARTS):
        value, end = start, end or value  # beside a start, a plain place is where it ends
    elif not value:
        of_image = next((key for key in item if key in _ANY_SIDE), "w")[0] in "wh"  # a size in front
        sides = None if of_image else _corners(item)
        if item.get("x") is not None or item.get("y") is not None:
            value = (None if name else sides) or _x_y(item)  # an action is there, whatever size is beside
        elif edges := _held(item, _EDGES) or sides:
            value, end = edges, None
        elif centre := _held(item, _CENTRES):
            value = centre
        elif "path" in item and not end:
            path = item["path"]
            value, end = (path[0], path[-1]) if isinstance(path, list | tuple) and path else (None, None)
    place = place_of(value) if value else ()
    if place and len(place) == 4:
        said = next((item[key] for key in _FORMATS if isinstance(item.get(key), str)), "")
        written = "".join(filter(str.isalpha, said)).lower()
        written = "xywh" if written in _XYWH else written
        place = corners(place, BoxFormat(written)) if written in [*BoxFormat] else place
    to = place_of(end) if end and not isinstance(end, str) else ()
    if place is None or to is None:
        return None
    return place, to if len(to) != 4 else ((to[0] + to[2]) / 2, (to[1] + to[3]) / 2)


def _held(item: Mapping[Any, Any], keys: Sequence[tuple[str, ...]]) -> list[Any] | None:
    """Return the values of the first keys that an object has, all of them; None without any."""
    return next(([item[key] for key in each] for each in keys if all([key in item for key in each])), None)  # noqa: C419


def place_of(value: Any) -> _Place | None:
    """Return two or four finite numbers, from one list, pairs, or an object with x and y; None for anything else."""
    if isinstance(value, str):
        return written_place(value)
    if isinstance(value, dict):
        parts = _by_part(value)
        value = value if parts.get("name") else parts.get("place") or parts.get("box") or value
    if isinstance(value, dict):
        value = _held(value, _EDGES) or _corners(value) or _x_y(value)
    if not isinstance(value, list | tuple):
        return None
    if len(value) == 1 and isinstance(value[0], dict | str):
        return place_of(value[0])
    if len(value) in (1, 2) and isinstance(value[0], list | tuple) and isinstance(value[-1], list | tuple):
        value = [number for pair in value for number in pair[:5]]  # of more than four numbers none are a place
    if len(value) != 2 and len(value) != 4:
        return None
    place = tuple([number_in(number) for number in value])
    return None if None in place else place  # type: ignore[return-value]


def _x_y(item: Mapping[Any, Any]) -> tuple[Any, Any] | None:
    """Return x and y; None where they are ranges."""
    x, y = item.get("x"), item.get("y")
    return None if isinstance(x, list) and len(x) > 1 else (x, y)


def _corners(item: Mapping[Any, Any]) -> list[float] | None:
    """Return the corners of a box written as its left, top, width and height."""
    numbers = [number_in(side) for side in _held(item, _SIDES) or ()]
    if not numbers or None in numbers:
        return None
    x, y, width, height = [number or 0.0 for number in numbers]
    return [x, y, x + width, y + height]


_WRITTEN = on_use(rf"{SPACE}(?:<[|a-z_]+>{SPACE})?{PLACE}(?:<[/|a-z_]+>{SPACE})?")


def written_place(text: str) -> _Place | None:
    """Return the two or four numbers of a text that is nothing but a place; None for any other."""
    match = _WRITTEN.fullmatch(text) if len(text) <= _LONGEST_PLACE else None
    return place_in(match) if match else None


_LONGEST_PLACE = 200


def number_of(value: Any) -> float | None:
    """Return a finite number clipped to ±COORDINATE_LIMIT; None for anything else, such as True and False."""
    if type(value) not in (int, float) or not -_INFINITY < value < _INFINITY:
        return None
    return limited(value)


# Objects to actions, by a table of the keys that sources use for the parts of an action.

KEYS: Mapping[str, tuple[str, ...]] = {
    "name": ("action", "action_type", "function", "Action", "actionType", "action_name"),
    "type": ("type",),
    "said": ("operation", "command", "event", "method", "gesture", "tool", "act", "verb", "skill", "intent"),
    "tool": ("name", "tool_name", "recipient_name"),
    "start": ("start_coordinate", "start_point", "start_box", "start", "from_coord", "startCoordinate", "from",
              "coordinate1", "point1", "touch_point"),
    "place": ("coordinate", "point_2d", "point", "position", "coordinates", "points", "point2d", "mean", "element",
              "click_point", "center", "location", "loc", "xy", "target", "element_position", "coords", "pos", "at",
              "click_coordinates", "POINT"),
    "box": ("bbox_2d", "bbox", "box", "box_2d", "bbox2d", "bounding_box", "boundingBox", "boxes", "bounds", "rect",
            "objects"),
    "to": ("coordinate2", "end_coordinate", "end_point", "end_box", "end", "to_coord", "endCoordinate", "to", "point2",
           "lift_point", "destination"),
    "text": ("text", "content", "value", "input_text", "message", "answer", "typed_text"),
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

_PART_OF_KEY = {key: part for part, keys in KEYS.items() for key in keys}
_PLACES = ("start", "place", "box", "to")
MAY_BE_WORDS = frozenset({"element", "target", "location", "center", "end", "to", "start", "destination", "bounds",
                          "pos", "at"})  # fmt: skip
_WRAPPERS = frozenset({"action", "Action", "function", "arguments", "parameters", "args", "input", "params", "kwargs",
                       "action_parameters", "action_params", "action_args", "action_input", "tool_call",
                       "functionCall", "function_call", "toolUse", "tool_use", "next_action"})  # fmt: skip
_REPLACED = frozenset({"action", "Action", "function"})
_LEVELS = 4  # objects inside objects that are opened; models nest two or three
_STRINGS = ("direction", "button", "app", "status")
_DIRECTIONS = ("up", "down", "left", "right")
_NO_TEXT = "no input text"  # GUI-R1's filler for actions without a text
NOWHERE = tuple((number,) * many for number in (-1.0, -100.0) for many in (2, 4))
"""Places that stand for none."""

_NUMBERED = {0: ("scroll", "down"), 1: ("scroll", "up"), 2: "select", 3: "type", 4: "click", 5: "back", 6: "home",
             7: "enter", 8: ("scroll", "left"), 9: ("scroll", "right"), 10: "finished",
             11: "status_task_impossible"}  # fmt: skip
"""Types of AITW and Mind2Web that SeeClick and others write as numbers."""

_POINTS = ("points", "point", "point_2d", "point2d")
_WITH_ENDS = ("drag", "swipe", "scroll")
_NEARLY = 0.04  # AITW: a touch that lifts this near is a tap
_FIRST_BUTTON = ("left", "primary")
_TIMES = {2.0: "double_click", 3.0: "triple_click"}


def act_of(item: Mapping[Any, Any]) -> Act | None:
    """Return the act of an object or of what it wraps; None if it has none, or a place that cannot be read."""
    item, called = _unwrapped(item)
    for key in KEYS["name"]:
        numbered = key == "action_type" and type(item.get(key)) is int and item[key] in _NUMBERED
        if key in item and not (numbered or isinstance(item[key], str | dict)):
            return None
    parts = _by_part(item)
    name = _key_name(parts, called)
    places = places_of(parts, item, name)
    if not name and not (places and places[0]):  # a key may be the name: {"long_press": {"point": [5, 6]}}
        key, inner = next(((key, item[key]) for key in item if _is_name(key, item[key])), ("", None))
        if key:
            return act_of({**(inner if isinstance(inner, dict) else {"coordinate": inner}), "action": key})
    kind = canonical(name)
    if places and places[1] and is_click(kind):
        if "touch_point" not in item and places[0] != places[1]:
            return None  # two places
        if max([abs(start - end) for start, end in zip(*places, strict=False)], default=0.0) <= _NEARLY:
            places = places[0], ()
        else:
            name = kind = "swipe"
    if kind not in _WITH_ENDS and any([_are_points(item[key]) for key in _POINTS if key in item]):  # noqa: C419
        return None
    if places is None and name and kind not in AT_A_PLACE:  # an action that needs no place
        places = (), ()
    if places is None or not (name or places[0]):
        return None
    place, to = places
    if kind in ("drag", "swipe") and not to:  # four numbers are both ends; two the start, or for some functions the end
        if len(place) == 4:
            place, to = place[:2], place[2:]
        elif "start" not in parts and name in _END_ALONE:
            place, to = (), place
    if place in NOWHERE and not is_click(name):  # GUI-R1's filler for actions without a place
        place = ()
    arguments = _arguments(kind, parts)
    if to:
        arguments["to"] = to
    if kind == "scroll" or kind == "swipe":
        if type(parts.get("name")) is int:
            arguments["direction"] = _NUMBERED[parts["name"]][1]
        _add_direction(name, parts, arguments)
    elif kind == "click" and number_of(parts.get("far")) in _TIMES:  # pyautogui's click(clicks=2)
        name = _TIMES[number_of(parts["far"]) or 0.0]
    if canonical(name) in _TIMES.values() and "button" in arguments:
        button = arguments.pop("button").strip().lower()
        name = name if button in _FIRST_BUTTON else f"{button}_{canonical(name)}"  # not in the vocabulary
    return Act(name, place, arguments)


def _are_points(value: Any) -> bool:
    """Return True for two pairs of numbers under a key of places: two points, and no box."""
    pair = value if isinstance(value, list | tuple) and len(value) == 2 else (None,)
    return all([isinstance(each, list) and len(each) > 1 for each in pair])  # noqa: C419 (faster so)


def _is_name(key: Any, value: Any) -> bool:
    """Return True for a key that is the name of an action, of the object or the place that stands under it."""
    if not isinstance(key, str) or key in _PART_OF_KEY or not is_known(key) or not key:
        return False
    return isinstance(value, dict) or bool(place_of(value))


def _unwrapped(item: Mapping[Any, Any]) -> tuple[Mapping[Any, Any], bool]:
    """Return the object that holds the arguments, and True if it stood in another one."""
    called = False
    for _ in range(_LEVELS):
        for key, inner in item.items():
            if key in _WRAPPERS:
                if key == "arguments" and isinstance(inner, str):  # OpenAI's calls hold them as a JSON text
                    inner = decoded(inner)
                elif isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], dict):
                    inner = inner[0]
                elif key not in _REPLACED and isinstance(inner, list) and place_of(inner):
                    inner = {"coordinate": inner}
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
        if part is None or value is None or (value == _NO_TEXT and key == "input_text"):
            continue
        if part in parts:
            held, other = (place_of(parts[part]), place_of(value)) if part in _PLACES else ((), ())
            if held and other and len(held) == len(other) and held != other:
                parts[part] = "several places"
            continue
        if part in _PLACES and isinstance(value, str) and (place := written_place(value)):
            value = place
        elif key in MAY_BE_WORDS and (isinstance(value, bool | int) or (part != "to" and isinstance(value, str))):
            continue
        if part == "text" and isinstance(value, list):  # pyautogui's typewrite takes a list of keys
            continue
        if key == "from" and not isinstance(value, list | tuple | dict):  # the sender of a mail, for example
            continue
        parts[part] = value
    return parts


def _key_name(parts: Mapping[str, Any], called: bool) -> str:
    name = parts.get("name")
    if isinstance(name, str) and name.strip():
        return name.strip()
    if type(name) is int and name in _NUMBERED:
        numbered = _NUMBERED[name]
        return numbered if isinstance(numbered, str) else numbered[0]
    for part in ("type", "tool"):  # other values of these keys name no action
        name = parts.get(part)
        if not isinstance(name, str):
            continue
        written = name.strip()
        acts = written in OPENAI or canonical(written) in AT_A_PLACE
        if is_known(written) if called else acts and part == "type":
            return written
    name = parts.get("said")
    if isinstance(name, str) and is_known(name.strip()):
        return name.strip()
    name = parts.get("tool")
    if called and isinstance(name, str) and not _is_tool_of_actions(name):
        return name.strip()
    return ""


def _is_tool_of_actions(name: str) -> bool:
    """Return True for the name of a tool whose arguments name the action, such as ``computer_use``."""
    words = name.strip().lower().rpartition(".")[2].partition(":")[0]
    return words.endswith(("_use", "-use", "computeruse")) or words in _TOOLS_OF_ACTIONS


_TOOLS_OF_ACTIONS = frozenset({"computer", "mobile", "phone", "browser", "grounding", "gui", "device", "action", ""})


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
    seconds = number_in(parts.get("duration"))
    if seconds is not None:
        arguments["duration"] = seconds
    return arguments


def _text(value: Any) -> str | None:
    """Return a string, or a whole number as a string; None for anything else."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int and abs(value) <= COORDINATE_LIMIT else None  # str() of 4300 digits raises


def number_in(value: Any) -> float | None:
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
    right, down, far = [number_in(parts.get(part)) or 0.0 for part in ("right", "down", "far")]
    if name.lower() == "hscroll":
        right = right or far
    else:
        down = down or -far
    if right or down:
        across = abs(right) > abs(down)
        arguments["direction"] = ("right" if right > 0 else "left") if across else ("down" if down > 0 else "up")


# Actions as objects, in JSON or in Python's quotes, in tags or not: most models that act write one of these.

CLICKED = "(?:left_|right_|middle_|double_|triple_)?click|long_press|tap|hover|mouse_move"
"""A pattern of actions that need nothing but a place."""

NUMERAL = r"(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,15})?"
"""A number that JSON and Python read alike; unsigned, so no refusal."""

_X_Y = rf"\[(?P<x>{NUMERAL}), ?(?P<y>{NUMERAL})\]"
PLAIN_TEXT = r"[^'\"\\()\x00-\x1f<`◁]+"
"""A typed text that every syntax reads alike, and that begins nothing of its own."""

_CLICK = rf"~action~: ?~(?P<action>{CLICKED})~, ?~(?:coordinate|point)~: ?{_X_Y}(?:, ?~input_text~: ?~no input text~)?"
_TYPE = rf"~action~: ?~(?P<action>type)~, ?~text~: ?~(?P<text>{PLAIN_TEXT})~"
CLICK, TYPE = [(fields.replace("~", '"'), fields.replace("~", "'")) for fields in (_CLICK, _TYPE)]
"""Usual fields of an object that clicks, and of one that types: in double quotes, and in single ones."""

# AgentCPM-GUI's compact JSON, whose keys name the action, loosely read.

_KEYS = ("POINT", "TYPE", "PRESS", "CLEAR", "OPEN_APP", "STATUS", "duration")
COMPACT_SIGNS = frozenset(_KEYS[:-1])
"""Keys of which one shows that an object is compact."""

_GOING_ON = ("continue", "start")
ENDED = ("finish", "satisfied", "impossible", "interrupt", "need_feedback")
"""Statuses of AgentCPM-GUI that end the task."""

_WRITTEN_KEYS = (("TYPE", "text", "type"), ("PRESS", "button", "system_button"), ("OPEN_APP", "app", "open_app"))
_TAP = 200.0  # AgentCPM-GUI's default duration, in milliseconds, is that of a tap


def compact_act(item: Mapping[Any, Any]) -> Act | None:
    """Return the act of an object; None if it has none of the keys, or a value that does not fit."""
    place = place_of(item["POINT"]) if "POINT" in item else ()
    duration, status = number_of(item.get("duration")), item.get("STATUS")
    if place is None or (duration is None and item.get("duration") is not None):
        return None
    arguments: dict[str, Any] = {} if duration is None else {"duration": duration}
    if status is not None and status not in (*_GOING_ON, *ENDED):
        return None
    if status in ENDED:
        arguments["status"] = status
    to, name = item.get("to"), ""
    if to is not None:
        end = place_of(to) if not isinstance(to, str) else ()
        if not place or end is None or len(end) == 4:
            return None
        return Act("swipe", place, {**arguments, **({"to": end} if end else {"direction": to})})
    for key, argument, kind in _WRITTEN_KEYS:
        if (value := item.get(key)) is not None:
            return Act(kind, place, {**arguments, argument: value}) if isinstance(value, str) else None
    if place:
        name = "click" if duration in (None, _TAP) else "long_press"
    elif "status" in arguments:
        name = "finished"
    elif item.get("CLEAR") or item.get("CLEAR", False) is None:
        name = "clear"
    elif duration is not None and "action" not in item:
        name = "wait"
    return Act(name, place, arguments) if name else None
