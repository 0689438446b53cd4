"""Rows of JSON, such as a file of JSON lines, as columns of a rollout table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from grounding_rewards.errors import TableError
from grounding_rewards.tables.base import Batch, Table
from grounding_rewards.tables.json_lines import finite
from grounding_rewards.tables.rollout_columns import COLUMNS, CORRECT, PLACES, arrow

_LARGE = 10**300  # float() raises where a whole number is beyond about 1.8e308
AGREE = "expected the same of both: leave out the column that is wrong"
NO_TOTAL = "total is NaN beside an acc; expected a finite number, or null in both where the rollout was not scored"


class JsonRollouts:
    """A table of JSON objects, read as rollouts: ids, rounds and verdicts strictly, all else as far as it goes."""

    def __init__(self, table: Table) -> None:
        self.table, self.path = table, table.path
        self._named: tuple[type, str] | None = None  # the type of names, and the place of the first one

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of all rows."""
        return tuple(dict.fromkeys(str(key) for batch in self.table.batches() for row in batch.rows for key in row))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns; null where a row lacks one.

        Raises:
            TableError: a value is not what its column holds; names the line.
        """
        fields = [pa.field(name, COLUMNS.get(name, pa.string())) for name in columns]
        for batch in self.table.batches():
            arrays = [self._array(batch, field.name, field.type) for field in fields]
            yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _array(self, batch: Batch, name: str, kind: Any) -> Any:
        values = batch.column(name) if kind == pa.string() else batch.numbers(name)
        if name == "acc":
            values = self._verdicts(batch)
        elif name == "total":
            self._check_totals(batch, values)
        if name == "sample_id":
            values = [self._name(value, batch, row) for row, value in enumerate(values)]
        elif name in _STRICT:
            fits, expected = _STRICT[name]
            for row, value in enumerate(values):
                if value is not None and not fits(value):
                    raise TableError(
                        f"{self.path}, {batch.place(row)}: {name} is {value!r:.60}; expected {expected}, or null"
                    )
            values = [None if value is None else _exact(name, value, kind) for value in values]
        elif kind == pa.string():
            values = [_as_text(value) for value in values]
        return arrow(values, kind)

    def _verdicts(self, batch: Batch) -> list[Any]:
        """The column ``acc``, and ``correct`` where it says nothing."""
        values = batch.numbers("acc")
        if CORRECT not in self.columns:
            return values
        for row, (one, other) in enumerate(zip(values, batch.numbers(CORRECT), strict=True)):
            if _there(one) and _there(other) and one != other:
                raise TableError(f"{self._place(batch, row)}: acc is {one} and {CORRECT} is {other}; {AGREE}")
            values[row] = one if _there(one) else other
        return values

    def _check_totals(self, batch: Batch, totals: Sequence[Any]) -> None:
        """Check that no rollout that was scored has NaN for a total."""
        if any(total != total for total in totals):  # NaN; without any, verdicts need not be read
            for row, (total, verdict) in enumerate(zip(totals, self._verdicts(batch), strict=True)):
                if total != total and _there(verdict):
                    raise TableError(f"{self._place(batch, row)}: {NO_TOTAL}")

    def _place(self, batch: Batch, row: int) -> str:
        return f"{self.path}, {batch.place(row)}, sample {batch.rows[row].get('sample_id')!r:.60}"

    def _name(self, value: Any, batch: Batch, row: int) -> str:
        """A sample's name as text; a file holds either texts or whole numbers, or "1" and 1 would become one sample."""
        if not isinstance(value, str | int) or isinstance(value, bool) or value == "" or _broken(value):
            raise TableError(
                f"{self.path}, {batch.place(row)}: sample_id is {value!r:.60}; expected the name of the sample, "
                "a text that UTF-8 can hold, or a whole number"
            )
        if self._named is None:
            self._named = type(value), batch.place(row)
        if type(value) is not self._named[0]:
            first, second = ("a text", "a number") if self._named[0] is str else ("a number", "a text")
            raise TableError(
                f"{self.path}: sample_id is {first} in {self._named[1]} and {second} ({value!r:.60}) in "
                f"{batch.place(row)}; write all as texts"
            )
        return str(value)

    @property
    def names_are_numbers(self) -> bool:
        """True where the names of samples were whole numbers, as far as rows have been read."""
        return self._named is not None and self._named[0] is int


def _there(value: Any) -> bool:
    """Return True where there is a value; NaN is none."""
    return value is not None and bool(value == value)


def _exact(name: str, value: Any, kind: Any) -> float | int:
    if kind != pa.float64():
        return int(value)
    return round(float(value), PLACES) if name == "temperature" else float(value)


def _as_text(value: Any) -> Any:
    """Texts and nothing as they are, anything else as JSON."""
    return value if value is None or isinstance(value, str) else json.dumps(finite(value), ensure_ascii=False)


def _broken(value: Any) -> bool:
    """Return True for a text with halves of surrogate pairs: written anew, all of these are alike."""
    return isinstance(value, str) and any("\ud800" <= each <= "\udfff" for each in value)


def _number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, bool | int) and abs(value) < _LARGE)


def _whole(value: Any) -> bool:
    whole = (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and value.is_integer()
    )
    return whole and -(2**63) <= value < 2**63


_STRICT: dict[str, tuple[Callable[[Any], bool], str]] = {
    "acc": (_number, "0 or 1, true or false"),
    "total": (_number, "a number"),
    "round": (_whole, "a whole number"),
    "rollout": (_whole, "a whole number"),
    "temperature": (_number, "a number"),
}
