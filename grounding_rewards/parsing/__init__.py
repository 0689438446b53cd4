"""Response text to predictions: one answer dialect a file, and `parse`, which runs one over n responses."""

from grounding_rewards.parsing.action_blink import ACTION_BLINK
from grounding_rewards.parsing.action_calls import ACTION_CALLS
from grounding_rewards.parsing.action_compact import ACTION_COMPACT
from grounding_rewards.parsing.action_json import ACTION_JSON
from grounding_rewards.parsing.action_tag import ACTION_TAG
from grounding_rewards.parsing.answer_action import ANSWER_ACTION
from grounding_rewards.parsing.answer_point import ANSWER_POINT
from grounding_rewards.parsing.auto import AUTO, AutoDialect
from grounding_rewards.parsing.auto_action import AUTO_ACTION
from grounding_rewards.parsing.bare_list import BARE_LIST
from grounding_rewards.parsing.bare_tuple import BARE_TUPLE, BARE_TUPLE_WHOLE
from grounding_rewards.parsing.blink_link import BLINK_LINK
from grounding_rewards.parsing.box_list import BOX_LIST
from grounding_rewards.parsing.box_tokens import BOX_TOKENS, POINT_TAG
from grounding_rewards.parsing.calls import CLICK_CALL, KEYWORD_CALL, PYAUTOGUI
from grounding_rewards.parsing.compact_action import COMPACT_ACTION
from grounding_rewards.parsing.corner_pairs import CORNER_LISTS, CORNER_TUPLES
from grounding_rewards.parsing.cropped import CROPPED
from grounding_rewards.parsing.dialect import Answers, Dialect, Found, PatternDialect
from grounding_rewards.parsing.first_call import FIRST_CALL, FIRST_CALL_INTEGERS
from grounding_rewards.parsing.integer_list import INTEGER_LIST
from grounding_rewards.parsing.json_2d import JSON_2D
from grounding_rewards.parsing.json_compact import JSON_COMPACT
from grounding_rewards.parsing.json_coordinate import JSON_COORDINATE
from grounding_rewards.parsing.json_distribution import JSON_DISTRIBUTION
from grounding_rewards.parsing.json_point import JSON_POINT
from grounding_rewards.parsing.json_xy import JSON_XY
from grounding_rewards.parsing.literal_box import LITERAL_BOX
from grounding_rewards.parsing.loose_action import LOOSE_ACTION
from grounding_rewards.parsing.molmo import MOLMO
from grounding_rewards.parsing.nested_list import NESTED_LIST
from grounding_rewards.parsing.parse import Thinking, parse
from grounding_rewards.parsing.plain_list import LIST_BOX, LIST_POINT, LIST_POINT_OR_REFUSAL, LIST_REFUSAL
from grounding_rewards.parsing.point_list import POINT_LIST, THOUGHT_POINT_LIST
from grounding_rewards.parsing.refusal import JSON_REFUSAL, REFUSAL
from grounding_rewards.parsing.tool_call import TOOL_CALL
from grounding_rewards.parsing.ui_tars import UI_TARS
from grounding_rewards.parsing.venus_action import VENUS_ACTION
from grounding_rewards.parsing.xy_tags import XY_TAGS

__all__ = [
    "ACTION_BLINK",
    "ACTION_CALLS",
    "ACTION_COMPACT",
    "ACTION_JSON",
    "ACTION_TAG",
    "ANSWER_ACTION",
    "ANSWER_POINT",
    "AUTO",
    "AUTO_ACTION",
    "BARE_LIST",
    "BARE_TUPLE",
    "BARE_TUPLE_WHOLE",
    "BLINK_LINK",
    "BOX_LIST",
    "BOX_TOKENS",
    "CLICK_CALL",
    "COMPACT_ACTION",
    "CORNER_LISTS",
    "CORNER_TUPLES",
    "CROPPED",
    "FIRST_CALL",
    "FIRST_CALL_INTEGERS",
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
    "LOOSE_ACTION",
    "MOLMO",
    "NESTED_LIST",
    "POINT_LIST",
    "POINT_TAG",
    "PYAUTOGUI",
    "REFUSAL",
    "THOUGHT_POINT_LIST",
    "TOOL_CALL",
    "UI_TARS",
    "VENUS_ACTION",
    "XY_TAGS",
    "Answers",
    "AutoDialect",
    "Dialect",
    "Found",
    "PatternDialect",
    "Thinking",
    "parse",
]
