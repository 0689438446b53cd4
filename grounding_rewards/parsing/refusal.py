"""Refusals: the model says that nothing on the screen fits."""

from grounding_rewards.parsing.dialect import PatternDialect
from grounding_rewards.parsing.texts import SPACE

_SENTINEL = "|".join(rf"{number}{SPACE},{SPACE}{number}" for number in ("-1", "-100"))

REFUSAL = PatternDialect(
    name="refusal",
    pattern=rf"""["'`]*(?:(?i:refusal|null|none)|[(\[]{SPACE}(?:{_SENTINEL}){SPACE}[)\]])["'`.]*""",
    whole=True,
)
"""The whole answer is refusal, null or none (any case, quotes and full stop aside), or -1, -1 or -100, -100."""
