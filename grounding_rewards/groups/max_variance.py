"""Subsets of the largest variance: the m rows of each group whose values differ most."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.groups.spread import Codes

_TIE = 1e-12
"""Variances that differ by no more than this share are equal: their sums are rounded."""

_HALVED = 1e300
"""Beyond it differences of values may overflow."""

_AT_ONCE = 1 << 18
"""Rows whose sums are held at once, or those of one group."""


def max_variance(values: ArrayLike, groups: Codes, m: int | Ints) -> NDArray[np.bool_]:
    """Return which rows to keep: of each group the m scored rows whose values have the largest population variance.

    An optimum is always the j lowest values and the m - j highest ones, for some j from 0 to m. So values are sorted,
    and each j is tried by prefix sums of v and v²: Var = Q / m - (S / m)². That takes time n log n.

    Of several j the smallest is taken, of equal values the first rows. A group with m scored rows or fewer keeps them
    all. Values are shifted and scaled to a width of 1 first, group by group, which changes no optimum.

    ``values`` are (n,) numbers, NaN where a row was not scored, which is never kept; ``groups`` are numbered from 0;
    ``m`` is one number of 0 or more, or (g,) one for each group.

    >>> max_variance([0, 0.1, 0.5, 0.9, 1], np.zeros(5, dtype=int), 3)  # as large as that of 0, 0.1 and 1
    array([ True, False, False,  True,  True])
    >>> max_variance([1, 0, 0, 0, 0.5, 0.5], np.array([0, 0, 0, 0, 1, 1]), 2)
    array([ True,  True, False, False,  True,  True])

    Source: PODS (arXiv 2504.13818), its lemma and algorithm, not its code; ties are our own rule.
    """
    value, group = np.asarray(values, dtype=np.float64), np.asarray(groups, dtype=np.int64)
    wanted = np.broadcast_to(m, int(group.max(initial=-1)) + 1)
    rows = np.flatnonzero(~np.isnan(value))
    rows = rows[np.argsort(group[rows], kind="stable")]
    size = np.bincount(group[rows], minlength=len(wanted))
    kept = np.zeros(len(value), dtype=np.bool_)
    kept[rows] = (size <= wanted)[group[rows]]
    for places, m_here in _alike(size, wanted):
        kept[rows[places]] = _of_groups(value[rows[places]], m_here)
    return kept


def _alike(size: Ints, wanted: Ints) -> Iterator[tuple[Ints, int]]:
    """Yield the places, (groups, rows of each), of rows in the order of groups, and m, of groups alike in both numbers.

    There are few kinds of groups: together they have no more rows than there are. Many groups of a kind come in parts.
    """
    start = np.cumsum(size) - size
    chosen = np.flatnonzero((wanted > 0) & (wanted < size))
    chosen = chosen[np.lexsort((wanted[chosen], size[chosen]))]
    change = np.flatnonzero((np.diff(size[chosen]) != 0) | (np.diff(wanted[chosen]) != 0)) + 1
    for some in np.split(chosen, change) if len(chosen) else ():
        rows, m = int(size[some[0]]), int(wanted[some[0]])
        for part in np.split(some, range(_AT_ONCE // rows or 1, len(some), _AT_ONCE // rows or 1)):
            yield start[part, None] + np.arange(rows), m


def _of_groups(value: Floats, m: int) -> NDArray[np.bool_]:
    """Return (groups, rows) marks of the rows to keep, m of each group."""
    ordered = np.sort(value, axis=1)
    j = _lowest(ordered, m)
    ends = np.pad(ordered, ((0, 0), (1, 1)), constant_values=np.inf)
    ends[:, 0] = -np.inf
    low = np.take_along_axis(ends, j, axis=1)  # the largest of the j lowest, and the smallest of the m - j highest
    high = np.take_along_axis(ends, j - m - 1 + ends.shape[1], axis=1)
    below, above = value < low, value > high
    marks = below | above
    of_low = np.where(low == high, m - marks.sum(axis=1, keepdims=True), j - below.sum(axis=1, keepdims=True))
    marks |= _first(value == low, of_low)
    marks |= _first((value == high) & (low != high), m - j - above.sum(axis=1, keepdims=True))
    return marks


def _first(rows: NDArray[np.bool_], number: Ints) -> NDArray[np.bool_]:
    """Mark the first so many of the marked rows of each group."""
    first: NDArray[np.bool_] = rows & (np.cumsum(rows, axis=1) <= number)
    return first


def _lowest(value: Floats, m: int) -> Ints:
    """Return the best j of each group, (groups, 1), for the j lowest and m - j highest of sorted values."""
    value = value / 2 if np.abs(value[:, [0, -1]]).max() > _HALVED else value
    width = value[:, -1:] - value[:, :1]
    unit = value - value[:, :1]
    unit /= np.where(width > 0, width, 1.0)  # in place, as below: of one large group each copy counts
    unit -= unit.mean(axis=1, keepdims=True)
    sums, squares = _of_ends(unit, m), _of_ends(unit**2, m)
    variance = squares / m - (sums / m) ** 2
    best = variance.max(axis=1, keepdims=True)
    j: Ints = np.argmax(variance >= best - _TIE * np.abs(best), axis=1)  # the first that is as large
    return j[:, None]


def _of_ends(value: Floats, m: int) -> Floats:
    """Return (groups, m + 1) sums of the j first and the m - j last values, for j from 0 to m."""
    prefix = np.zeros((len(value), value.shape[1] + 1))
    np.cumsum(value, axis=1, out=prefix[:, 1:])
    sums: Floats = prefix[:, : m + 1] + prefix[:, -1:] - prefix[:, -m - 1 :]
    return sums
