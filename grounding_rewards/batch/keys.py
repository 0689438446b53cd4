"""What tells rollouts apart, read from files as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from grounding_rewards.tables.base import Table
from grounding_rewards.tables.check_unique import check_once
from grounding_rewards.tables.rollout_columns import COLUMNS, arrow
from grounding_rewards.tables.rollout_table import RolloutTable
from grounding_rewards.tables.sample_ids import name_of

_KEY = ("sample_id", "round", "rollout")


def check_given(rollouts: RolloutTable, tables: Sequence[Table], named: str) -> None:
    """Check that no rollout is there twice, as far as files name and number them.

    Args:
        rollouts: what is scored.
        tables: the files of it.
        named: the column that holds the names of samples.

    Raises:
        PoolError: one is.
    """
    numbered = [table for table in tables if {named, "rollout"} <= {*table.columns}]
    if numbered:
        check_once(RolloutTable(rollouts.paths, rollouts.files, [], [_Keys(numbered, named)]))


class _Keys:
    """The keys of all rows. Unlike in a rollout table samples may lack names, and what cannot be read is null."""

    columns = _KEY

    def __init__(self, tables: Sequence[Table], named: str) -> None:
        self.tables, self.own = tables, (named, "round", "rollout")

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows; see ``Rows``."""
        schema = pa.schema([(name, COLUMNS[name]) for name in _KEY])
        yield pa.RecordBatch.from_pylist([], schema=schema)
        for table in self.tables:
            for batch in table.batches(self.own, whole=False):
                names, rounds, numbers = (batch.column(name) for name in self.own)
                values = ([name_of(name) for name in names], rounds, numbers)
                arrays = [arrow(each, field.type) for each, field in zip(values, schema, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema).select(list(columns))
