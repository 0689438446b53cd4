"""Bare lists of one kind, nothing else read: UI-Venus's answers.

[500,370,524,398]
[500,370],[524,398]
[512,384]
"""

from grounding_rewards.parsing.auto_dialect import AutoDialect
from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.pieces import BRACKETED_POINT, COMMA, X1_Y1, X2_Y2
from grounding_rewards.parsing.texts import SPACE

_BOX = rf"\[{SPACE}{X1_Y1}(?:{COMMA}|{SPACE}\]{COMMA}\[{SPACE}){X2_Y2}{SPACE}\]"

LIST_BOX = PatternDialect(name="list_box", pattern=_BOX, usual=f"^{SPACE}{_BOX}{SPACE}$", signs=("[",))
"""``[x1,y1,x2,y2]`` or two corners ``[x1,y1],[x2,y2]``, anywhere in the text."""

LIST_POINT = PatternDialect(
    name="list_point", pattern=BRACKETED_POINT, usual=f"^{SPACE}{BRACKETED_POINT}{SPACE}$", signs=("[",)
)
"""``[x,y]`` anywhere in the text."""

LIST_REFUSAL = PatternDialect(name="list_refusal", pattern=rf"\[{SPACE}-1{COMMA}-1{SPACE}\]", signs=("[",), whole=True)
"""``[-1,-1]`` and nothing else."""

LIST_POINT_OR_REFUSAL = AutoDialect((LIST_REFUSAL, LIST_POINT), name="list_point_or_refusal")
"""``[-1,-1]`` alone as a refusal, else ``[x,y]``."""
