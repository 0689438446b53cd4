"""Places between tokens or tags: Qwen2-VL, OS-Atlas, Qwen-VL, SeeClick, MiniCPM-V, InternVL, Phi-Ground.

<|box_start|>(500,370),(524,398)<|box_end|>
<|box_start|>(512,384)<|box_end|>
<box>500 370 524 398</box>
<point>512 384</point>
"""

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.pieces import PLACE
from grounding_rewards.parsing.texts import SPACE

BOX_TOKENS = PatternDialect(
    name="box_tokens",
    pattern=rf"(?:<\|box_start\|>|<box>|<bbox>){SPACE}{PLACE}(?:<\|box_end\|>|</box>|</bbox>)",
    signs=("box_start|>", "box>"),
)
"""A box or a point between box tokens; ``corner_pairs`` reads what is left where decoding dropped the tokens."""

POINT_TAG = PatternDialect(
    name="point_tag",
    pattern=rf"<point>{SPACE}{PLACE}</point>",
    signs=("<point>",),
)
"""``<point>512 384</point>``, commas and brackets allowed."""
