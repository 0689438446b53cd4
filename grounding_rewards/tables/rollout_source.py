"""Files of rollouts as they are to be written anew: their further columns as they are, the others as rollouts' own."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from grounding_rewards.errors import TableError
from grounding_rewards.tables.base import Batch, Note, Table
from grounding_rewards.tables.files import schema_of
from grounding_rewards.tables.inferred_schema import Inferred, wider
from grounding_rewards.tables.json_lines import dumps
from grounding_rewards.tables.parquet import ParquetTable
from grounding_rewards.tables.rollout_columns import COLUMNS, arrow
from grounding_rewards.tables.without_columns import KeptColumns


class LoggedTable:
    """A trainer's log, or whatever else comes as rollouts in batches, as a table; with its ``verdicts`` or without."""

    def __init__(self, rows: Any, *, verdicts: bool = False) -> None:
        self.log, self.path, self.verdicts = rows, Path(rows.path), verdicts

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        # Scoring makes verdicts anew, and a log in which they cannot be read can be scored all the same.
        return tuple(name for name in self.log.columns if self.verdicts or name != "acc")

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of all rows."""
        return next(iter(self.log.batches(self.columns))).schema

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The rows in order; see ``Table``."""
        wanted = [name for name in self.columns if columns is None or name in columns]
        start = 0
        for rows in self.log.batches(self.columns):
            yield Batch(start, rows.select(wanted).to_pylist() if wanted else [{}] * len(rows), rows, 1.0)
            start += len(rows)


@dataclass(frozen=True, eq=False)
class RolloutFile:
    """A file of rollouts.

    Attributes:
        kept: the same without the columns that rollouts have anyway, and those that are to go.
        types: the Arrow types of these further columns.
        inferred: how JSON becomes such columns; None where they are Arrow's.
        state: what ``state_of`` said of the table before it was read.
    """

    table: Table
    rows: int
    kept: KeptColumns
    types: Mapping[str, Any]
    inferred: Inferred | None
    state: tuple[int, int]

    @classmethod
    def of(
        cls, table: Table, gone: Collection[str], state: tuple[int, int], note: Note, own: Collection[str] = COLUMNS
    ) -> RolloutFile:
        """A table without ``own`` columns and those in ``gone``; ``note`` takes what becomes of others."""
        kept = KeptColumns(table, {*own, *gone}, {})
        if kept.schema is not None:
            types = {each.name: each.type for each in kept.schema}
            return cls(table, _count(table), kept, types, None, state)
        inferred = Inferred.of((batch.rows for batch in kept.batches()), note)
        return cls(table, inferred.rows, kept, inferred.encodable_types, inferred, state)

    def batches(self, columns: Collection[str]) -> Iterator[Batch]:
        """Yield the rows in order; ``columns`` are what ``Batch.rows`` must hold."""
        # None for JSON, whose rows are read whole anyway.
        yield from self.table.batches(list(columns) if schema_of(self.table) is not None else None)
        self.check()

    def check(self) -> None:
        """Check that the file is the same still.

        Raises:
            TableError: it is not.
        """
        if state_of(self.table) != self.state:
            raise TableError(
                f"{self.table.path}: was written to while it was read; when it rests run this again, with --overwrite "
                "where a part of it was done"
            )

    def further(self, batch: Batch, name: str, kind: Any) -> Any:
        """A further column of a batch, as an Arrow array of a type; null where the file has none of this name."""
        if name not in self.types:
            return pa.nulls(len(batch), kind)
        if self.inferred is None:
            values = batch.whole.column(name)
            return values if values.type.equals(kind) else values.cast(kind)
        # Types have the names that Parquet can hold, rows those that the file holds.
        own = next(key for key in self.inferred.types if self.inferred.name(key) == name)
        return self.inferred.array(self.table.path, batch, own, kind)

    def column(self, batch: Batch, name: str, kind: Any, *, lossy: bool = False) -> Any:
        """Return a column of a batch as an Arrow array of a rollout table's type; null where the file has none.

        Where it is ``lossy``, what cannot be read counts as nothing.

        Raises:
            TableError: a value is not of this type, nor can be made so; names the file and the row.
        """
        whole: Any = batch.whole
        if isinstance(whole, list):
            values = batch.column(name) if kind == pa.string() else batch.numbers(name)
        elif name not in whole.schema.names:  # nor is there anything in it, but for fields of other columns
            values = batch.column(name)
        elif whole.column(name).type.equals(kind):
            return whole.column(name)
        else:
            values = whole.column(name).to_pylist()
        texts = kind == pa.string()
        array = arrow([_as_text(value) for value in values] if texts else values, kind)
        # A null that was a value before: it did not fit.
        for row, value in enumerate(values) if array.null_count and not lossy else ():
            if not array[row].is_valid and value is not None and value == value:
                raise TableError(
                    f"{self.table.path}, {batch.place(row)}: {name}: got {value!r:.60}; expected "
                    f"{_EXPECTED[str(kind)]}, or null"
                )
        return array


def types_of(sources: Sequence[RolloutFile]) -> dict[str, Any]:
    """The further columns of all files, with the types that hold what each of them has.

    Raises:
        TableError: two files have different kinds of values in a column.
    """
    types: dict[str, tuple[Any, Path]] = {}
    for source in sources:
        for name, kind in source.types.items():
            held, path = types.get(name, (kind, source.table.path))
            both = wider(held, kind)
            if both is None:
                raise TableError(
                    f"{source.table.path}: column {name} holds {kind}, and {held} in {path}; score them into "
                    "directories of their own, or bring the column into one type first"
                )
            types[name] = both, path
    return {name: kind for name, (kind, _) in types.items()}


def _count(table: Table) -> int:
    return table.rows if isinstance(table, ParquetTable) else sum(map(len, table.batches([], whole=False)))


def _as_text(value: Any) -> Any:
    """Texts as they are, whole numbers as one writes them, all else as JSON; None for nothing."""
    if value is None or isinstance(value, str) or value != value:
        return value if isinstance(value, str) else None
    if isinstance(value, float) and value.is_integer():  # 1 beside nulls, as pandas holds it
        return str(int(value))
    return str(value) if type(value) in (int, float) else dumps(value).decode()


def state_of(table: Table) -> tuple[int, int]:
    """Return the length of a table's files, and when they were last written to: equal where the table is the same."""
    own = (table.source.file if isinstance(table, ParquetTable) else table.path,)  # which may be held open
    files = table.log.files if isinstance(table, LoggedTable) else getattr(table, "files", own)
    states = [os.stat(file) for file in files]
    return sum(each.st_size for each in states), max((each.st_mtime_ns for each in states), default=0)


_EXPECTED = {
    "string": "a text",
    "int64": "a whole number",
    "double": "a number",
    "list<item: double>": "[width, height]",
    "list<element: double>": "[width, height]",  # the same, as Parquet files call it
}
