"""Rows that are compared with each other, wherever they stand: brought together in files, each scored as a whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from grounding_rewards.batch.row_scorer import RowScorer
from grounding_rewards.batch.row_scoring import Columns
from grounding_rewards.tables import rollout_source
from grounding_rewards.tables.base import Batch
from grounding_rewards.tables.rollout_columns import COLUMNS
from grounding_rewards.tables.rollout_source import Source

FOLDER = "groups"
MOST = 256
"""More files are not written at once."""

_GROUP = ("sample_id", "round", "train_step")
"""What the rows of one group have in common: a sample that is visited again is compared anew."""

_HELD_BYTES = 1 << 27


class Row(Batch):
    """Rows that no longer stand where they came from."""

    def place(self, index: int) -> str:
        """Which row it is, for errors."""
        return f"sample {self.whole['sample_id'][index].as_py()!r}, rollout {self.whole['rollout'][index].as_py()}"


@dataclass(frozen=True)
class GroupedRows:
    """Rows of one sample in one round and at one step of the trainer are scored together.

    Attributes:
        scorer: how rows are scored.
        sources: the files.
        columns: what scoring needs as Python has it.
    """

    scorer: RowScorer
    sources: Sequence[Source]
    columns: frozenset[str]

    @property
    def count(self) -> int:
        """How many pieces there are."""
        return min(MOST, -(-sum(source.rows for source in self.sources) // rollout_source.PIECE_ROWS))

    def prepare(self, folder: Path, missing: Sequence[int]) -> None:
        """Bring the rows of each piece together, where that was not done before."""
        partial = folder / f".{FOLDER}"
        if not missing or (folder / FOLDER).is_dir():
            return
        if partial.is_dir():
            shutil.rmtree(partial)
        partial.mkdir()
        with ExitStack() as stack:
            files = [stack.enter_context((partial / f"{piece}.parquet").open("wb")) for piece in range(self.count)]
            writers = [stack.enter_context(pq.ParquetWriter(file, self.scorer.schema)) for file in files]
            held: list[list[Any]] = [[] for _ in writers]
            size = 0
            for piece, rows in self._scattered():
                held[piece].append(rows)
                size += rows.nbytes
                if size > _HELD_BYTES:
                    _flush(writers, held)
                    size = 0
            _flush(writers, held)
        os.rename(partial, folder / FOLDER)

    def rows(self, folder: Path, missing: Sequence[int]) -> Iterator[tuple[int, Path]]:
        """The files of some pieces, in order, each with its piece's number."""
        for piece in missing:
            yield piece, folder / FOLDER / f"{piece}.parquet"

    def scored(self, rows: Path) -> Any:
        """All rows of a file with their scores, in an order that does not depend on how they came.

        For the last bit of a sum does, and so would the rewards of a group.
        """
        names = ", ".join(str(source.table.path) for source in self.sources[:3])
        shown = SimpleNamespace(path=names, columns=self.scorer.schema.names)
        scorer = replace(self.scorer, scorer=replace(self.scorer.scorer, columns=Columns()))
        with rows.open("rb") as file:
            table = pq.read_table(file, schema=self.scorer.schema)
        if not len(table):  # whose groups all went elsewhere
            return pa.RecordBatch.from_pylist([], schema=self.scorer.schema)
        table = table.sort_by([(name, "ascending") for name in (*_GROUP, "rollout")]).combine_chunks()
        (whole,) = table.to_batches()
        needed = [name for name in whole.schema.names if name in {*self.columns, *vars(Columns()).values()}]
        return scorer.scored(shown, Row(0, whole.select(needed).to_pylist(), whole, 1.0), whole, _groups(whole))

    def _scattered(self) -> Iterator[tuple[int, Any]]:
        """All rows, each with the piece of its group."""
        count = self.count
        for place, source in enumerate(self.sources):
            spans = range(-(-source.rows // source.piece_rows))
            for _, batch in source.batches(self.columns, spans):
                self.scorer.scorer.responses(source.table, batch)  # which are texts of some kind from here on
                rows = self.scorer.unscored(source, place, batch)
                pieces = [_piece(group, count) for group in _groups(rows)]
                for piece in sorted(set(pieces)):
                    yield piece, rows.take([row for row, each in enumerate(pieces) if each == piece])


def _groups(rows: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(rows.column(list(COLUMNS).index(name)).to_pylist() for name in _GROUP), strict=True))


def _piece(group: tuple[Any, ...], count: int) -> int:
    return int.from_bytes(blake2b(repr(group).encode(), digest_size=8).digest()) % count


def _flush(writers: Sequence[Any], held: Sequence[list[Any]]) -> None:
    for writer, rows in zip(writers, held, strict=True):
        if rows:
            writer.write_table(pa.Table.from_batches(rows))
            rows.clear()
