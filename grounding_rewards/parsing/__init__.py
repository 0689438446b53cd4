"""Response text to predictions: `parse` runs a dialect over n responses; dialects stand by kind, one kind a file."""

from typing import TYPE_CHECKING

from grounding_rewards._lazy import lazily

if TYPE_CHECKING:
    from grounding_rewards.parsing.auto import (
        ACTION_OS_ATLAS as ACTION_OS_ATLAS, AUTO as AUTO, AUTO_ACTION as AUTO_ACTION,
    )  # fmt: skip
    from grounding_rewards.parsing.calls import ACTION_CALLS as ACTION_CALLS
    from grounding_rewards.parsing.objects import (
        ACTION_BLINK as ACTION_BLINK, ACTION_COMPACT as ACTION_COMPACT, ACTION_JSON as ACTION_JSON,
    )  # fmt: skip
    from grounding_rewards.parsing.responses import Thinking as Thinking, parse as parse
    from grounding_rewards.parsing.places import (
        BARE_LIST as BARE_LIST, BARE_TUPLE as BARE_TUPLE, BARE_TUPLE_WHOLE as BARE_TUPLE_WHOLE, BOX_TOKENS as
        BOX_TOKENS, CLICK_CALL as CLICK_CALL, CORNER_LISTS as CORNER_LISTS, CORNER_TUPLES as CORNER_TUPLES,
        INTEGER_LIST as INTEGER_LIST, JSON_2D as JSON_2D, JSON_COMPACT as JSON_COMPACT, JSON_COORDINATE as
        JSON_COORDINATE, JSON_DISTRIBUTION as JSON_DISTRIBUTION, JSON_REFUSAL as JSON_REFUSAL, JSON_XY as
        JSON_XY, KEYWORD_CALL as KEYWORD_CALL, LIST_BOX as LIST_BOX, LIST_POINT as LIST_POINT,
        LIST_POINT_OR_REFUSAL as LIST_POINT_OR_REFUSAL, LIST_REFUSAL as LIST_REFUSAL, NESTED_LIST as
        NESTED_LIST, POINT_TAG as POINT_TAG, PYAUTOGUI as PYAUTOGUI, REFUSAL as REFUSAL, TOOL_CALL as TOOL_CALL,
        UI_TARS as UI_TARS, XY_TAGS as XY_TAGS,
    )  # fmt: skip
    from grounding_rewards.parsing.published import (
        AGENTCPM as AGENTCPM, BTL_UI as BTL_UI, GUI_R1 as GUI_R1, UI_AGILE as UI_AGILE, UI_R1 as UI_R1, UI_S1 as
        UI_S1, UI_VENUS as UI_VENUS,
    )  # fmt: skip
    from grounding_rewards.parsing.readers import (
        BOX_LIST as BOX_LIST, CROPPED as CROPPED, FIRST_CALL as FIRST_CALL, FIRST_CALL_INTEGERS as
        FIRST_CALL_INTEGERS, JSON_POINT as JSON_POINT, LITERAL_BOX as LITERAL_BOX, MOLMO as MOLMO, POINT_LIST as
        POINT_LIST, THOUGHT_POINT_LIST as THOUGHT_POINT_LIST,
    )  # fmt: skip
    from grounding_rewards.parsing.reading import (
        Answers as Answers, Dialect as Dialect, FirstOf as FirstOf, Form as Form, Found as Found, PatternDialect
        as PatternDialect, TaggedDialect as TaggedDialect,
    )  # fmt: skip

_NAMES = {
    "auto": "ACTION_OS_ATLAS AUTO AUTO_ACTION",
    "calls": "ACTION_CALLS",
    "objects": "ACTION_BLINK ACTION_COMPACT ACTION_JSON",
    "responses": "Thinking parse",
    "places": """
        BARE_LIST BARE_TUPLE BARE_TUPLE_WHOLE BOX_TOKENS CLICK_CALL CORNER_LISTS CORNER_TUPLES INTEGER_LIST JSON_2D
        JSON_COMPACT JSON_COORDINATE JSON_DISTRIBUTION JSON_REFUSAL JSON_XY KEYWORD_CALL LIST_BOX LIST_POINT
        LIST_POINT_OR_REFUSAL LIST_REFUSAL NESTED_LIST POINT_TAG PYAUTOGUI REFUSAL TOOL_CALL UI_TARS XY_TAGS
    """,
    "published": "AGENTCPM BTL_UI GUI_R1 UI_AGILE UI_R1 UI_S1 UI_VENUS",
    "readers": """
        BOX_LIST CROPPED FIRST_CALL FIRST_CALL_INTEGERS JSON_POINT LITERAL_BOX MOLMO POINT_LIST THOUGHT_POINT_LIST
    """,
    "reading": "Answers Dialect FirstOf Form Found PatternDialect TaggedDialect",
}
__all__, __getattr__ = lazily(__name__, _NAMES)  # a recipe has one dialect, and the patterns of all take long
