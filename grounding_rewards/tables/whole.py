"""Arrow tables written as a file of rows, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from grounding_rewards.errors import TableError
from grounding_rewards.tables.files import JSON_LINES, PARQUET, written_whole
from grounding_rewards.tables.json_lines import dumps


def write_whole(path: str | os.PathLike[str], tables: Iterable[pa.Table], inputs: Sequence[Path] = ()) -> None:
    """Write rows; an existing file is replaced only when all went well.

    Args:
        path: a file that ends in .parquet, or as JSON lines do.
        tables: its rows, in one table or more of the same columns, of which one at a time is held.
        inputs: files that must not be replaced, and directories that must not be added to.

    Raises:
        TableError: the path has another suffix, lies in no directory, or is or lies in one of the inputs.
        OSError: the file cannot be written.
    """
    path = Path(path)
    check_output(path, inputs)
    with written_whole(Path(os.path.realpath(path))) as file:
        write_rows(file, path, tables)


def write_rows(file: IO[bytes], path: Path, tables: Iterable[pa.Table]) -> int:
    """Write tables into an open file, in the format that the suffix of ``path`` names; how many rows they have."""
    rows, writer = 0, None
    with ExitStack() as stack:
        for table in tables:
            if path.suffix.lower() not in PARQUET:
                for batch in table.to_batches(8192):
                    file.writelines(dumps(row) + b"\n" for row in batch.to_pylist())
            else:
                writer = writer or stack.enter_context(pq.ParquetWriter(file, table.schema))
                writer.write_table(table)
            rows += len(table)
    return rows


def check_output(path: Path, inputs: Sequence[Path] = ()) -> None:
    """Check that a file of rows can be written.

    Raises:
        TableError: the path has another suffix, lies in no directory, or is or lies in one of the inputs.
    """
    if path.suffix.lower() not in (*JSON_LINES, *PARQUET):
        raise TableError(f"{path}: a file of rows ends in {', '.join(JSON_LINES)} or {', '.join(PARQUET)}")
    check_place(path, inputs)


def check_place(path: Path, inputs: Sequence[Path] = ()) -> None:
    """Check that a file of any kind can be written.

    Raises:
        TableError: the path is no file, lies in no directory, or is one of the inputs.
    """
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
