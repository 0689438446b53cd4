"""Order and unit in which responses write x and y, where a space alone does not say them.

``"xy"`` is x before y in the space's own unit, and ``"yx"`` is y first, as Gemini writes points and boxes. A number
behind an axis divides what is written: ``"x/2,y/2"`` for answers on a screen that is scaled by 2, ``"x/100,y/100"``
in unit space, or ``"percent"``, for percent. One that is added comes first: ``"x+0.5,y+0.5"`` for numbers of bins,
whose centres are meant.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError, short_repr

_AXIS = r"([xy])([+-][0-9.]+)?(?:/([0-9.e+-]+))?"
_WRITTEN = re.compile(f"{_AXIS},?{_AXIS}", re.ASCII)


@dataclass(frozen=True)
class Axes:
    """Order and unit of x and y.

    >>> import numpy as np
    >>> str(Axes(True)), str(Axes(scale=(2.0, 1.5))), Axes(scale=(2.0, 1.5)).read(np.array([[400.0, 300.0]])).tolist()
    ('yx', 'x/2,y/1.5', [[200.0, 200.0]])
    """

    y_first: bool = False  # True where y is written before x
    # the factors by which what is written is larger than in its space, of x and of y
    scale: tuple[float, float] = (1.0, 1.0)
    offset: tuple[float, float] = (0.0, 0.0)  # what is added to the written x and y before that

    def __str__(self) -> str:
        named = [*zip("xy", self.offset, self.scale, strict=True)][:: -1 if self.y_first else 1]
        if (self.scale, self.offset) == ((1.0, 1.0), (0.0, 0.0)):
            return "".join(name for name, *_ in named)
        return ",".join(
            f"{name}{f'{offset:+.6g}' if offset else ''}{f'/{scale:.6g}' if scale != 1 else ''}"
            for name, offset, scale in named
        )

    def read(self, written: Floats) -> Floats:
        """Return points (n, 2) or boxes (n, 4) x1 y1 x2 y2 of numbers as written."""
        pairs = _pairs(written)
        turned: Floats = ((pairs[:, :, ::-1] if self.y_first else pairs) + self.offset) / self.scale
        return turned.reshape(written.shape)

    def write(self, places: Floats) -> Floats:
        """Return the numbers that ``read`` reads as these points or boxes."""
        pairs = _pairs(places) * self.scale - self.offset
        turned: Floats = pairs[:, :, ::-1] if self.y_first else pairs
        return turned.reshape(places.shape)


def _pairs(places: Floats) -> Floats:
    return places.reshape(len(places), places.shape[1] // 2, 2)


XY = "xy"
_PERCENT = "x/100,y/100"


@cache
def axes_named(text: Any) -> Axes:
    """Read axes as text writes them, such as ``y/2,x/2``."""
    text = _PERCENT if text == "percent" else text
    found = _WRITTEN.fullmatch(text.replace(" ", "")) if isinstance(text, str) else None
    groups = found.groups() if found else ()
    try:
        numbers = {
            groups[at]: (float(groups[at + 1] or 0), float(groups[at + 2] or 1)) for at in range(0, len(groups), 3)
        }
    except ValueError:
        numbers = {}
    if len(numbers) != 2 or not all(0 < scale < math.inf for _, scale in numbers.values()):
        expected = "xy, yx, or each with a number above 0 that divides it, such as x/2,y/1.5"
        raise RecipeError(f"option axes: got {short_repr(text)}; expected {expected}")
    (x, wide), (y, high) = numbers["x"], numbers["y"]
    return Axes(groups[0] == "y", (wide, high), (x, y))
