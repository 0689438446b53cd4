"""Blocks of groups of equal size, so that whole groups are compared at once, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints

CELLS = 2**19
"""Comparisons held at once: 4 MiB a table."""

LARGE = 256
"""Groups from this size on are compared by themselves: each distinct place once, and only with those near it."""

_CACHED = 2**15  # comparisons: 256 KiB a table


def by_size(groups: NDArray[np.int64], rows: Ints) -> Iterator[Ints]:
    """Yield the rows of each group, for as many groups of one size at a time as memory allows.

    Of ``rows`` (m,), ascending, come (g, k): g groups of k rows, g · k² at most ``CELLS``; one from ``LARGE`` rows on.

    >>> [block.tolist() for block in by_size(np.array([7, 8, 7, 9, 9]), np.array([0, 1, 2, 4]))]
    [[[1], [4]], [[0, 2]]]
    """
    if not len(rows):
        return
    order = rows[np.argsort(groups[rows], kind="stable")]  # stable: the rows of a group stay in order
    names = groups[order]
    starts = np.flatnonzero(np.append(True, names[1:] != names[:-1]))
    sizes = np.diff(np.append(starts, len(order)))
    for size in np.unique(sizes).tolist():
        blocks = order[starts[sizes == size][:, None] + np.arange(size)]
        step = CELLS // (size * size) if size < LARGE else 1
        for start in range(0, len(blocks), step):
            yield blocks[start : start + step]


def neighbours(low: Floats, high: Floats) -> Iterator[tuple[slice, slice]]:
    """Yield stretches of intervals, each with the stretch in which all lie that meet any of them.

    A stretch is so short that its comparisons stay in a processor's cache. Where every interval meets every other, all
    pairs are compared. Intervals begin at ``low``, ascending, and end at ``high``.

    >>> list(neighbours(np.array([0.0, 1.0, 9.0]), np.array([2.0, 3.0, 9.5])))
    [(slice(0, 2, None), slice(0, 2, None)), (slice(2, 3, None), slice(2, 3, None))]
    """
    # Ends are in no order, but the largest so far rises.
    first = np.searchsorted(np.maximum.accumulate(high), low).tolist()
    last = np.maximum.accumulate(np.searchsorted(low, high, "right")).tolist()
    start, step = 0, 1
    while start < len(low):
        end = min(start + 2 * step, len(low))
        while end - start > 1 and (end - start) * (last[end - 1] - first[start]) > _CACHED:
            end = (start + end) // 2
        yield slice(start, end), slice(first[start], last[end - 1])
        start, step = end, end - start  # doubled above, so that stretches grow again after a crowded place
