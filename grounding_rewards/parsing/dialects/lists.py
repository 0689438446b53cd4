"""Bare boxes: ``[500,370,524,398]``, as GUI-G2 and Qwen2-VL answer."""

from __future__ import annotations

import re

from grounding_rewards.parsing.reader_dialect import ReaderDialect
from grounding_rewards.parsing.texts import SPACE

TURN = "assistant\n"
"""What opens a model's turn in decoded chats; all before the last one is no answer."""

_NUMBER = r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_BOX = rf"\[{SPACE}" + f"{SPACE},{SPACE}".join(f"(?P<{name}>{_NUMBER})" for name in ("x1", "y1", "x2", "y2"))
_PATTERN = rf"{_BOX}{SPACE}\]"
_ANYWHERE = re.compile(_PATTERN)


def read_boxes(text: str) -> list[list[float]] | None:
    r"""All lists of exactly four numbers after the last ``TURN``, wherever they stand; None where there is none.

    >>> read_boxes("[9, 9, 9, 9] assistant\nIt is [1, 2, 3, 4.5].")
    [[1.0, 2.0, 3.0, 4.5]]
    """
    answer = text.rpartition(TURN)[2]
    return [[float(number) for number in found.groups()] for found in _ANYWHERE.finditer(answer)] or None


BOX_LIST = ReaderDialect(
    name="box_list",
    read=read_boxes,
    pattern=rf"^{SPACE}{_PATTERN}{SPACE}$",
    signs=("[",),
    must=("]",),
)
"""Integers or decimals, negative or not; no signs +, no exponents."""
