"""Order and unit in which responses write x and y, where a space alone does not say them.

``"xy"`` is x before y in the space's own unit, and ``"yx"`` is y first, as Gemini writes points and boxes. A number
behind an axis divides what is written: ``"x/2,y/2"`` for answers on a screen that is scaled by 2, ``"x/100,y/100"`` in
unit space for percent.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError, short_repr

_WRITTEN = re.compile(r"([xy])(?:/([0-9.e+-]+))?,?([xy])(?:/([0-9.e+-]+))?", re.ASCII)


@dataclass(frozen=True)
class Axes:
    """Order and unit of x and y.

    Attributes:
        y_first: whether y is written before x.
        scale: the factors by which what is written is larger than in its space, of x and of y.

    >>> import numpy as np
    >>> str(Axes(True)), str(Axes(scale=(2.0, 1.5))), Axes(scale=(2.0, 1.5)).read(np.array([[400.0, 300.0]])).tolist()
    ('yx', 'x/2,y/1.5', [[200.0, 200.0]])
    """

    y_first: bool = False
    scale: tuple[float, float] = (1.0, 1.0)

    def __str__(self) -> str:
        named = [("x", self.scale[0]), ("y", self.scale[1])][:: -1 if self.y_first else 1]
        if self.scale == (1.0, 1.0):
            return "".join(name for name, _ in named)
        return ",".join(f"{name}/{scale:.6g}" for name, scale in named)

    def read(self, written: Floats) -> Floats:
        """Return points (n, 2) or boxes (n, 4) x1 y1 x2 y2 of numbers as written."""
        pairs = _pairs(written)
        turned: Floats = (pairs[:, :, ::-1] if self.y_first else pairs) / self.scale
        return turned.reshape(written.shape)

    def write(self, places: Floats) -> Floats:
        """Return the numbers that ``read`` reads as these points or boxes."""
        pairs = _pairs(places) * self.scale
        turned: Floats = pairs[:, :, ::-1] if self.y_first else pairs
        return turned.reshape(places.shape)


def _pairs(places: Floats) -> Floats:
    return places.reshape(len(places), places.shape[1] // 2, 2)


XY = "xy"


@cache
def axes_named(text: Any) -> Axes:
    """Read axes as text writes them.

    Raises:
        RecipeError: it is something else.

    >>> axes_named("y/2,x/2")
    Axes(y_first=True, scale=(2.0, 2.0))
    """
    found = _WRITTEN.fullmatch(text.replace(" ", "")) if isinstance(text, str) else None
    try:
        scales = {found[1]: float(found[2] or 1), found[3]: float(found[4] or 1)} if found else {}
    except ValueError:
        scales = {}
    if found is None or len(scales) != 2 or not all(0 < scale < math.inf for scale in scales.values()):
        expected = "xy, yx, or each with a number above 0 that divides it, such as x/2,y/1.5"
        raise RecipeError(f"option axes: got {short_repr(text)}; expected {expected}")
    return Axes(found[1] == "y", (scales["x"], scales["y"]))
