"""JSON with ``point_2d`` or ``bbox_2d``, fenced or not, in a list or not: Qwen-VL, InfiGUI-G1, UI-RFT, GUI-G1, BTL-UI.

{"point_2d": [512, 384], "label": "save"}
[{"bbox_2d": [500, 370, 524, 398]}]
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.pieces import CORNERS, KEY, X_Y, XY
from grounding_rewards.parsing.texts import SPACE

_OPEN = rf"{KEY}\[{SPACE}"
_LABEL = r"""(?:, ?"label": ?"[^"\[\]{}]*")?"""

JSON_2D = PatternDialect(
    name="json_2d",
    pattern=rf"""["'](?:point_2d{_OPEN}{X_Y}|bbox_2d{_OPEN}{CORNERS}){SPACE}\]""",
    signs=("point_2d", "bbox_2d"),
    usual=(  # no blank in it can be read in two ways: RE2 then needs half the time
        rf"""^(?:```(?:json)?)?[ \n]*(?:\[[ \n]*)?\{{"point_2d": ?\[{XY}\]{_LABEL}\}}[ \n]*(?:\][ \n]*)?"""
        r"(?:```[ \n]*)?$"
    ),
)
"""Single or double quotes, integers or decimals; a box's point is its centre."""
