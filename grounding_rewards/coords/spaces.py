"""Coordinate spaces, and the only code in which coordinates change units.

==============  ====================================================  ==================
space           coordinates run over                                  extent (w, h)
==============  ====================================================  ==================
``pixel``       the original image                                    ``image_size``
``model_pixel`` the image that the model saw after resizing           ``model_image_size``
``unit``        the image's sides as 0 to 1                           (1, 1)
``thousandths`` the image's sides as 0 to 1000                        (1000, 1000)
==============  ====================================================  ==================

``resizing.model_image_size`` says what a trainer and a model's image processor make of an image's size.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Any, Self

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import SpaceError

COORDINATE_LIMIT = 1e12  # far beyond any screen, and small enough that squares and areas stay finite
"""Numbers beyond this, positive or negative, belong to no screen: responses' are read as this, targets' are errors."""


class CoordSpace(StrEnum):
    """The four units in which a place on a screen is written.

    Attributes:
        extent: length of both sides where the space fixes it (unit 1, thousandths 1000), else None.
        size_field: the target field that gives the extent, or None where the space fixes it.
    """

    PIXEL = "pixel", None, "image_size"
    MODEL_PIXEL = "model_pixel", None, "model_image_size"
    UNIT = "unit", 1.0, None
    THOUSANDTHS = "thousandths", 1000.0, None

    extent: float | None
    size_field: str | None

    def __new__(cls, name: str, extent: float | None = None, size_field: str | None = None) -> Self:
        """Make a member whose value is its name."""
        space = str.__new__(cls, name)
        space._value_, space.extent, space.size_field = name, extent, size_field
        return space


PIXEL, MODEL_PIXEL, UNIT, THOUSANDTHS = SPACES = tuple(CoordSpace)
CODES = {space: code for code, space in enumerate(SPACES)}
UNDECLARED = -1
"""Stands for "no space declared" where spaces are kept as codes, indices into SPACES."""

_BY_NAME = {str(space): space for space in CoordSpace}


def as_space(name: Any) -> CoordSpace:
    """Read a space by name."""
    space = _BY_NAME.get(name) if isinstance(name, str) else None
    if space is None:
        raise SpaceError(f"unknown space {name!r}; use one of {', '.join(CoordSpace)}")
    return space


@cache
def sizes_needed(*spaces: CoordSpace | None, into: CoordSpace) -> tuple[str, ...]:
    """Return names of the size fields that converting from ``spaces`` into ``into`` reads."""
    if all(space is None or space == into for space in spaces):
        return ()
    fields = {space.size_field for space in (*spaces, into) if space is not None}
    return tuple(sorted(field for field in fields if field))


def extents(space: CoordSpace, image_sizes: Floats, model_image_sizes: Floats) -> Floats:
    """Return width and height of the image in ``space``, one row a sample: (n, 2), NaN where unknown."""
    if space.extent is not None:
        return np.full(image_sizes.shape, space.extent)
    return image_sizes if space == CoordSpace.PIXEL else model_image_sizes


def convert(
    coordinates: Floats, source: CoordSpace, into: CoordSpace, image_sizes: Floats, model_image_sizes: Floats
) -> Floats:
    """Bring points (n, 2) or boxes (n, 4) from one space into another, in one step; NaN where a size is unknown.

    With w the extent of ``source`` and W that of ``into``: x * (W / w), and x / w into ``unit``, so that 405
    thousandths are exactly 0.405.
    """
    if source is into:
        return coordinates
    old = _extents(source, image_sizes, model_image_sizes, coordinates)
    if into is UNIT:  # x / w rounds once; x * (1 / w) would round twice
        return coordinates / old
    # In this order: (x * W) / w differs in the last bit, and on a border the last bit decides.
    return coordinates * (_extents(into, image_sizes, model_image_sizes, coordinates) / old)


def moves_px(
    starts: Floats, ends: Floats, space: CoordSpace | None, image_sizes: Floats, model_image_sizes: Floats
) -> Floats:
    """Return (n, 2) moves from points to points or centres of boxes, in pixels; in ``space`` where no size is known."""
    moves = (ends[:, :2] + ends[:, -2:]) / 2 - starts
    if space is None or space is PIXEL:
        return moves
    pixels = convert(moves, space, PIXEL, image_sizes, model_image_sizes)
    return np.where(np.isnan(pixels), moves, pixels)


def _extents(space: CoordSpace, image_sizes: Floats, model_image_sizes: Floats, like: Floats) -> Floats | float:
    """Return the extent that each column of ``like`` runs over."""
    if space.extent is not None:
        return space.extent
    pairs = image_sizes if space is PIXEL else model_image_sizes
    return pairs if like.shape[-1] == 2 else np.concatenate((pairs, pairs), axis=-1)
