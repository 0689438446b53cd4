"""Places between tokens or tags.

<|box_start|>(500,370),(524,398)<|box_end|>                     Qwen2-VL, OS-Atlas
<box>500 370 524 398</box>                                      Qwen-VL, SeeClick, MiniCPM-V, InternVL, Phi-Ground
<point>512 384</point>                                          the same, for points
<x>512</x><y>384</y>
<points coords="1 1 105 205 2 300 400">save buttons</points>    Molmo2

Molmo's older ``<point x="10.5" y="20.5">`` is in percent, a unit that no coordinate space here has: it is not read.
"""

from __future__ import annotations

import re

from grounding_rewards.parsing.pattern_dialect import PatternDialect
from grounding_rewards.parsing.patterns import PLACE, SPACES
from grounding_rewards.parsing.reader_dialect import Place, ReaderDialect
from grounding_rewards.parsing.texts import NUMBER, SPACE

BOX_TOKENS = PatternDialect(
    name="box_tokens",
    pattern=rf"(?:<\|box_start\|>|<box>|<bbox>){SPACE}{PLACE}(?:<\|box_end\|>|</box>|</bbox>)",
    signs=("box_start|>", "box>"),
)
"""A box or a point between box tokens; ``corner_tuples`` reads the rest where decoding dropped the tokens."""

POINT_TAG = PatternDialect(
    name="point_tag",
    pattern=rf"<point>{SPACE}{PLACE}</point>",
    signs=("<point>",),
)
"""``<point>512 384</point>``, commas and brackets allowed."""

XY_TAGS = PatternDialect(
    name="xy_tags",
    pattern=(rf"<x>{SPACE}(?P<x>{NUMBER}){SPACE}</x>{SPACE}(?:,{SPACE})?<y>{SPACE}(?P<y>{NUMBER}){SPACE}</y>"),
    signs=("<x>",),
)
"""A tag for each coordinate, x before y; white space or a comma between them."""

_POINTS = re.compile(r"""<points? coords=["']([^"'<>]*)["']""")
_IMAGES = re.compile(r"[;:,\t]")
_NUMERAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def read_points(text: str) -> list[Place] | None:
    """Return the points of all tags: after an image's number, the number, x and y of each point.

    None if the numbers after an image's do not come in threes.

    >>> read_points('<points coords="1 1 105 205 2 300 400">save buttons</points>')
    [(105.0, 205.0), (300.0, 400.0)]
    """
    places: list[Place] = []
    for coords in _POINTS.findall(text):
        for image in _IMAGES.split(coords):
            numerals = image.split()
            if len(numerals) % 3 != 1 or not all(map(_NUMERAL.fullmatch, numerals)):
                return None
            numbers = list(map(float, numerals))
            places += zip(numbers[2::3], numbers[3::3], strict=True)
    return places or None


MOLMO = ReaderDialect(
    name="molmo",
    read=read_points,
    pattern=(
        rf"""^{SPACE}<points? coords=["'][0-9]+{SPACES}[0-9]+{SPACES}(?P<x>[0-9]+(?:\.[0-9]+)?){SPACES}"""
        rf"""(?P<y>[0-9]+(?:\.[0-9]+)?)["']>[^<>]*</points?>{SPACE}$"""
    ),
    signs=("coords=",),
)
"""Molmo2's points; each is an answer, so that a policy decides which of several counts."""
