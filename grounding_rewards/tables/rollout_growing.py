"""The last file of each process that records: a longer one may take its name at any moment, so it is read at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from grounding_rewards.errors import TableError
from grounding_rewards.tables.parquet import ParquetTable
from grounding_rewards.tables.rollout_columns import COLUMNS
from grounding_rewards.tables.rollout_shards import PREFIX

_PART = re.compile(rf"({PREFIX}[0-9a-f]{{8}})-(\d{{6}})\.parquet")


def last_parts(files: Sequence[Path]) -> set[Path]:
    """Of what recorders wrote, the last file of each.

    >>> found = last_parts([Path(f"rollouts-0000000{shard}-00000{part}.parquet") for shard, part in ("a1", "a2", "b1")])
    >>> sorted(str(each) for each in found)
    ['rollouts-0000000a-000002.parquet', 'rollouts-0000000b-000001.parquet']
    """
    last: dict[tuple[Path, str], Path] = {}
    for file in sorted(files):
        named = _PART.fullmatch(file.name)
        if named:
            last[file.parent, named[1]] = file
    return set(last.values())


class GrowingRollouts:
    """Such a file as it was when it was opened: some thousand rows, held in memory."""

    def __init__(self, path: Path) -> None:
        self.table = ParquetTable(path)
        batches = [batch.whole for batch in self.table.batches()]
        self.held = pa.Table.from_batches(batches).replace_schema_metadata(None)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns."""
        return tuple(self.held.column_names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns; null in those that it lacks.

        Raises:
            TableError: a column is not of the type that recorders write.
        """
        arrays = []
        for name in columns:
            kind = COLUMNS.get(name, self.held.schema.field(name).type if name in self.columns else pa.string())
            try:
                column = self.held[name].cast(kind) if name in self.columns else pa.nulls(len(self.held), kind)
            except pa.ArrowException:
                raise TableError(f"{self.table.path}: column {name} is not what recorders write") from None
            arrays.append(column)
        yield from pa.table(dict(zip(columns, arrays, strict=True))).to_batches()
