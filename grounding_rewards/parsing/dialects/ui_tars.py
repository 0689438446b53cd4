"""UI-TARS and Doubao: an action as a call, its place between tokens, tags or quotes.

Thought: I will save it.
Action: click(start_box='<|box_start|>(512,384)<|box_end|>')

click(start_box='(512,384)')
click(point='<point>512 384</point>')
drag(start_point='<point>512 384</point>', end_point='<point>600 384</point>')
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.pieces import CALL, COMMA, PLACE
from grounding_rewards.parsing.texts import SPACE

_OTHERS = rf"""(?:[a-z_]+={SPACE}["'][^"'()]*["']{COMMA})*"""
_TOKEN = rf"(?:<\|box_start\|>|<point>|<bbox>|<box>){SPACE}"
_OPEN = rf"""{SPACE}(?:["']{SPACE}(?:{_TOKEN})?|{_TOKEN})?"""
_CLOSE = rf"""(?:(?:(?:<\|box_end\|>|</point>|</bbox>|</box>){SPACE})?["']|\)\))"""

UI_TARS = PatternDialect(
    name="ui_tars",
    pattern=rf"{CALL}{_OTHERS}(?:start_box|start_point|point)={_OPEN}{PLACE}{_CLOSE}",
    signs=("start_box=", "start_point=", "point="),
    usual=(
        r"^(?:Thought:[^(\n]*\n)?(?:Action: ?)?(?P<action>[a-z_]+)\((?:start_box|point)="
        r"'(?:<\|box_start\|>|<point>)?\(?(?P<x>-?[0-9]+(?:\.[0-9]+)?)(?:, ?| )(?P<y>-?[0-9]+(?:\.[0-9]+)?)\)?"
        r"(?:<\|box_end\|>|</point>)?'\)[ \n]*$"
    ),
)
"""The place may be a point or a box; of a drag, the place where it starts. Special tokens may be gone."""
