"""Arrow files, streams and not: what ``datasets`` writes when it saves a data set to a directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from grounding_rewards.errors import TableError
from grounding_rewards.tables.base import Batch, NoRowsError
from grounding_rewards.tables.parquet import ArrowRows, first_line, pieces

_MAGIC = b"ARROW1"


class ArrowTable:
    """An Arrow file, opened again for each pass."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        with self._reading() as source:
            # A stream does not state its number of rows; the first chunk that has any settles it.
            if not any(map(len, _chunks(_reader(source)))):
                raise NoRowsError(f"{self.path}: no rows")
        return tuple(self.schema.names)

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema, metadata included."""
        with self._reading() as source:
            return _reader(source).schema

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The rows in order; see ``Table``."""
        wanted = [name for name in self.columns if columns is None or name in columns]
        length, start = max(self.path.stat().st_size, 1), 0
        with self._reading() as source:
            for chunk in _chunks(_reader(source)):
                # `or 1`, because the range is made at once, also where size is None.
                slices = (chunk.slice(at, size) for at in range(0, len(chunk), size or 1))
                for arrow in pieces(chunk) if size is None else slices:
                    picked = arrow.select(wanted)
                    yield Batch(start, ArrowRows(picked), arrow if whole else picked, min(source.tell() / length, 1.0))
                    start += len(arrow)

    @contextmanager
    def _reading(self) -> Iterator[IO[bytes]]:
        """The file in memory as far as it is looked at; whatever Arrow cannot read in it becomes one error."""
        try:
            with self.path.open("rb") as file, pa.BufferReader(mmap(file.fileno(), 0, access=ACCESS_READ)) as source:
                yield source
        except (pa.ArrowException, OSError, ValueError) as error:
            if isinstance(error, TableError):  # a ValueError, too
                raise
            raise TableError(f"{self.path}: cannot be read as an Arrow file ({first_line(error)})") from None


def _reader(source: IO[bytes]) -> Any:
    is_file = source.read(len(_MAGIC)) == _MAGIC
    source.seek(0)
    return pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)


def _chunks(reader: Any) -> Iterator[Any]:
    """The record batches, one at a time."""
    if hasattr(reader, "num_record_batches"):  # a file; a stream can only be read on
        return (reader.get_batch(index) for index in range(reader.num_record_batches))
    return iter(reader)
