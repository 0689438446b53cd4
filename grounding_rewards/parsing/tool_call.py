"""Tool calls with a coordinate: Qwen2.5-VL and Qwen3-VL ``computer_use``, UI-Ins ``grounding``, SE-GUI.

<tool_call>
{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [512, 384]}}
</tool_call>
"""

from grounding_rewards.parsing.dialect import PatternDialect
from grounding_rewards.parsing.texts import NUMBER, SPACE

_KEY = rf"""["']{SPACE}:{SPACE}"""

TOOL_CALL = PatternDialect(
    name="tool_call",
    pattern=rf"""["']arguments{_KEY}\{{(?P<body>[^{{}}]*)\}}""",
    inner=(
        rf"""["']coordinate{_KEY}\[{SPACE}(?P<x>{NUMBER}){SPACE},{SPACE}(?P<y>{NUMBER}){SPACE}\]""",
        rf"""["']action{_KEY}["']?(?P<action>[^"',]*)""",
    ),
    signs=("tool_call>", '"arguments"', "'arguments'"),
)
"""The arguments of one call, whatever the order of keys, whether or not the tags survived decoding."""
