"""Response text to predictions: `parse` runs a dialect over n responses; dialects stand by kind, one kind a file."""

from typing import TYPE_CHECKING

from grounding_rewards._lazy import lazily

if TYPE_CHECKING:
    from grounding_rewards.parsing.auto import *
    from grounding_rewards.parsing.places import *
    from grounding_rewards.parsing.published import *
    from grounding_rewards.parsing.readers import *
    from grounding_rewards.parsing.reading import *
    from grounding_rewards.parsing.responses import *

_NAMES = {
    "auto": """
        ACTION_BLINK ACTION_CALLS ACTION_COMPACT ACTION_JSON ACTION_OS_ATLAS AUTO AUTO_ACTION BARE_LIST BOX_TOKENS
        CLICK_CALL CORNER_LISTS CORNER_TUPLES CROPPED JSON_2D JSON_COMPACT JSON_COORDINATE JSON_DISTRIBUTION JSON_XY
        KEYWORD_CALL MOLMO NESTED_LIST POINT_TAG PYAUTOGUI TOOL_CALL UI_TARS XY_TAGS
    """,
    "responses": "Thinking parse",
    "places": """
        BARE_TUPLE BARE_TUPLE_WHOLE INTEGER_LIST LIST_BOX LIST_POINT LIST_POINT_OR_REFUSAL LIST_REFUSAL POINT_PAIR
        REFUSAL
    """,
    "published": "AGENTCPM BTL_UI GUI_R1 UI_AGILE UI_R1 UI_S1 UI_VENUS",
    "readers": """
        BOX_LIST FIRST_CALL FIRST_CALL_INTEGERS JSON_POINT LAST_PLACE LITERAL_BOX LITERAL_PAIR POINT_LIST
        THOUGHT_POINT_LIST
    """,
    "reading": "Answers Dialect FirstOf Form PatternDialect TaggedDialect",
}
__all__, __getattr__ = lazily(__name__, _NAMES)  # a recipe has one dialect, and the patterns of all take long
