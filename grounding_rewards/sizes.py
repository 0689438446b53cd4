"""The size of an image as data sets, files and configs write it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from grounding_rewards.spaces import COORDINATE_LIMIT


def read_size(value: Any) -> tuple[float, float] | None:
    """A width and a height, from a list, tuple or array of the two, or from its JSON; None where it is none of them.

    >>> read_size([1920, 1080]), read_size("[16, 16]"), read_size("large"), read_size([0, 5])
    ((1920.0, 1080.0), (16.0, 16.0), None, None)
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    width, height = (side.item() if isinstance(side, np.generic) else side for side in value)
    if not all(type(side) in (int, float) and 1 <= side <= COORDINATE_LIMIT for side in (width, height)):
        return None
    return float(width), float(height)
