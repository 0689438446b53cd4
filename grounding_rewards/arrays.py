"""Arrays: their types, missing rows, runs of indices, and read-only columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NAN = np.array([np.nan])


def nowhere(rows: int, columns: int) -> Floats:
    """Return NaN, (rows, columns), for rows without a place."""
    return _NAN.repeat(rows * columns).reshape(rows, columns)


def ranges(start: Ints, count: Ints) -> Ints:
    """Concatenate runs of whole numbers, each with its start and count.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(count)
    numbers: Ints = np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - ends + count, count)
    return numbers


def read_only(*columns: NDArray[Any] | None) -> None:
    """Make arrays read-only in place, so that no term changes what the next one reads; copies can be written into.

    >>> import numpy as np
    >>> column = np.zeros(2)
    >>> read_only(column, None)
    >>> column.flags.writeable, column.copy().flags.writeable
    (False, True)
    """
    for column in columns:
        if column is not None:
            column.setflags(False)  # type: ignore[call-arg]  # write; by its name it takes twice as long
