"""A directory that takes the place of another one, in one step where the system has such a step."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from grounding_rewards.tables.locks import lock

_HERE = -100
"""Paths are meant from the working directory: AT_FDCWD of Linux."""

_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux."""


@contextmanager
def whole_directory(out: Path) -> Iterator[Path]:
    """A directory to write to that takes the place of ``out`` when all went well, and else leaves no trace.

    What killed processes were about to put in its place is removed.

    Raises:
        OSError: it cannot be made.
    """
    _remove_dead(out)
    partial, handle = _own(out)
    try:
        yield partial
        put_directory(partial, out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    finally:
        if handle is not None:
            os.close(handle)


def put_directory(new: Path, out: Path) -> None:
    """Have ``new`` take the name ``out``; what was there is removed afterwards.

    Killed in between, what is at ``out`` is all of the old directory or all of the new one. Where the system cannot
    exchange two names at once, there may be nothing, until ``mend`` brings the old one back.

    Raises:
        OSError: it cannot be renamed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new, out = Path(folder, "new"), Path(folder, "out")
    ...     new.mkdir(), out.mkdir(), Path(new, "a").touch(), Path(out, "b").touch()
    ...     put_directory(new, out)
    ...     [path.name for path in out.iterdir()], new.exists()
    (None, None, None, None)
    (['a'], False)
    """
    if not out.exists():
        os.rename(new, out)
    elif _exchanged(new, out):
        shutil.rmtree(new, ignore_errors=True)  # another process may find it first, and remove it, too
    else:
        os.rename(out, _aside(out))
        os.rename(new, out)
        shutil.rmtree(_aside(out))


def mend(out: Path) -> None:
    """Finish what a killed ``put_directory`` left: bring the old directory back, or remove it where the new is there.

    Raises:
        OSError: it can be neither.
    """
    aside = _aside(out)
    if not aside.is_dir():
        return
    if out.exists():
        shutil.rmtree(aside)
    else:
        os.rename(aside, out)


def _aside(out: Path) -> Path:
    return out.with_name(f".{out.name}.old")


def _own(out: Path) -> tuple[Path, int | None]:
    """A new directory beside ``out``, locked as long as its handle is open."""
    for number in count(os.getpid()):
        partial = out.with_name(f".{out.name}.{number}.partial")
        with suppress(FileExistsError):
            partial.mkdir()
            handle = _opened(partial)
            if handle is None or (lock(handle) is not False and partial.exists()):  # else it is taken for a dead one's
                return partial, handle
            os.close(handle)
    raise AssertionError  # numbers do not end


def _remove_dead(out: Path) -> None:
    """Remove what killed processes, which hold no lock, left of directories like those of ``_own``."""
    ours = re.compile(rf"\.{re.escape(out.name)}\.\d+\.partial")
    for each in out.parent.iterdir():
        handle = _opened(each) if ours.fullmatch(each.name) else None
        if handle is None:
            continue
        if lock(handle):
            shutil.rmtree(each, ignore_errors=True)
        os.close(handle)


def _opened(folder: Path) -> int | None:
    """A handle of a directory; None where there is none, or the system opens no directories."""
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (AttributeError, OSError):
        return None


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names; False where the system or the file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    with suppress(OSError, AttributeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
    return False
