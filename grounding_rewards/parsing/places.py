r"""Forms of places, one a row: name, pattern of an answer, signs; then what makes it fast, and what it is for.

A row is data: a pattern in the common subset of RE2 and Python's re. What no pattern reads has a reader (readers.py).
"""

from __future__ import annotations

from grounding_rewards.parsing.patterns import (
    BRACKETED_POINT,
    CALL,
    COMMA,
    CORNERS,
    JSON_ACTION,
    JSON_OBJECT,
    KEY,
    NUMBERS,
    PLACE,
    X1_Y1,
    X2_Y2,
    X_Y,
    XY,
    either_case,
)  # fmt: skip
from grounding_rewards.parsing.reading import FirstOf, Form
from grounding_rewards.parsing.texts import NUMBER, SPACE

N = r"-?[0-9]+(?:\.[0-9]+)?"
END = rf"{SPACE}[,)]"


def form(name: str, pattern: str, *signs: str, usual: str = "", **more: object) -> Form:
    """A row of the table."""
    return Form(name, pattern=pattern, signs=signs, usual=(usual,) if usual else (), **more)  # type: ignore[arg-type]


def alone(pattern: str) -> str:
    """The whole text is one such answer."""
    return f"^{SPACE}{pattern}{SPACE}$"


# Refusals: refusal | <answer>[-1, -1]</answer> | {"point_2d": [-1, -1]} | {"point_2d": null}
_GONE = "|".join(rf"{number}{SPACE},{SPACE}{number}" for number in ("-1", "-100"))
_WORD = f"(?:{either_case('refusal|null|none|there are none')})"
_ANSWER = rf"""["'`]*(?:{_WORD}|[(\[]{SPACE}(?:{_GONE}){SPACE}[)\]])["'`.]*"""
_NOTHING = tuple(
    key + value for key in ("point_2d", "coordinate") for value in ('": null', '":null', '": None', "': None")
)  # with the key in front: null elsewhere in an object begins no answer
_NULL = (
    rf"""^[^{{}}(\[]*(?:\[{SPACE})?\{{{SPACE}["'](?:{"|".join(_NOTHING)}){SPACE}(?:,{SPACE}["']label{KEY}["'][^"'{{}}]*["']{SPACE})?\}}"""
    r"[^{}(\[]*$"
)
REFUSAL = form("refusal", rf"{_ANSWER}|<answer>{SPACE}{_ANSWER}{SPACE}</answer>", whole=True)
JSON_REFUSAL = form(
    "json_refusal",
    rf"""^(?:[^\[]*\[)?[^\[\]]*["'](?:point_2d|coordinate|point|POINT){KEY}\[{SPACE}(?:{_GONE}){SPACE}\][^\[]*$|{_NULL}""",
    "-1", *_NOTHING,
)  # fmt: skip

# Parentheses: (512, 384) of GTA1, Gelato, UGround; (500,370),(524,398) of Qwen2-VL; [500,370],[524,398] of UI-Venus 1.0
_PAIR = rf"\({SPACE}{X_Y}{SPACE}\)"
BARE_TUPLE = form("bare_tuple", _PAIR, "(", usual=alone(_PAIR))
BARE_TUPLE_WHOLE = form(
    "bare_tuple_whole", rf"\({SPACE}(?P<x>[0-9]+){SPACE},{SPACE}(?P<y>[0-9]+){SPACE}\)", "(", whole=True
)


def _corners(name: str, opening: str, closing: str) -> Form:
    """Exactly two pairs; the pattern also matches three or more and those in further brackets, which are no box."""
    pair = rf"{opening}{SPACE}{NUMBERS}{SPACE}{closing}"
    box = rf"^{opening}{SPACE}{X1_Y1}{SPACE}{closing}{COMMA}{opening}{SPACE}{X2_Y2}{SPACE}{closing}$"
    return form(name, rf"(?P<body>(?:[(\[]{SPACE})?{pair}(?:{COMMA}{pair})+)", opening[-1], inner=(box,))


CORNER_TUPLES, CORNER_LISTS = _corners("corner_tuples", r"\(", r"\)"), _corners("corner_lists", r"\[", r"\]")

# Square brackets: [512, 384] of UI-Venus, GUI-G2, UI-Ins; [[500, 370, 524, 398]] of OS-Atlas-4B, CogAgent, GPT
_BOX = rf"\[{SPACE}{X1_Y1}(?:{COMMA}|{SPACE}\]{COMMA}\[{SPACE}){X2_Y2}{SPACE}\]"
BARE_LIST = form(  # anywhere but as the value of a JSON key: dialects that know the key read that
    "bare_list", rf"""(?P<body>(?:["']{SPACE}:{SPACE})?\[{SPACE}{NUMBERS}(?:{COMMA}{NUMBERS})?{SPACE}\])""", "[",
    inner=(rf"^\[{SPACE}(?:{X_Y}|{CORNERS}){SPACE}\]$",), usual=rf"^[ \n]*\[{XY}\][ \n]*$",
)  # fmt: skip
INTEGER_LIST = form("integer_list", rf"\[{SPACE}(?P<x>[0-9]+){SPACE},{SPACE}(?P<y>[0-9]+){SPACE}\]", "[")
NESTED_LIST = form(
    "nested_list", rf"(?:(?:{CALL})?box{SPACE}={SPACE})?\[{SPACE}\[{SPACE}(?:{X_Y}|{CORNERS}){SPACE}\]{SPACE}\]", "["
)
LIST_BOX = form("list_box", _BOX, "[", usual=alone(_BOX))
LIST_POINT = form("list_point", BRACKETED_POINT, "[", usual=alone(BRACKETED_POINT))
LIST_REFUSAL = form("list_refusal", rf"\[{SPACE}-1{COMMA}-1{SPACE}\]", "[", whole=True)
LIST_POINT_OR_REFUSAL = FirstOf((LIST_REFUSAL, LIST_POINT), name="list_point_or_refusal")

# Tags: <|box_start|>(500,370),(524,398)<|box_end|> | <box>500 370 524 398</box> | <point>5 3</point> | <x>5</x><y>3</y>
BOX_TOKENS = form(
    "box_tokens",
    rf"(?:<\|box_start\|>|<box>|<bbox>){SPACE}{PLACE}(?:<\|box_end\|>|</box>|</bbox>)",
    "box_start|>",
    "box>",
)
POINT_TAG = form("point_tag", rf"<point>{SPACE}{PLACE}</point>", "<point>")
POINT_PAIR = form(  # <point>(5, 3)</point>, or in a list, of whole numbers
    "point_pair",
    rf"<point>{SPACE}(?:\[{SPACE})?\({SPACE}(?P<x>[0-9]+){COMMA}(?P<y>[0-9]+){SPACE}\){SPACE}(?:\]{SPACE})?</point>",
    "<point>",
)
XY_TAGS = form(
    "xy_tags", rf"<x>{SPACE}(?P<x>{NUMBER}){SPACE}</x>{SPACE}(?:,{SPACE})?<y>{SPACE}(?P<y>{NUMBER}){SPACE}</y>", "<x>"
)

# JSON: {"point_2d": [5, 3]} | {'action': 'click', 'point': [5, 3]} | {"POINT": [5, 3]} | {"type": "click", "x": 5, ..}
_LABEL = r"""(?:, ?"label": ?"[^"\[\]{}]*")?"""
JSON_2D = form(
    "json_2d",
    rf"""["'](?:point_2d{KEY}\[{SPACE}{X_Y}|bbox_2d{KEY}\[{SPACE}{CORNERS}){SPACE}\]""",
    "point_2d", "bbox_2d",
    usual=rf"""^(?:```(?:json)?)?[ \n]*(?:\[[ \n]*)?\{{"point_2d": ?\[{XY}\]{_LABEL}\}}[ \n]*(?:\][ \n]*)?"""
    r"(?:```[ \n]*)?$",
)  # fmt: skip
JSON_COORDINATE = form(
    "json_coordinate", JSON_OBJECT,
    *(f"{key}{quote}" for key in ("coordinate", "point", "position") for quote in "\"'"),
    inner=(rf"""["'](?:(?:start_)?coordinate|point|position){KEY}{BRACKETED_POINT}""", JSON_ACTION),
    usual=r"""^(?:<answer>)?\[?\{["']action["']: ?["'](?P<action>[A-Za-z_]*)["'], ?["'](?:coordinate|point)["']: ?"""
    rf"""\[{XY}\](?:, ?'input_text': ?'[^'\[\]{{}}]*')?\}}\]?(?:</answer>)?[ \n]*$""",
)  # fmt: skip
JSON_DISTRIBUTION = form(
    "json_distribution", JSON_OBJECT, '"mean"', "'mean'", inner=(rf"""["']mean{KEY}{BRACKETED_POINT}""", JSON_ACTION)
)
JSON_COMPACT = form(  # a tap names no action; with ``to`` in the same object it is a swipe
    "json_compact", rf"""(?:^|[{{}}])(?P<body>[^{{}}]*["']POINT{KEY}{BRACKETED_POINT}[^{{}}]*)""", "POINT",
    inner=(rf"""["']POINT{KEY}{BRACKETED_POINT}""", rf"""["'](?P<action>to){KEY}"""),
    usual=rf"""^\{{(?:"thought": ?"[^":\[{{}}]*", ?)?"POINT": ?\[{XY}\]\}}[ \n]*$""",
)  # fmt: skip
_FLAT = r"[^{}\[\]]*"
_PATH = rf"""["']path{KEY}\[[^\[\]]*\]{_FLAT}"""
JSON_XY = form(  # x and y stand in the same object; where that has none itself, in the first one of its path
    "json_xy",
    rf"""\{{{SPACE}(?P<body>["']{_FLAT}(?:\[{_FLAT}\]{_FLAT})*(?:{_PATH})?|{_PATH})\}}""",
    '"x"', "'x'",
    inner=(*(rf"""^[^}}]*?["']{axis}{KEY}(?P<{axis}>{NUMBER}){SPACE}(?:[,}}]|$)""" for axis in "xy"), JSON_ACTION),
    usual=r"""^\{(?:["'](?:type|action)["']: ?["'](?P<action>[A-Za-z_]*)["'], ?)?"""
    r"""(?:["']button["']: ?["'][a-z]*["'], ?)?"""
    rf"""["']x["']: ?(?P<x>{N}), ?["']y["']: ?(?P<y>{N})\}}[ \n]*$""",
)  # fmt: skip
TOOL_CALL = form(  # <tool_call>{"name": .., "arguments": {"action": .., "coordinate": ..}}</tool_call>
    "tool_call",
    rf"""["']arguments{KEY}\{{(?P<body>[^{{}}]*)\}}""",
    "tool_call>", '"arguments"', "'arguments'",
    inner=(rf"""["'](?:start_)?coordinate{KEY}{BRACKETED_POINT}""", JSON_ACTION),
    usual=r"""^(?:<tool_call>)?[ \n]*\{"name": ?"[A-Za-z_]*", ?"arguments": ?"""
    rf"""\{{"action": ?"(?P<action>[A-Za-z_]*)", ?"coordinate": ?\[{XY}\]\}}\}}[ \n]*(?:</tool_call>[ \n]*)?$""",
)  # fmt: skip

# Calls: pyautogui.click(x=0.797, y=0.219) | click(x=960, y=540) | Click(352, 348) | click(start_box='(512,384)')
_OTHER = rf"[a-z_]+{SPACE}=[^(),=]*,{SPACE}"
_X_IS, _Y_IS = rf"x{SPACE}={SPACE}", rf"y{SPACE}={SPACE}"
_NEXT = rf"{NUMBER}{COMMA}(?:{_OTHER}){{0,2}}"  # only one place may hold any number of others: two are quadratic
_NAMED = rf"(?:{_OTHER})*(?:{_X_IS}{_NEXT}{_Y_IS}|{_Y_IS}{_NEXT}{_X_IS}){NUMBER}"
_UNNAMED = rf"(?:{_X_IS})?{NUMBER}{COMMA}(?:{_Y_IS})?{NUMBER}"
_INNER = (  # names decide which number is x; without them the first is
    r"^(?:pyautogui\.|[^A-Za-z_])?(?P<action>[A-Za-z_]+)\(",
    rf"^(?:(?s:.*)[(,]{SPACE}{_X_IS}|[^(]*\({SPACE})(?P<x>{NUMBER}){END}",
    rf"^(?:(?s:.*)[(,]{SPACE}{_Y_IS}|[^,]*,{SPACE})(?P<y>{NUMBER}){END}",
)
_XY_ARGUMENTS = rf"(?:x=)?(?P<x>{N}), ?(?:y=)?(?P<y>{N})\)[^(]*$"
_KNOWN = (
    "click left_click right_click middle_click double_click triple_click long_press tap leftClick rightClick "
    "middleClick doubleClick tripleClick Click Tap hover mouse_move moveTo move_to drag dragTo drag_to "
    "swipe scroll Scroll"
).replace(" ", "|")
PYAUTOGUI = form(
    "pyautogui", rf"(?P<body>pyautogui\.[A-Za-z]+\({SPACE}(?:(?:{NUMBER}{COMMA})?{_NAMED}|{_UNNAMED}){END})",
    "pyautogui.",
    inner=_INNER, usual=rf"^[^(]*pyautogui\.(?P<action>[A-Za-z]+)\({_XY_ARGUMENTS}",
)  # fmt: skip
KEYWORD_CALL = form(
    "keyword_call", rf"(?P<body>(?:^|[^A-Za-z_])[A-Za-z_]+\({SPACE}{_NAMED}{END})", "(", inner=_INNER,
    usual=rf"^(?P<action>[A-Za-z_]+)\({_XY_ARGUMENTS.replace('(?:x=)?', 'x=').replace('(?:y=)?', 'y=')}",
)  # fmt: skip
CLICK_CALL = form("click_call", rf"(?P<action>{_KNOWN})\({SPACE}(?P<x>{NUMBER}){COMMA}(?P<y>{NUMBER}){END}", "(")
_STRINGS = rf"""(?:[a-z_]+={SPACE}["'][^"'()]*["']{COMMA})*"""
_TOKEN = rf"(?:<\|box_start\|>|<point>|<bbox>|<box>){SPACE}"
_QUOTE = rf"""{SPACE}(?:["']{SPACE}(?:{_TOKEN})?|{_TOKEN})?"""
_UNQUOTE = rf"""(?:(?:(?:<\|box_end\|>|</point>|</bbox>|</box>){SPACE})?["']|\)\))"""
UI_TARS = form(  # the place between tokens, tags or quotes, a point or a box; of a drag, its start
    "ui_tars", rf"{CALL}{_STRINGS}(?:start_box|start_point|point)={_QUOTE}{PLACE}{_UNQUOTE}",
    "start_box=", "start_point=", "point=",
    usual=r"^(?:Thought:[^(\n]*\n)?(?:Action: ?)?(?P<action>[a-z_]+)\((?:start_box|point)="
    rf"'(?:<\|box_start\|>|<point>)?\(?(?P<x>{N})(?:, ?| )(?P<y>{N})\)?(?:<\|box_end\|>|</point>)?'\)[ \n]*$",
)  # fmt: skip
