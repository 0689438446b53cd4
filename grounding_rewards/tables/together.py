"""Several files that belong together: all of them are written, then all take their names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import IO

from grounding_rewards.tables import locks
from grounding_rewards.tables.named_files import named, open_named


@dataclass(frozen=True)
class Together:
    """Files that take their names when all of them are whole.

    Attributes:
        removed: files of a former run that this one has not, which go when the new ones are there.
    """

    removed: list[Path] = field(default_factory=list)
    _files: list[tuple[IO[bytes], Path]] = field(default_factory=list)
    _named: list[Path] = field(default_factory=list)

    def open(self, path: str | os.PathLike[str]) -> IO[bytes]:
        """A file to write to. The files take their names in the reverse of the order in which they are opened.

        What killed runs were about to put in its place is removed; see ``partials`` for the first file.

        Raises:
            OSError: it cannot be made.
        """
        path = Path(os.path.realpath(path))
        if self._files:
            _remove_dead(path)
        file = _own(path)
        self._files.append((file, path))
        return file

    def _take_names(self) -> None:
        """First everything is on the disk, which may take long; then the names change, which does not."""
        for file, path in self._files:
            with named(path):
                file.flush()
                os.fsync(file.fileno())
        for place, (file, path) in reversed(list(enumerate(self._files))):
            if not place:
                self._remove()
            if os.name == "nt":
                file.close()  # Windows renames no open file; elsewhere it stays locked till it has its name
            self._named.append(path)
            try:
                with named(path):
                    Path(file.name).replace(path)
            except OSError:
                self._named.pop()
                raise
        for file, _ in self._files:
            file.close()
        for _, path in self._files[:1]:
            _remove_dead(path)

    def _remove(self) -> None:
        for path in self.removed:
            path.unlink(missing_ok=True)
            _remove_dead(path)

    def _leave_no_trace(self) -> None:
        for place, (file, _) in enumerate(self._files):
            with suppress(OSError):
                file.close()
            if place or not self._named:  # the first tells which names were taken
                with suppress(OSError):
                    os.unlink(file.name)


@contextmanager
def written_together() -> Iterator[Together]:
    """Write several files; where anything goes wrong before the end, none of them takes its name.

    Open first what tells that the others are there, such as a manifest with their hashes: it takes its name last, after
    files in ``removed`` have gone. So a manifest that says new things says true ones, whatever ends the process; one
    whose hashes are not those of the files is an older one, of a run that was killed between two names. What that run
    wrote is told by the manifest that took no name, one of ``partials``; the next run that ends well removes it.

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


def partials(path: Path) -> list[Path]:
    """What runs that were killed, or are at work, were to put in the place of a file.

    Of the file that ``written_together`` opens first they stay until another run has ended well, for they tell which
    names were taken.
    """
    path = Path(os.path.realpath(path))
    ours = re.compile(rf"\.{re.escape(path.name)}\.together-\d+\.partial")
    with suppress(OSError):
        return sorted(each for each in path.parent.iterdir() if ours.fullmatch(each.name))
    return []


def _own(path: Path) -> IO[bytes]:
    """A new file beside ``path``, locked as long as it is open: a killed process, here or elsewhere, holds no lock."""
    for number in count(os.getpid()):
        partial = path.with_name(f".{path.name}.together-{number}.partial")
        with suppress(FileExistsError):
            file = open_named(partial, "xb", path)
            if locks.lock(file) is not False and partial.exists():  # else another run takes it for a dead one's
                return file
            file.close()
    raise AssertionError  # numbers do not end


def _remove_dead(path: Path) -> None:
    for each in partials(path):
        with suppress(OSError), each.open("r+b") as file:
            if locks.lock(file):
                each.unlink()
