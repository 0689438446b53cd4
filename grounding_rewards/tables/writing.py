"""Write tables as files of rows, whole or not at all, with new columns and without some of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.atomic import atomic_file
from grounding_rewards.tables.contents import JSON_LINES, PARQUET
from grounding_rewards.tables.json_lines import JsonLinesWriter
from grounding_rewards.tables.object_stores import local
from grounding_rewards.tables.rows import Batch, ChangedTable, NewColumns, Note, Table, Writer, no_collision

if TYPE_CHECKING:
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
) -> Iterator[Writer]:
    """Write a table with new columns, atomically.

    Args:
        path: the output; its suffix chooses the format. An existing file is replaced only when all went well.
        like: the table whose batches will be written.
        new: columns to append, name to ``float``, ``str`` or an Arrow type.
        note: takes what the format could not keep as it was.
        metadata: of the Parquet file, where ``like`` has no schema with its own.

    Yields:
        A writer of batches.

    Raises:
        TableError: the path has another suffix, is the input itself, or cannot hold the table's columns.
        OSError: the file cannot be written.
    """
    path = local(path, output=True)
    inputs = getattr(like, "inputs", (like.path,))
    check_output(path, inputs)
    if path.exists() and any(each.exists() and path.samefile(each) for each in inputs):
        raise TableError(f"{path}: is the input itself; write to another file")
    with (
        atomic_file(path) as file,
        table_writer(file, path, like=like, new=new, note=note, metadata=metadata) as writer,
    ):
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
    """Write a table with new columns into an open file that will be called ``path``, as ``write_table`` does.

    ``inferred`` are the types of JSON's columns, where another file of the same rows has asked for them.
    """
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
        if place == source:
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
