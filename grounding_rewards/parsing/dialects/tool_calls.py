"""The first tool call of a text, read as JSON, with the coordinate in its arguments: SE-GUI and GroundNext.

<tool_call>
{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [512, 384]}}
</tool_call>
"""

from __future__ import annotations

import json
import math
from typing import Any

from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.parsing.nesting import is_shallow
from grounding_rewards.parsing.reader_dialect import ReaderDialect

OPEN, CLOSE = "<tool_call>", "</tool_call>"

_WHOLE = "(?:0|[1-9][0-9]{0,14})"
_JSON_SPACE = "[ \t\n\r]*"


def usual_call(name: str) -> str:
    """A text whose first call is complete and written as models nearly always write it.

    Args:
        name: a pattern for what is called.
    """
    return (
        rf'^[^<]*<tool_call>{_JSON_SPACE}\{{"name": ?"{name}", ?"arguments": ?\{{"action": ?"[A-Za-z_]*", ?'
        rf'"coordinate": ?\[(?P<x>{_WHOLE}), ?(?P<y>{_WHOLE})\]\}}\}}{_JSON_SPACE}</tool_call>'
    )


def call_texts(text: str) -> list[str]:
    """What stands inside each complete call, in order; an unclosed one is none.

    >>> call_texts("a <tool_call>1</tool_call> <tool_call>2</tool_call> <tool_call>3")
    ['1', '2']
    """
    found, start = [], text.find(OPEN)
    while start >= 0:
        end = text.find(CLOSE, start + len(OPEN))
        if end < 0:
            break
        found.append(text[start + len(OPEN) : end])
        start = text.find(OPEN, end + len(CLOSE))
    return found


def first_call(text: str) -> Any:
    """The JSON of the first complete call; None where there is none or it is no JSON.

    >>> first_call('<tool_call>{"name": "computer_use"}</tool_call>')
    {'name': 'computer_use'}
    """
    start = text.find(OPEN) + len(OPEN)
    end = text.find(CLOSE, start) if start >= len(OPEN) else -1
    call = text[start:end] if end >= 0 else ""
    try:
        return json.loads(call) if is_shallow(call) else None
    except ValueError:
        return None


def coordinate(call: Any, kinds: tuple[type, ...] = (int, float)) -> list[int | float] | None:
    """The two finite numbers of ``arguments.coordinate``; None where a call has no such pair.

    Booleans are no numbers. Numbers far outside any screen are cut to a limit, so that they stay finite.

    >>> coordinate({"arguments": {"coordinate": [512, 384.5]}}), coordinate({"arguments": {"coordinate": [True, 1]}})
    ([512, 384.5], None)
    """
    arguments = call.get("arguments") if isinstance(call, dict) else None
    pair = arguments.get("coordinate") if isinstance(arguments, dict) else None
    if not isinstance(pair, list) or len(pair) != 2:
        return None
    if not all(type(number) in kinds and abs(number) < math.inf for number in pair):
        return None
    return [max(-COORDINATE_LIMIT, min(COORDINATE_LIMIT, number)) for number in pair]


def _read(text: str) -> list[list[int | float]] | None:
    call = first_call(text)
    pair = coordinate(call) if call else None
    return None if pair is None else [pair]


def _read_whole(text: str) -> list[list[int | float]] | None:
    call = first_call(text)
    pair = coordinate(call, (int,)) if call else None
    return None if pair is None else [pair]


USUAL_CALL = rf"{usual_call('computer_use')}[^<]*$"
"""A text with one call, to ``computer_use``."""

_MUST = (CLOSE, "]")

FIRST_CALL = ReaderDialect("first_call", _read, usual_call("[A-Za-z_]*"), (OPEN,), _MUST)
"""The first call counts, whatever its name and action; a first call that cannot be read is not skipped."""

FIRST_CALL_INTEGERS = ReaderDialect("first_call_integers", _read_whole, USUAL_CALL, (OPEN,), _MUST)
"""The same with whole numbers only, as GroundNext's reward demands."""
