"""Actions written as calls.

pyautogui.click(x=0.797, y=0.219)                               pyautogui
click(x=960, y=540)                                             bare calls
Click(352, 348)                                                 Holo1.5
click(start_box='<|box_start|>(512,384)<|box_end|>')            UI-TARS, Doubao
click(point='<point>512 384</point>')                           the same
drag(start_point='<point>512 384</point>', end_point='<point>600 384</point>')
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.patterns import CALL, COMMA, PLACE
from grounding_rewards.parsing.texts import NUMBER, SPACE

_OTHER = rf"[a-z_]+{SPACE}=[^(),=]*,{SPACE}"
_X_IS, _Y_IS = rf"x{SPACE}={SPACE}", rf"y{SPACE}={SPACE}"
# Only one place may hold any number of other arguments: two would take quadratic time.
_NEXT = rf"{NUMBER}{COMMA}(?:{_OTHER}){{0,2}}"
_NAMED = rf"(?:{_OTHER})*(?:{_X_IS}{_NEXT}{_Y_IS}|{_Y_IS}{_NEXT}{_X_IS}){NUMBER}"
_UNNAMED = rf"(?:{_X_IS})?{NUMBER}{COMMA}(?:{_Y_IS})?{NUMBER}"

_END = rf"{SPACE}[,)]"
_INNER = (
    r"^(?:pyautogui\.|[^A-Za-z_])?(?P<action>[A-Za-z_]+)\(",
    # Names decide which number is x; without them the first is.
    rf"^(?:(?s:.*)[(,]{SPACE}{_X_IS}|[^(]*\({SPACE})(?P<x>{NUMBER}){_END}",
    rf"^(?:(?s:.*)[(,]{SPACE}{_Y_IS}|[^,]*,{SPACE})(?P<y>{NUMBER}){_END}",
)
_NUMERAL = r"-?[0-9]+(?:\.[0-9]+)?"
_USUAL = rf"(?:x=)?(?P<x>{_NUMERAL}), ?(?:y=)?(?P<y>{_NUMERAL})\)[^(]*$"  # no other parenthesis: one call
_KNOWN = "|".join(
    (
        "click", "left_click", "right_click", "middle_click", "double_click", "triple_click", "long_press", "tap",
        "leftClick", "rightClick", "middleClick", "doubleClick", "tripleClick", "Click", "Tap", "hover", "mouse_move",
        "moveTo", "move_to", "drag", "dragTo", "drag_to", "swipe", "scroll", "Scroll",
    )
)  # fmt: skip

PYAUTOGUI = PatternDialect(
    name="pyautogui",
    # A number before a named x is the distance of a scroll.
    pattern=rf"(?P<body>pyautogui\.[A-Za-z]+\({SPACE}(?:(?:{NUMBER}{COMMA})?{_NAMED}|{_UNNAMED}){_END})",
    inner=_INNER,
    signs=("pyautogui.",),
    usual=rf"^[^(]*pyautogui\.(?P<action>[A-Za-z]+)\({_USUAL}",
)
"""Any function of pyautogui, x and y named in any order, or not; the action is the function's name."""

KEYWORD_CALL = PatternDialect(
    name="keyword_call",
    pattern=rf"(?P<body>(?:^|[^A-Za-z_])[A-Za-z_]+\({SPACE}{_NAMED}{_END})",
    inner=_INNER,
    signs=("(",),
    usual=rf"^(?P<action>[A-Za-z_]+)\({_USUAL.replace('(?:x=)?', 'x=').replace('(?:y=)?', 'y=')}",
)
"""A call of any name whose x and y are named, in any order. ``click(x=960, y=540)``."""

CLICK_CALL = PatternDialect(
    name="click_call",
    pattern=rf"(?P<action>{_KNOWN})\({SPACE}(?P<x>{NUMBER}){COMMA}(?P<y>{NUMBER}){_END}",
    signs=("(",),
)
"""A click, or another action known to be at a place, with that place first. ``Click(352, 348)``."""

_STRINGS = rf"""(?:[a-z_]+={SPACE}["'][^"'()]*["']{COMMA})*"""
_TOKEN = rf"(?:<\|box_start\|>|<point>|<bbox>|<box>){SPACE}"
_QUOTE = rf"""{SPACE}(?:["']{SPACE}(?:{_TOKEN})?|{_TOKEN})?"""
_UNQUOTE = rf"""(?:(?:(?:<\|box_end\|>|</point>|</bbox>|</box>){SPACE})?["']|\)\))"""

UI_TARS = PatternDialect(
    name="ui_tars",
    pattern=rf"{CALL}{_STRINGS}(?:start_box|start_point|point)={_QUOTE}{PLACE}{_UNQUOTE}",
    signs=("start_box=", "start_point=", "point="),
    usual=(
        r"^(?:Thought:[^(\n]*\n)?(?:Action: ?)?(?P<action>[a-z_]+)\((?:start_box|point)="
        r"'(?:<\|box_start\|>|<point>)?\(?(?P<x>-?[0-9]+(?:\.[0-9]+)?)(?:, ?| )(?P<y>-?[0-9]+(?:\.[0-9]+)?)\)?"
        r"(?:<\|box_end\|>|</point>)?'\)[ \n]*$"
    ),
)
"""UI-TARS and Doubao: the place between tokens, tags or quotes, a point or a box; of a drag, its start.

Decoding may have dropped the special tokens.
"""
