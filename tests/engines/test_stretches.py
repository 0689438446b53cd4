"""Stretches: all wanted rows once and in order, in whatever batches they come."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.engines.data import Plan, stretches
from grounding_rewards.tables.base import Batch


class Batches:
    """A table whose batches have these sizes, of Arrow rows or of dicts."""

    path = Path("rows")
    columns = ("row",)

    def __init__(self, sizes: list[int], arrow: bool) -> None:
        self.sizes, self.arrow = sizes, arrow

    def batches(self, columns=None, *, whole=True, size=None):
        start = 0
        for count in self.sizes:
            rows = [{"row": row} for row in range(start, start + count)]
            yield Batch(start, rows, pa.RecordBatch.from_pylist(rows) if self.arrow else rows, 1.0)
            start += count


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 7), st.booleans(), st.data())
def test_shards_hold_each_wanted_row_once(sizes, size, arrow, data):
    wanted = data.draw(st.lists(st.integers(0, 2), min_size=sum(sizes), max_size=sum(sizes)))
    plan = Plan(np.array(wanted, dtype=np.int64), size)
    numbers = [row for row, count in enumerate(wanted) if count]
    made = list(stretches(Batches(sizes, arrow), plan, range(len(plan.names))))
    assert [each.number for each in made] == list(range(len(plan.names)))
    assert [row["row"] for each in made for row in each.batch.rows] == numbers
    whole = [each.batch.whole.to_pylist() if arrow else each.batch.whole for each in made]
    assert [row["row"] for rows in whole for row in rows] == numbers
    assert [count for each in made for count in each.wanted] == [count for count in wanted if count]
    assert [len(each.batch) for each in made] == [plan.of(number) for number in range(len(made))]
    assert all(len(each.batch) == size for each in made[:-1])
    places = [each.batch.place(row) for each in made for row in range(len(each.batch))]
    assert places == [f"row {number}" for number in numbers]
    some = data.draw(st.sets(st.integers(0, max(len(made) - 1, 0)), max_size=3)) if made else set()
    again = stretches(Batches(sizes, arrow), plan, some)
    assert [(each.number, list(each.batch.rows)) for each in again] == [
        (each.number, list(each.batch.rows)) for each in made if each.number in some
    ]


def test_no_rows_are_no_shards():
    plan = Plan(np.zeros(4, dtype=np.int64), 2)
    assert (plan.samples, plan.names, list(stretches(Batches([4], True), plan, []))) == (0, (), [])
