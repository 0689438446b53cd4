"""Batches of rows, and the protocols of reading and writing that all formats share."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from grounding_rewards.errors import TableError, near

BATCH_ROWS = 8192
"""Rows that are held at once; fewer where rows are large."""

BATCH_BYTES = 1 << 24
"""Large rows, such as those that hold images, make batches of about this many bytes."""

_NUMBERS: dict[int, Any] = {2: list[tuple[float, float]], 4: list[tuple[float, float, float, float]]}
_FIRST = 64  # rows by which columns and layouts are recognised

NewColumns = Mapping[str, Any]
"""Columns to append: name to ``float``, ``str`` or an Arrow type; all may hold None."""

Note = Callable[[str], None]
"""Takes, once each, what a format could not keep as it was."""


class NoRowsError(TableError):
    """There are no rows in a file."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table, in order."""

    start: int  # number of the first row, counted from 0
    rows: Sequence[Mapping[str, Any]]  # one dict a row, holding at least the columns asked for
    whole: Any  # the same rows with all their columns, in the form of the file they came from
    done: float  # share of the file that has been read by now, 0 to 1
    lines: Sequence[int] | None = None  # the line of each row, counted from 1, where the file has lines
    places: Sequence[str] | None = None  # the place of each row for errors, where it is of several files
    file: str = ""  # name of the file that the rows come from, where a table has several
    # what is wrong with rows that cannot be read, by their place here; empty where that is an error, else these rows
    # have no columns
    unread: Mapping[int, str] = field(default_factory=dict)
    texts: bool = False  # True where all values are texts, as in a CSV file
    # returns the batch, and the place in it, that a row was taken from; None where this is the file's own
    origin: Callable[[int], tuple[Batch, int]] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> list[Any]:
        """Return one column's values, None where a row lacks it; ``a.b`` and ``a,b`` are as in ``value_at``."""
        return column_of(self.rows, name)

    def numbers(self, name: str) -> list[Any]:
        """Return one column's values; those that texts hold, where all values are texts."""
        return list(map(number, self.column(name))) if self.texts else self.column(name)

    def number(self, index: int) -> int:
        """The number of a row of this batch in its table, counted from 0."""
        if self.origin is not None:
            batch, index = self.origin(index)
            return batch.number(index)
        return self.start + index

    def take(self, rows: Sequence[int], *, whole: bool = True) -> Batch:
        """Return some rows, with what they are written from if ``whole``; errors call them as before."""
        written = self.whole if whole else None
        if isinstance(written, list):
            written = [written[row] for row in rows]
        elif written is not None:
            import pyarrow as pa  # which JSON does without

            written = written.take(pa.array(rows, pa.int64()))
        own: Any = self.rows
        taken = own.take(rows, written) if hasattr(own, "take") else [own[row] for row in rows]
        return Batch(self.start, taken, written, self.done, texts=self.texts, origin=lambda index: (self, rows[index]))

    def place(self, index: int) -> str:
        """Return the place of a row of this batch in its file, for errors."""
        if self.origin is not None:
            batch, index = self.origin(index)
            return batch.place(index)
        if self.places is not None:
            return self.places[index]
        line = f"line {self.lines[index]}" if self.lines is not None else ""
        within = " of ".join(part for part in (line, self.file) if part)
        return f"row {self.number(index)}{f' ({within})' if within else ''}"


def column_of(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """Return one column of rows as a new list, None where a row lacks it; names are as in ``value_at``."""
    if "." in name or "," in name:
        return [value_at(row, name) for row in rows]
    if hasattr(rows, "column"):  # Arrow's, of which no dicts are made for a column
        values: list[Any] = rows.column(name)
        return values
    return [row.get(name) for row in rows]


def numbers_of(rows: Sequence[Mapping[str, Any]], name: str, width: int, *, texts: bool = False) -> Any:
    """Return a column of lists, each of ``width`` numbers, as an array; None for anything else.

    With ``texts`` the lists may also be written in texts, as in cells of CSV.
    """
    if hasattr(rows, "numbers"):  # rows of Arrow
        return rows.numbers(name, width)
    values = column_of(rows, name)
    try:
        if texts and {*map(type, values)} == {str} and {text[:1] + text[-1:] for text in values} == {"[]"}:
            places = msgspec.json.decode(f"[{','.join(values)}]", type=_NUMBERS[width])
        else:
            places = msgspec.convert(values, _NUMBERS[width])  # no text, bool or null is a number
        read = np.fromiter(chain.from_iterable(places), np.float64, len(places) * width).reshape(-1, width)
    except (msgspec.DecodeError, OverflowError, UnicodeEncodeError):
        return None
    # larger whole numbers are not exact, and a text may hold several lists
    return read if len(read) == len(values) and (np.abs(read) < 2**53).all() else None


def fields_of(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[Sequence[Mapping[str, Any]], int]:
    """Return a column of objects as rows of their own, and how many fields these have; no rows for any other column."""
    if hasattr(rows, "fields"):  # rows of Arrow
        inner: tuple[Sequence[Mapping[str, Any]], int] = rows.fields(name)
        return inner
    values = column_of(rows, name)
    return (values, sum(map(len, values))) if {*map(type, values)} == {dict} else ([], 0)


def in_parts(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield batches of Arrow in parts of ``BATCH_ROWS`` at most, for work that makes much of each row; others whole."""
    for batch in batches:
        if len(batch) <= BATCH_ROWS or not hasattr(batch.rows, "take"):
            yield batch
            continue
        for first in range(0, len(batch), BATCH_ROWS):
            some = batch.take(range(first, min(first + BATCH_ROWS, len(batch))))
            yield replace(some, start=batch.start + first, file=batch.file, origin=None)


def joined(batches: Iterable[Batch]) -> Batch:
    """Join all batches of a table into one, whose rows errors call as they do."""
    parts = list(batches)
    if len(parts) == 1:
        return parts[0]
    rows = [row for part in parts for row in part.rows]
    if isinstance(parts[0].whole, list):
        whole: Any = [row for part in parts for row in part.whole]
    else:
        import pyarrow as pa  # which made these batches

        (whole,) = pa.Table.from_batches([part.whole for part in parts]).combine_chunks().to_batches()
    ends = list(accumulate(map(len, parts)))

    def origin(index: int) -> tuple[Batch, int]:
        part = bisect_right(ends, index)
        return parts[part], index - (ends[part] - len(parts[part]))

    return Batch(0, rows, whole, 1.0, texts=parts[0].texts, origin=origin)


def number(value: Any) -> Any:
    """Return the number, or the true or false, that a text holds, as cells of CSV files do; else the value itself."""
    try:
        plain = json.loads(value.lower()) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
    return plain if isinstance(plain, int | float) else value


def value_at(row: Mapping[str, Any], name: str | None) -> Any:
    """Return a row's value in a column, in a field of one, or in two columns; None without it."""
    if name is None or name in row:
        return None if name is None else row[name]
    if "," in name:
        values = [number(value_at(row, part)) for part in name.split(",")]
        return None if all(value is None for value in values) else values
    top, _, rest = name.partition(".")
    inner = row.get(top)
    return value_at(inner, rest) if rest and isinstance(inner, Mapping) else None


class Table(Protocol):
    """A file of rows that can be read any number of times."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns; those of the first batch where each row has its own."""

    @property
    def schema(self) -> Any:
        """The Arrow schema, metadata included; None where rows come with keys of their own."""

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The rows in order, with ``columns`` in ``Batch.rows``; ``whole`` batches can be written."""


def first_rows(table: Table, columns: Iterable[str] | None = None) -> list[Mapping[str, Any]]:
    """Return the rows of a table by which columns and layouts are recognised; none of a table without rows."""
    first = next(iter(table.batches(columns if columns is None else sorted(columns), whole=False, size=_FIRST)), None)
    return [] if first is None else list(first.rows)


class ChangedTable:
    """A table whose batches are changed as they are read; it has the ``columns`` of the other one, or others."""

    def __init__(self, table: Table, change: Callable[[Batch], Batch], columns: Iterable[str] | None = None) -> None:
        self.table, self.change, self.path, self.schema = table, change, table.path, table.schema
        self.columns = table.columns if columns is None else tuple(dict.fromkeys(columns))

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """Yield the rows in order; see ``Table``."""
        return map(self.change, self.table.batches(columns, whole=whole, size=size))


class Writer(Protocol):
    """Writes a table's batches with new columns appended."""

    def write(self, batch: Batch, new: Mapping[str, Sequence[Any]]) -> None:
        """Append a batch and its new columns."""

    def close(self) -> None:
        """Write what is still held."""


def require_column(table: Table, name: str, option: str) -> None:
    """Check that a column is there."""
    if name not in table.columns:
        hint = near(name, table.columns) or "."
        raise TableError(
            f"{table.path}: no column {name!r} ({option}){hint} It has: {', '.join(map(str, table.columns)) or 'none'}"
        )


def no_collision(path: Path, columns: Sequence[str] | set[str], new: NewColumns) -> None:
    """Check that no new column bears the name of one that is there."""
    taken = [name for name in new if name in columns]
    if taken:
        raise TableError(
            f"{path}: already has {'a column' if len(taken) == 1 else 'columns'} {', '.join(taken)}; "
            "give the new columns a prefix, such as --prefix gr_"
        )
