"""End the processes that an engine starts when this one ends, also by a kill that runs nothing of it any more.

Run as a script it is the watcher: a process that looks every half second which processes have come from its parent, and
kills them once the parent is gone. Only Linux says which these are.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PAUSE_S = 0.5


@contextmanager
def ended_with_us() -> Iterator[None]:
    """Have processes that are started in the context end soon after this one, if it is killed."""
    if not Path("/proc/self/stat").exists():
        yield
        return
    command = [sys.executable, "-I", "-S", __file__, str(os.getpid()), *map(str, descendants(os.getpid()))]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    watcher = subprocess.Popen(command, start_new_session=True, **quiet)  # type: ignore[call-overload]
    try:
        yield
    finally:
        watcher.kill()
        watcher.wait()


def descendants(parent: int) -> dict[int, str]:
    """Return the processes that come from one, each with the time of its start: numbers are used again."""
    each = dict[int, tuple[int, str]]()
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):  # it has ended
            fields = place.read_text(errors="replace").rpartition(")")[2].split()
            each[int(place.parent.name)] = int(fields[1]), fields[19]
    found, known = dict[int, str](), {parent}
    while new := {number for number, (above, _) in each.items() if above in known} - known:
        known |= new
        found |= {number: each[number][1] for number in new}
    return found


def _watch(parent: int, before: set[int]) -> None:
    seen = dict[int, str]()
    while os.getppid() == parent:
        seen |= {number: start for number, start in descendants(parent).items() if number not in before}
        time.sleep(_PAUSE_S)
    seen.pop(os.getpid(), None)
    for number, start in seen.items():
        with suppress(OSError, IndexError):
            if Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2].split()[19] == start:
                os.kill(number, signal.SIGKILL)


if __name__ == "__main__":
    _watch(int(sys.argv[1]), {int(number) for number in sys.argv[2:]})
