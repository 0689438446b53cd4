"""Objects inside of the rows of a table, as a table of their own, so that their fields have types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grounding_rewards.tables.base import Batch, Table


class NestedTable:
    """What ``objects`` finds in each row of a table, of which the columns ``within`` are read."""

    def __init__(
        self,
        table: Table,
        within: Sequence[str],
        objects: Callable[[Mapping[str, Any]], Iterable[Mapping[str, Any]]],
    ) -> None:
        self.table, self.within, self.objects = table, within, objects

    @property
    def path(self) -> Path:
        """The file."""
        return self.table.path

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the fields in the first batch."""
        first = next(self.batches(), None)
        return tuple(dict.fromkeys(key for row in (first.rows if first else ()) for key in row))

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The objects in order; see ``Table``."""
        start = 0
        for batch in self.table.batches(self.within, whole=False, size=size):
            rows = [found for row in batch.rows for found in self.objects(row)]
            if rows:
                yield Batch(start, rows, rows, batch.done)
                start += len(rows)
