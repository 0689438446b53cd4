"""Write tables as files of rows, whole or not at all: with new columns, without some of their own, in several files."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from msgspec import Struct

from grounding_rewards.errors import TableError
from grounding_rewards.tables.atomic import Files, atomic_file
from grounding_rewards.tables.contents import JSON_LINES, PARQUET
from grounding_rewards.tables.json_lines import JsonLinesWriter, dumps
from grounding_rewards.tables.manifests import digest
from grounding_rewards.tables.object_stores import local
from grounding_rewards.tables.rows import BATCH_ROWS, Batch, ChangedTable, NewColumns, Note, Table, Writer, no_collision

if TYPE_CHECKING:
    import pyarrow as pa

    from grounding_rewards.tables.arrow_rows import Inferred

_FEATURES = b"huggingface"
_FRAME = b"pandas"
IMAGES_FEATURE = [{"_type": "Image"}]
"""Feature of a column of lists of images, in the form that every version of ``datasets`` reads."""


@contextmanager
def write_table(
    path: str | os.PathLike[str],
    *,
    like: Table,
    new: NewColumns,
    note: Note = lambda text: None,
    metadata: Mapping[bytes, bytes] | None = None,
    opened: Callable[[Path], AbstractContextManager[IO[bytes]]] = atomic_file,
) -> Iterator[Writer]:
    """Write a table with new columns, atomically; yield a writer of batches.

    ``like`` is the table whose batches will be written, and ``note`` takes what the format could not keep as it was.
    """
    path = local(path, output=True)
    inputs = getattr(like, "inputs", (like.path,))
    check_output(path, inputs)
    with opened(path) as file, table_writer(file, path, like=like, new=new, note=note, metadata=metadata) as writer:
        yield writer


@contextmanager
def table_writer(
    file: IO[bytes],
    path: Path,
    *,
    like: Table,
    new: NewColumns,
    note: Note = lambda text: None,
    metadata: Mapping[bytes, bytes] | None = None,
    inferred: Inferred | None = None,
) -> Iterator[Writer]:
    """Write a table with new columns into an open file; ``inferred`` are the types of JSON's columns, if known."""
    if not _is_parquet(path):
        if like.schema is not None:
            from grounding_rewards.tables.arrow_rows import refuse_bytes

            refuse_bytes(like.path, like.schema)
        no_collision(like.path, like.columns, new)
        writer: Writer = JsonLinesWriter(file, like.path, new)
    else:
        from grounding_rewards.tables.arrow_rows import Inferred, ParquetWriter

        if like.schema is None:
            inferred = inferred or Inferred.of((batch.whole for batch in like.batches()), note)
            writer = ParquetWriter(
                file, like.path, inferred.schema(metadata), new, partial(inferred.columns, like.path)
            )
        else:
            writer = ParquetWriter(file, like.path, like.schema, new)
    try:
        yield writer
    finally:
        writer.close()


class Written(Struct, frozen=True):
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
                from pyarrow.parquet import ParquetWriter

                writer = writer or stack.enter_context(ParquetWriter(file, table.schema))
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
    """Write each part's rows, by the names of their samples, in one pass over a table; empty parts are not written."""
    chosen = {path: frozenset(some) for path, some in parts.items() if not frozenset(some).isdisjoint(names)}
    inferred, rows = None, Counter[Path]()
    if table.schema is None and any(path.suffix.lower() in PARQUET for path in chosen):
        from grounding_rewards.tables.arrow_rows import Inferred

        inferred = Inferred.of((batch.rows for batch in table.batches()), note)  # once for all files
    opened = {path: files.open(path) for path in chosen}
    with ExitStack() as stack:
        writers = {
            path: stack.enter_context(table_writer(file, path, like=table, new={}, inferred=inferred))
            for path, file in opened.items()
        }
        for batch in table.batches():
            here = names[batch.start : batch.start + len(batch)]
            for path, some in chosen.items():
                if stay := [row for row, name in enumerate(here) if name in some]:
                    writers[path].write(batch if len(stay) == len(batch) else batch.take(stay), {})
                    rows[path] += len(stay)
            advance(batch.done)
    return [written(file, path, rows[path]) for path, file in opened.items()]


def written(file: IO[bytes], path: Path, rows: int) -> Written:
    """Return what an open file holds by now."""
    file.flush()
    return Written(path, rows, digest(Path(file.name)))  # under its temporary name; it is renamed later


def check_output(path: Path, inputs: Sequence[Path] = ()) -> None:
    """Check that a file of rows can be written."""
    _is_parquet(path)
    check_place(path, inputs)


def check_place(path: Path, inputs: Sequence[Path] = ()) -> None:
    """Check that a file of any kind can be written."""
    if path.exists() and not path.is_file():
        raise TableError(f"{path}: is no file, so it cannot be written")
    if not path.parent.is_dir():
        raise TableError(f"{path}: there is no directory {path.parent}")
    place = Path(os.path.realpath(path))
    for each in inputs:
        source = Path(os.path.realpath(each))
        if path.exists() and each.exists() and path.samefile(each):
            raise TableError(f"{path}: is the input itself; write to another file")
        if source.is_dir() and place.is_relative_to(source):
            raise TableError(f"{path}: lies in the input {each}, which would be another one then; write elsewhere")


def overlap(out: Path, source: Path) -> bool:
    """Return True where an output lies in a directory that is read, or holds what is read, links followed."""
    own, place = Path(os.path.realpath(out)), Path(os.path.realpath(source))
    return place.is_relative_to(own) or (source.is_dir() and own.is_relative_to(place))


def _is_parquet(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix not in (*JSON_LINES, *PARQUET):
        raise TableError(
            f"{path}: a file of rows ends in {', '.join(JSON_LINES)} or {', '.join(PARQUET)} where it is written"
        )
    return suffix in PARQUET


class KeptColumns(ChangedTable):
    """A table without the columns ``dropped``; its schema names the ``features`` of new columns, for ``datasets``."""

    def __init__(self, table: Table, dropped: Collection[str], features: Mapping[str, Any]) -> None:
        self.dropped = frozenset(dropped)
        super().__init__(table, self.cut, [name for name in table.columns if name not in self.dropped])
        self.metadata = with_features(table.schema and table.schema.metadata, self.columns, features)
        self.metadata.pop(_FRAME, None)  # it counts columns that are gone
        if table.schema is not None:
            import pyarrow as pa

            kept = [field for field in table.schema if field.name not in self.dropped]
            self.schema = pa.schema(kept, metadata=self.metadata)

    def cut(self, batch: Batch, rows: Sequence[int] | None = None) -> Batch:
        """A batch of the table without the columns that go, and with the ``rows`` that stay; None for all."""
        if isinstance(batch.whole, list):
            picked = [batch.whole[row] for row in (range(len(batch)) if rows is None else rows)]
            listed = [{name: value for name, value in row.items() if name not in self.dropped} for row in picked]
            return replace(batch, rows=listed, whole=listed)
        arrow = batch.whole.select([name for name in batch.whole.schema.names if name not in self.dropped])
        if rows is not None:
            arrow = arrow.take(list(rows)) if arrow.num_columns else arrow.slice(0, len(rows))
        return replace(batch, rows=[{}] * len(batch if rows is None else rows), whole=arrow)


def with_features(
    metadata: Mapping[bytes, bytes] | None, columns: Collection[str], new: Mapping[str, Any]
) -> dict[bytes, bytes]:
    """Return a schema's metadata with what ``datasets`` says of these columns, and of new ones."""
    entries = dict(metadata or {})
    features = {name: feature for name, feature in _features(entries.pop(_FEATURES, None)).items() if name in columns}
    features |= new
    return {**entries, _FEATURES: json.dumps({"info": {"features": features}}).encode()} if features else entries


def _features(written: bytes | None) -> dict[str, Any]:
    """Return what ``datasets`` says of columns in a schema's metadata; nothing where it says nothing."""
    try:
        features = json.loads(written or b"{}")["info"]["features"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return features if isinstance(features, dict) else {}
