"""Response text to predictions: `parse` runs a dialect over n responses; dialects stand by kind, one kind a file."""

from grounding_rewards.parsing.auto import ACTION_OS_ATLAS, AUTO, AUTO_ACTION
from grounding_rewards.parsing.calls import ACTION_CALLS
from grounding_rewards.parsing.objects import ACTION_BLINK, ACTION_COMPACT, ACTION_JSON
from grounding_rewards.parsing.parse import Thinking, parse
from grounding_rewards.parsing.places import (
    BARE_LIST,
    BARE_TUPLE,
    BARE_TUPLE_WHOLE,
    BOX_TOKENS,
    CLICK_CALL,
    CORNER_LISTS,
    CORNER_TUPLES,
    INTEGER_LIST,
    JSON_2D,
    JSON_COMPACT,
    JSON_COORDINATE,
    JSON_DISTRIBUTION,
    JSON_REFUSAL,
    JSON_XY,
    KEYWORD_CALL,
    LIST_BOX,
    LIST_POINT,
    LIST_POINT_OR_REFUSAL,
    LIST_REFUSAL,
    NESTED_LIST,
    POINT_TAG,
    PYAUTOGUI,
    REFUSAL,
    TOOL_CALL,
    UI_TARS,
    XY_TAGS,
)
from grounding_rewards.parsing.published import AGENTCPM, BTL_UI, GUI_R1, UI_AGILE, UI_R1, UI_S1, UI_VENUS
from grounding_rewards.parsing.readers import (
    BOX_LIST,
    CROPPED,
    FIRST_CALL,
    FIRST_CALL_INTEGERS,
    JSON_POINT,
    LITERAL_BOX,
    MOLMO,
    POINT_LIST,
    THOUGHT_POINT_LIST,
)
from grounding_rewards.parsing.reading import Answers, Dialect, FirstOf, Form, Found, PatternDialect, TaggedDialect

__all__ = [
    "ACTION_BLINK", "ACTION_CALLS", "ACTION_COMPACT", "ACTION_JSON", "ACTION_OS_ATLAS", "AGENTCPM", "AUTO",
    "AUTO_ACTION", "BARE_LIST", "BARE_TUPLE", "BARE_TUPLE_WHOLE", "BOX_LIST", "BOX_TOKENS", "BTL_UI", "CLICK_CALL",
    "CORNER_LISTS", "CORNER_TUPLES", "CROPPED", "FIRST_CALL", "FIRST_CALL_INTEGERS", "GUI_R1", "INTEGER_LIST",
    "JSON_2D", "JSON_COMPACT", "JSON_COORDINATE", "JSON_DISTRIBUTION", "JSON_POINT", "JSON_REFUSAL", "JSON_XY",
    "KEYWORD_CALL", "LIST_BOX", "LIST_POINT", "LIST_POINT_OR_REFUSAL", "LIST_REFUSAL", "LITERAL_BOX", "MOLMO",
    "NESTED_LIST", "POINT_LIST", "POINT_TAG", "PYAUTOGUI", "REFUSAL", "THOUGHT_POINT_LIST", "TOOL_CALL", "UI_AGILE",
    "UI_R1", "UI_S1", "UI_TARS", "UI_VENUS", "XY_TAGS", "Answers", "Dialect", "FirstOf", "Form", "Found",
    "PatternDialect", "TaggedDialect", "Thinking", "parse",
]  # fmt: skip
