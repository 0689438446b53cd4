"""Files that data name: kept inside a folder, opened only where they are regular files, read up to a bound.

And directories for outputs, behind links.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from grounding_rewards.errors import DataPathError, GroundingRewardsError, TableError

_KINDS = {
    stat.S_IFDIR: "a directory", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device", stat.S_IFLNK: "one of symbolic links in a circle",
}  # fmt: skip
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
"""Without waiting for whoever writes to a FIFO that takes a file's place just before it is opened."""
_STEP = 1 << 20


def inside(folder: str | os.PathLike[str], name: str) -> Path:
    """Return the real path of a relative name, which must lie in a folder; see ``_blobs`` for the cache of the hub."""
    if os.path.isabs(name):
        raise DataPathError("is an absolute path; expected a name inside its folder")
    try:
        root = Path(os.path.realpath(folder))
        path = Path(os.path.realpath(root / name))
    except (OSError, ValueError) as error:
        raise _unreadable(error) from None
    if not any(path.is_relative_to(each) for each in (root, *_blobs(root))):
        raise DataPathError(f"leads out of {os.fspath(folder)}", elsewhere=True)
    return path


def inside_file(folder: str | os.PathLike[str], name: object) -> Path:
    """Return the real path of a regular file that a manifest names, as ``inside`` does."""
    if not isinstance(name, str):
        raise DataPathError("is no name; expected a text")
    path = inside(folder, name)
    try:
        there = os.lstat(path)
    except OSError as error:
        raise _unreadable(error) from None
    _check(there, "a regular file")
    return path


@contextmanager
def open_regular(path: str, folder: str | os.PathLike[str] | None, *, expected: str) -> Iterator[IO[bytes]]:
    """Open a regular file for reading; anything else is refused without being opened."""
    try:
        place = path if folder is None else inside(folder, path)
        _check(os.stat(place, follow_symlinks=folder is None), expected)  # some devices act when they are opened
        # O_NOFOLLOW: links are resolved by now, and one that is there again is refused.
        handle = os.open(place, _FLAGS | (0 if folder is None else os.O_NOFOLLOW))
        with os.fdopen(handle, "rb") as file:
            _check(os.fstat(handle), expected)  # another file may have taken its place just now
            if folder is not None and inside(folder, path) != place:  # or a link that of a folder above it
                raise DataPathError("was replaced while it was opened")
            if not os.fstat(handle).st_size:
                raise DataPathError(f"is empty; expected {expected}")
            yield file
    except GroundingRewardsError:
        raise
    except (OSError, ValueError) as error:
        raise _unreadable(error) from None


def regular_files(paths: Iterable[Path]) -> list[Path]:
    """Return files that were found in a directory, of which any that is no regular file is an error."""
    files = list(paths)
    for file in files:
        try:
            _check(file.stat(), "a regular file")
        except DataPathError as error:
            raise TableError(f"{file}: {error}; move it elsewhere, or write what it gives to a file") from None
        except OSError as error:
            raise TableError(f"{file}: {_link(error)}; remove it, or bring back what it leads to") from None
    return files


def real_directory(out: Path) -> Path:
    """Return where an output directory is, or will be, behind links."""
    real = Path(os.path.realpath(out))
    if real.is_symlink():  # realpath stops where links lead round in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(out))
    return real


@contextmanager
def made_directory(out: Path) -> Iterator[None]:
    """Make a directory and those above it; after an error those that were made are removed, unless they hold files."""
    for each in (out, *out.parents):  # a circle counts as missing below, and mkdir would say that it exists
        real_directory(each)
    missing = [each for each in (out, *out.parents) if not each.exists()]  # the innermost first, which is removed first
    try:
        out.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for each in missing:
            with suppress(OSError):  # another run has written into it
                each.rmdir()
        raise


def not_there(path: Path) -> str:
    """Return why nothing is at a path: no such file, or symbolic links that lead round in a circle."""
    try:
        path.stat()
    except OSError as error:
        return _link(error) if error.errno == errno.ELOOP else "no such file"
    return "no such file"


def _link(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "symbolic links lead round in a circle"
    return "no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)


def read_up_to(file: IO[bytes], most: int) -> bytes:
    """Read a file to its end, but no more than ``most`` bytes and one, whatever size the system says it has."""
    content = bytearray()
    while len(content) <= most and (piece := file.read(min(_STEP, most + 1 - len(content)))):
        content += piece
    return bytes(content)


def _check(status: os.stat_result, expected: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
        raise DataPathError(f"is {kind}; expected {expected}")


def _blobs(root: Path) -> Iterator[Path]:
    """Yield where the cache of the hub keeps the files of a folder's snapshot: its links lead into ``blobs``."""
    for place in (root, *root.parents):
        repository = place.parent.parent
        if place.parent.name == "snapshots" and repository.name.startswith(("datasets--", "models--", "spaces--")):
            yield repository / "blobs"


def _unreadable(error: OSError | ValueError) -> DataPathError:
    if isinstance(error, OSError):
        return DataPathError(error.strerror or str(error), elsewhere=isinstance(error, FileNotFoundError))
    # A ValueError is Python's own: a null byte, or half a surrogate pair that it cannot encode.
    return DataPathError(f"is no path: {error}" if "null" in str(error) else "is no path: it is not UTF-8")
