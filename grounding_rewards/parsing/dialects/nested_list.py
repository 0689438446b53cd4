"""Points and boxes in double brackets: OS-Atlas-4B, CogAgent, GPT.

[[512,384]]
[[500,370,524,398]]
CLICK(box=[[500,370,524,398]], element_info='save')
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.pieces import CALL, CORNERS, X_Y
from grounding_rewards.parsing.texts import SPACE

_BOX = rf"(?:(?:{CALL})?box{SPACE}={SPACE})?"

NESTED_LIST = PatternDialect(
    name="nested_list",
    pattern=rf"{_BOX}\[{SPACE}\[{SPACE}(?:{X_Y}|{CORNERS}){SPACE}\]{SPACE}\]",
    signs=("[",),
)
"""One point or box in two pairs of brackets, with CogAgent's action where it stands around them."""
