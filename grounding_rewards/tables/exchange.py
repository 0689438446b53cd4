"""A directory that takes the place of another one, in one step where the system has such a step."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

_HERE = -100
"""Paths are meant from the working directory: AT_FDCWD of Linux."""

_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux."""


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
        shutil.rmtree(new)
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


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names; False where the system or the file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    with suppress(OSError, AttributeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
    return False
