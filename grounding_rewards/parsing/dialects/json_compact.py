"""AgentCPM-GUI's compact JSON.

{"thought": "save it", "POINT": [512, 384]}
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.pieces import BRACKETED_POINT, KEY, XY

JSON_COMPACT = PatternDialect(
    name="json_compact",
    pattern=rf"""(?:^|[{{}}])(?P<body>[^{{}}]*["']POINT{KEY}{BRACKETED_POINT}[^{{}}]*)""",
    inner=(rf"""["']POINT{KEY}{BRACKETED_POINT}""", rf"""["'](?P<action>to){KEY}"""),
    signs=("POINT",),
    usual=rf"""^\{{(?:"thought": ?"[^":\[{{}}]*", ?)?"POINT": ?\[{XY}\]\}}[ \n]*$""",
)
"""A tap names no action; with the key ``to`` in the same object it is a swipe, and the action is ``"to"``."""
