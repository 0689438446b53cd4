"""Actions written as calls with x and y: pyautogui, bare calls, Holo1.5.

pyautogui.click(x=0.797, y=0.219)
click(x=960, y=540)
Click(352, 348)
"""

from grounding_rewards.parsing.dialect import PatternDialect
from grounding_rewards.parsing.pieces import CALL, COMMA
from grounding_rewards.parsing.texts import NUMBER, SPACE

_OTHERS = rf"(?:[a-z_]+{SPACE}=[^(),=]*,{SPACE})*"
_X, _Y = rf"(?P<x>{NUMBER}){COMMA}", rf"(?P<y>{NUMBER}){SPACE}[,)]"
_X_IS, _Y_IS = rf"x{SPACE}={SPACE}", rf"y{SPACE}={SPACE}"
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
    pattern=(
        r"pyautogui\.(?P<action>[A-Za-z]+)"
        rf"\({SPACE}(?:{NUMBER}{COMMA}{_X_IS}|{_OTHERS}(?:{_X_IS})?){_X}(?:{_Y_IS})?{_Y}"
    ),
    signs=("pyautogui.",),
)
"""Any function, its x and y named or not; action is the function's name. ``pyautogui.click(x=0.797, y=0.219)``."""

KEYWORD_CALL = PatternDialect(
    name="keyword_call",
    pattern=rf"{CALL}{_OTHERS}{_X_IS}{_X}{_Y_IS}{_Y}",
    signs=("(",),
)
"""A call of any name whose x and y are named. ``click(x=960, y=540)``."""

CLICK_CALL = PatternDialect(
    name="click_call",
    pattern=rf"(?P<action>{_KNOWN})\({SPACE}{_X}{_Y}",
    signs=("(",),
)
"""A click, or another action known to have a place, with that place first. ``Click(352, 348)``."""
