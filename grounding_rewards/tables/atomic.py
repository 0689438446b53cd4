"""Write outputs atomically: into temporary files beside them, which are renamed when they are on the disk.

A temporary file is ``.NAME.tmp-RANDOM.partial``. It is made by O_EXCL under a random name, since process numbers are
equal in two containers on one volume; its mode follows the umask. It is locked while its writer lives, so that the next
run to the same output can remove what a killed run left. Of several writers the last whole output wins.
"""

from __future__ import annotations

import fcntl
import io
import json
import logging
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import IO, Any

from grounding_rewards.tables.object_stores import put, removed

LOG = logging.getLogger("grounding_rewards")

_PARTIAL = re.compile(r"\.(.+)\.tmp-[0-9a-f]{8}\.partial")

_PATIENCE = 500
"""Hundredths of a second to wait for a directory: names change in less, and a stranger may have locked it for long."""


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a file that replaces ``path`` at the end; after any error the old one is still there."""
    remove_leftovers(path)
    with atomic_files() as files:
        yield files.open(path)


@contextmanager
def atomic_files() -> Iterator[Files]:
    """Write files that belong together; they take their names at the end, the one that was opened first as the last.

    Open a manifest first. Whatever ends the process, a new manifest then describes new files; one whose hashes are not
    those of the files is that of an earlier run, and its ``leftovers`` list what a later run had renamed when it was
    killed. They stay until a run has ended well.
    """
    files = Files()
    try:
        yield files
        files._rename()
    except BaseException:  # Ctrl-C, too
        files._discard()
        raise


class Files:
    """Temporary files of outputs that belong together."""

    def __init__(self) -> None:
        # files of an earlier run that this one does not write; taken up right before the manifest is renamed
        self.removed: Iterable[Path] = ()
        self._files: list[tuple[IO[bytes], Path]] = []

    def open(self, path: str | os.PathLike[str]) -> IO[bytes]:
        """Open a file to write to. Where the output is a link, the file that it leads to is replaced."""
        path = Path(os.path.realpath(path))
        if self._files:  # those of the manifest, the first, stay until the run has ended well
            remove_leftovers(path)
        file = _temporary_file(path)
        self._files.append((file, path))
        return file

    @property
    def outputs(self) -> list[Path]:
        """Paths of the files that were opened, links followed."""
        return [path for _, path in self._files]

    def _rename(self) -> None:
        """Have all on the disk first, which may take long; then change the names, which does not."""
        for file, path in self._files:
            with named(path):
                file.flush()
                os.fsync(file.fileno())
        several = len(self._files) > 1
        with ExitStack() as stack:
            # Sorted: two runs lock folders in one order, and none waits for one that the other holds.
            for folder in sorted({path.parent for _, path in self._files}):
                stack.enter_context(renaming(folder, alone=several))
            for place, (file, path) in reversed(list(enumerate(self._files))):
                for old in () if place else self.removed:
                    remove(old)
                    remove_leftovers(old)
                with named(path):
                    os.replace(file.name, path)  # open still, and so locked until it has its name
                put(path)
        self._close()
        for _, manifest in self._files[:1] if several else ():
            remove_leftovers(manifest)

    def _close(self) -> None:
        for file, _ in self._files:
            with suppress(OSError):  # of bytes that a full disk did not take, which ``_rename`` has raised
                file.close()

    def _discard(self) -> None:
        """Remove temporary files, but for that of the manifest where others took their names, which it lists."""
        renamed = not all(os.path.exists(file.name) for file, _ in self._files[1:])
        self._close()
        for file, _ in self._files[1:] if renamed else self._files:
            with suppress(OSError):  # the error that led here is the one to raise
                os.unlink(file.name)


def output_of(path: Path) -> Path:
    """Return the output that a temporary file is for; any other path as it is."""
    match = _PARTIAL.fullmatch(path.name)
    return path if match is None else path.with_name(match[1])


def leftovers(path: str | os.PathLike[str]) -> list[Path]:
    """Return temporary files of an output, of runs that were killed or are at work."""
    path = Path(os.path.realpath(path))
    with suppress(OSError):  # a directory that is not there is an error of whoever writes into it
        return sorted(each for each in path.parent.iterdir() if each != path and output_of(each) == path)
    return []


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove temporary files that killed runs left of an output; where there are no locks, the log names them."""
    for each in leftovers(path):
        if each.is_symlink() or not each.is_file():
            continue  # nothing that was made here, or renamed by now
        try:
            with each.open("rb+") as file:  # NFS locks what is open for writing
                dead = lock(file)
                if dead:
                    each.unlink()
        except FileNotFoundError:  # its run has just renamed it
            continue
        except OSError:
            dead = None
        if dead is None:
            LOG.warning(
                "%s: a run that was killed left it, or one is writing it now; remove it if nothing writes %s",
                *(each, output_of(each)),
            )


def lock(file: IO[bytes] | int, *, shared: bool = False) -> bool | None:
    """Lock an open file or directory while it is open: False where another one has, None where there are no locks."""
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:  # locked by another open file, also one of this process
        return False
    except OSError:  # a file system without locks
        return None
    return True


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Raise errors of the system with this path in them."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # raised in Python: its message would be lost
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from None


@contextmanager
def renaming(folder: Path, *, alone: bool = False) -> Iterator[None]:
    """Change names in a directory: alone, so that outputs of two runs are not mixed. Then the disk has them, too."""
    with ExitStack() as stack:
        handle = None
        with suppress(OSError):  # a directory that may be written into, and not read
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, handle)
        for _ in range(_PATIENCE if alone else 0):
            if handle is None or lock(handle) is not False:
                break
            sleep(0.01)
        yield
        if handle is not None:
            with suppress(OSError):  # some file systems know no such thing of directories
                os.fsync(handle)


def write_json(out: Path, path: Path, value: Mapping[str, Any]) -> None:
    """Write an object as a file of JSON, all or nothing; errors name ``out``."""
    with named(out), atomic_file(path) as file:
        file.write((json.dumps(value, indent=2, allow_nan=False) + "\n").encode())


def remove(path: Path) -> None:
    """Remove a file or a link, which may be missing, or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)  # such as the `groups` of `pool score`
    else:
        path.unlink(missing_ok=True)
    removed(path)


class _Named(io.FileIO):
    """Bytes pass here whoever writes them, Arrow too, and buffers that are emptied when they are closed."""

    def __init__(self, place: Path, path: Path) -> None:
        with named(path):
            super().__init__(os.fspath(place), "xb")
        self.path = path

    def write(self, data: Any) -> Any:
        with named(self.path):
            return super().write(data)


def _temporary_file(path: Path) -> IO[bytes]:
    while True:
        place = path.with_name(f".{path.name}.tmp-{os.urandom(4).hex()}.partial")
        file = io.BufferedWriter(_Named(place, path))
        if lock(file) is not False and place.exists():
            return file
        file.close()  # another run took it for a leftover before it was locked
