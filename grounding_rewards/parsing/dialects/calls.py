"""Actions written as calls with x and y: pyautogui, bare calls, Holo1.5.

pyautogui.click(x=0.797, y=0.219)
click(x=960, y=540)
Click(352, 348)
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.pieces import COMMA
from grounding_rewards.parsing.texts import NUMBER, SPACE

_OTHER = rf"[a-z_]+{SPACE}=[^(),=]*,{SPACE}"
_X_IS, _Y_IS = rf"x{SPACE}={SPACE}", rf"y{SPACE}={SPACE}"
# A run of others without end may stand in one place only: time stays linear.
_NEXT = rf"{NUMBER}{COMMA}(?:{_OTHER}){{0,2}}"
_NAMED = rf"(?:{_OTHER})*(?:{_X_IS}{_NEXT}{_Y_IS}|{_Y_IS}{_NEXT}{_X_IS}){NUMBER}"
_UNNAMED = rf"(?:{_X_IS})?{NUMBER}{COMMA}(?:{_Y_IS})?{NUMBER}"

_END = rf"{SPACE}[,)]"
_INNER = (
    r"^(?:pyautogui\.|[^A-Za-z_])?(?P<action>[A-Za-z_]+)\(",
    # Where there is a name it says which number is which; else the first is x.
    rf"^(?:(?s:.*)[(,]{SPACE}{_X_IS}|[^(]*\({SPACE})(?P<x>{NUMBER}){_END}",
    rf"^(?:(?s:.*)[(,]{SPACE}{_Y_IS}|[^,]*,{SPACE})(?P<y>{NUMBER}){_END}",
)
_NUMERAL = r"-?[0-9]+(?:\.[0-9]+)?"
_USUAL = rf"(?:x=)?(?P<x>{_NUMERAL}), ?(?:y=)?(?P<y>{_NUMERAL})\)[^(]*$"  # with one parenthesis there is one call
_KNOWN = "|".join(
    (
        "click", "left_click", "right_click", "middle_click", "double_click", "triple_click", "long_press", "tap",
        "leftClick", "rightClick", "middleClick", "doubleClick", "tripleClick", "Click", "Tap", "hover", "mouse_move",
        "moveTo", "move_to", "drag", "dragTo", "drag_to", "swipe", "scroll", "Scroll",
    )
)  # fmt: skip

PYAUTOGUI = PatternDialect(
    name="pyautogui",
    # A number before a named x is how far to scroll.
    pattern=rf"(?P<body>pyautogui\.[A-Za-z]+\({SPACE}(?:(?:{NUMBER}{COMMA})?{_NAMED}|{_UNNAMED}){_END})",
    inner=_INNER,
    signs=("pyautogui.",),
    usual=rf"^[^(]*pyautogui\.(?P<action>[A-Za-z]+)\({_USUAL}",
)
"""Any function, its x and y named, in any order, or not; action is its name. ``pyautogui.click(x=0.797, y=0.219)``."""

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
"""A click, or another action known to have a place, with that place first. ``Click(352, 348)``."""
