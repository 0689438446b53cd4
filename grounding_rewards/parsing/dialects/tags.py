"""Molmo2's points: the image's number, then number, x and y of each point.

<points coords="1 1 105 205 2 300 400">save buttons</points>

Molmo's older ``<point x="10.5" y="20.5">`` is in percent, a unit that no coordinate space here has: it is not read.
"""

from __future__ import annotations

import re

from grounding_rewards.parsing.pieces import SPACES
from grounding_rewards.parsing.reader_dialect import Place, ReaderDialect
from grounding_rewards.parsing.texts import SPACE

_POINTS = re.compile(r"""<points? coords=["']([^"'<>]*)["']""")
_IMAGES = re.compile(r"[;:,\t]")
_NUMERAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def read_points(text: str) -> list[Place] | None:
    """All points of all tags, in order; None where the numbers of one do not come in threes after the image's.

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
"""Every point is an answer, so that a policy says which of several counts."""
