"""Formats of files of rows: reading them by their suffix, and writing them atomically."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.atomic import atomic_file
from grounding_rewards.tables.base import NewColumns, NoRowsError, Note, Table, Writer, no_collision
from grounding_rewards.tables.contents import COMPRESSIONS, Contents, copied, is_stream
from grounding_rewards.tables.data_paths import not_there
from grounding_rewards.tables.json_lines import JsonLinesWriter
from grounding_rewards.tables.object_stores import local
from grounding_rewards.tables.text_rows import CsvTable, JsonArrayTable, JsonLinesTable

if TYPE_CHECKING:
    from grounding_rewards.tables.inferred_schema import Inferred

JSON_LINES = (".jsonl", ".ndjson", ".json-lines")
JSON = (".json",)
CSV = (".csv", ".tsv")
PARQUET = (".parquet",)
_TEXTS = (*JSON_LINES, *JSON, *CSV)
_MAGIC = b"PAR1"
"""The first bytes of a Parquet file."""


def open_table(path: str | os.PathLike[str], *, tolerant: bool = False, encoding: str | None = None) -> Table:
    """Open a file of rows.

    Args:
        path: JSON lines (.jsonl, .ndjson, .json-lines), JSON (.json: an array of objects, or an object that holds one
            such array) or CSV (.csv, or .tsv with tabs), also compressed (.gz, .zst), or Parquet (.parquet). ``-`` and
            ``/dev/stdin`` are standard input, ``/dev/fd/N`` a stream that the shell passes: Parquet, or else JSON
            lines.
        tolerant: True where lines that cannot be read are rows, in ``Batch.unread``, and no error.
        encoding: of JSON lines, JSON and CSV; None for UTF-8.

    Returns:
        The table; its columns are known, its rows are read batch by batch.

    Raises:
        TableError: the file is missing, a directory, empty or unreadable, or has another suffix.

    >>> open_table("rows.txt")
    Traceback (most recent call last):
    grounding_rewards.errors.TableError: rows.txt: a file of rows ends in .jsonl, .ndjson, .json-lines, .json, .csv or \
.tsv, also with .gz or .zst, or in .parquet
    """
    path = local(path)
    if is_stream(path):
        source = copied(path)
        suffix = PARQUET[0] if source.begins(_MAGIC) else JSON_LINES[0]
    else:
        suffix, compression = _format(path)
        if path.is_dir():
            raise TableError(f"{path}: is a directory; expected a file")
        if not path.exists():
            raise TableError(f"{path}: {not_there(path)}")
        if not path.is_file():
            raise TableError(
                f"{path}: is no regular file, and rows are read more than once; write them to a file first"
            )
        source = Contents(path, compression=compression)
    source = replace(source, encoding=encoding) if encoding and suffix not in PARQUET else source
    if suffix not in PARQUET and not source.file.stat().st_size:  # Parquet without rows has a footer
        raise NoRowsError(f"{path}: is empty")
    table = _opened(path, source, suffix, tolerant=tolerant)
    # Asking for the columns reads the first rows, so that an unreadable file is an error here.
    _ = table.columns
    return table


def _opened(path: Path, source: Contents, suffix: str, *, tolerant: bool) -> Table:
    if suffix in PARQUET:
        from grounding_rewards.tables.parquet import ParquetTable  # pyarrow, which JSON does without

        return ParquetTable(path, source)
    if suffix in CSV:
        return CsvTable(path, source, tolerant=tolerant)
    return (JsonArrayTable if suffix in JSON else JsonLinesTable)(path, source, tolerant=tolerant)


def suffix_of(path: Path) -> str:
    """Return the suffix that names a file's format, without that of a compression, in lower case.

    >>> suffix_of(Path("rows.JSONL.gz")), suffix_of(Path("rows.parquet")), suffix_of(Path("a.parquet.gz"))
    ('.jsonl', '.parquet', '.parquet.gz')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if len(suffixes) == 2 and suffixes[1] in COMPRESSIONS:
        return suffixes[0] if suffixes[0] in _TEXTS else "".join(suffixes)
    return suffixes[-1] if suffixes else ""


def stem_of(path: Path) -> str:
    """Return a file's name without the suffixes of its format and its compression.

    >>> stem_of(Path("data/train.jsonl.gz")), stem_of(Path("v1.2.parquet")), stem_of(Path(".")) == Path.cwd().stem
    ('train', 'v1.2', True)
    """
    path = path if path.name else path.resolve()
    return Path(path.stem).stem if path.suffix.lower() in COMPRESSIONS else path.stem


def _format(path: Path) -> tuple[str, str | None]:
    """Return the format of a file, by its suffix, and its compression."""
    suffix, compression = suffix_of(path), COMPRESSIONS.get(path.suffix.lower())
    if suffix in (*PARQUET, *_TEXTS):
        return suffix, compression
    if compression and Path(suffix).stem in PARQUET:
        raise TableError(
            f"{path}: is Parquet within {compression}, where its parts cannot be read one by one; unpack it first: "
            "Parquet is compressed by itself"
        )
    raise TableError(
        f"{path}: a file of rows ends in {', '.join(_TEXTS[:-1])} or {_TEXTS[-1]}, also with "
        f"{' or '.join(COMPRESSIONS)}, or in {', '.join(PARQUET)}"
    )


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
    schema = schema_of(like)
    if not _is_parquet(path):
        if schema is not None:
            from grounding_rewards.tables.parquet import refuse_bytes

            refuse_bytes(like.path, schema)
        no_collision(like.path, like.columns, new)
        writer: Writer = JsonLinesWriter(file, like.path, new)
    else:
        from grounding_rewards.tables.inferred_schema import Inferred, inferring_writer
        from grounding_rewards.tables.parquet import ParquetWriter

        if schema is None:
            inferred = inferred or Inferred.of((batch.whole for batch in like.batches()), note)
            writer = inferring_writer(file, like.path, inferred, new, metadata)
        else:
            writer = ParquetWriter(file, like.path, schema, new)
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


def schema_of(table: Table) -> Any:
    """A table's Arrow schema; None where rows come with keys of their own."""
    return getattr(table, "schema", None)


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
