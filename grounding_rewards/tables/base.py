"""Batches of rows, and the protocols of reading and writing that all formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from grounding_rewards.errors import TableError, near

BATCH_ROWS = 8192
"""Rows that are held at once; fewer where rows are large."""

BATCH_BYTES = 1 << 24
"""Large rows, such as those that hold images, make batches of about this many bytes."""

NewColumns = Mapping[str, Any]
"""Columns to append: name to ``float``, ``str`` or an Arrow type; all may hold None."""

Note = Callable[[str], None]
"""Takes, once each, what a format could not keep as it was."""


class NoRowsError(TableError):
    """There are no rows in a file."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table, in order.

    Attributes:
        start: number of the first row, counted from 0.
        rows: one dict a row, holding at least the columns asked for.
        whole: the same rows with all their columns, in the form of the file they came from.
        done: share of the file that has been read by now, 0 to 1.
        lines: the line of each row, counted from 1, where the file has lines.
        file: name of the file that the rows come from, where a table has several.
        unread: what is wrong with rows that cannot be read, by their place here; empty where that is an error, else
            these rows have no columns.
    """

    start: int
    rows: Sequence[Mapping[str, Any]]
    whole: Any
    done: float
    lines: Sequence[int] | None = None
    file: str = ""
    unread: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> list[Any]:
        """One column's values, None where a row lacks it."""
        return [row.get(name) for row in self.rows]

    def number(self, index: int) -> int:
        """The number of a row of this batch, counted from 0."""
        return self.start + index

    def place(self, index: int) -> str:
        """Return the place of a row of this batch in its file, for errors.

        >>> Batch(start=8192, rows=[{}], whole=None, done=1.0, lines=[8195]).place(0)
        'row 8192 (line 8195)'
        """
        line = f"line {self.lines[index]}" if self.lines is not None else ""
        within = " of ".join(part for part in (line, self.file) if part)
        return f"row {self.number(index)}{f' ({within})' if within else ''}"


class Table(Protocol):
    """A file of rows that can be read any number of times."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns; those of the first batch where each row has its own."""
        ...

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The rows in order.

        Args:
            columns: what ``Batch.rows`` must hold; None for everything.
            whole: also read the other columns, so that the batch can be written.
            size: rows in a batch; None for ``BATCH_ROWS``, or fewer where rows are large.

        Raises:
            TableError: the file cannot be read to its end.
        """
        ...


class Writer(Protocol):
    """Writes a table's batches with new columns appended."""

    def write(self, batch: Batch, new: Mapping[str, Sequence[Any]]) -> None:
        """Append a batch and its new columns."""
        ...

    def close(self) -> None:
        """Write what is still held."""
        ...


def require_column(table: Table, name: str, option: str) -> None:
    """Check that a column is there.

    Raises:
        TableError: it is not; names the columns there are, and the option that maps it.
    """
    if name not in table.columns:
        hint = near(name, table.columns) or "."
        raise TableError(
            f"{table.path}: no column {name!r} ({option}){hint} It has: {', '.join(map(str, table.columns)) or 'none'}"
        )


def no_collision(path: Path, columns: Sequence[str] | set[str], new: NewColumns) -> None:
    """Check that no new column bears the name of one that is there.

    Raises:
        TableError: one does; says how to rename.
    """
    taken = [name for name in new if name in columns]
    if taken:
        raise TableError(
            f"{path}: already has {'a column' if len(taken) == 1 else 'columns'} {', '.join(taken)}; "
            "give the new columns a prefix, such as --prefix gr_"
        )
