"""Stretches of a table: its rows in shards of one number of rows each, whatever batches they come in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from grounding_rewards.arrays import Ints
from grounding_rewards.tables.base import Batch, Table, joined, picked
from grounding_rewards.tables.launches import PREFIX


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan of the shards of a run.

    Attributes:
        wanted: (rows,) responses that each row of the data gets at each temperature; 0 for a row that is left out.
        size: samples of a shard; the last one has fewer.

    >>> import numpy as np
    >>> Plan(np.array([8, 0, 8, 8]), 2).names
    ('rollouts-000000.parquet', 'rollouts-000001.parquet')
    """

    wanted: Ints
    size: int

    @property
    def samples(self) -> int:
        """The number of samples."""
        return int((self.wanted > 0).sum())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the shards."""
        return tuple(f"{PREFIX}{number:06d}.parquet" for number in range(-(-self.samples // self.size)))

    def of(self, number: int) -> int:
        """Return the number of samples of a shard."""
        return min(self.size, self.samples - number * self.size)


@dataclass(frozen=True, eq=False)
class Stretch:
    """Rows of one shard, and the responses that each gets at each temperature."""

    number: int
    batch: Batch
    wanted: Sequence[int]


def stretches(table: Table, plan: Plan, numbers: Collection[int]) -> Iterator[Stretch]:
    """Yield the stretches of some shards, by ``numbers``, in one pass over the table."""
    held, count, number = list[Batch](), 0, 0
    for batch in table.batches() if numbers else ():
        rows = [row for row in range(len(batch)) if plan.wanted[batch.start + row]]
        while rows:
            part, rows = rows[: plan.size - count], rows[plan.size - count :]
            count += len(part)
            if number in numbers:
                held.append(picked(batch, part))
            if count == plan.of(number):
                if held:
                    yield _stretch(number, held, plan)
                held, count, number = [], 0, number + 1
        if number > max(numbers):
            return


def _stretch(number: int, held: Sequence[Batch], plan: Plan) -> Stretch:
    rows = [part.number(row) for part in held for row in range(len(part))]
    batch = replace(joined(held), start=held[0].start)
    return Stretch(number, batch, [int(plan.wanted[row]) for row in rows])
