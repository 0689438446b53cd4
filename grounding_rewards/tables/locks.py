"""Locks of open files and directories, which end with the process that has them, however it ends."""

from __future__ import annotations

from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def lock(file: IO[bytes] | int) -> bool | None:
    """Lock an open file or directory: False where another process has it, None where the system has no such locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (AttributeError, OSError):
        return None
    return True
