"""JSON objects whose keys mark a place, fenced or not, in a list or not.

{"point_2d": [512, 384], "label": "save"}                    Qwen-VL, InfiGUI-G1, UI-RFT, BTL-UI
[{"bbox_2d": [500, 370, 524, 398]}]                          Qwen-VL, GUI-G1
{"action": "click", "coordinate": [512, 384]}                UI-R1, UI-AGILE, UI-S1, MAI-UI
{'action': 'click', 'point': [512, 384]}                     GUI-R1
{'action': 'click', 'mean': [512, 384], 'variance': [25, 16]}
{"thought": "save it", "POINT": [512, 384]}                  AgentCPM-GUI
{"type": "click", "button": "left", "x": 512, "y": 384}      OpenAI's computer use, Holo1.5
{"type": "drag", "path": [{"x": 512, "y": 384}, {"x": 600, "y": 384}]}
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.patterns import BRACKETED_POINT, CORNERS, JSON_ACTION, JSON_OBJECT, KEY, X_Y, XY
from grounding_rewards.parsing.texts import NUMBER, SPACE

_OPEN = rf"{KEY}\[{SPACE}"
_LABEL = r"""(?:, ?"label": ?"[^"\[\]{}]*")?"""

JSON_2D = PatternDialect(
    name="json_2d",
    pattern=rf"""["'](?:point_2d{_OPEN}{X_Y}|bbox_2d{_OPEN}{CORNERS}){SPACE}\]""",
    signs=("point_2d", "bbox_2d"),
    usual=(  # no blank in it can be matched in two ways: RE2 then needs half the time
        rf"""^(?:```(?:json)?)?[ \n]*(?:\[[ \n]*)?\{{"point_2d": ?\[{XY}\]{_LABEL}\}}[ \n]*(?:\][ \n]*)?"""
        r"(?:```[ \n]*)?$"
    ),
)
"""``point_2d`` or ``bbox_2d`` in single or double quotes, integers or decimals; a box's point is its centre."""

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
"""A coordinate and, often, an action in one object that holds no other, keys in any order; of a drag, its start."""

JSON_DISTRIBUTION = PatternDialect(
    name="json_distribution",
    pattern=JSON_OBJECT,
    inner=(rf"""["']mean{KEY}{BRACKETED_POINT}""", JSON_ACTION),
    signs=('"mean"', "'mean'"),
)
"""A click as a normal distribution: its ``mean`` is the place; the variance is not read."""

JSON_COMPACT = PatternDialect(
    name="json_compact",
    pattern=rf"""(?:^|[{{}}])(?P<body>[^{{}}]*["']POINT{KEY}{BRACKETED_POINT}[^{{}}]*)""",
    inner=(rf"""["']POINT{KEY}{BRACKETED_POINT}""", rf"""["'](?P<action>to){KEY}"""),
    signs=("POINT",),
    usual=rf"""^\{{(?:"thought": ?"[^":\[{{}}]*", ?)?"POINT": ?\[{XY}\]\}}[ \n]*$""",
)
"""``POINT`` of AgentCPM-GUI. A tap names no action; with ``to`` in the same object it is a swipe, action ``"to"``."""

_FLAT = r"[^{}\[\]]*"
_LIST = rf"\[{_FLAT}\]{_FLAT}"
_PATH = rf"""["']path{KEY}\[[^\[\]]*\]{_FLAT}"""
# x and y stand in the same object; where that has none itself, in the first one of its path.
_FIRST = r"^[^}]*?"
_END = rf"{SPACE}(?:[,}}]|$)"
_NUMERAL = r"-?[0-9]+(?:\.[0-9]+)?"

JSON_XY = PatternDialect(
    name="json_xy",
    pattern=rf"""\{{{SPACE}(?P<body>["']{_FLAT}(?:{_LIST})*(?:{_PATH})?|{_PATH})\}}""",
    inner=(
        rf"""{_FIRST}["']x{KEY}(?P<x>{NUMBER}){_END}""",
        rf"""{_FIRST}["']y{KEY}(?P<y>{NUMBER}){_END}""",
        JSON_ACTION,
    ),
    usual=(
        r"""^\{(?:["'](?:type|action)["']: ?["'](?P<action>[A-Za-z_]*)["'], ?)?"""
        r"""(?:["']button["']: ?["'][a-z]*["'], ?)?"""
        rf"""["']x["']: ?(?P<x>{_NUMERAL}), ?["']y["']: ?(?P<y>{_NUMERAL})\}}[ \n]*$"""
    ),
    signs=('"x"', "'x'"),
)
"""``x`` and ``y`` in one object, in any order; of a drag's path, its start."""
