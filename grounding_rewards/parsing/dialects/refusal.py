"""Refusals: answers that nothing on the screen fits.

refusal
<answer>[-1, -1]</answer>
{"point_2d": [-1, -1]}
{"point_2d": null}
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.patterns import KEY, either_case
from grounding_rewards.parsing.texts import SPACE

_SENTINEL = "|".join(rf"{number}{SPACE},{SPACE}{number}" for number in ("-1", "-100"))
_WORD = f"(?:{either_case('refusal|null|none|there are none')})"
_ANSWER = rf"""["'`]*(?:{_WORD}|[(\[]{SPACE}(?:{_SENTINEL}){SPACE}[)\]])["'`.]*"""

REFUSAL = PatternDialect(
    name="refusal",
    pattern=rf"{_ANSWER}|<answer>{SPACE}{_ANSWER}{SPACE}</answer>",
    whole=True,
)
"""The whole answer is refusal, null, none or "There are none.", any case, or -1, -1 or -100, -100.

Quotes around it, a full stop and answer tags do not matter.
"""

# With the key in front: null elsewhere in an object begins no answer.
_NOTHING = tuple(
    key + value for key in ("point_2d", "coordinate") for value in ('": null', '":null', '": None', "': None")
)
_LABEL = rf"""["']label{KEY}["'][^"'{{}}]*["']{SPACE}"""

_NULL = (
    rf"""^[^{{}}(\[]*(?:\[{SPACE})?\{{{SPACE}["'](?:{"|".join(_NOTHING)}){SPACE}(?:,{SPACE}{_LABEL})?\}}"""
    r"[^{}(\[]*$"
)

JSON_REFUSAL = PatternDialect(
    name="json_refusal",
    pattern=(
        r"^(?:[^\[]*\[)?"
        rf"""[^\[\]]*["'](?:point_2d|coordinate|point|POINT){KEY}\[{SPACE}(?:{_SENTINEL}){SPACE}\][^\[]*$"""
        f"|{_NULL}"
    ),
    signs=("-1", *_NOTHING),
)
"""The only point in an object, or in a list of one object, is -1, -1 or -100, -100; tool calls are objects, too.

Or the only object holds nothing but null and perhaps a label, and no other bracket could hold a place.
"""

NULL_REFUSAL = PatternDialect(name="json_refusal", pattern=_NULL, signs=_NOTHING)
"""The same with null alone: beside an action, -1, -1 may mean that the action has no place."""
