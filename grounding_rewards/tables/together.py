"""Several files that belong together: all of them are written, then all take their names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO


@dataclass(frozen=True)
class Together:
    """Files that take their names when all of them are whole.

    Attributes:
        removed: files of a former run that this one has not, which go when the new ones are there.
    """

    removed: list[Path] = field(default_factory=list)
    _files: list[tuple[IO[bytes], Path, Path]] = field(default_factory=list)

    def open(self, path: str | os.PathLike[str]) -> IO[bytes]:
        """A file to write to. The files take their names in the reverse of the order in which they are opened.

        Raises:
            OSError: it cannot be made.
        """
        path = Path(os.path.realpath(path))
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        try:
            file = partial.open("wb")
        except OSError as error:
            raise _of(path, error) from None
        self._files.append((file, partial, path))
        return file

    def _take_names(self) -> None:
        """First everything is on the disk, which may take long; then the names change, which does not."""
        for file, _, path in self._files:
            try:
                file.flush()
                os.fsync(file.fileno())
                file.close()
            except OSError as error:
                raise _of(path, error) from None
        for place, (_, partial, path) in reversed(list(enumerate(self._files))):
            if not place:
                self._remove()
            try:
                partial.replace(path)
            except OSError as error:
                raise _of(path, error) from None

    def _remove(self) -> None:
        for path in self.removed:
            path.unlink(missing_ok=True)

    def _leave_no_trace(self) -> None:
        for file, partial, _ in self._files:
            with suppress(OSError):
                file.close()
            with suppress(OSError):
                partial.unlink()


@contextmanager
def written_together() -> Iterator[Together]:
    """Write several files; where anything goes wrong before the end, none of them takes its name.

    Open first what tells that the others are there, such as a manifest with their hashes: it takes its name last, after
    files in ``removed`` have gone. So a manifest that says new things says true ones, whatever ends the process; one
    whose hashes are not those of the files is an older one, of a run that was killed between two names, and the same
    command again mends it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, written_together() as files:
    ...     manifest, pool = files.open(f"{folder}/manifest.json"), files.open(f"{folder}/pool.jsonl")
    ...     _ = pool.write(b"{}"), manifest.write(b"{}")
    """
    files = Together()
    try:
        yield files
        files._take_names()
    except BaseException:
        files._leave_no_trace()
        raise


def _of(path: Path, error: OSError) -> OSError:
    """The same error with the name of the file that was asked for."""
    return type(error)(error.errno, error.strerror, str(path)) if error.errno is not None else error
