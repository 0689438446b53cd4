"""Tool calls with a coordinate: Qwen-VL, MAI-UI, SE-GUI and GroundNext (``computer_use``), UI-Ins (``grounding``).

<tool_call>
{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [512, 384]}}
</tool_call>
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from grounding_rewards.parsing.base import Answers, Found
from grounding_rewards.parsing.literal import read_json
from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.patterns import BRACKETED_POINT, JSON_ACTION, KEY, XY
from grounding_rewards.parsing.reader_dialect import ReaderDialect
from grounding_rewards.parsing.texts import Texts, compiled, limited, matches, tag_span


@dataclass(frozen=True)
class ToolCallDialect:
    """The calls that a pattern matches. Complete calls without a coordinate, such as ``terminate``, begin no answer."""

    calls: PatternDialect

    trusted = True

    @property
    def name(self) -> str:
        """The pattern's name."""
        return self.calls.name

    @property
    def names(self) -> tuple[str, ...]:
        """The dialect itself."""
        return self.calls.names

    @property
    def signs(self) -> tuple[str, ...]:
        """Substrings of which every answer contains one."""
        return self.calls.signs

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        table = self.calls.find(texts, answers)
        unread = np.flatnonzero(table.begun & (table.count == 0))
        for row in unread[matches(texts.take(unread), self.calls.full_pattern)].tolist():  # complete calls alone
            table.begun[row] = not self._is_placeless(texts.values[row])
        return table

    def _is_placeless(self, text: str) -> bool:
        bodies = [match["body"] for match in compiled(self.calls.full_pattern).finditer(text)]
        return bool(bodies) and not any("coordinate" in body for body in bodies)


TOOL_CALL = ToolCallDialect(
    PatternDialect(
        name="tool_call",
        pattern=rf"""["']arguments{KEY}\{{(?P<body>[^{{}}]*)\}}""",
        inner=(rf"""["'](?:start_)?coordinate{KEY}{BRACKETED_POINT}""", JSON_ACTION),
        signs=("tool_call>", '"arguments"', "'arguments'"),
        usual=(
            r"""^(?:<tool_call>)?[ \n]*\{"name": ?"[A-Za-z_]*", ?"arguments": ?"""
            rf"""\{{"action": ?"(?P<action>[A-Za-z_]*)", ?"coordinate": ?\[{XY}\]\}}\}}[ \n]*(?:</tool_call>[ \n]*)?$"""
        ),
    )
)
"""The coordinate in the arguments of a call, keys in any order, with the tags or, after decoding, without them.

Of a drag with ``start_coordinate`` and ``end_coordinate``, its start.
"""

OPEN, CLOSE = "<tool_call>", "</tool_call>"

_WHOLE = "(?:0|[1-9][0-9]{0,14})"
_JSON_SPACE = "[ \t\n\r]*"


def usual_call(name: str) -> str:
    """Return a pattern of texts whose first call is complete and written as models nearly always write it.

    Args:
        name: a pattern for the called function's name.
    """
    return (
        rf'^[^<]*<tool_call>{_JSON_SPACE}\{{"name": ?"{name}", ?"arguments": ?\{{"action": ?"[A-Za-z_]*", ?'
        rf'"coordinate": ?\[(?P<x>{_WHOLE}), ?(?P<y>{_WHOLE})\]\}}\}}{_JSON_SPACE}</tool_call>'
    )


def call_texts(text: str) -> list[str]:
    """Return the content of each complete call, in order; an unclosed one is none.

    >>> call_texts("a <tool_call>1</tool_call> <tool_call>2</tool_call> <tool_call>3")
    ['1', '2']
    """
    contents, span = [], tag_span(text, "tool_call")
    while span:
        contents.append(text[slice(*span)])
        span = tag_span(text, "tool_call", span[1])
    return contents


def first_call(text: str) -> Any:
    """Return the JSON value of the first complete call; None if there is none or it is not JSON.

    >>> first_call('<tool_call>{"name": "computer_use"}</tool_call>')
    {'name': 'computer_use'}
    """
    span = tag_span(text, "tool_call")
    return read_json(text[slice(*span)]) if span else None


def coordinate(call: Any, kinds: tuple[type, ...] = (int, float)) -> list[float] | None:
    """Return the two finite numbers of ``arguments.coordinate``; None if a call has no such pair.

    Booleans are no numbers. Numbers far outside any screen are clipped to ±COORDINATE_LIMIT, so that they stay finite.

    >>> coordinate({"arguments": {"coordinate": [512, 384.5]}}), coordinate({"arguments": {"coordinate": [True, 1]}})
    ([512.0, 384.5], None)
    """
    arguments = call.get("arguments") if isinstance(call, dict) else None
    pair = arguments.get("coordinate") if isinstance(arguments, dict) else None
    if not isinstance(pair, list) or len(pair) != 2:
        return None
    finite = all(type(number) in kinds and abs(number) < math.inf for number in pair)
    return list(map(limited, pair)) if finite else None


def _read(text: str) -> list[list[float]] | None:
    pair = coordinate(first_call(text))
    return None if pair is None else [pair]


def _read_whole(text: str) -> list[list[float]] | None:
    pair = coordinate(first_call(text), (int,))
    return None if pair is None else [pair]


USUAL_CALL = rf"{usual_call('computer_use')}[^<]*$"
"""A text with one call, to ``computer_use``."""

_MUST = (CLOSE, "]")

FIRST_CALL = ReaderDialect("first_call", _read, usual_call("[A-Za-z_]*"), (OPEN,), _MUST)
"""The first call, of any name and action; a first call that cannot be read is not skipped."""

FIRST_CALL_INTEGERS = ReaderDialect("first_call_integers", _read_whole, USUAL_CALL, (OPEN,), _MUST)
"""The same with whole numbers only, as GroundNext's reward demands."""
