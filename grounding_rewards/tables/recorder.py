"""A rollout table that grows while training runs, and can be read at any moment.

A directory of Parquet files, a row a rollout, with the columns of ``rollout_columns.COLUMNS``. Every process writes
files of its own, ``rollouts-NUMBER-PART.parquet`` (of a later launch ``rollouts-run-2-...``); the last one grows until
it is full: a longer one with the same rows, and more after them, takes its place. Whatever ends a process leaves whole
files, and a second run goes on in the same directory. The table is never complete: it is what is there by now.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Mapping, Sequence
from multiprocessing.util import Finalize
from pathlib import Path
from tempfile import TemporaryFile
from threading import RLock, Timer
from typing import Any
from weakref import WeakSet

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from grounding_rewards.errors import TableError
from grounding_rewards.tables.arrow_rows import first_line
from grounding_rewards.tables.atomic import atomic_file, output_of, remove_leftovers
from grounding_rewards.tables.data_paths import regular_files
from grounding_rewards.tables.launches import PREFIX, Launch
from grounding_rewards.tables.manifests import check_finished
from grounding_rewards.tables.rollout_columns import arrow, held, rollout_schema

LOG = logging.getLogger("grounding_rewards")

FLUSH_AFTER_S = 2.0
"""Seconds that a single row waits, at most, for others to be written with."""

RETRY_AFTER_S = 10.0
"""Seconds after which files that could not be written are tried again."""

PART_ROWS, PART_BYTES = 4096, 1 << 25
"""With either a file is full."""

MOST_ROWS = 1 << 16
"""Rows that are kept while files cannot be written; later ones are not recorded."""


class RolloutRecorder:
    """Appends rollouts to a table in a directory. May be shared by threads; forks and pickles begin files of their own.

    A batch is in its file when ``append`` returns: whatever ends the process then, it is kept. Single rows wait for
    others, 2 seconds or until there are 4,096; a process that is killed loses no more than these. What still waits is
    written by ``close``, and at the end of a process that ends in order. A file grows until it has 4,096 rows. The rows
    of one ``append`` are never parted.

    Where a file cannot be written, one ERROR is logged, and up to 65,536 rows are kept and tried again every 10
    seconds. Rows beyond are not recorded; an ERROR tells when that begins, and a WARNING how many they were once files
    can be written again.

    ``directory`` is made, and tried out, at once. ``parts`` are names of the recipe's parts, of which recorders with
    others may share the directory, ``further`` those of columns of texts.
    """

    _timer: Timer | None
    _waiting: dict[str, list[Any]]
    _lost: int
    _failing = False

    def __init__(
        self, directory: str | os.PathLike[str], parts: Sequence[str] = (), further: Sequence[str] = ()
    ) -> None:
        self.directory = _absolute(directory)
        self.parts, self.further = tuple(parts), tuple(further)
        self.schema = rollout_schema(self.parts, self.further)
        # Looks for pandas and numpy.ma once, under locks that a fork in the middle of it would leave locked for ever.
        pa.array(np.arange(1))
        self._renew()
        try:
            self._begin()
        except OSError as error:
            raise TableError(
                f"{self.directory}: rollouts cannot be written there ({error.strerror or error}); expected a directory "
                "with room that this process may write into"
            ) from None
        _RECORDERS.add(self)
        _at_exit()

    def __reduce__(self) -> tuple[Any, ...]:
        return RolloutRecorder, (str(self.directory), self.parts, self.further)

    def append(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Record n rollouts: ``response`` and any other columns but ``rollout``, n values each, which are copied.

        None, NaN and what does not fit the column's type become null; sizes come as [width, height], or (n, 2). Where a
        column is unknown, or columns differ in length, nothing is recorded.
        """
        rows = self._checked(columns)
        lists = {name: held(values) for name, values in columns.items()}
        with self._lock:
            if self._rows >= MOST_ROWS:
                if not self._lost:
                    LOG.error("rollouts are not recorded until files can be written to %s", self.directory)
                self._lost += rows
                return
            for name, column in self._waiting.items():
                column.extend(lists.get(name, [None] * rows))
            self._rows += rows
            _at_exit()  # again, in a forked process
            if not self._failing and (rows > 1 or self._rows >= PART_ROWS):
                self.flush()
            elif self._timer is None:
                self._wait(FLUSH_AFTER_S)

    def flush(self) -> None:
        """Write all rows that wait; where that fails, they wait on."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if not self._rows:
                return
            failed = self._failing
            try:
                self._write()
            except Exception as error:  # a disk can fail in any way, and none of them ends a training
                if not failed:
                    LOG.error(
                        "rollouts cannot be written to %s (%s); up to %s rows are kept and tried again every %g "
                        "seconds, and later ones are not recorded",
                        *(self.directory, first_line(error), f"{MOST_ROWS:,}", RETRY_AFTER_S),
                    )
                self._failing = True
                self._wait(RETRY_AFTER_S)
                return
            lost, self._lost, self._failing = self._lost, 0, False
            if failed:
                LOG.warning("rollouts are written to %s again; %s rows were not recorded", self.directory, f"{lost:,}")

    def close(self) -> None:
        """Write what waits; more rows can be appended later."""
        self.flush()
        self._report_loss()

    def _report_loss(self) -> None:
        if self._rows:
            LOG.error("%s rollouts are lost if this process ends now: %s", f"{self._rows:,}", self.directory)

    def _renew(self) -> None:
        """Set up locks, rows and files of this process's own."""
        self._lock, self._timer, self._failing = RLock(), None, False
        self._waiting = {name: [] for name in self.schema.names if name != "rollout"}
        self._rows = self._lost = self._number = self._part = self._written = 0
        self._last: Any = None
        self._launch: Launch | None = None

    def _begin(self) -> Launch:
        """Make the directory, try it out, and take part in a launch."""
        self.directory.mkdir(parents=True, exist_ok=True)
        for each in {output_of(each) for each in self.directory.glob(f".{PREFIX}*.partial")}:
            remove_leftovers(each)  # of processes that were killed
        with TemporaryFile(dir=self.directory, buffering=0) as probe:
            probe.write(b"room for rollouts?\n")  # which a full disk refuses
        self._launch = Launch(self.directory)
        return self._launch

    def _write(self) -> None:
        """Write rows into the last file or one more, all or none of them."""
        launch = self._launch or self._begin()
        self.directory.mkdir(parents=True, exist_ok=True)
        while not self._number:  # drawn once there is a row to write, so that its file shows others that it is taken
            number = secrets.randbits(31)  # so that ``rollout``, this and 32 bits of the row, fits into int64
            self._number = 0 if any(self.directory.glob(f"{PREFIX}*{number:08x}-*")) else number
        first = (self._number << 32) + self._written
        numbers = pa.array(np.arange(first, first + self._rows))
        arrays = [
            numbers if field.name == "rollout" else arrow(self._waiting[field.name], field.type)
            for field in self.schema
        ]
        table, part = pa.Table.from_arrays(arrays, schema=self.schema), self._part + 1
        name = f"{launch.prefix}{self._number:08x}-{{:06d}}.parquet"
        if self._last is not None and (self.directory / name.format(self._part)).exists():  # else it was moved away
            table, part = pa.concat_tables([self._last, table]).combine_chunks(), self._part
        with atomic_file(self.directory / name.format(part)) as file:
            pq.write_table(table, file, compression="zstd")
        self._part, self._written, self._rows = part, self._written + self._rows, 0
        self._last = None if table.num_rows >= PART_ROWS or table.nbytes >= PART_BYTES else table
        for column in self._waiting.values():
            column.clear()

    def _wait(self, seconds: float) -> None:
        """Write what waits in some seconds; at once where no thread starts, as while the interpreter ends."""
        timer = Timer(seconds, self.flush)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:
            if not self._failing:
                self.flush()
        else:
            self._timer = timer

    def _checked(self, columns: Mapping[str, Sequence[Any]]) -> int:
        unknown = [name for name in columns if name not in self._waiting]
        if unknown:
            raise TableError(f"rollouts: got a column {unknown[0]!r}; expected some of {', '.join(self._waiting)}")
        lengths = {name: len(values) for name, values in columns.items()}
        if "response" not in lengths or len(set(lengths.values())) > 1:
            raise TableError(f"rollouts: got {lengths} rows; expected responses, and as many of each other column")
        return lengths["response"]


def read_rollouts(directory: str | os.PathLike[str], columns: Sequence[str] | None = None) -> Any:
    """Return all rollouts that are in a directory by now as one Arrow table, with null where a row lacks a part."""
    check_finished(Path(directory))
    files = regular_files(sorted(Path(directory).glob(f"{PREFIX}*.parquet")))
    if not files:
        raise TableError(f"{directory}: no rollouts ({PREFIX}*.parquet) are there")
    wanted = None if columns is None else list(dict.fromkeys(["rollout", *columns]))
    table = pa.concat_tables([_read(file, wanted) for file in files], promote_options="default")
    if columns is None:
        return table
    unknown = [name for name in columns if name not in table.column_names]
    if unknown:
        raise TableError(f"{directory}: no rollouts have a column {unknown[0]!r}")
    return table.select(columns)


def _absolute(directory: str | os.PathLike[str]) -> Path:
    """Return the full path of a directory, so that it stays the same one when the working directory changes."""
    if not isinstance(directory, str | os.PathLike) or not os.fspath(directory) or "://" in str(directory):
        raise TableError(f"got {directory!r:.80}; expected a directory of a file system")
    return Path(os.path.abspath(Path(directory).expanduser()))


def _read(file: Path, columns: list[str] | None) -> Any:
    with file.open("rb") as source, pq.ParquetFile(source) as opened:
        return opened.read(columns)


_RECORDERS: WeakSet[RolloutRecorder] = WeakSet()
_WATCHED: list[Finalize] = []


def _at_exit() -> None:
    """Have this process write what waits when it ends; ``atexit`` alone knows no end of a forked worker."""
    if not _WATCHED:
        _WATCHED.append(Finalize(None, close_all, exitpriority=0))


def close_all() -> None:
    """Close all recorders of this process; a directory that is gone is not made again."""
    for recorder in list(_RECORDERS):
        if recorder.directory.is_dir():
            recorder.close()
        else:
            recorder._report_loss()


def _forked() -> None:
    _WATCHED.clear()  # multiprocessing forgets in a child what its parent registered
    for recorder in list(_RECORDERS):
        recorder._renew()  # threads that are not here may hold its locks


os.register_at_fork(after_in_child=_forked)
