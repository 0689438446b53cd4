"""Whatever the model writes, for recipes that judge actions: refusals, actions, and places, which are clicks."""

from __future__ import annotations

from grounding_rewards.parsing.actions.blink import ACTION_BLINK
from grounding_rewards.parsing.actions.calls import ACTION_CALLS
from grounding_rewards.parsing.actions.compact import ACTION_COMPACT
from grounding_rewards.parsing.actions.json_actions import ACTION_JSON
from grounding_rewards.parsing.auto import AUTO, AutoDialect
from grounding_rewards.parsing.refusal import NULL_REFUSAL, REFUSAL

AUTO_ACTION = AutoDialect(
    (REFUSAL, ACTION_BLINK, ACTION_JSON, ACTION_COMPACT, ACTION_CALLS, NULL_REFUSAL, *AUTO.dialects[2:]),
    name="auto_action",
    usual=AUTO.usual[:1],
    sentinels=True,
    vocabulary=True,
)
"""First a text that is nothing but a refusal; then the dialects that read actions, the link of BTL-UI before other
JSON and JSON before calls, because a call may stand in its text; then the places of ``auto`` in its order.

A place without an action is a click; a click at (-1, -1) or (-100, -100) is a refusal, and beside another action these
say that it has no place.
"""
