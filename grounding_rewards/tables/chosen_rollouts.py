"""Some rows of a rollout table, written with every column as it was, and further columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from grounding_rewards.errors import TableError
from grounding_rewards.tables.base import Batch, Note, Table, number
from grounding_rewards.tables.files import PARQUET, schema_of
from grounding_rewards.tables.json_lines import JsonLinesWriter
from grounding_rewards.tables.parquet import gathered, refuse_bytes
from grounding_rewards.tables.rollout_columns import COLUMNS
from grounding_rewards.tables.rollout_source import RolloutFile, state_of, types_of
from grounding_rewards.tables.rollout_table import RolloutTable


class ChosenRollouts:
    """The files of a rollout table as they are to be written anew.

    Make it before rows are chosen: a file that changes from then on is an error.
    """

    def __init__(self, rollouts: RolloutTable) -> None:
        self.paths = rollouts.paths
        self.tables = [_table(each.table) for each in rollouts.each]
        self.names = rollouts.columns
        self._states = [state_of(table) for table in self.tables]

    def check_names(self, names: Sequence[str]) -> None:
        """Check that no new column has the name of one that is there.

        Raises:
            TableError: one has; SQL, in which tables are read, ignores case.
        """
        there = {name.casefold(): name for name in self.names}
        for name in names:
            if name.casefold() in there:
                raise TableError(
                    f"{', '.join(map(str, self.paths))}: already has a column {there[name.casefold()]}; the method "
                    f"writes a column {name}, so rename it, or leave it out first"
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
        """Write rows into an open file that will be called ``path``, in the order of the table, batch by batch.

        JSON lines keep the keys of each row. Parquet has the columns of all files, with types that hold what each file
        has; JSON is read once more for these.

        Args:
            file: the open file.
            path: its suffix chooses the format.
            rows: (k,) numbers of rows of the table, ascending.
            new: (k,) each, further columns by name.
            note: takes what the format could not keep as it was.
            advance: takes the share that is done.

        Raises:
            TableError: a file has changed, two files have different kinds of values in a column, or the format cannot
                hold one.
        """
        batches = self._chosen(rows, advance)
        if path.suffix.lower() in PARQUET:
            self._write_parquet(file, batches, new, note)
            return
        for table in self.tables:
            if schema_of(table) is not None:
                refuse_bytes(table.path, schema_of(table))
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
        added = {name: _type(column) for name, column in new.items()}
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
            for batch in table.batches([] if schema_of(table) is not None else None):
                low, high = np.searchsorted(rows, (start, start + len(batch))).tolist()
                if low < high:
                    yield place, _picked(batch, rows[low:high] - start), slice(low, high)
                start += len(batch)
                advance((place + batch.done) / len(self.tables))
            if state_of(table) != state:
                raise TableError(f"{table.path}: was written to while it was read; when it rests run this again")


_Chosen = tuple[int, Batch, slice]


class _Numbers:
    """A CSV file whose cells are numbers, where they hold some and their column is no text of rollouts."""

    def __init__(self, table: Table) -> None:
        self.table, self.path, self.columns = table, table.path, table.columns
        self._texts = {name for name, kind in COLUMNS.items() if kind == pa.string()}

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The rows in order; see ``Table``."""
        for batch in self.table.batches(columns, whole=whole, size=size):
            rows = [
                {name: value if name in self._texts else number(value) for name, value in row.items()}
                for row in batch.whole
            ]
            yield replace(batch, rows=rows, whole=rows, texts=False)


def _table(table: Table) -> Table:
    return _Numbers(table) if getattr(table, "texts", False) else table


def _picked(batch: Batch, places: NDArray[np.int64]) -> Batch:
    if isinstance(batch.whole, list):
        rows = [batch.whole[place] for place in places.tolist()]
        return replace(batch, rows=rows, whole=rows)
    return replace(batch, rows=[{}] * len(places), whole=batch.whole.take(pa.array(places)))


def _type(column: NDArray[Any]) -> Any:
    return pa.string() if column.dtype.kind in "OU" else pa.from_numpy_dtype(column.dtype)
