"""``auto_action``, for recipes that judge actions: refusals, actions, and places, which are clicks, in one order."""

from __future__ import annotations

from grounding_rewards.parsing.auto_dialect import AutoDialect
from grounding_rewards.parsing.dialects.actions._aliases import MAY_NAME, names_another
from grounding_rewards.parsing.dialects.actions._limits import Unless
from grounding_rewards.parsing.dialects.actions.btl_ui import ACTION_BLINK
from grounding_rewards.parsing.dialects.actions.calls import ACTION_CALLS, calls_go_first
from grounding_rewards.parsing.dialects.actions.compact import ACTION_COMPACT
from grounding_rewards.parsing.dialects.actions.json_actions import ACTION_JSON
from grounding_rewards.parsing.dialects.actions.os_atlas import ACTION_OS_ATLAS, is_typing
from grounding_rewards.parsing.dialects.auto import PLACES, TUPLE_ALONE
from grounding_rewards.parsing.dialects.refusal import NULL_REFUSAL, REFUSAL

_LINES = ("Action:", "TYPE [")
_BRACKETS = ("(", "[", "<", ":")


def _is_line(text: str, name: str) -> bool:
    """Return True if a line names an action: objects in it or before it are then no answer."""
    return calls_go_first(text) or is_typing(text)


_OBJECTS = tuple([Unless(dialect, _is_line, hints=_LINES) for dialect in (ACTION_JSON, ACTION_COMPACT)])
_CALLS = Unless(ACTION_CALLS, is_typing, hints=_LINES[1:])
_CLICKED = Unless(AutoDialect(PLACES, name="places", signs=_BRACKETS), names_another, pattern=MAY_NAME)

AUTO_ACTION = AutoDialect(
    (REFUSAL, ACTION_BLINK, *_OBJECTS, _CALLS, NULL_REFUSAL, _CLICKED, ACTION_OS_ATLAS),
    name="auto_action",
    usual=(TUPLE_ALONE,),
    sentinels=True,
    vocabulary=True,
)
"""First a text that is nothing but a refusal; then the dialects that read actions, the link of BTL-UI before other
JSON and JSON before calls, because a call may stand in its text; then the places of ``auto`` in its order; at last the
lines of OS-Atlas.

Where a line begins with ``Action:`` and a call, calls go before JSON. A place without an action is a click, unless the
name of another action stands in front of it, whose arguments cannot be read. A click at (-1, -1) or (-100, -100) is a
refusal; for another action these mean that it has no place.
"""
