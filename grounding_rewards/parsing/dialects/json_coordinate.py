"""JSON objects with a coordinate and, often, an action: UI-R1, GUI-R1, UI-AGILE, UI-S1, MAI-UI.

<answer>[{'action': 'click', 'coordinate': [512, 384]}]</answer>
<answer>[{'action': 'click', 'point': [512, 384], 'input_text': 'no input text'}]</answer>
<action>{"action": "click", "coordinate": [512, 384]}</action>
<answer>{"coordinate": [512, 384]}</answer>
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.pieces import BRACKETED_POINT, JSON_ACTION, JSON_OBJECT, KEY, XY

JSON_COORDINATE = PatternDialect(
    name="json_coordinate",
    pattern=JSON_OBJECT,
    inner=(rf"""["'](?:(?:start_)?coordinate|point|position){KEY}{BRACKETED_POINT}""", JSON_ACTION),
    usual=(
        r"""^(?:<answer>)?\[?\{["']action["']: ?["'](?P<action>[A-Za-z_]*)["'], ?["'](?:coordinate|point)["']: ?"""
        rf"""\[{XY}\](?:, ?'input_text': ?'[^'\[\]{{}}]*')?\}}\]?(?:</answer>)?[ \n]*$"""
    ),
    signs=tuple(f"{key}{quote}" for key in ("coordinate", "point", "position") for quote in "\"'"),
)
"""One object that holds no other; of a drag, the place where it starts. Keys in any order, either quote."""
