"""A rollout table that grows while training runs, and can be read at any moment.

A directory of Parquet files, a row a rollout, with the columns of ``rollout_columns.COLUMNS``: a log of ``shards``.
Whatever ends a process leaves a table that can be read, and a second run goes on in the same directory.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     recorder = RolloutRecorder(folder, parts=["hit"])
...     recorder.append({"sample_id": ["a", "a"], "response": ["(1, 2)", "?"], "acc": [1.0, 0.0], "hit": [1.0, 0.0]})
...     recorder.close()
...     read_rollouts(folder, ["sample_id", "acc", "hit"]).to_pydict()
{'sample_id': ['a', 'a'], 'acc': [1.0, 0.0], 'hit': [1.0, 0.0]}
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from multiprocessing.util import Finalize
from pathlib import Path
from threading import Condition, Lock, Thread
from time import monotonic
from typing import Any
from weakref import WeakSet

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from grounding_rewards.errors import TableError
from grounding_rewards.tables import shards
from grounding_rewards.tables.data_paths import regular_files
from grounding_rewards.tables.launches import PREFIX
from grounding_rewards.tables.manifests import check_finished
from grounding_rewards.tables.parquet import first_line
from grounding_rewards.tables.rollout_columns import arrow, held, rollout_schema
from grounding_rewards.tables.shards import Log

LOG = logging.getLogger("grounding_rewards")

PATIENCE = 5.0
"""So many seconds ``append`` waits for a batch to be written, and where that was not enough, not again."""

SHARE = 0.1
"""Writing takes no more than this of the time."""

SECONDS = 10.0
"""A row waits no longer for others to be written with."""

PAUSE = 1.0
"""Nor longer than this for the next one."""

MOST_ROWS, MOST_CHARACTERS = 1 << 16, 1 << 28
"""While files cannot be written, rows are kept up to these; later ones are not recorded."""


class RolloutRecorder:
    """Appends rollouts to a table in a directory. May be shared by threads; forks and pickles begin files of their own.

    A batch is in its file when ``append`` returns: whatever ends the process then, it is kept. Single rows wait in
    memory for others, until none has come for 1 second, or the first has waited for 10, or there are 4,096; a process
    that is killed loses no more than that. A thread of the recorder's own writes, a tenth of the time at most: where
    rows come faster, batches wait as well, 10 seconds at most. What still waits is written by ``close`` and at the end
    of the process, where it ends in order. A file grows until it has 4,096 rows. The rows of one ``append`` are never
    parted.

    Where a file cannot be written, one ERROR is logged, and rows are kept and tried again every 10 seconds: about
    65,536 rows, or 268 million characters of text. As many are kept while a disk does not answer; a batch waits 5
    seconds for it, and later ones do not. Rows beyond are not recorded; an ERROR tells when that begins, and a WARNING
    how many they were once files can be written again.

    Args:
        directory: where the table is; it is made, and tried out, at once.
        parts: names of the recipe's parts. Recorders with other parts may share the directory.
        further: names of further columns, of texts.

    Raises:
        TableError: the directory cannot be made or written into, or two columns have one name.
    """

    _waiting: Waiting
    _shard: Log | None
    _writer: Thread | None

    def __init__(
        self, directory: str | os.PathLike[str], parts: Sequence[str] = (), further: Sequence[str] = ()
    ) -> None:
        self.directory = _absolute(directory)
        self.parts, self.further = tuple(parts), tuple(further)
        self.schema = rollout_schema(self.parts, self.further)
        self._columns = dict.fromkeys(name for name in self.schema.names if name != "rollout")
        self._renew()
        pa.array([])  # looks for pandas once, under a lock that a fork in the middle of it would leave locked for ever
        try:
            self._shard = Log(self.directory)
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
        """Record n rollouts.

        Args:
            columns: ``response`` and any other columns but ``rollout``, n values each, which are copied. None, NaN and
                what does not fit the column's type become null; sizes come as [width, height], or (n, 2).

        Raises:
            TableError: a column is unknown, or columns differ in length. Nothing is recorded then.
        """
        rows = self._checked(columns)
        lists = {name: held(values) for name, values in columns.items()}
        characters = sum(len(text) for name in _TEXTS for text in lists.get(name, ()) if isinstance(text, str))
        with self._changed:
            kept, first = not self._waiting.overflowing, not self._lost
            if kept:
                self._waiting.extend(lists, rows, characters)
                self._waiting.hurried |= rows > 1
                self._added += rows
                _at_exit()  # again, in a forked process
                if self._writes():
                    self._await_written(rows)
                    return
            else:
                self._lost += rows
        if kept:
            self.flush()  # no thread can be started
        elif first:
            LOG.error("rollouts are not recorded until files can be written to %s", self.directory)

    def flush(self) -> None:
        """Write all rows that wait; where that fails, they wait on."""
        with self._writing:
            with self._changed:
                waiting, self._waiting = self._waiting, Waiting(self.schema.names)  # appending goes on meanwhile
            if not waiting.rows:
                return
            start = monotonic()
            try:
                if self._shard is None:
                    self._shard = Log(self.directory)
                self._shard.append(self._numbered(waiting, self._shard))
            except Exception as error:  # a disk can fail in any way, and none of them ends a training
                self._failed(error, waiting)
            else:
                self._went_well(waiting.rows, monotonic() - start)

    def _numbered(self, waiting: Waiting, log: Log) -> Any:
        """Return rows as a table with their numbers: ``rollout`` = the log's number * 2**32 + row."""
        first = (log.number << 32) + log.rows
        numbers = pa.array(np.arange(first, first + waiting.rows))
        arrays = [
            numbers if field.name == "rollout" else arrow(waiting.columns[field.name], field.type)
            for field in self.schema
        ]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def close(self) -> None:
        """Write what waits; more rows can be appended later."""
        self.flush()
        with self._writing:
            if self._shard is not None:
                self._shard.release()
                # Without a shard its number was given up, and may be another's by now.
                self._shard = self._shard if self._shard.parts else None
        if self._waiting.rows:
            self._losing()

    def _renew(self) -> None:
        """Locks, rows and files of this process's own."""
        self._changed, self._writing = Condition(Lock()), Lock()
        self._waiting = Waiting(self.schema.names)
        self._shard = self._writer = None
        self._rests_until = 0.0
        self._added = self._written = self._lost = 0
        self._failing = self._stalled = False

    def _checked(self, columns: Mapping[str, Sequence[Any]]) -> int:
        unknown = [name for name in columns if name not in self._columns]
        if unknown:
            raise TableError(f"rollouts: got a column {unknown[0]!r}; expected some of {', '.join(self._columns)}")
        lengths = {name: len(values) for name, values in columns.items()}
        if "response" not in lengths or len(set(lengths.values())) > 1:
            raise TableError(f"rollouts: got {lengths} rows; expected responses, and as many of each other column")
        return lengths["response"]

    def _writes(self) -> bool:
        """Start the thread that writes; return False where none can be started, as while the interpreter ends."""
        if self._writer is None:
            writer = Thread(target=self._write, name="rollouts", daemon=True)
            try:
                writer.start()
            except RuntimeError:
                return False
            self._writer = writer
        elif self._waiting.due == 0.0:  # the thread may be waiting for a later time
            self._changed.notify_all()
        return True

    def _write(self) -> None:
        """Write rows whenever they are due, until none are left."""
        while True:
            with self._changed:
                while self._waiting.rows and (left := self._due() - monotonic()) > 0:
                    self._changed.wait(left)
                if not self._waiting.rows:
                    self._writer = None
                    return
            self.flush()

    def _due(self) -> float:
        rests = self._failing or not self._waiting.full
        return max(self._waiting.due, self._rests_until if rests else 0.0)

    def _await_written(self, rows: int) -> None:
        """Give a batch, or a file's worth, the time to be written, where it is due now and the disk answers."""
        if self._stalled or self._failing or self._due() > monotonic() or not (rows > 1 or self._waiting.full):
            return
        last = self._added
        if not self._changed.wait_for(lambda: self._written >= last or self._failing, PATIENCE):
            self._stalled = True

    def _failed(self, error: Exception, waiting: Waiting) -> None:
        with self._changed:
            later, self._waiting = self._waiting, waiting  # rows that came meanwhile go behind these
            waiting.extend(later.columns, later.rows, later.characters)
            first, self._failing = not self._failing, True
            self._rests_until = monotonic() + SECONDS
            self._changed.notify_all()
            self._writes()
        if first:
            LOG.error(
                "rollouts cannot be written to %s (%s); up to %s rows are kept and tried again every %g seconds, and "
                "later ones are not recorded",
                *(self.directory, first_line(error), f"{MOST_ROWS:,}", SECONDS),
            )

    def _went_well(self, rows: int, seconds: float) -> None:
        with self._changed:
            self._written += rows
            # SHARE: after 1 second of writing come 9 of rest.
            self._rests_until = monotonic() + min(seconds / SHARE - seconds, SECONDS)
            failing, self._failing, self._stalled = self._failing, False, False
            lost, self._lost = self._lost, 0
            self._changed.notify_all()
        if failing or lost:
            LOG.warning("rollouts are written to %s again; %s rows were not recorded", self.directory, f"{lost:,}")

    def _losing(self) -> None:
        LOG.error("%s rollouts are lost if this process ends now: %s", f"{self._waiting.rows:,}", self.directory)


class Waiting:
    """Rows as columns, with the characters in their texts; ``hurried`` where they are to be written at once."""

    def __init__(self, names: Sequence[str]) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in names}
        self.rows = self.characters = 0
        self.hurried = False
        self._first = self._last = 0.0

    def extend(self, columns: dict[str, list[Any]], rows: int, characters: int) -> None:
        """Add rows; columns that are not given are None in them."""
        self._last = monotonic()
        self._first = self._first if self.rows else self._last
        nothing = [None] * rows
        for name, column in self.columns.items():
            column.extend(columns.get(name, nothing))
        self.rows += rows
        self.characters += characters

    @property
    def full(self) -> bool:
        """True where they are a file's worth."""
        return self._beyond(shards.PART_ROWS, shards.PART_BYTES)

    @property
    def overflowing(self) -> bool:
        """True where no more can be kept."""
        return self._beyond(MOST_ROWS, MOST_CHARACTERS)

    @property
    def due(self) -> float:
        """The time, on the clock of ``monotonic``, at which they are to be written; 0.0 for at once."""
        return 0.0 if self.hurried or self.full else min(self._last + PAUSE, self._first + SECONDS)

    def _beyond(self, rows: int, characters: int) -> bool:
        return self.rows >= rows or self.characters >= characters


def read_rollouts(directory: str | os.PathLike[str], columns: Sequence[str] | None = None) -> Any:
    """Return all rollouts that are in a directory by now, as one Arrow table.

    Columns are joined by name, so that rows of recipes without a part have null there.

    Raises:
        TableError: there are none yet, none of them has one of the columns, one is no regular file, or a run has yet to
            finish the directory.
    """
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


_TEXTS = ("response", "target")
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
        elif recorder._waiting.rows:
            recorder._losing()


def _forked() -> None:
    _WATCHED.clear()  # multiprocessing forgets in a child what its parent registered
    for recorder in list(_RECORDERS):
        recorder._renew()  # threads that are not here may hold its locks


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
