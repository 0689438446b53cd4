"""Write tables as files of rows, and part the rows of one into several files, with all its columns and metadata."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from grounding_rewards.tables.arrow_rows import Inferred, gathered, unpacked_bytes
from grounding_rewards.tables.atomic import Files, atomic_file
from grounding_rewards.tables.contents import PARQUET
from grounding_rewards.tables.json_lines import dumps
from grounding_rewards.tables.manifests import digest
from grounding_rewards.tables.rows import BATCH_BYTES, BATCH_ROWS, Batch, Note, Table, Writer
from grounding_rewards.tables.writing import check_output, table_writer


@dataclass(frozen=True)
class Written:
    """A file that was written: what it is or will be called, its number of rows, and the hash of its bytes."""

    path: Path
    rows: int
    sha256: str


def write_file(path: Path, tables: Iterable[pa.Table]) -> None:
    """Write rows; an existing file is replaced only when all went well."""
    check_output(path)
    with atomic_file(path) as file:
        write_rows(file, path, tables)


def write_rows(file: IO[bytes], path: Path, tables: Iterable[pa.Table]) -> int:
    """Write tables into an open file, in the format that the suffix of ``path`` names; return their number of rows."""
    rows, writer = 0, None
    with ExitStack() as stack:
        for table in tables:
            if path.suffix.lower() not in PARQUET:
                for batch in table.to_batches(BATCH_ROWS):
                    file.writelines(dumps(row) + b"\n" for row in batch.to_pylist())
            else:
                writer = writer or stack.enter_context(pq.ParquetWriter(file, table.schema))
                writer.write_table(table)
            rows += len(table)
    return rows


def write_tables(files: Files, parts: Iterable[tuple[Path, Iterable[pa.Table]]]) -> list[Written]:
    """Write each part's tables into its file; a part without rows is not written."""
    done = []
    for path, tables in parts:
        filled = (table for table in tables if table.num_rows)
        # One turn at most: the first table that has rows opens the file, and takes all others along.
        for first in filled:
            file = files.open(path)
            rows = write_rows(file, path, chain([first], filled))
            done.append(written(file, path, rows))
    return done


def write_parts(
    files: Files,
    parts: Mapping[Path, Collection[str]],
    table: Table,
    names: Sequence[str | None],
    *,
    note: Note = lambda text: None,
    advance: Callable[[float], None] = lambda done: None,
) -> list[Written]:
    """Write each part's rows of a table, in the table's order, in one pass over it; a part without rows is not written.

    A part holds names of samples, of which each may be in several parts; ``names`` are (n,) those of the rows.
    """
    chosen = {path: frozenset(some) for path, some in parts.items() if not frozenset(some).isdisjoint(names)}
    inferred = None
    if table.schema is None and any(path.suffix.lower() in PARQUET for path in chosen):
        inferred = Inferred.of((batch.rows for batch in table.batches()), note)  # once for all files
    with ExitStack() as writers:
        opened = [_Part(files.open(path), path, some, writers, table, inferred) for path, some in chosen.items()]
        for batch in table.batches():
            here = names[batch.start : batch.start + len(batch)]
            for part in opened:
                part.take(batch, [row for row, name in enumerate(here) if name in part.chosen])
            advance(batch.done)
        for part in opened:
            part.flush()
    return [written(part.file, part.path, part.rows) for part in opened]


class _Part:
    """One of the files, and rows that wait to be written, because few rows make poor pieces of a Parquet file."""

    def __init__(
        self, file: IO[bytes], path: Path, chosen: frozenset[str], stack: ExitStack, like: Table, types: Inferred | None
    ) -> None:
        self.file, self.path, self.chosen, self.rows = file, path, chosen, 0
        self.writer: Writer = stack.enter_context(table_writer(file, path, like=like, new={}, inferred=types))
        self._held, self._count, self._bytes = list[Any](), 0, 0

    def take(self, batch: Batch, rows: Sequence[int]) -> None:
        """Write some rows of a batch, now or later."""
        self.rows += len(rows)
        if not rows:
            return
        if isinstance(batch.whole, list):
            self.writer.write(batch.take(rows), {})
            return
        arrow = batch.whole if len(rows) == len(batch) else batch.whole.take(pa.array(rows))
        size = unpacked_bytes(arrow)
        if self._count + len(rows) > BATCH_ROWS or self._bytes + size > BATCH_BYTES:
            self.flush()
        self._held.append(arrow)
        self._count, self._bytes = self._count + len(rows), self._bytes + size

    def flush(self) -> None:
        """Write what waits."""
        for arrow in gathered(self._held):
            self.writer.write(Batch(0, [{}] * len(arrow), arrow, 1.0), {})
        self._held, self._count, self._bytes = [], 0, 0


def written(file: IO[bytes], path: Path, rows: int) -> Written:
    """Return what an open file holds by now."""
    file.flush()
    return Written(path, rows, digest(Path(file.name)))  # under its temporary name; it is renamed later
