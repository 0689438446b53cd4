"""Published forms of whole actions, each read as its paper's code reads it: one section a paper."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from grounding_rewards.actions import Act
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.parsing.literal import LiteralError, read_json, read_json5, read_literal
from grounding_rewards.parsing.objects import ENDED
from grounding_rewards.parsing.patterns import COMMA, X_Y, XY
from grounding_rewards.parsing.readers import JSON_SPACE, POINT_KEY, USUAL_NUMBER, call_texts, point_of
from grounding_rewards.parsing.reading import MAX_ANSWERS, Form
from grounding_rewards.parsing.texts import NUMBER, SPACE, compiled, limited, number, tag_span

# Compact JSON, whose keys name the action: AgentCPM-GUI's answers, in thousandths.

FENCE, _END = "```json", "```"
WAYS = ("up", "down", "left", "right")
BUTTONS = ("HOME", "BACK", "ENTER")
STATUSES = ("continue", *ENDED)
THOUGHT = "thought"
_EDGE = 1000


def is_fenced(text: str) -> bool:
    """Return True if the whole text is in a fence of JSON."""
    text = text.strip()
    return text.startswith(FENCE) and text.endswith(_END) and len(text) >= len(FENCE + _END)


def compact_json(text: str) -> Any:
    """Read a text that is JSON5, in a fence of JSON or not."""
    text = text.strip()
    return read_json5(text[len(FENCE) : -len(_END)] if is_fenced(text) else text)


def is_compact_action(value: Any) -> bool:
    """Return True for a value in AgentCPM-GUI's schema: an object of only these keys, each of its own kind."""
    return isinstance(value, dict) and all(key in _KINDS and _KINDS[key](item) for key, item in value.items())


def read_compact_action(text: str) -> list[Act] | None:
    """Return the action of such an object, by the first of its keys; [] if it holds nothing but a thought."""
    try:
        value = compact_json(text)
    except LiteralError:
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


def is_text(value: Any) -> bool:
    """Return True for a text."""
    return isinstance(value, str)


def is_whole(value: Any) -> bool:
    """Return True for a whole number from 0, as JSON Schema has it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value >= 0 and (isinstance(value, int) or (math.isfinite(value) and value.is_integer()))


def is_place(value: Any) -> bool:
    """Return True for a list of two thousandths."""
    return isinstance(value, list) and len(value) == 2 and all(is_whole(number) and number <= _EDGE for number in value)


_KINDS: dict[str, Callable[[Any], bool]] = {
    THOUGHT: is_text,
    "TYPE": is_text,
    "POINT": is_place,
    "to": lambda value: value in WAYS if isinstance(value, str) else is_place(value),
    "duration": is_whole,
    "PRESS": lambda value: isinstance(value, str) and value in BUTTONS,
    "STATUS": lambda value: isinstance(value, str) and value in STATUSES,
}

_CPM_TEXT = r'[^"\\\x00-\x1f]*'
_CPM_NUMBER = "(?:0|[1-9][0-9]{0,2}|1000)"


def _cpm_usual(*tokens: str) -> str:
    """Return the pattern of an object of these tokens, after a thought or none."""
    thought = JSON_SPACE.join((f'"{THOUGHT}"', ":", f'"{_CPM_TEXT}"', ",", ""))
    return JSON_SPACE.join(("^", r"\{", f"(?:{thought})?{tokens[0]}", *tokens[1:], r"\}", "$"))


def _words(name: str, words: tuple[str, ...]) -> str:
    return f'"(?P<{name}>{"|".join(words)})"'


_CPM_POINT = ('"(?P<action>POINT)"', ":", r"\[", f"(?P<x>{_CPM_NUMBER})", ",", f"(?P<y>{_CPM_NUMBER})", r"\]")

AGENTCPM = Form(
    "agentcpm",
    read=read_compact_action,
    usual=(
        _cpm_usual(*_CPM_POINT),
        _cpm_usual(*_CPM_POINT, ",", '"to"', ":", _words("direction", WAYS)),
        _cpm_usual('"(?P<action>TYPE)"', ":", f'"(?P<text>{_CPM_TEXT})"'),
        _cpm_usual('"(?P<action>PRESS)"', ":", _words("button", BUTTONS)),
        _cpm_usual('"(?P<action>STATUS)"', ":", _words("status", STATUSES)),
    ),
    signs=("{",),
)
"""The whole text is one object in JSON5, in a ```json fence or not, that keeps to AgentCPM-GUI's schema."""


# Look, think, act: BTL-UI's answers, of which the <link> holds the action.

LINK, BLINK = "<link>", "<blink>"

# In these patterns no character can be matched in two ways: RE2 then captures in a single pass.
BLANK = "[ \n]*"
USUAL_WORDS = r"[^\"\\<`\x00-\x1f]*"
_EDGES = rf", ?{USUAL_NUMBER}" * 3
_BOX = rf'\{{"bbox_2d": ?\[{USUAL_NUMBER}{_EDGES}\]\}}'
USUAL_BOXES = rf"\[(?:{_BOX}(?:,{BLANK}{_BOX})*)?\]"
USUAL_BLINK = rf"blink>{BLANK}```json[^<`]*```{BLANK}</blink>{BLANK}<think>[^<]*</think>{BLANK}<"
USUAL_END = rf"{BLANK}```{BLANK}</link>"

_BTL_OPEN, _BTL_CLOSE = rf"{SPACE}```json", rf"```{SPACE}"
_LINK_OPEN = rf"^{BLANK}<(?:{USUAL_BLINK})?link>{BLANK}```json{BLANK}\[{BLANK}\{{"
_LINK_CLOSE = rf"\}}{BLANK}\]{USUAL_END}{BLANK}$"
_PLAN = rf'"(?:Plan": ?"{USUAL_WORDS}", ?")?Action": ?\{{"function": ?"(?P<action>[A-Za-z]+)"'
_BTL_POINT = rf'"point_2d": ?\[(?P<x>{USUAL_NUMBER}), ?(?P<y>{USUAL_NUMBER})\]'


def fenced(text: str, tag: str) -> str | None:
    """Return the content of the first ```json fence that fills a tag such as ``<link>``; None if there is none."""
    opened = compiled(tag + _BTL_OPEN).search(text)
    closed = opened and compiled(_BTL_CLOSE + tag.replace("<", "</")).search(text, opened.end())
    return text[opened.end() : closed.start()].strip() if opened and closed else None


def read_fenced_link(text: str) -> Sequence[Act] | None:
    """Return the items in a text's first link, up to the first that is none."""
    body = fenced(text, LINK)
    items = None if body is None else read_json(body)
    acts = takewhile(bool, map(_btl_act, items if isinstance(items, list) else ()))
    return [act for act in acts if act]


def _btl_act(item: Any) -> Act | None:
    """Return a bare point, or an action with its arguments; ``raw`` is the object if it holds more."""
    if not isinstance(item, dict):
        return None
    if POINT_KEY in item:
        point = point_of(item)
        return None if point is None else Act("", point)
    action = item.get("Action")
    name = action.get("function") if isinstance(action, dict) else None
    if not isinstance(action, dict) or not isinstance(name, str) or not name:
        return None
    arguments: dict[str, Any] = {key: action[key] for key in ("text", "direction") if isinstance(action.get(key), str)}
    point = point_of(action)
    if len(arguments) + (point is not None) + 1 < len(action):  # + 1 for the function; there are other keys
        arguments["raw"] = action
    return Act(name, point or (), arguments)


BTL_UI = Form(
    "btl_ui",
    read=read_fenced_link,
    usual=(
        rf"{_LINK_OPEN}{_PLAN}, ?{_BTL_POINT}\}}{_LINK_CLOSE}",
        rf"{_LINK_OPEN}(?P<action>){_BTL_POINT}{_LINK_CLOSE}",
        rf'{_LINK_OPEN}{_PLAN}, ?"text": ?"(?P<text>{USUAL_WORDS})"\}}{_LINK_CLOSE}',
        rf'{_LINK_OPEN}{_PLAN}, ?"direction": ?"(?P<direction>[a-z]+)"\}}{_LINK_CLOSE}',
        rf"{_LINK_OPEN}{_PLAN}\}}{_LINK_CLOSE}",
    ),
    signs=(LINK,),
)
"""The first link, anywhere in the text."""


# Python's dicts between answer tags, with a point and a text beside the action, as GUI-R1 answers.

GUI_R1_OPEN, GUI_R1_CLOSE = "<answer>", "</answer>"
WHOLE = "(?:0|[1-9][0-9]{0,14})"  # Python reads no leading zeros
PLAIN_TEXT = r"[^'\\\[\]{}<\r\n\x00]*"

_GUI_R1_NUMERAL = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_GUI_R1_PAIR = re.compile(rf"\[([0-9]+),{SPACE}([0-9]+)\]")  # as the published code reads it
_ANY_PAIR = re.compile(rf"\[{SPACE}{_GUI_R1_NUMERAL}{SPACE},{SPACE}{_GUI_R1_NUMERAL}{SPACE}\]")
_GUI_R1_ACTION = re.compile(rf"""(?:'action'|"action"){SPACE}:{SPACE}(?:'([^'"\n]+)'|"([^'"\n]+)")""")
_GUI_R1_TEXT = re.compile(rf"""(?:'input_text'|"input_text"){SPACE}:{SPACE}(?=["'])""")
_STRING = "|".join(rf"{quote}[^{quote}\\\r\n]*(?:\\[^\r\n][^{quote}\\\r\n]*)*{quote}" for quote in ("'", '"'))
_STRINGS = re.compile(rf"(?:(?:{_STRING}){SPACE})+(?=[,}}])")

_GUI_R1_NAMED = r"\[\{'action': ?'(?P<action>[A-Za-z_]{1,40})', ?'point': ?"
_TYPED = rf", ?'input_text': ?'(?P<text>{PLAIN_TEXT})'\}}\]"
_NOWHERE = rf"\[(?:-{WHOLE}, ?-?{WHOLE}|{WHOLE}, ?-{WHOLE})\]"


def usual_answer(answer: str) -> str:
    """Return the pattern of a whole text: thinking, then answer tags with only this answer between them."""
    return rf"^{SPACE}<think>[^<]*</think>{SPACE}{GUI_R1_OPEN}{answer}{GUI_R1_CLOSE}{SPACE}$"


def read_answer_point(text: str) -> list[Act] | None:
    """Read the action in the first pair of answer tags: the first name and text, and the last ``[x, y]`` in braces.

    Where no pair is of whole numbers, numbers may have decimals, and spaces around them. A number with a sign is no
    coordinate: in the published data [-100, -100] means that there is no place.
    """
    span = tag_span(text, "answer")
    if span is None:
        return None
    named = _GUI_R1_ACTION.search(text, *span)
    if named is None:
        return []
    written = _text(text, *span)
    return [Act(named[1] or named[2], _gui_r1_place(text, *span), {} if written is None else {"text": written})]


def _gui_r1_place(text: str, start: int, end: int) -> tuple[float, ...]:
    """Return the last pair of numbers in braces, of whole numbers if any is; () if there is none."""
    first, last = text.find("{", start, end), text.rfind("}", start, end)
    if not 0 <= first < last:
        return ()
    pairs = _GUI_R1_PAIR.findall(text, first, last) or _ANY_PAIR.findall(text, first, last)
    return (float(pairs[-1][0]), float(pairs[-1][1])) if pairs else ()


def _text(text: str, start: int, end: int) -> str | None:
    """Return the first text that ends on its line, as Python reads it, or as it stands if Python does not."""
    for key in _GUI_R1_TEXT.finditer(text, start, end):
        strings = _STRINGS.match(text, key.end(), end)
        if strings is not None:
            return _joined(strings[0].rstrip())
        line = text.find("\n", key.end(), end)
        close = _close(text, key.end(), end if line < 0 else line)
        if close >= 0:
            return text[key.end() + 1 : close]
    return None


def _close(text: str, start: int, end: int) -> int:
    """Return the end of the text that opens at ``start``: its first quote that is no apostrophe in a word; else -1."""
    first = close = text.find(text[start], start + 1, end)
    while 0 <= close < end - 1 and text[close - 1].isalnum() and text[close + 1].isalnum():
        close = text.find(text[start], close + 1, end)
    return first if close < 0 else close


def _joined(strings: str) -> str:
    """Join one or more of Python's strings, side by side, to one text."""
    inside = strings[1:-1]
    if "\\" not in inside and strings[0] not in inside:
        return inside
    try:
        return str(read_literal(f"({strings})"))
    except LiteralError:
        return inside


GUI_R1 = Form(
    "gui_r1",
    read=read_answer_point,
    usual=(
        rf"^{GUI_R1_OPEN}{_GUI_R1_NAMED}\[(?P<x>{WHOLE}), ?(?P<y>{WHOLE})\]{_TYPED}{GUI_R1_CLOSE}{SPACE}$",
        f"^{GUI_R1_OPEN}{_GUI_R1_NAMED}{_NOWHERE}{_TYPED}{GUI_R1_CLOSE}{SPACE}$",
    ),
    signs=(GUI_R1_OPEN,),
    begin=GUI_R1_OPEN,
)
"""An action with its point and text in the first pair of answer tags; thinking is not treated apart."""


# An action in any usual notation: Python dicts, UI-TARS calls, box tokens or a bare pair, as UI-AGILE reads it.

_THINK, _THOUGHT = "<think>", "</think>"
_AGILE_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_COMMA, _BLANKS = f"{SPACE},{SPACE}", SPACE[:-1] + "+"
_AGILE_PAIR = _AGILE_NUMBER + _COMMA + _AGILE_NUMBER
_NUMBERS = f"{_AGILE_PAIR}(?:{_COMMA}{_AGILE_PAIR})?{SPACE}"  # of a point, or of a box
_PLACES = [(sign, re.compile(pattern)) for sign, pattern in (
    ("<|box_start|>",
     rf"<\|box_start\|>{SPACE}\({SPACE}{_AGILE_PAIR}{SPACE}\)(?:{_COMMA}\({SPACE}{_AGILE_PAIR}{SPACE}\))?"),
    ("start_box", rf"start_box{SPACE}={SPACE}(?:['\"]{SPACE})?[(\[]{SPACE}{_NUMBERS}[)\]]"),
    ("<point>", rf"<point>{SPACE}{_AGILE_NUMBER}(?:{_COMMA}|{_BLANKS}){_AGILE_NUMBER}{SPACE}</point>"),
    ("[", rf"\[{SPACE}{_NUMBERS}\]"), ("{", rf"\{{{SPACE}{_NUMBERS}\}}"), ("(", rf"\({SPACE}{_NUMBERS}\)"),
    ("(", rf"\({SPACE}x{SPACE}={SPACE}{_AGILE_NUMBER}{_COMMA}y{SPACE}={SPACE}{_AGILE_NUMBER}{SPACE}\)"),
)]  # fmt: skip
_AGILE_NUMERAL = r"(\d+(?:\.\d+)?)"  # digits of any script, so that no match begins inside a number
_BARE = re.compile(rf"(?<!\d){_AGILE_NUMERAL}{_COMMA}{_AGILE_NUMERAL}(?:{_COMMA}{_AGILE_NUMERAL})*")
_CUT = re.compile(r"(?:[0-9A-Za-z_.-]|[eE]\+)\Z")
_AGILE_ACTION = re.compile(rf"""["']action["']{SPACE}:{SPACE}["']?([0-9A-Za-z_]+)|Action:{SPACE}([0-9A-Za-z_]+)""")
_VALUE = re.compile(rf"""["']([A-Za-z_]+)["']{SPACE}:{SPACE}(?:'([^']*)'|"([^"]*)")""")
_FIELDS = {"direction": "direction", "app": "app", "app_name": "app"}

# RE2 is several times as fast without large sets, and if each character can only match one part of the pattern.
_HEADS = (r"^<think>[^<]*</think>[ \n]*<answer>", "^<answer>")
_AGILE_NAMED = r" ?\[ ?\{ ?['\"]action['\"]: ?['\"](?P<action>[0-9A-Za-z_]+)['\"]"
_TAIL = r" ?\} ?\] ?</answer>[ \n]*$"
_AGILE_TEXT = r"['\"]: ?'(?P<{}>[^'\"\\<,]*)'"
_X_Y = r"(?P<x>[0-9]+(?:\.[0-9]+)?) ?, ?(?P<y>[0-9]+(?:\.[0-9]+)?)"
_AGILE_USUAL = tuple([f"{head}{_AGILE_NAMED}{rest}{_TAIL}" for rest in (
    rf" ?, ?['\"]coordinate['\"]: ?\[ ?{_X_Y} ?\]",
    rf" ?, ?['\"]direction{_AGILE_TEXT.format('direction')}",
    rf" ?, ?['\"](?:text|input_text|content){_AGILE_TEXT.format('text')}",
    rf" ?, ?['\"]app(?:_name)?{_AGILE_TEXT.format('app')}",
    "",
) for head in _HEADS])  # fmt: skip


def read_loose_action(text: str) -> list[Act] | None:
    """Read the first action of a text: its name, the first place in any notation, and its first text argument.

    It reads the first ``<answer>``, closed or not; without one all after the first ``</think>``, if the text thinks.
    A bare pair is the first two of as many numbers as there are with commas between them. If the first of those is
    only the end of a number, as in -200 and 2e00, none of them is read.
    """
    scope = _scope(text)
    named = _AGILE_ACTION.search(scope)
    name = (named[1] or named[2]) if named else ""
    place, arguments = _agile_place(scope), {}
    for match in _VALUE.finditer(scope):
        if match[1] != "action":
            arguments = {_FIELDS.get(match[1], "text"): match[2] if match[3] is None else match[3]}
            break
    return [Act(name, place, arguments)] if name or place else None


def _scope(text: str) -> str:
    """Return the part of a text that holds the answer."""
    start = text.find(GUI_R1_OPEN)
    if start >= 0:
        end = text.find(GUI_R1_CLOSE, start)
        return text[start + len(GUI_R1_OPEN) : end if end >= 0 else len(text)]
    start = text.find(_THOUGHT)
    if start >= 0:
        return text[start + len(_THOUGHT) :]
    return "" if _THINK in text else text


def _agile_place(scope: str) -> tuple[float, ...]:
    for sign, pattern in _PLACES:
        if sign in scope and (match := pattern.search(scope)):
            return tuple([number(numeral) for numeral in match.groups() if numeral])
    for match in _BARE.finditer(scope):
        x, y = match[1], match[2]
        if x.isascii() and y.isascii() and not _CUT.search(scope, max(match.start() - 2, 0), match.start()):
            return number(x), number(y)
    return ()


UI_AGILE = Form("ui_agile", read=read_loose_action, usual=_AGILE_USUAL, signs=("ction", ",", "<point>"))
"""The first action and place in any of the usual notations."""


# Python's dicts between answer tags, as UI-R1 answers.

# As in the published code, then the forms that are read if that finds none.
_ACTIONS = (
    re.compile(rf"'action':{SPACE}(?:'(\w+)'|(\w+))"),
    re.compile(rf"""["']action["']{SPACE}:{SPACE}(?:["'](\w+)["']|(\w+))"""),
)
_PAIRS = (
    re.compile(rf"\[(?P<x>[0-9]+),{SPACE}(?P<y>[0-9]+)\]"),
    re.compile(rf"\[{SPACE}(?P<x>[0-9]+){COMMA}(?P<y>[0-9]+){SPACE}\]"),
    re.compile(rf"\[{SPACE}{X_Y}{SPACE}\]"),
)
_BREAK = "[ \n]*"
_R1_USUAL = (
    rf"<answer> ?\[ ?\{{ ?'action': ?'(?P<action>[A-Za-z0-9_]+)', ?'coordinate': ?\[{XY}\] ?\}} ?\] ?</answer>{_BREAK}$"
)


def read_answer_action(text: str, braced: bool = False) -> list[Act] | None:
    """Read the action in the first pair of answer tags, once with each ``[x, y]`` between them, or ``braced`` after {.

    Pairs are whole numbers without a sign; if there are none, white space may follow the bracket and precede the comma
    and the other bracket; if there are still none, numbers may have a sign and decimals.
    """
    span = tag_span(text, "answer")
    if span is None:
        return None
    start, end = span
    named = _ACTIONS[0].search(text, start, end) or _ACTIONS[1].search(text, start, end)
    name = (named[1] or named[2]) if named else ""
    since = text.find("{", start, end) if braced else start
    for pattern in _PAIRS if since >= 0 else ():
        places = [(number(pair["x"]), number(pair["y"])) for pair in pattern.finditer(text, since, end)]
        if places:
            return [Act(name, place) for place in places]
    return [Act(name)] if name else []


def read_braced_action(text: str) -> list[Act] | None:
    """Read the same, but only pairs after the first ``{``."""
    return read_answer_action(text, braced=True)


UI_R1 = Form("ui_r1", read=read_answer_action, usual=(f"^{_R1_USUAL}",), signs=(GUI_R1_OPEN,), begin=GUI_R1_OPEN)
"""An action and its coordinate in the first pair of answer tags; thinking is not treated apart."""

UI_R1_BRACED = replace(UI_R1, name="ui_r1_braced", read=read_braced_action)
"""The same, with the coordinate after a ``{``."""


# A JSON object between action tags, as UI-S1 answers.

_S1_TEXTS = ("text", "button", "status")
# After a "<" the next character decides the branch: RE2 then needs less than half the time.
_BEFORE = r'^[^<]*<(?:think>[^<]*</think>[^<]*<)?action>[ \n]*\{ ?"action": ?"(?P<action>[A-Za-z_]+)"'
_AFTER = r" ?\}[ \n]*</action>[^<]*$"
_S1_USUAL = (
    rf', ?"coordinate": ?\[ ?(?P<x>{USUAL_NUMBER}), ?(?P<y>{USUAL_NUMBER}) ?\]',
    r', ?"text": ?"(?P<text>[^"\\<\x00-\x1f]*)"',
    r', ?"button": ?"(?P<button>[^"\\<\x00-\x1f]*)"',
    "",
)


def read_action_tag(text: str) -> list[Act] | None:
    """Return the actions in all pairs of action tags, up to the first that holds none."""
    held = call_texts(text, "action")[: MAX_ANSWERS + 1]  # one more than the most shows that there are too many
    acts = takewhile(bool, [_s1_act(read_json(each.strip())) for each in held])
    return [act for act in acts if act] if held else None


def _s1_act(item: Any) -> Act | None:
    if not isinstance(item, dict) or not isinstance(item.get("action"), str) or not item["action"]:
        return None
    arguments: dict[str, Any] = {name: item[name] for name in _S1_TEXTS if isinstance(item.get(name), str)}
    place, to = _point(item.get("coordinate")), _point(item.get("coordinate2"))
    if to:
        arguments["to"] = to
    return Act(item["action"], place, arguments)


def _point(value: Any) -> tuple[float, ...]:
    pair = value[:2] if isinstance(value, list) else ()
    numbers = [limited(each) for each in pair if type(each) in (int, float) and abs(each) <= sys.float_info.max]
    return tuple(numbers) if len(numbers) == 2 else ()


UI_S1 = Form(
    "ui_s1", read=read_action_tag, usual=tuple([_BEFORE + usual + _AFTER for usual in _S1_USUAL]), signs=("<action>",)
)
"""A strict JSON object with ``action`` between action tags, anywhere in the text."""


# UI-Venus's actions on a phone: one call between action tags, after the thinking and before the conclusion.

VENUS_OPEN, VENUS_CLOSE = "<action>", "</action>"

PLACED, TYPED, BARE = (
    ("Click", "LongPress", "Drag", "Scroll"),
    ("Type", "Launch", "Finished", "CallUser"),
    ("Wait", "PressBack", "PressHome", "PressEnter", "PressRecent"),
)
FUNCTIONS = (*PLACED, *TYPED, *BARE)
"""UI-Venus's functions: those with places, with a text, and without arguments."""

_NAME = rf"^{SPACE}([A-Za-z_]+){SPACE}\("
_VENUS_PAIR = rf"\({SPACE}({NUMBER}){SPACE},{SPACE}({NUMBER}){SPACE}\)"
_ITEM = (
    rf"{SPACE}(?:(box|start|end){SPACE}={SPACE}{_VENUS_PAIR}|direction{SPACE}={SPACE}(?:'([A-Za-z]+)'|\"([A-Za-z]+)\"))"
    rf"{SPACE}(,|$)"
)
_ESCAPED = r"\\(.)"
_ESCAPES = {"n": "\n", "t": "\t", "'": "'", '"': '"', "\\": "\\"}
_VENUS_TEXTS = {"content": "text", "app": "app"}


def read_call(call: str) -> Act | None:
    """Return one call as an action, its name as written; None if it is none. A text ends with the last quote."""
    match = compiled(_NAME).match(call)
    end = call.rfind(")")  # the last one: a text may hold others
    if match is None or end < match.end() or call[end + 1 :].strip():
        return None
    name, body = match[1], call[match.end() : end].strip()
    if not body:
        return Act(name)
    key, _, value = body.partition("=")
    if key.strip() in _VENUS_TEXTS:
        text = _quoted(value.strip())
        return None if text is None else Act(name, (), {_VENUS_TEXTS[key.strip()]: text})
    return _with_places(name, body)


def _quoted(value: str) -> str | None:
    """Return the content of quotes, with Python's escapes of quotes, n and t; None without quotes."""
    if len(value) < 2 or value[0] not in "'\"" or value[-1] != value[0]:
        return None
    text = value[1:-1]
    if "\\" not in text:
        return text
    return compiled(_ESCAPED).sub(lambda match: _ESCAPES.get(match[1], match[0]), text)


def _with_places(name: str, body: str) -> Act | None:
    """Read a call with places and a direction, each at most once."""
    arguments: dict[str, Any] = {}
    position = 0
    while position < len(body):
        item = compiled(_ITEM).match(body, position)
        if item is None:
            return None
        key, x, y = item[1] or "direction", item[2], item[3]
        if key in arguments:
            return None
        arguments[key] = item[4] or item[5] if key == "direction" else (number(x), number(y))
        position = item.end()
    place = arguments.pop("box", None) or arguments.pop("start", None) or ()
    if "end" in arguments:
        arguments["to"] = arguments.pop("end")
    return None if set(arguments) - {"to", "direction"} else Act(name, place, arguments)


def _venus_read(text: str) -> list[Act] | None:
    """Return the calls of all complete action tags; None if one of them cannot be read."""
    held, closed = call_texts(text, "action"), text.rfind(VENUS_OPEN) <= text.rfind(VENUS_CLOSE)
    acts = [act for act in map(read_call, held) if act]
    return acts if closed and len(acts) == len(held) else None


def _venus_usual(call: str) -> str:
    conclusion = rf"(?:<conclusion>[^<]*</conclusion>{SPACE})?"
    return rf"^{SPACE}<action>{SPACE}{call}{SPACE}</action>{SPACE}{conclusion}$"


_VENUS_POINT = rf"\({SPACE}(?P<x>{NUMBER}){SPACE},{SPACE}(?P<y>{NUMBER}){SPACE}\)"

UI_VENUS = Form(
    "ui_venus",
    read=_venus_read,
    usual=(
        _venus_usual(rf"(?P<action>Click|LongPress)\(box={_VENUS_POINT}\)"),
        _venus_usual(rf"(?P<action>{'|'.join(BARE)})\(\)"),
        _venus_usual(r"(?P<action>Type|Finished|CallUser)\(content='(?P<text>[^'\"\\<]*)'\)"),
        _venus_usual(r"(?P<action>Launch)\(app='(?P<app>[^'\"\\<]*)'\)"),
    ),
    signs=(VENUS_OPEN,),
    vocabulary=True,
)
"""The calls between action tags, in the words of ``actions.ACTIONS``; thinking and conclusion are no answer."""
