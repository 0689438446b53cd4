"""Image sizes, as data sets, files, configs and callers write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.resizing import size_table
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import RecipeError
from grounding_rewards.literals import literal, numbers_of

_BETWEEN = re.compile(r"(\d)\s*[xX×*]\s*(\d)")
_SIDES = ("width", "height", "w", "h")


def read_size(value: Any) -> tuple[float, float] | None:
    """Read a width and a height from a list, tuple, array or mapping, a list of one of these, or a text; else None."""
    if type(value) is list and len(value) == 2 and type(value[0]) is type(value[1]) is int:  # mostly so
        width, height = value
        return (float(width), float(height)) if 1 <= min(value) <= max(value) <= COORDINATE_LIMIT else None
    if isinstance(value, str):
        value = numbers_of(_BETWEEN.sub(r"\1 \2", value)) or literal(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):
        sides = {str(key)[:1].casefold(): side for key, side in value.items() if str(key).casefold() in _SIDES}
        value = [sides.get("w"), sides.get("h")]
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    width, height = (side.item() if isinstance(side, np.generic) else side for side in value)
    if not all(type(side) in (int, float) and 1 <= side <= COORDINATE_LIMIT for side in (width, height)):
        return None
    return float(width), float(height)


def read_sizes(name: str, sizes: Any, rows: int) -> Floats:
    """Return (n, 2) sizes of a caller's (n, 2), one for all, or a list with None where a row has none, which is NaN."""
    table = size_table(sizes)
    if rows == 0 and table.size == 0:
        return np.zeros((0, 2))
    if table.shape not in ((2,), (rows, 2)):
        raise RecipeError(
            f"{name}: got {sizes!r:.80}; expected [width, height], or one such pair for each of {rows} rows"
        )
    return np.broadcast_to(table, (rows, 2))
