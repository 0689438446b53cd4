"""AgentCPM-GUI's compact JSON.

{"thought": "save it", "POINT": [512, 384]}
"""

from grounding_rewards.parsing.dialect import PatternDialect
from grounding_rewards.parsing.pieces import BRACKETED_POINT, COMMA, KEY

JSON_COMPACT = PatternDialect(
    name="json_compact",
    pattern=rf"""["']POINT{KEY}{BRACKETED_POINT}(?:{COMMA}["'](?P<action>to)["'])?""",
    signs=("POINT",),
)
"""A tap names no action; with the key ``to`` behind the point it is a swipe, and the action is ``"to"``."""
