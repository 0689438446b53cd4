"""Formats in which data write boxes. Everything past the reading of targets is x1 y1 x2 y2."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from grounding_rewards.errors import RecipeError, TargetError, near, short_repr

Numbers = tuple[float, ...]


class BoxFormat(StrEnum):
    """Formats of four numbers that say a box."""

    XYXY = "xyxy"  #: x1 y1 x2 y2
    XYWH = "xywh"  #: the upper left corner, width and height
    CXCYWH = "cxcywh"  #: the centre, width and height
    YXYX = "yxyx"  #: y1 x1 y2 x2
    XXYY = "xxyy"  #: x1 x2 y1 y2: left, right, top, bottom
    YYXX = "yyxx"  #: y1 y2 x1 x2


FOUR = {
    BoxFormat.XYXY: "4 numbers x1 y1 x2 y2",
    BoxFormat.XYWH: "4 numbers x y w h",
    BoxFormat.CXCYWH: "4 numbers cx cy w h",
    BoxFormat.YXYX: "4 numbers y1 x1 y2 x2",
    BoxFormat.XXYY: "4 numbers x1 x2 y1 y2",
    BoxFormat.YYXX: "4 numbers y1 y2 x1 x2",
}
"""Numbers of a box, for errors."""

_PLACES = {
    BoxFormat.XYXY: (0, 1, 2, 3),
    BoxFormat.YXYX: (1, 0, 3, 2),
    BoxFormat.XXYY: (0, 2, 1, 3),
    BoxFormat.YYXX: (2, 0, 3, 1),
}
"""Places of x1 y1 x2 y2 among the numbers of corners."""


def as_box_format(name: Any) -> BoxFormat | None:
    """Read a format by name; None where nothing says one."""
    if name is None:
        return None
    try:
        return BoxFormat(name)
    except ValueError:
        expected = f"one of {', '.join(BoxFormat)}{near(name, [each.value for each in BoxFormat])}"
        raise RecipeError(f"box_format: got {short_repr(name)}; expected {expected}") from None


def corners(numbers: Numbers, written: BoxFormat) -> Numbers:
    """Return x1 y1 x2 y2 of a box."""
    if written in _PLACES:
        return tuple(numbers[place] for place in _PLACES[written])
    x, y, w, h = numbers
    if written is BoxFormat.XYWH:
        return (x, y, x + w, y + h)
    return (x - w / 2, y - h / 2, x + w / 2, y + h / 2)


def how_to_say(*, own_form: bool) -> str:
    """Return how to say that boxes are x y w h; ``own_form``: the recipe's own form, which options do not change."""
    wire = 'write {"bbox": [x, y, w, h]} with ' if own_form else ""
    others = "cxcywh, yxyx, xxyy, yyxx"
    return f'{wire}--box-format xywh where files are read or converted (or {others}), box_format="xywh" in Python'


def inverted(sample: str | int, field: str, value: Any, box: Numbers, *, own_form: bool) -> TargetError:
    """Return the error of a box that cannot be x1 y1 x2 y2."""
    x1, y1, x2, y2 = box
    fixed = [min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)]
    say = how_to_say(own_form=own_form)
    expected = f"x1 <= x2 and y1 <= y2 (not x y w h; for that {say}); if two corners are swapped: {fixed}"
    error = TargetError(sample, field, value, expected)
    error.inverted, error.own_form = True, own_form
    return error
