"""Means, spreads and z-scores of the rows of each group; groups are numbered from 0."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, numbered
from grounding_rewards.errors import RecipeError

Codes = NDArray[np.int64]
Names = Sequence[Hashable] | NDArray[Any]

EPSILON = 1e-6
"""Added to standard deviations before dividing by them."""

NO_SIGNAL = 1e-6
"""Groups whose largest and smallest value are no farther apart count as without variance."""

_SQUARABLE = 400  # powers of two; the squares of millions of such numbers add up to a float


def codes_of(name: str, values: Names, rows: int) -> Codes:
    """Number the distinct values, from 0; ``name`` is what an error calls them."""
    numbers: dict[Hashable, int] = {}
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "i" and len(values) == rows:
        return numbered(values)
    try:
        plain = values.tolist() if hasattr(values, "tolist") else values  # tensors, too, whose rows hash as objects
        codes = np.array([numbers.setdefault(value, len(numbers)) for value in plain], dtype=np.int64)
        known = all(value == value for value in numbers)  # a NaN, which equals nothing, would be a group of its own
    except TypeError:
        known = False
    if not known:
        raise RecipeError(f"{name}: got {values!r:.80}; expected texts or numbers")
    if len(codes) != rows:
        raise RecipeError(f"{name}: got {len(codes)}; expected one for each of {rows} rows")
    return codes


def means(value: Floats, group: Codes) -> Floats:
    """Return the mean of each row's group."""
    mean: Floats = np.bincount(group, weights=value) / np.maximum(np.bincount(group), 1)
    return mean[group]


def varied(value: Floats, group: Codes, limit: float | Floats = NO_SIGNAL) -> NDArray[np.bool_]:
    """Return which rows are of a group with max - min > limit.

    >>> varied(np.array([0.1, 0.1, 0.0, 1.0]), np.array([0, 0, 1, 1]))
    array([False, False,  True,  True])
    """
    groups = int(group.max(initial=-1)) + 1
    largest, smallest = np.full(groups, -np.inf), np.full(groups, np.inf)
    np.maximum.at(largest, group, value)
    np.minimum.at(smallest, group, value)
    rows: NDArray[np.bool_] = (largest - smallest > limit)[group]
    return rows


def normalised(value: Floats, group: Codes, epsilon: float) -> Floats:
    """Return (value - mean) / (std + epsilon) within each group, 0.0 in groups without variance.

    The standard deviation is the unbiased one, of m - 1.

    >>> normalised(np.array([1.0, 0.0, 0.6, 0.6]), np.array([0, 0, 1, 1]), 1e-6).round(3)
    array([ 0.707, -0.707,  0.   ,  0.   ])
    """
    size = np.bincount(group)
    scale = _scale(value, group, len(size))
    value = value if (scale == 1).all() else value / scale[group]
    centred = value - means(value, group)
    std = np.sqrt(np.bincount(group, weights=centred**2) / np.maximum(size - 1, 1))
    scores: Floats = np.zeros(len(value))
    return np.divide(centred, (std + epsilon / scale)[group], out=scores, where=varied(value, group, NO_SIGNAL / scale))


def _scale(value: Floats, group: Codes, groups: int) -> Floats:
    """Return divisors that keep squares from overflowing: mostly 1, else a power of two, which divides exactly."""
    largest = np.zeros(groups)
    np.maximum.at(largest, group, np.abs(value))
    _, exponent = np.frexp(largest)
    scale: Floats = np.ldexp(1.0, np.maximum(exponent - _SQUARABLE, 0))
    return scale
