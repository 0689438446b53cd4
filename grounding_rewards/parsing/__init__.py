"""Response text to predictions: `parse` runs a dialect over n responses; dialects stand by family, one a file."""

from grounding_rewards.parsing.auto_dialect import AutoDialect
from grounding_rewards.parsing.base import Answers, Dialect, Found
from grounding_rewards.parsing.dialects.actions.agentcpm import AGENTCPM
from grounding_rewards.parsing.dialects.actions.auto import AUTO_ACTION
from grounding_rewards.parsing.dialects.actions.btl_ui import ACTION_BLINK, BTL_UI
from grounding_rewards.parsing.dialects.actions.calls import ACTION_CALLS
from grounding_rewards.parsing.dialects.actions.compact import ACTION_COMPACT
from grounding_rewards.parsing.dialects.actions.gui_r1 import GUI_R1
from grounding_rewards.parsing.dialects.actions.json_actions import ACTION_JSON
from grounding_rewards.parsing.dialects.actions.os_atlas import ACTION_OS_ATLAS
from grounding_rewards.parsing.dialects.actions.ui_agile import UI_AGILE
from grounding_rewards.parsing.dialects.actions.ui_r1 import UI_R1
from grounding_rewards.parsing.dialects.actions.ui_s1 import UI_S1
from grounding_rewards.parsing.dialects.actions.ui_venus import UI_VENUS
from grounding_rewards.parsing.dialects.auto import AUTO
from grounding_rewards.parsing.dialects.calls import CLICK_CALL, KEYWORD_CALL, PYAUTOGUI, UI_TARS
from grounding_rewards.parsing.dialects.cropped import CROPPED
from grounding_rewards.parsing.dialects.json_keys import (
    JSON_2D,
    JSON_COMPACT,
    JSON_COORDINATE,
    JSON_DISTRIBUTION,
    JSON_XY,
)
from grounding_rewards.parsing.dialects.json_point import JSON_POINT
from grounding_rewards.parsing.dialects.lists import (
    BARE_LIST,
    BOX_LIST,
    INTEGER_LIST,
    LIST_BOX,
    LIST_POINT,
    LIST_POINT_OR_REFUSAL,
    LIST_REFUSAL,
    NESTED_LIST,
)
from grounding_rewards.parsing.dialects.literal_box import LITERAL_BOX
from grounding_rewards.parsing.dialects.point_list import POINT_LIST, THOUGHT_POINT_LIST
from grounding_rewards.parsing.dialects.refusal import JSON_REFUSAL, REFUSAL
from grounding_rewards.parsing.dialects.tags import BOX_TOKENS, MOLMO, POINT_TAG, XY_TAGS
from grounding_rewards.parsing.dialects.tool_calls import FIRST_CALL, FIRST_CALL_INTEGERS, TOOL_CALL
from grounding_rewards.parsing.dialects.tuples import BARE_TUPLE, BARE_TUPLE_WHOLE, CORNER_LISTS, CORNER_TUPLES
from grounding_rewards.parsing.parse import Thinking, parse
from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.tagged_dialect import TaggedDialect

__all__ = [
    "ACTION_BLINK",
    "ACTION_CALLS",
    "ACTION_COMPACT",
    "ACTION_JSON",
    "ACTION_OS_ATLAS",
    "AGENTCPM",
    "AUTO",
    "AUTO_ACTION",
    "BARE_LIST",
    "BARE_TUPLE",
    "BARE_TUPLE_WHOLE",
    "BOX_LIST",
    "BOX_TOKENS",
    "BTL_UI",
    "CLICK_CALL",
    "CORNER_LISTS",
    "CORNER_TUPLES",
    "CROPPED",
    "FIRST_CALL",
    "FIRST_CALL_INTEGERS",
    "GUI_R1",
    "INTEGER_LIST",
    "JSON_2D",
    "JSON_COMPACT",
    "JSON_COORDINATE",
    "JSON_DISTRIBUTION",
    "JSON_POINT",
    "JSON_REFUSAL",
    "JSON_XY",
    "KEYWORD_CALL",
    "LIST_BOX",
    "LIST_POINT",
    "LIST_POINT_OR_REFUSAL",
    "LIST_REFUSAL",
    "LITERAL_BOX",
    "MOLMO",
    "NESTED_LIST",
    "POINT_LIST",
    "POINT_TAG",
    "PYAUTOGUI",
    "REFUSAL",
    "THOUGHT_POINT_LIST",
    "TOOL_CALL",
    "UI_AGILE",
    "UI_R1",
    "UI_S1",
    "UI_TARS",
    "UI_VENUS",
    "XY_TAGS",
    "Answers",
    "AutoDialect",
    "Dialect",
    "Found",
    "PatternDialect",
    "TaggedDialect",
    "Thinking",
    "parse",
]
