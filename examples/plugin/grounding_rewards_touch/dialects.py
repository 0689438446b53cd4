"""Our model's form of an answer: ``<tap>512, 384</tap>``."""

from __future__ import annotations

from grounding_rewards.parsing import PatternDialect
from grounding_rewards.parsing.texts import NUMBER, SPACE

TAP_TAG = PatternDialect(
    name="tap_tag",
    pattern=rf"<tap>{SPACE}(?P<x>{NUMBER}){SPACE},{SPACE}(?P<y>{NUMBER}){SPACE}</tap>",
    signs=("<tap>",),
)
"""Two numbers in a tag, anywhere in the text."""
