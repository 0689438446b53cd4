"""Points and boxes in square brackets.

[512, 384]                     UI-Venus, GUI-G2, UI-Ins
[500, 370, 524, 398]           UI-Venus, GUI-G2, Qwen2-VL
[500, 370], [524, 398]         UI-Venus
[[500, 370, 524, 398]]         OS-Atlas-4B, CogAgent, GPT
"""

from __future__ import annotations

import re

from grounding_rewards.parsing.auto_dialect import AutoDialect
from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.patterns import BRACKETED_POINT, CALL, COMMA, CORNERS, NUMBERS, X1_Y1, X2_Y2, X_Y, XY
from grounding_rewards.parsing.reader_dialect import ReaderDialect
from grounding_rewards.parsing.texts import SPACE

BARE_LIST = PatternDialect(
    name="bare_list",
    pattern=rf"""(?P<body>(?:["']{SPACE}:{SPACE})?\[{SPACE}{NUMBERS}(?:{COMMA}{NUMBERS})?{SPACE}\])""",
    inner=(rf"^\[{SPACE}(?:{X_Y}|{CORNERS}){SPACE}\]$",),
    signs=("[",),
    usual=rf"^[ \n]*\[{XY}\][ \n]*$",
)
"""A point or a box, anywhere but as the value of a JSON key: the dialects that know the key read that."""

INTEGER_LIST = PatternDialect(
    name="integer_list",
    pattern=rf"\[{SPACE}(?P<x>[0-9]+){SPACE},{SPACE}(?P<y>[0-9]+){SPACE}\]",
    signs=("[",),
)
"""Two unsigned whole numbers, anywhere in the text, as UI-Ins reads them out of its tool calls."""

NESTED_LIST = PatternDialect(
    name="nested_list",
    pattern=rf"(?:(?:{CALL})?box{SPACE}={SPACE})?\[{SPACE}\[{SPACE}(?:{X_Y}|{CORNERS}){SPACE}\]{SPACE}\]",
    signs=("[",),
)
"""One point or box in two pairs of brackets, with CogAgent's action: ``CLICK(box=[[500,370,524,398]])``."""

_BOX = rf"\[{SPACE}{X1_Y1}(?:{COMMA}|{SPACE}\]{COMMA}\[{SPACE}){X2_Y2}{SPACE}\]"

LIST_BOX = PatternDialect(name="list_box", pattern=_BOX, usual=f"^{SPACE}{_BOX}{SPACE}$", signs=("[",))
"""``[x1,y1,x2,y2]`` or two corners ``[x1,y1],[x2,y2]``, anywhere in the text, as UI-Venus answers."""

LIST_POINT = PatternDialect(
    name="list_point", pattern=BRACKETED_POINT, usual=f"^{SPACE}{BRACKETED_POINT}{SPACE}$", signs=("[",)
)
"""``[x,y]`` anywhere in the text."""

LIST_REFUSAL = PatternDialect(name="list_refusal", pattern=rf"\[{SPACE}-1{COMMA}-1{SPACE}\]", signs=("[",), whole=True)
"""``[-1,-1]`` and nothing else."""

LIST_POINT_OR_REFUSAL = AutoDialect((LIST_REFUSAL, LIST_POINT), name="list_point_or_refusal")
"""``[-1,-1]`` alone as a refusal, else ``[x,y]``."""

TURN = "assistant\n"
"""The opening of a model's turn in decoded chats; text before the last one is not part of the answer."""

_NUMERAL = r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_FOUR = rf"\[{SPACE}" + COMMA.join(f"(?P<{name}>{_NUMERAL})" for name in ("x1", "y1", "x2", "y2")) + rf"{SPACE}\]"
_ANYWHERE = re.compile(_FOUR)


def read_boxes(text: str) -> list[list[float]] | None:
    r"""Return all lists of exactly four numbers after the last ``TURN``; None if there are none.

    >>> read_boxes("[9, 9, 9, 9] assistant\nIt is [1, 2, 3, 4.5].")
    [[1.0, 2.0, 3.0, 4.5]]
    """
    answer = text.rpartition(TURN)[2]
    return [[float(number) for number in match.groups()] for match in _ANYWHERE.finditer(answer)] or None


BOX_LIST = ReaderDialect(
    name="box_list",
    read=read_boxes,
    pattern=rf"^{SPACE}{_FOUR}{SPACE}$",
    signs=("[",),
    must=("]",),
)
"""A box, as GUI-G2 answers: integers or decimals, negative or not; no signs +, no exponents."""
