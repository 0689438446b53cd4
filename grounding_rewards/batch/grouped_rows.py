"""Rows that are compared with each other, wherever they stand: brought together in files, each scored as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from grounding_rewards.batch.columns import OWN, ResolvedColumns
from grounding_rewards.batch.rollout_scorer import RolloutScorer
from grounding_rewards.tables.atomic import atomic_files
from grounding_rewards.tables.base import Batch
from grounding_rewards.tables.manifests import manifest_bytes, manifest_or_none
from grounding_rewards.tables.rollout_columns import COLUMNS
from grounding_rewards.tables.rollout_source import RolloutFile
from grounding_rewards.tables.runs import described, is_whole

SHARD_ROWS = 1 << 16
"""About so many rows are brought together in a file."""

_FOLDER = "groups"
_MOST = 256
"""More files are not written at once."""

_GROUP = ("sample_id", "round", "train_step")
"""Columns that are equal in the rows of one group: a sample that is visited again is compared anew."""

_HELD_BYTES = 1 << 27


class _Row(Batch):
    """Rows that no longer stand where they came from."""

    def place(self, index: int) -> str:
        """Return which row it is, for errors."""
        return f"sample {self.whole['sample_id'][index].as_py()!r}, rollout {self.whole['rollout'][index].as_py()}"


def files_of_groups(
    folder: Path, scorers: Sequence[RolloutScorer], sources: Sequence[RolloutFile], columns: Collection[str]
) -> list[Path]:
    """Bring rows of one sample, round and step of the trainer together in one file; files that are there stay."""
    count = min(_MOST, -(-sum(source.rows for source in sources) // SHARD_ROWS))
    files = [folder / _FOLDER / f"{number}.parquet" for number in range(count)]
    complete = folder / _FOLDER / "complete"
    if (there := manifest_or_none(complete)) is not None:  # made by a run that was killed later
        if all(is_whole(complete.parent, {**there.get(file.name, {}), "path": file.name}) for file in files):
            return files
        scorers[0].scorer.on_warning(f"{folder}: groups of rows are not what was written; they are made again")
    complete.parent.mkdir(exist_ok=True)
    with atomic_files() as outputs:
        whole = outputs.open(complete)  # opened first, it gets its name last: before that, the next run makes all anew
        made = [outputs.open(file) for file in files]
        with ExitStack() as stack:
            writers = [stack.enter_context(pq.ParquetWriter(file, scorers[0].schema)) for file in made]
            held: list[list[Any]] = [[] for _ in writers]
            size = 0
            for number, rows in _scattered(scorers, sources, columns, count):
                held[number].append(rows)
                size += rows.nbytes
                if size > _HELD_BYTES:
                    _flush(writers, held)
                    size = 0
            _flush(writers, held)
        for file in made:
            file.flush()
        names = {file.name: described(file.name, Path(one.name)) for file, one in zip(files, made, strict=True)}
        whole.write(manifest_bytes(names))
    return files


def scored_groups(file: Path, scorer: RolloutScorer, sources: Sequence[RolloutFile], columns: Collection[str]) -> Any:
    """Score all rows of a file, in an order of their own: the last bit of a sum depends on the order."""
    names = ", ".join(str(source.table.path) for source in sources[:3])
    shown = SimpleNamespace(path=names, columns=scorer.schema.names)  # stands for the table in errors
    # Columns have the names of a rollout table by now, whatever they were called in the files.
    plain = replace(scorer.scorer, columns=OWN, resolved=ResolvedColumns(OWN), box_format=None, images=None)
    scorer = replace(scorer, scorer=plain)
    with file.open("rb") as opened:
        table = pq.read_table(opened, schema=scorer.schema)
    if not len(table):  # whose groups all went elsewhere
        return pa.RecordBatch.from_pylist([], schema=scorer.schema)
    table = table.sort_by([(name, "ascending") for name in (*_GROUP, "rollout")]).combine_chunks()
    (whole,) = table.to_batches()
    needed = [name for name in whole.schema.names if name in {*columns, *vars(OWN).values()}]
    return scorer.scored(shown, _Row(0, whole.select(needed).to_pylist(), whole, 1.0), whole, _groups(whole))


def _scattered(
    scorers: Sequence[RolloutScorer], sources: Sequence[RolloutFile], columns: Collection[str], count: int
) -> Iterator[tuple[int, Any]]:
    """Yield all rows, each with the number of its group's file."""
    for place, (source, scorer) in enumerate(zip(sources, scorers, strict=True)):
        for batch in source.batches(columns):
            scorer.scorer.responses(source.table, batch)  # which are texts of some kind from here on
            rows = scorer.unscored(source, place, batch, alone=False)
            # Not hash(), which differs between processes: a run that goes on finds the groups in the same files.
            hashes = [blake2b(repr(group).encode(), digest_size=8).digest() for group in _groups(rows)]
            numbers = [int.from_bytes(each) % count for each in hashes]
            for number in sorted(set(numbers)):
                yield number, rows.take([row for row, each in enumerate(numbers) if each == number])


def _groups(rows: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(rows.column(list(COLUMNS).index(name)).to_pylist() for name in _GROUP), strict=True))


def _flush(writers: Sequence[Any], held: Sequence[list[Any]]) -> None:
    for writer, rows in zip(writers, held, strict=True):
        if rows:
            writer.write_table(pa.Table.from_batches(rows))
            rows.clear()
