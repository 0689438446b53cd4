"""Files of rollouts as they are written again, all rows or some: further columns stay, the others are rollouts' own."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from grounding_rewards.errors import TableError
from grounding_rewards.tables.arrow_rows import Inferred, ParquetTable, gathered, refuse_bytes, wider
from grounding_rewards.tables.contents import PARQUET
from grounding_rewards.tables.json_lines import JsonLinesWriter, dumps
from grounding_rewards.tables.rollout_columns import COLUMNS, arrow
from grounding_rewards.tables.rows import Batch, ChangedTable, Note, Table, number
from grounding_rewards.tables.writing import KeptColumns

if TYPE_CHECKING:
    from grounding_rewards.tables.rollout_table import RolloutTable


@dataclass(frozen=True, eq=False)
class RolloutFile:
    """A file of rollouts."""

    table: Table
    rows: int
    kept: KeptColumns  # the same without the columns that rollouts have anyway, and those that are to go
    types: Mapping[str, Any]  # the Arrow types of these further columns
    inferred: Inferred | None  # how JSON becomes such columns; None where they are Arrow's
    state: tuple[int, int]  # what ``state_of`` said of the table before it was read

    @classmethod
    def of(
        cls, table: Table, gone: Collection[str], state: tuple[int, int], note: Note, own: Collection[str] = COLUMNS
    ) -> RolloutFile:
        """A table without ``own`` columns and those in ``gone``; ``note`` takes what becomes of others."""
        kept = KeptColumns(table, {*own, *gone}, {})
        if kept.schema is not None:
            types = {each.name: each.type for each in kept.schema}
            rows = table.rows if isinstance(table, ParquetTable) else sum(map(len, table.batches([], whole=False)))
            return cls(table, rows, kept, types, None, state)
        inferred = Inferred.of((batch.rows for batch in kept.batches()), note)
        return cls(table, inferred.rows, kept, inferred.encodable_types, inferred, state)

    def batches(self, columns: Collection[str], ends: Sequence[int] = ()) -> Iterator[Batch]:
        """Yield the rows in order; batches of Parquet end at ``ends``, of which the first is where they begin."""
        # None for JSON, whose rows are read whole anyway.
        own = list(columns) if self.table.schema is not None else None
        if ends and isinstance(self.table, ParquetTable):
            yield from self.table.between(ends, own)
        else:
            yield from self.table.batches(own)
        self.check()

    def check(self) -> None:
        """Check that the file is the same still."""
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
        """Return a column of a batch in a rollout table's type; where it is ``lossy``, what cannot be read is null."""
        texts, held = kind == pa.string(), column_as_held(batch, name)
        if held is not None and held.type.equals(kind):
            return held
        values = (batch.column(name) if texts else batch.numbers(name)) if held is None else held.to_pylist()
        array = arrow([_as_text(value) for value in values] if texts else values, kind)
        # A null that was a value before: it did not fit.
        for row, value in enumerate(values) if array.null_count and not lossy else ():
            if not array[row].is_valid and value is not None and value == value:
                raise TableError(
                    f"{self.table.path}, {batch.place(row)}: {name}: got {value!r:.60}; expected "
                    f"{_EXPECTED[str(kind)]}, or null"
                )
        return array


def column_as_held(batch: Batch, name: str) -> Any:
    """Return a column of an Arrow batch as it is; None of rows of JSON, and where there is none of this name."""
    whole: Any = batch.whole
    return None if isinstance(whole, list) or name not in whole.schema.names else whole.column(name)


def types_of(sources: Sequence[RolloutFile]) -> dict[str, Any]:
    """The further columns of all files, with the types that hold what each of them has."""
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
    states = [os.stat(file) for file in getattr(table, "files", own)]
    return sum(each.st_size for each in states), max((each.st_mtime_ns for each in states), default=0)


class ChosenRollouts:
    """Files of a rollout table to be written again; one that changes from when this is made on is an error."""

    def __init__(self, rollouts: RolloutTable) -> None:
        self.rollouts, self.tables = rollouts, [_table(each.table) for each in rollouts.each]
        self._states = [state_of(table) for table in self.tables]

    def check_names(self, names: Sequence[str]) -> None:
        """Check that no new column has the name of one that is there."""
        there = {name.casefold(): name for name in self.rollouts.columns}
        for name in names:
            if name.casefold() in there:
                raise TableError(
                    f"{self.rollouts}: already has a column {there[name.casefold()]}; the method writes a column "
                    f"{name}, so rename it, or leave it out first"
                )

    def write(
        self,
        file: IO[bytes],
        path: Path,
        rows: NDArray[np.int64],
        new: Mapping[str, NDArray[Any]],
        *,
        note: Note = lambda text: None,
        advance: Callable[[float], None] = lambda done: None,
    ) -> None:
        """Write rows into an open file that will be called ``path``, in the order of the table, batch by batch."""
        batches = self._chosen(rows, advance)
        if path.suffix.lower() in PARQUET:
            self._write_parquet(file, batches, new, note)
            return
        for table in self.tables:
            if table.schema is not None:
                refuse_bytes(table.path, table.schema)
        for place, batch, here in batches:
            writer = JsonLinesWriter(file, self.tables[place].path, dict.fromkeys(new, str))
            writer.write(batch, {name: column[here].tolist() for name, column in new.items()})

    def _write_parquet(
        self, file: IO[bytes], batches: Iterator[_Chosen], new: Mapping[str, NDArray[Any]], note: Note
    ) -> None:
        pairs = zip(self.tables, self._states, strict=True)
        sources = [RolloutFile.of(table, (), state, note, own=()) for table, state in pairs]
        types = types_of(sources)
        metadata = next((each.kept.metadata for each in sources if each.kept.metadata), None)
        added = {
            name: pa.string() if column.dtype.kind in "OU" else pa.from_numpy_dtype(column.dtype)
            for name, column in new.items()
        }
        schema = pa.schema([*types.items(), *added.items()], metadata)

        def arrow() -> Iterator[Any]:
            for place, batch, here in batches:
                columns = [sources[place].further(batch, name, kind) for name, kind in types.items()]
                columns += [pa.array(new[name][here], kind) for name, kind in added.items()]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

        with pq.ParquetWriter(file, schema) as writer:
            for batch in gathered(arrow()):
                writer.write_batch(batch)

    def _chosen(self, rows: NDArray[np.int64], advance: Callable[[float], None]) -> Iterator[_Chosen]:
        """Yield the place of each table, a batch of its rows that were chosen, and their places among all of these."""
        start = 0
        for place, (table, state) in enumerate(zip(self.tables, self._states, strict=True)):
            for batch in table.batches([] if table.schema is not None else None):
                low, high = np.searchsorted(rows, (start, start + len(batch))).tolist()
                if low < high:
                    yield place, batch.take((rows[low:high] - start).tolist()), slice(low, high)
                start += len(batch)
                advance((place + batch.done) / len(self.tables))
            if state_of(table) != state:
                raise TableError(f"{table.path}: was written to while it was read; when it rests run this again")


_Chosen = tuple[int, Batch, slice]


_TEXTS = {name for name, kind in COLUMNS.items() if kind == "string"}


def _table(table: Table) -> Table:
    """Return a table; of a CSV file one whose cells are numbers, where they hold some in columns of no texts."""

    def read(batch: Batch) -> Batch:
        rows = [{key: each if key in _TEXTS else number(each) for key, each in row.items()} for row in batch.whole]
        return replace(batch, rows=rows, whole=rows, texts=False)

    return ChangedTable(table, read) if getattr(table, "texts", False) else table


_EXPECTED = {
    "string": "a text",
    "int64": "a whole number",
    "double": "a number",
    "list<item: double>": "[width, height]",
    "list<element: double>": "[width, height]",  # the same, as Parquet files call it
}
