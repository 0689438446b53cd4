"""What a caller gives beside responses and targets, as columns of n rows: lengths, groups, extras."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.errors import RecipeError, short_repr

_NO_COUNT = np.array([-1])
_NAMES = {str, int}


def read_lengths(lengths: Sequence[int] | NDArray[Any], rows: int) -> NDArray[np.int64]:
    """(n,) whole numbers from 0; anything else is an error."""
    found = np.asarray(lengths)
    if rows == 0 and found.size == 0:
        return np.zeros(0, dtype=np.int64)
    counts = found.astype(np.int64) if found.shape == (rows,) and found.dtype.kind in "iu" else _NO_COUNT
    if (counts < 0).any():  # also a number too large for 64 bits with a sign, which becomes negative
        raise RecipeError(f"token_lengths: got {lengths!r:.80}; expected a whole number from 0 for each of {rows} rows")
    return counts


def read_extras(extras: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """The same columns in a dict of their own; what is no column, such as a trainer's state, passes."""
    for name, column in extras.items():
        sized = isinstance(column, list | tuple) or (isinstance(column, np.ndarray) and column.ndim)
        if sized and len(column) != rows:
            raise RecipeError(f"extras[{name!r}]: got {len(column)}; expected one for each of {rows} rows")
    return dict(extras)


def group_codes(groups: Sequence[Any] | NDArray[Any] | None, rows: int) -> NDArray[np.int64]:
    """(n,) whole numbers that are equal where the names of the samples are; errors name the row."""
    if groups is None:
        return np.arange(rows, dtype=np.int64)
    names = _plain(groups)
    if isinstance(names, str | Set | Mapping) or not isinstance(names, Collection):
        raise RecipeError(
            f"groups: got {short_repr(groups)}; expected a list or an array, the sample of each of {rows} rows"
        )
    if len(names) != rows:
        raise RecipeError(f"groups: got {len(names)}; expected one for each of {rows} rows")
    codes: dict[Any, int] = {}
    if not set(map(type, names)) <= _NAMES:
        names = [_name(row, name) for row, name in enumerate(names)]
    return np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.int64)


def _name(row: int, given: Any) -> Any:
    """The name of a row's sample, which can be told from others."""
    name = _plain(given)
    try:
        hash(name)
        known = name is not None and bool(name == name)  # NaN is not equal to itself
    except Exception:  # somebody's class
        known = False
    if not known:
        raise RecipeError(
            f"groups: row {row}: got {short_repr(given)}; expected the name of its sample, such as 'a7' or 7"
        )
    return name


def _plain(value: Any) -> Any:
    """A value of numpy, torch or pandas, whose own elements may have no hash by value, as Python has it."""
    return value.tolist() if hasattr(value, "tolist") else value
