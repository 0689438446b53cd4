"""Trainers' logs once they are opened: rows that are read as rollouts, batch by batch."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from grounding_rewards.tables.base import BATCH_BYTES, BATCH_ROWS, NoRowsError
from grounding_rewards.tables.rollout_columns import COLUMNS, arrow, arrow_type
from grounding_rewards.tables.trainer_logs.rollout import FILLED, Logged, missing
from grounding_rewards.tables.trainer_logs.samples import Samples, samples_of

LOG = logging.getLogger("grounding_rewards")

TORN, EMPTY = "cut short in writing", "files without a row"
Read = Callable[[Counter[str]], Iterator[Logged]]
"""Reads a log from its start, and counts what it leaves out by why."""


class TrainerLog:
    """A trainer's log, read as rollouts."""

    def __init__(
        self,
        kind: str,  # verl, trl or easyr1
        path: Path,  # the file or the directory that was given
        files: Sequence[Path],  # those that are read, in order
        read: Read,
        *,
        verdicts: bool,  # True where any row may say that it was right; without, ``acc`` is no column of it
        more: Iterable[str] = (),  # other columns of a rollout table that it fills
        parts: Iterable[str] = (),  # names of the parts and other numbers that it holds
    ) -> None:
        self.kind, self.path, self.files, self._read = kind, path, tuple(files), read
        self._known = {*FILLED, *more} - (set() if verdicts else {"acc"})
        self.parts = tuple(dict.fromkeys(parts))
        self.left_out: Counter[str] = Counter()  # rows that the last pass left out, by why; the first one also logs it
        self._reported = False

    @cached_property
    def samples(self) -> Samples:
        """The samples, as one pass over all rows finds them; the first one warns of doubts."""
        samples = samples_of(self._read(Counter()))
        for text in samples.doubts:
            LOG.warning("%s: %s", self.path, text)
        return samples

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns; ``round`` is one where the log says it, or repeats its samples."""
        known = self._known | ({"round"} if self.samples.rounds else set())
        return (*(name for name in COLUMNS if name in known), *self.parts)

    def _with_samples(self) -> Iterator[Logged]:
        """Yield the rows with the names of their samples, and their rounds; rows that came since are as they are."""
        names, rounds, _ = self.samples
        for at, row in enumerate(self._read(self.left_out)):
            if at >= len(names):
                yield row
                continue
            known: dict[str, Any] = {"sample_id": names[at]}
            if rounds is not None and missing(row.more.get("round")):
                known["round"] = rounds[at]
            yield replace(row, more={**row.more, **known})

    def batches(self, columns: Sequence[str] | None = None, *, size: int = BATCH_ROWS) -> Iterator[Any]:
        """Yield all rows in order, as record batches of at most ``size`` rows.

        They hold ``columns``, null where the log does not say; None for what ``columns`` of the log names.
        """
        wanted = self.columns if columns is None else tuple(columns)
        import pyarrow as pa

        schema = pa.schema([(name, self._kind(name)) for name in wanted])
        self.left_out.clear()
        any_rows = False
        for rows in _held(self._with_samples(), size):
            any_rows = True
            arrays = [self._array(rows, name) for name in wanted]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        left = ", ".join(f"{count} {why}" for why, count in self.left_out.items())
        if not any_rows:
            raise NoRowsError(f"{self.path}: no rollouts in it{f' (left out: {left})' if left else ''}")
        if left and not self._reported:
            self._reported = True
            LOG.warning("%s: left out of what %s logged: %s", self.path, self.kind, left)

    def _array(self, rows: Sequence[Logged], name: str) -> Any:
        known = name in self.columns
        return arrow([row.value(name) if known else None for row in rows], self._kind(name))

    def _kind(self, name: str) -> Any:
        return arrow_type(COLUMNS.get(name, "double" if name in self.parts else "string"))


def _held(rows: Iterator[Logged], size: int) -> Iterator[list[Logged]]:
    """Yield rows in lists of ``size``, or fewer where their texts are long."""
    held, length = list[Logged](), 0
    for row in rows:
        held.append(row)
        length += sum(len(text) for text in (row.prompt, row.response, row.target) if isinstance(text, str))
        if len(held) >= size or length >= BATCH_BYTES:
            yield held
            held, length = [], 0
    if held:
        yield held
