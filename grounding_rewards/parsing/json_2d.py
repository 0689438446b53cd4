"""JSON with ``point_2d`` or ``bbox_2d``, fenced or not, in a list or not: Qwen-VL, InfiGUI-G1, UI-RFT, GUI-G1.

{"point_2d": [512, 384], "label": "save"}
[{"bbox_2d": [500, 370, 524, 398]}]
"""

from grounding_rewards.parsing.dialect import PatternDialect
from grounding_rewards.parsing.texts import NUMBER, SPACE

_COMMA = rf"{SPACE},{SPACE}"
_OPEN = rf"""["']{SPACE}:{SPACE}\[{SPACE}"""
_POINT = rf"(?P<x>{NUMBER}){_COMMA}(?P<y>{NUMBER})"
_BOX = _COMMA.join(f"(?P<{name}>{NUMBER})" for name in ("x1", "y1", "x2", "y2"))

JSON_2D = PatternDialect(
    name="json_2d",
    pattern=rf"""["'](?:point_2d{_OPEN}{_POINT}|bbox_2d{_OPEN}{_BOX}){SPACE}\]""",
    signs=("point_2d", "bbox_2d"),
)
"""Single or double quotes, integers or decimals; a box's point is its centre."""
