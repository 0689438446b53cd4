"""``auto``: all dialects of places, in a stated order."""

from dataclasses import replace

from grounding_rewards.parsing.auto_dialect import AutoDialect
from grounding_rewards.parsing.dialects.calls import CLICK_CALL, KEYWORD_CALL, PYAUTOGUI, UI_TARS
from grounding_rewards.parsing.dialects.cropped import CROPPED
from grounding_rewards.parsing.dialects.json_keys import (
    JSON_2D,
    JSON_COMPACT,
    JSON_COORDINATE,
    JSON_DISTRIBUTION,
    JSON_XY,
)
from grounding_rewards.parsing.dialects.lists import BARE_LIST, NESTED_LIST
from grounding_rewards.parsing.dialects.refusal import JSON_REFUSAL, REFUSAL
from grounding_rewards.parsing.dialects.tags import BOX_TOKENS, MOLMO, POINT_TAG, XY_TAGS
from grounding_rewards.parsing.dialects.tool_calls import TOOL_CALL
from grounding_rewards.parsing.dialects.tuples import BARE_TUPLE, CORNER_LISTS, CORNER_TUPLES
from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.texts import NUMBER

_NAMED_CALLS = AutoDialect((UI_TARS, PYAUTOGUI), name="named_calls", signs=("(",))
_JSON = AutoDialect(
    (TOOL_CALL, JSON_2D, JSON_COORDINATE, JSON_COMPACT, JSON_DISTRIBUTION, JSON_XY),
    name="json",
    signs=(":", "tool_call>"),
)
_TAGS = AutoDialect((BOX_TOKENS, POINT_TAG, XY_TAGS, MOLMO), name="tags", signs=("<",))
_ROUND = AutoDialect((CROPPED, KEYWORD_CALL, CLICK_CALL, CORNER_TUPLES, BARE_TUPLE), name="round", signs=("(",))
_SQUARE = AutoDialect((NESTED_LIST, CORNER_LISTS, BARE_LIST), name="square", signs=("[",))
TUPLE_ALONE = replace(
    BARE_TUPLE, pattern=BARE_TUPLE.pattern.replace(NUMBER, NUMBER.removeprefix("-?")), whole=True, usual=""
)
"""An unsigned tuple and nothing else: no refusal, no corners, no call."""

_CALL_ALONE = PatternDialect("tool_call", TOOL_CALL.calls.usual.replace("-?", ""))
_POINT_ALONE = PatternDialect("json_2d", JSON_2D.usual.replace("-?", "").replace("[^", "[^()"))
"""Unsigned numbers, which are no refusal; and no parentheses in a label, which could hold a call."""

PLACES = (_NAMED_CALLS, _JSON, _TAGS, _ROUND, _SQUARE)
"""Dialects of places, with the name of the action or without."""

AUTO = AutoDialect(
    (REFUSAL, JSON_REFUSAL, *PLACES),
    usual=(TUPLE_ALONE, _CALL_ALONE, _POINT_ALONE),
    sentinels=True,
)
"""First the forms that are unmistakable: refusals, calls, JSON, tags. Then those that only brackets mark, a form that
contains another before that other: corner pairs before tuples, nested lists before bare ones. No dialect before
``bare_tuple`` reads a tuple alone. A sole point (-1, -1) or (-100, -100) is a refusal, however it is written.
"""
