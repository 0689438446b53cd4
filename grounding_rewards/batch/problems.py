"""Rows of rollouts that have no response for a cause that is not the model's, such as a server that was down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.errors import TableError
from grounding_rewards.tables import Batch, Table
from grounding_rewards.tables.rollout_columns import FURTHER

_PROBLEM = "problem"


class Problems:
    """Rows of one table with a ``problem`` and no response, which say nothing of the model and count in no rate.

    Only tables with all columns of ``FURTHER`` have such rows: elsewhere ``problem`` is often the instruction.

    Attributes:
        count: rows that were left out.
        rows: all rows.
        first: the first problem.
    """

    def __init__(self, scorer: TableScorer, table: Table) -> None:
        self.table, self.response = table, scorer.columns.response
        named = f"pred.{_PROBLEM}" if f"pred.{_PROBLEM}" in table.columns else _PROBLEM  # beside that of annotations
        self.column = named if FURTHER.keys() <= {*table.columns} else ""
        self.count, self.rows, self.first = 0, 0, ""

    @property
    def reads(self) -> list[str]:
        """Columns that are read beside those of scoring."""
        return [self.column] if self.column else []

    def left_out(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield batches without these rows."""
        for batch in batches:
            kept = [row for row in range(len(batch)) if not self._has(batch, row)]
            self.rows, self.count = self.rows + len(batch), self.count + len(batch) - len(kept)
            if kept or not len(batch):
                yield batch if len(kept) == len(batch) else batch.take(kept)
        if self.rows and self.rows == self.count:
            raise TableError(f"{self.table.path}: no row has a response, the first for this: {self.first}")

    def _has(self, batch: Batch, row: int) -> bool:
        values: Any = batch.rows[row]
        problem = values.get(self.column) if self.column and values.get(self.response) is None else None
        self.first = self.first or str(problem or "")
        return bool(problem)

    def left_out_words(self, file: str = "") -> list[str]:
        """Return the warning of the rows that were left out, if any; ``file`` names the table among several."""
        if not self.count:
            return []
        which = f"{self.count:,} of {self.rows:,} rows have" if self.count > 1 else f"1 of {self.rows:,} rows has"
        end = "they are left out" if self.count > 1 else "it is left out"
        cause = f"no response for a cause that is not the model's ({self.first!r:.200})"
        return [f"{file and f'{file}: '}{which} {cause}; {end}"]

    def to_dict(self) -> dict[str, int]:
        """Return the count, for JSON; nothing of a table that has no such rows."""
        return {"left_out": self.count} if self.column else {}
