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
from grounding_rewards.tables.files import written_whole
from grounding_rewards.tables.rollout_columns import arrow

PREFIX = "rollouts-"


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

    A hidden file claims the number until the first part is there, which tells others that it is taken.

    Raises:
        OSError: the directory cannot be made or written into.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.parts = self.rows = 0
        directory.mkdir(parents=True, exist_ok=True)
        self.number = self._claimed()

    def write(self, columns: dict[str, list[Any]], schema: Any) -> None:
        """Write rows as one more file, whole or not at all.

        Rows get their numbers here: ``rollout`` = shard * 2**32 + row.

        Raises:
            OSError: the file cannot be written.
        """
        rows = len(columns["response"])
        first = (self.number << 32) + self.rows
        numbered = {**columns, "rollout": np.arange(first, first + rows)}
        arrays = [_column(numbered[field.name], field.type) for field in schema]
        table = pa.Table.from_arrays(arrays, schema=schema)
        self.directory.mkdir(parents=True, exist_ok=True)  # somebody may have moved it away
        with written_whole(self.directory / f"{self._name}-{self.parts + 1:06d}.parquet") as file:
            pq.write_table(table, file, compression="zstd")
        self.parts += 1
        self.rows += rows
        self.release()

    def release(self) -> None:
        """Give the claim up: parts hold the number from now on, or nothing was written."""
        with suppress(OSError):
            self._claim.unlink(missing_ok=True)

    @property
    def _name(self) -> str:
        return f"{PREFIX}{self.number:08x}"

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
