"""Suffixes of files of rows, and their bytes: compressed or not, or a copy of a stream, because rows are read twice."""

from __future__ import annotations

import io
import os
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from grounding_rewards.errors import TableError

JSON_LINES = (".jsonl", ".ndjson", ".json-lines")
JSON = (".json",)
CSV = (".csv", ".tsv")
PARQUET = (".parquet",)
TEXTS = (*JSON_LINES, *JSON, *CSV)
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""Compressions by their suffix."""

_STEP = 1 << 20
STDIN = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
"""Names of standard input."""

_DESCRIPTOR = re.compile(r"(?:/dev/fd|/proc/self/fd)/([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, eq=False)
class Contents:
    """Bytes that can be read any number of times."""

    path: Path  # what errors call it
    # the temporary file that holds a stream, removed with this object; None where ``path`` is the file itself
    copy: Path | None = None
    compression: str | None = None  # "gzip" or "zstd"; None for neither
    encoding: str | None = None  # of the text, which is then read as UTF-8; None for UTF-8, or for no text

    @property
    def file(self) -> Path:
        """The file to read."""
        return self.copy or self.path

    @contextmanager
    def opened(self) -> Iterator[tuple[IO[bytes], Callable[[], float]]]:
        """Open it; yield the bytes behind any compression, and a function that returns the share read, 0 to 1."""
        length = max(self.file.stat().st_size, 1)
        with self.file.open("rb") as raw:
            stream: Any = raw if self.compression is None else io.BufferedReader(_Unpacked(self, raw))
            stream = stream if self.encoding is None else io.BufferedReader(_Recoded(self, stream))
            yield stream, lambda: min(raw.tell() / length, 1.0)

    def begins(self, text: bytes) -> bool:
        """Return True where the file begins with a text."""
        with self.file.open("rb") as raw:
            return raw.read(len(text)) == text


class _Unpacked(io.RawIOBase):
    """Bytes behind a compression; what cannot be unpacked is an error that says how far it went."""

    def __init__(self, source: Contents, raw: IO[bytes]) -> None:
        import pyarrow as pa  # JSON lines that are not compressed do without

        self._source, self._done = source, 0
        self._stream = pa.input_stream(raw, compression=source.compression)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        try:
            piece = self._stream.read(len(buffer))
        except OSError as error:
            kind = self._source.compression
            raise TableError(
                f"{self._source.path}: cannot be unpacked as {kind} beyond byte {self._done} of its content ({error}); "
                "it is cut off or broken: copy it again"
            ) from None
        self._done += len(piece)
        buffer[: len(piece)] = piece
        return len(piece)


class _Recoded(io.RawIOBase):
    """Text of another encoding in UTF-8; bytes that are no text there are none here."""

    def __init__(self, source: Contents, stream: IO[bytes]) -> None:
        self._source, self._left = source, b""
        self._text = io.TextIOWrapper(stream, source.encoding, "surrogateescape", newline="")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        try:
            piece = self._left or self._text.read(_STEP).encode("utf-8", "surrogateescape")
        except UnicodeError as error:
            raise TableError(f"{self._source.path}: not {self._source.encoding} ({error}); see --encoding") from None
        size = min(len(buffer), len(piece))
        buffer[:size], self._left = piece[:size], piece[size:]
        return size


def suffix_of(path: Path) -> str:
    """Return the suffix that names a file's format, without that of a compression, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if len(suffixes) == 2 and suffixes[1] in COMPRESSIONS:
        return suffixes[0] if suffixes[0] in TEXTS else "".join(suffixes)
    return suffixes[-1] if suffixes else ""


def stem_of(path: Path) -> str:
    """Return a file's name without the suffixes of its format and its compression."""
    path = path if path.name else path.resolve()
    return Path(path.stem).stem if path.suffix.lower() in COMPRESSIONS else path.stem


def is_stream(path: Path) -> bool:
    """Return True for the names of standard input, and of what a shell passes by ``<(...)``."""
    return str(path) in STDIN or _DESCRIPTOR.fullmatch(str(path)) is not None


def folder_of(path: Path) -> Path:
    """Return the folder in which relative paths of data start: that of the file; of a stream the current one."""
    return Path() if is_stream(path) else path if path.is_dir() else path.parent


def copied(path: Path) -> Contents:
    """Copy a stream to a temporary file, which goes when the source does, or else at the end of the program."""
    import tempfile  # which files do without

    handle, name = tempfile.mkstemp(prefix="grounding-rewards-")  # which nobody else may read
    source = Contents(path, Path(name))
    weakref.finalize(source, os.unlink, name)
    try:
        with os.fdopen(handle, "wb") as file, _reading(path) as stream:
            while piece := stream.read(_STEP):
                file.write(piece)
    except OSError as error:
        raise TableError(
            f"{path}: cannot be copied to {name} ({error.strerror or error}); TMPDIR names another folder"
        ) from None
    return source


@contextmanager
def _reading(path: Path) -> Iterator[IO[bytes]]:
    """Open a stream by its number: a FIFO that is opened by name waits for whoever writes to it."""
    if str(path) in STDIN:
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise TableError(f"{path}: standard input is closed; name a file")
        yield stream
        return
    number = _DESCRIPTOR.fullmatch(str(path))
    try:
        own = os.dup(int(number[1]) if number else -1)
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror}); name a file, - or <(...)") from None
    with os.fdopen(own, "rb") as file:
        yield file
