"""Launches that record into one directory: all processes of a launch write under one name.

The first launch writes ``rollouts-NUMBER-PART.parquet``, the second one ``rollouts-run-2-NUMBER-PART.parquet``. A
process belongs to the launch of those that have recorded into the directory and are alive, or with which it shares its
origin: the process it was forked from, or Ray's job. Otherwise it begins a launch.
"""

from __future__ import annotations

import json
import logging
import os
import re
import weakref
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from grounding_rewards.tables.atomic import lock, renaming

PREFIX = "rollouts-"
MARK = ".launch.json"
"""Name of the file with the number of the last launch and the origins of its processes, which lock it."""

LOG = logging.getLogger("grounding_rewards")

_RUN = re.compile(rf"{PREFIX}(?:run-(\d+)-)?[0-9a-f]{{8}}-\d{{6}}\.parquet")
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW  # a link may lead to a file of somebody else's
_PROCESS = os.urandom(8).hex()  # a forked process has it, too


class Launch:
    """This process's part in a launch; while it is there, other processes join the launch."""

    def __init__(self, folder: Path) -> None:
        self.number = 0  # the launch's own is from 1
        with renaming(folder, alone=True):  # processes that start at once decide one after the other
            matches = (_RUN.fullmatch(file.name) for file in folder.iterdir())
            earlier = max((int(match[1] or 1) for match in matches if match), default=0)  # the last with files
            with suppress(OSError):  # a mark of another user's
                self.number = self._joined(folder, os.open(folder / MARK, _FLAGS, 0o666), earlier)
        self.number = self.number or max(earlier, 1)
        self.prefix = PREFIX if self.number == 1 else f"{PREFIX}run-{self.number}-"

    def _joined(self, folder: Path, handle: int, earlier: int) -> int:
        """Return the number of the launch, which this process joins or begins; log where it begins a later one."""
        weakref.finalize(self, os.close, handle)
        alone = lock(handle)
        number, known = _read(handle)
        origins = _origins()
        if not number or (alone and not {*known} & {*origins}):
            number, known = earlier + 1, []
            if earlier:
                LOG.warning(
                    "%s holds rollouts of an earlier run; this one is run-%d there, in files %srun-%d-*.parquet; pool "
                    "commands count all runs together, and say so",
                    *(folder, number, PREFIX, number),
                )
        if not {*known} & {*origins}:
            os.truncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, json.dumps({"number": number, "origins": [*known, *origins]}).encode())
        lock(handle, shared=True)
        return number


def several_runs(files: Iterable[Path]) -> str:
    """Warn of files that several launches recorded into one directory; "" without."""
    runs: dict[Path, set[int]] = {}
    for file in files:
        if match := _RUN.fullmatch(file.name):
            runs.setdefault(file.parent, set()).add(int(match[1] or 1))
    texts = [
        f"{folder} holds rollouts of {len(numbers)} runs, which count together; those of the last one are "
        f"{folder / f'{PREFIX}run-{max(numbers)}-*.parquet'}"
        for folder, numbers in runs.items()
        if len(numbers) > 1
    ]
    return "; ".join(texts)


def _read(handle: int) -> tuple[int, list[str]]:
    """Return what the mark holds: the number of a launch and the origins of its processes; 0 where it is none."""
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        mark = json.loads(os.read(handle, os.fstat(handle).st_size))
        number, origins = mark["number"], [*mark["origins"]]
        if type(number) is int and number > 0 and all(isinstance(each, str) for each in origins):
            return number, origins
    return 0, []


def _origins() -> list[str]:
    """Return the names of what this process comes of: in Ray's workers job and node, else the process itself."""
    job, raylet = os.environ.get("RAY_JOB_ID"), os.environ.get("RAY_RAYLET_PID", "")
    with suppress(OSError, IndexError):  # no such process, or no Linux
        if job and raylet.isdecimal():
            # Numbers of processes and jobs come again; the time of a process's start after the machine's does not.
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
            started = Path(f"/proc/{raylet}/stat").read_text().rpartition(")")[2].split()[19]
            return [f"ray-{job}-{raylet}-{started}-{boot}"]
    return [_PROCESS]
