"""Arrays: types, missing rows, runs of indices, numbers for rows of whole numbers, read-only columns, plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T")


def nowhere(rows: int, columns: int) -> Floats:
    """Return NaN, (rows, columns), for rows without a place."""
    rows_without = np.empty((rows, columns))
    rows_without.fill(np.nan)  # half the time of np.full
    return rows_without


def ranges(start: Ints, count: Ints) -> Ints:
    """Concatenate runs of whole numbers, each with its start and count."""
    ends = np.cumsum(count)
    numbers: Ints = np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - ends + count, count)
    return numbers


_LARGEST = 2**63 - 1


def packed(*columns: Ints) -> Ints:
    """Return one column of whole numbers from 0 that orders rows as several do, the first one first.

    Equal rows have equal numbers. One sort of them takes a fraction of the time of ``np.lexsort``.
    """
    key, width = _from_zero(columns[0])
    for column in columns[1:]:
        more, size = _from_zero(column)
        if width * size > _LARGEST:  # as many as there are rows at most, so that their product fits
            (key, width), (more, size) = _dense(key), _dense(more)
        if size > 1:
            key, width = more if width == 1 else key * size + more, width * size
    return key


def numbered(*columns: Ints) -> Ints:
    """Number the distinct rows of several columns of whole numbers, from 0 and in the order of their values."""
    key = packed(*columns)
    if key.max(initial=0) >= 4 * len(key):
        return _dense(key)[0]
    there = np.zeros(key.max(initial=-1) + 1, dtype=np.bool_)  # few numbers are counted sooner than sorted
    there[key] = True
    return (np.cumsum(there) - 1).take(key)


def changes(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows differ from the one before; the first does."""
    differ = np.ones(len(column), dtype=np.bool_)
    np.not_equal(column[1:], column[:-1], out=differ[1:])
    return differ


def begins(group: Ints, rows: int = 1 << 18) -> list[int]:
    """Return 0 and further rows, about so many apart, that begin a group; groups ascend.

    Work on stretches between them takes a fraction of the time of work on arrays of many million rows.
    """
    starts: list[int] = np.unique(np.searchsorted(group, group[::rows])).tolist()
    return starts or [0]


def stable_order(key: Ints) -> Ints:
    """Return the order of a stable sort, sooner where few numbers are equal."""
    order = np.argsort(key)  # faster than a stable sort, which is needed among equals alone
    return order if changes(key.take(order)).all() else np.argsort(key, kind="stable")


def _from_zero(column: Ints) -> tuple[Ints, int]:
    """Return a column from 0, and how many numbers it may hold."""
    if not len(column):
        return column, 1
    low, high = int(column.min()), int(column.max())
    if low == high:
        return np.broadcast_to(0, len(column)), 1
    if high - low >= _LARGEST:
        return _dense(column)
    return column.astype(np.int64, copy=False) - low if low else column, high - low + 1


def _dense(column: Ints) -> tuple[Ints, int]:
    values, codes = np.unique(column, return_inverse=True)
    return codes, len(values)


def share(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """Return part / whole, 0.0 where the whole is not above 0."""
    shares: Floats = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return shares


def read_only(*columns: NDArray[Any] | None) -> None:
    """Make arrays read-only in place, so that no term changes what the next one reads; copies can be written into."""
    for column in columns:
        if column is not None:
            column.setflags(False)  # type: ignore[call-arg]  # write; by its name it takes twice as long


def made(table: type[T], /, **columns: Any) -> T:
    """Make a frozen dataclass of all its fields, in a third of the time that its ``__init__`` takes."""
    new = object.__new__(table)
    object.__setattr__(new, "__dict__", columns)
    return new


def plain(value: Any) -> Any:
    """Return plain values, as for JSON: dataclasses by their fields, lists for arrays and tuples, None for NaN."""
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray | tuple | list):
        return [plain(each) for each in (value.tolist() if isinstance(value, np.ndarray) else value)]
    return None if value != value else value
