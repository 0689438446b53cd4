"""Response text to predictions: `parse` runs a dialect over n responses; dialects stand by kind, one kind a file."""

from typing import TYPE_CHECKING

from grounding_rewards._lazy import lazily

if TYPE_CHECKING:
    from grounding_rewards.parsing.auto import *
    from grounding_rewards.parsing.calls import *
    from grounding_rewards.parsing.lines import *
    from grounding_rewards.parsing.objects import *
    from grounding_rewards.parsing.places import *
    from grounding_rewards.parsing.published import *
    from grounding_rewards.parsing.readers import *
    from grounding_rewards.parsing.reading import *
    from grounding_rewards.parsing.responses import *

_NAMES = {
    "auto": "AUTO AUTO_ACTION",
    "calls": "ACTION_CALLS",
    "lines": "ACTION_OS_ATLAS",
    "objects": "ACTION_BLINK ACTION_COMPACT ACTION_JSON",
    "responses": "Thinking parse",
    "places": """
        BARE_LIST BARE_TUPLE BARE_TUPLE_WHOLE BOX_TOKENS CLICK_CALL CORNER_LISTS CORNER_TUPLES INTEGER_LIST JSON_2D
        JSON_COMPACT JSON_COORDINATE JSON_DISTRIBUTION JSON_REFUSAL JSON_XY KEYWORD_CALL LIST_BOX LIST_POINT
        LIST_POINT_OR_REFUSAL LIST_REFUSAL NESTED_LIST POINT_PAIR POINT_TAG PYAUTOGUI REFUSAL TOOL_CALL UI_TARS XY_TAGS
    """,
    "published": "AGENTCPM BTL_UI GUI_R1 UI_AGILE UI_R1 UI_S1 UI_VENUS",
    "readers": """
        BOX_LIST CROPPED FIRST_CALL FIRST_CALL_INTEGERS JSON_POINT LAST_PLACE LITERAL_BOX LITERAL_PAIR MOLMO POINT_LIST
        THOUGHT_POINT_LIST
    """,
    "reading": "Answers Dialect FirstOf Form Found PatternDialect TaggedDialect",
}
__all__, __getattr__ = lazily(__name__, _NAMES)  # a recipe has one dialect, and the patterns of all take long
