"""Response text to predictions: one answer dialect a file, and `parse`, which runs one over n responses."""

from grounding_rewards.parsing.auto import AUTO, AutoDialect
from grounding_rewards.parsing.bare_tuple import BARE_TUPLE, BARE_TUPLE_WHOLE
from grounding_rewards.parsing.dialect import Answers, Dialect, Found, PatternDialect
from grounding_rewards.parsing.json_2d import JSON_2D
from grounding_rewards.parsing.parse import Thinking, parse
from grounding_rewards.parsing.refusal import REFUSAL
from grounding_rewards.parsing.tool_call import TOOL_CALL

__all__ = [
    "AUTO",
    "BARE_TUPLE",
    "BARE_TUPLE_WHOLE",
    "JSON_2D",
    "REFUSAL",
    "TOOL_CALL",
    "Answers",
    "AutoDialect",
    "Dialect",
    "Found",
    "PatternDialect",
    "Thinking",
    "parse",
]
