"""Rows of equal groups side by side, so that whole groups are compared at once, and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

CELLS = 2**19
"""Comparisons that are held at once: 4 MiB a table."""


def by_size(groups: NDArray[np.int64], rows: Ints) -> Iterator[Ints]:
    """The rows of each group, for as many groups of one size at a time as memory allows.

    Args:
        groups: (n,) the group of every row.
        rows: (m,) the rows that count, ascending; the others are in no group.

    Yields:
        (g, k) rows: g groups of k rows each, with g · k² about ``CELLS`` at most, or g = 1.

    >>> [block.tolist() for block in by_size(np.array([7, 8, 7, 9, 9]), np.array([0, 1, 2, 4]))]
    [[[1], [4]], [[0, 2]]]
    """
    if not len(rows):
        return
    order = rows[np.argsort(groups[rows], kind="stable")]
    names = groups[order]
    starts = np.flatnonzero(np.append(True, names[1:] != names[:-1]))
    sizes = np.diff(np.append(starts, len(order)))
    for size in np.unique(sizes).tolist():
        blocks = order[starts[sizes == size][:, None] + np.arange(size)]
        step = max(1, CELLS // (size * size))
        for start in range(0, len(blocks), step):
            yield blocks[start : start + step]


def stretches(block: Ints) -> Iterator[slice]:
    """Slices of a block's columns, so that few enough of them are compared with all of its groups at a time.

    >>> list(stretches(np.zeros((2, 3), dtype=np.int64)))
    [slice(0, 3, None)]
    """
    groups, size = block.shape
    step = max(1, CELLS // (groups * size))
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))
