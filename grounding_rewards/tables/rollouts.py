"""A rollout table that grows while training runs, and can be read at any moment.

A directory of Parquet files, a row a rollout. Every process that records writes files of its own, each of them whole
from the moment it is there, and never changes one: whatever ends the process leaves a table that can be read, and a
second run goes on in the same directory. ``rollout_columns.COLUMNS`` lists the columns.

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
from threading import Lock, Timer
from typing import Any
from weakref import WeakSet

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from grounding_rewards.errors import TableError
from grounding_rewards.tables.parquet import first_line
from grounding_rewards.tables.rollout_columns import held, rollout_schema
from grounding_rewards.tables.rollout_shards import PREFIX, Shard, as_directory

LOG = logging.getLogger("grounding_rewards")

PART_ROWS = 4096
"""So many rows make a file."""

PART_CHARACTERS = 1 << 25
"""So much text in responses and targets makes one, too."""

SECONDS = 10.0
"""A row waits no longer for others to share its file."""

MOST_ROWS, MOST_CHARACTERS = 1 << 16, 1 << 28
"""While files cannot be written, rows are kept up to these; later ones are not recorded."""


class RolloutRecorder:
    """Appends rollouts to a table in a directory. May be shared by threads; forks and pickles begin files of their own.

    Rows wait in memory until there are 4,096 of them, or until the first has waited for 10 seconds; then they become
    one file. What still waits is written by ``close`` and at the end of the process, where it ends in order; a process
    that is killed loses no more than that. The rows of one ``append`` are never parted.

    Where a file cannot be written, one ERROR is logged, and rows are kept and tried again every 10 seconds: about
    65,536 rows, or 268 million characters of text. Later rows are not recorded; a WARNING tells how many they were once
    files can be written again.

    Args:
        directory: where the table is; it is made, and tried out, at once.
        parts: names of the recipe's parts. Recorders with other parts may share the directory.

    Raises:
        TableError: the directory cannot be made or written into, or a part bears the name of another column.
    """

    _lock: Lock
    _writing: Lock
    _waiting: _Waiting
    _shard: Shard | None
    _timer: Timer | None
    _failing: bool
    _lost: int

    def __init__(self, directory: str | os.PathLike[str], parts: Sequence[str] = ()) -> None:
        self.directory = as_directory(directory)
        self.parts = tuple(parts)
        self.schema = rollout_schema(self.parts)
        self._given = dict.fromkeys(name for name in self.schema.names if name != "rollout")
        self._renew()
        try:
            self._shard = Shard(self.directory)
        except OSError as error:
            raise TableError(
                f"{self.directory}: rollouts cannot be written there ({error.strerror or error}); expected a directory "
                "with room that this process may write into"
            ) from None
        _RECORDERS.add(self)
        _at_exit()

    def __reduce__(self) -> tuple[Any, ...]:
        return RolloutRecorder, (str(self.directory), self.parts)

    def append(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Record n rollouts.

        Args:
            columns: ``response`` and any other columns but ``rollout``, n values each, which are copied. None, NaN and
                what does not fit the column's type become null; sizes come as [width, height], or (n, 2).

        Raises:
            TableError: a column is unknown, or columns differ in length. Nothing is recorded then.
        """
        rows = self._checked(columns)
        given = {name: held(values) for name, values in columns.items()}
        characters = sum(len(text) for name in _TEXTS for text in given.get(name, ()) if isinstance(text, str))
        with self._lock:
            if self._failing and self._waiting.beyond(MOST_ROWS, MOST_CHARACTERS):
                self._lost += rows
                return
            self._waiting.extend(given, rows, characters)
            _at_exit()
            due = not self._failing and self._waiting.beyond(PART_ROWS, PART_CHARACTERS)
            due = due or not self._timed()
        if due:
            self.flush()

    def flush(self) -> None:
        """Write all rows that wait, as one file; where that fails, they wait on."""
        with self._writing:
            with self._lock:
                waiting, self._waiting = self._waiting, _Waiting(self.schema.names)
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None
            if not waiting.rows:
                return
            try:
                if self._shard is None:
                    self._shard = Shard(self.directory)
                self._shard.write(waiting.columns, self.schema)
            except Exception as error:  # a disk can fail in any way, and none of them ends a training
                self._failed(error, waiting)
            else:
                self._went_well()

    def close(self) -> None:
        """Write what waits; rows that are appended later begin another file."""
        self.flush()
        with self._writing:
            if self._shard is not None:
                self._shard.release()
                self._shard = self._shard if self._shard.parts else None
        if self._waiting.rows:
            LOG.error("%s rollouts are lost if this process ends now: %s", f"{self._waiting.rows:,}", self.directory)

    def _renew(self) -> None:
        """Locks, rows and files of this process's own."""
        self._lock, self._writing = Lock(), Lock()
        self._waiting = _Waiting(self.schema.names)
        self._shard = self._timer = None
        self._failing, self._lost = False, 0

    def _checked(self, columns: Mapping[str, Sequence[Any]]) -> int:
        unknown = [name for name in columns if name not in self._given]
        if unknown:
            raise TableError(f"rollouts: got a column {unknown[0]!r}; expected some of {', '.join(self._given)}")
        lengths = {name: len(values) for name, values in columns.items()}
        if "response" not in lengths or len(set(lengths.values())) > 1:
            raise TableError(f"rollouts: got {lengths} rows; expected responses, and as many of each other column")
        return lengths["response"]

    def _timed(self) -> bool:
        """Whether a timer runs, now at the latest; none can be started while the interpreter ends."""
        if self._timer is None:
            timer = Timer(SECONDS, self.flush)
            timer.daemon = True
            try:
                timer.start()
            except RuntimeError:
                return False
            self._timer = timer
        return True

    def _failed(self, error: Exception, waiting: _Waiting) -> None:
        with self._lock:
            later, self._waiting = self._waiting, waiting
            waiting.extend(later.columns, later.rows, later.characters)
            first, self._failing = not self._failing, True
            self._timed()
        if first:
            LOG.error(
                "rollouts cannot be written to %s (%s); up to %s rows are kept and tried again every %g seconds, and "
                "later ones are not recorded",
                *(self.directory, first_line(error), f"{MOST_ROWS:,}", SECONDS),
            )

    def _went_well(self) -> None:
        with self._lock:
            failing, self._failing = self._failing, False
            lost, self._lost = self._lost, 0
        if failing:
            LOG.warning("rollouts are written to %s again; %s rows were not recorded", self.directory, f"{lost:,}")


class _Waiting:
    """Rows that no file has yet, as columns."""

    def __init__(self, names: Sequence[str]) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in names}
        self.rows = self.characters = 0

    def extend(self, columns: Mapping[str, list[Any]], rows: int, characters: int) -> None:
        nothing = [None] * rows
        for name, column in self.columns.items():
            column.extend(columns.get(name, nothing))
        self.rows += rows
        self.characters += characters

    def beyond(self, rows: int, characters: int) -> bool:
        return self.rows >= rows or self.characters >= characters


def read_rollouts(directory: str | os.PathLike[str], columns: Sequence[str] | None = None) -> Any:
    """All rollouts that are in a directory by now, as one Arrow table.

    Columns are joined by name, so that rows of recipes without a part have null there.

    Raises:
        TableError: there are none yet.
    """
    files = sorted(Path(directory).glob(f"{PREFIX}*.parquet"))
    if not files:
        raise TableError(f"{directory}: no rollouts ({PREFIX}*.parquet) are there")
    schema = pa.unify_schemas([pq.read_schema(file) for file in files])
    return ds.dataset(files, schema=schema).to_table(columns=columns)


_TEXTS = ("response", "target")
_RECORDERS: WeakSet[RolloutRecorder] = WeakSet()
_WATCHED: list[Finalize] = []


def _at_exit() -> None:
    """Have this process write what waits when it ends; ``atexit`` alone knows no end of a forked worker."""
    if not _WATCHED:
        _WATCHED.append(Finalize(None, _close_all, exitpriority=0))


def _close_all() -> None:
    for recorder in list(_RECORDERS):
        recorder.close()


def _forked() -> None:
    _WATCHED.clear()
    for recorder in list(_RECORDERS):
        recorder._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
