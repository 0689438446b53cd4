"""A tag for each coordinate.

<x>512</x><y>384</y>
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.texts import NUMBER, SPACE

XY_TAGS = PatternDialect(
    name="xy_tags",
    pattern=(rf"<x>{SPACE}(?P<x>{NUMBER}){SPACE}</x>{SPACE}(?:,{SPACE})?<y>{SPACE}(?P<y>{NUMBER}){SPACE}</y>"),
    signs=("<x>",),
)
"""x, then y; white space or a comma between them."""
