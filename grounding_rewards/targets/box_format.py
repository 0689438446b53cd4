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


FOUR = {
    BoxFormat.XYXY: "4 numbers x1 y1 x2 y2",
    BoxFormat.XYWH: "4 numbers x y w h",
    BoxFormat.CXCYWH: "4 numbers cx cy w h",
}
"""Numbers of a box, for errors."""


def as_box_format(name: Any) -> BoxFormat | None:
    """Read a format by name; None where nothing says one.

    Raises:
        RecipeError: there is no such format.

    >>> as_box_format("xywh")
    <BoxFormat.XYWH: 'xywh'>
    """
    if name is None:
        return None
    try:
        return BoxFormat(name)
    except ValueError:
        expected = f"one of {', '.join(BoxFormat)}{near(name, [each.value for each in BoxFormat])}"
        raise RecipeError(f"box_format: got {short_repr(name)}; expected {expected}") from None


def corners(numbers: Numbers, written: BoxFormat) -> Numbers:
    """Return x1 y1 x2 y2 of a box.

    >>> corners((10, 20, 30, 40), BoxFormat.XYWH), corners((10, 20, 30, 40), BoxFormat.CXCYWH)
    ((10, 20, 40, 60), (-5.0, 0.0, 25.0, 40.0))
    """
    x, y, w, h = numbers
    if written is BoxFormat.XYWH:
        return (x, y, x + w, y + h)
    return numbers if written is BoxFormat.XYXY else (x - w / 2, y - h / 2, x + w / 2, y + h / 2)


def how_to_say(*, own_form: bool) -> str:
    """Return how to say that boxes are x y w h, in Python and on the command line.

    ``own_form``: the recipe's own form, which options do not change.
    """
    wire = 'write {"bbox": [x, y, w, h]} with ' if own_form else ""
    return (
        f'{wire}--box-format xywh where files are read or converted (cxcywh by the centre), box_format="xywh" in Python'
    )


def inverted(sample: str | int, field: str, value: Any, box: Numbers, *, own_form: bool) -> TargetError:
    """Return the error of a box that cannot be x1 y1 x2 y2."""
    x1, y1, x2, y2 = box
    fixed = [min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)]
    say = how_to_say(own_form=own_form)
    expected = f"x1 <= x2 and y1 <= y2 (not x y w h; for that {say}); if two corners are swapped: {fixed}"
    error = TargetError(sample, field, value, expected)
    error.inverted, error.own_form = True, own_form
    return error
