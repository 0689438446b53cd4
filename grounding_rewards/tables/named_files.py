"""Files to write to whose errors bear the name that the file will have, whatever it is called meanwhile."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal


@contextmanager
def named(path: Path) -> Iterator[None]:
    """What the system refuses, with this path in it.

    >>> with named(Path("pool.parquet")):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'pool.parquet'
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from None


def open_named(place: Path, mode: Literal["wb", "xb"], path: Path) -> io.BufferedWriter:
    """Open a file to write to.

    Args:
        place: where it lies meanwhile.
        mode: as of ``open``.
        path: what errors call it.

    Raises:
        OSError: it cannot be made.
    """
    with named(path):
        return io.BufferedWriter(_Named(place, mode, path))


class _Named(io.FileIO):
    """Bytes pass here whoever writes them, Arrow too, and buffers that are emptied when they are closed."""

    def __init__(self, place: Path, mode: Literal["wb", "xb"], path: Path) -> None:
        super().__init__(os.fspath(place), mode)
        self.path = path

    def write(self, data: Any) -> Any:
        with named(self.path):
            return super().write(data)
