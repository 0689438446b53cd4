"""JSON objects with the keys x and y: OpenAI's computer-use actions, Holo1.5's structured output.

{"type": "click", "button": "left", "x": 512, "y": 384}
{"y": 384, "x": 512}
{"type": "drag", "path": [{"x": 512, "y": 384}, {"x": 600, "y": 384}]}
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.pieces import JSON_ACTION, KEY
from grounding_rewards.parsing.texts import NUMBER, SPACE

_FLAT = r"[^{}\[\]]*"
_LIST = rf"\[{_FLAT}\]{_FLAT}"
_PATH = rf"""["']path{KEY}\[[^\[\]]*\]{_FLAT}"""
_FIRST = r"^[^}]*?"
"""Both in the same object: a path's first, where the object has none itself."""

_END = rf"{SPACE}(?:[,}}]|$)"
_USUAL = r"-?[0-9]+(?:\.[0-9]+)?"

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
        rf"""["']x["']: ?(?P<x>{_USUAL}), ?["']y["']: ?(?P<y>{_USUAL})\}}[ \n]*$"""
    ),
    signs=('"x"', "'x'"),
)
"""x and y in one object, in any order; of a drag's path, the place where it starts."""
