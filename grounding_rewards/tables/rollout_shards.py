"""Files of one process in a rollout table: whole Parquet files under names that no other process has."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from grounding_rewards.errors import TableError
from grounding_rewards.tables.atomic import atomic_files, output_of, remove_leftovers
from grounding_rewards.tables.rollout_columns import arrow

PREFIX = "rollouts-"

PART_ROWS = 4096
"""With so many rows a file is full."""

PART_BYTES = 1 << 25
"""With so much in it, too."""


def as_directory(directory: str | os.PathLike[str]) -> Path:
    """A directory by its full path, so that it stays the same one when the working directory changes.

    Raises:
        TableError: it is no path of a file system.

    >>> as_directory("s3://bucket/run")
    Traceback (most recent call last):
    grounding_rewards.errors.TableError: got 's3://bucket/run'; expected a directory of a file system
    """
    if not isinstance(directory, str | os.PathLike) or not os.fspath(directory) or "://" in str(directory):
        raise TableError(f"got {directory!r:.80}; expected a directory of a file system")
    return Path(os.path.abspath(Path(directory).expanduser()))


class Shard:
    """The files of one process: ``rollouts-SHARD-PART.parquet``, each written beside its place and renamed.

    The last one grows until it is full: a longer file with the same rows, and more after them, takes its place. So
    there are as many files as rows ask for, however often some are written, and whoever reads finds every row once.

    A hidden file claims the number until the first part is there, which tells others that it is taken.

    Raises:
        OSError: the directory cannot be made or written into.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.parts = self.rows = 0
        self._last: Any = None
        directory.mkdir(parents=True, exist_ok=True)
        for each in {output_of(each) for each in directory.glob(f".{PREFIX}*.partial")}:
            remove_leftovers(each)  # of processes that were killed, whose numbers no other one will have
        self.number = self._claimed()

    def write(self, columns: dict[str, list[Any]], schema: Any) -> None:
        """Write rows into the last file or one more, all or none of them.

        Rows get their numbers here: ``rollout`` = shard * 2**32 + row.

        Raises:
            OSError: the file cannot be written.
        """
        rows = len(columns["response"])
        first = (self.number << 32) + self.rows
        numbered = {**columns, "rollout": np.arange(first, first + rows)}
        arrays = [_column(numbered[field.name], field.type) for field in schema]
        table = pa.Table.from_arrays(arrays, schema=schema)
        part = self.parts + 1
        if self._last is not None and self._part(self.parts).exists():  # somebody may have moved it away
            table, part = pa.concat_tables([self._last, table]).combine_chunks(), self.parts
        self.directory.mkdir(parents=True, exist_ok=True)
        with atomic_files() as files:
            pq.write_table(table, files.open(self._part(part)), compression="zstd")
        self.parts = part
        self.rows += rows
        self._last = None if table.num_rows >= PART_ROWS or table.nbytes >= PART_BYTES else table
        self.release()

    def release(self) -> None:
        """Give the claim up: parts hold the number from now on, or nothing was written."""
        with suppress(OSError):
            self._claim.unlink(missing_ok=True)

    @property
    def _name(self) -> str:
        return f"{PREFIX}{self.number:08x}"

    def _part(self, number: int) -> Path:
        return self.directory / f"{self._name}-{number:06d}.parquet"

    @property
    def _claim(self) -> Path:
        return self.directory / f".{self._name}.claim"

    def _claimed(self) -> int:
        while True:
            self.number = secrets.randbits(31)
            try:
                file = self._claim.open("xb")
            except FileExistsError:
                continue
            try:
                with file:
                    file.write(b"a process that has written no rollouts yet\n")  # which a full disk refuses
            except OSError:
                self.release()
                raise
            if not any(self.directory.glob(f"{self._name}-*")):
                return self.number
            self.release()


def _column(values: Any, kind: Any) -> Any:
    return pa.array(values) if isinstance(values, np.ndarray) else arrow(values, kind)
