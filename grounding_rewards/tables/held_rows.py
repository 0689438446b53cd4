"""Rows in memory as a table: dicts, a data frame, or an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.text_rows import JsonArrayTable, Read


class HeldTable(JsonArrayTable):
    """Rows in memory, which errors call ``rows``.

    >>> [batch.rows for batch in HeldTable([{"response": "(1, 2)"}]).batches()]
    [[{'response': '(1, 2)'}]]
    """

    def __init__(self, rows: Any) -> None:
        super().__init__(Path("rows"))
        self._held = [_row(number, each) for number, each in enumerate(_listed(rows))]


def _listed(rows: Any) -> Iterable[Any]:
    for name, arguments in (("to_pylist", ()), ("to_dicts", ()), ("to_dict", ("records",))):
        # A data set of `datasets` yields dicts by itself, and its to_dict takes something else.
        if hasattr(rows, name) and not hasattr(rows, "cast_column"):
            listed: Iterable[Any] = getattr(rows, name)(*arguments)
            return listed
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
        raise TableError(f"rows: got {type(rows).__name__}; expected a path, or a list with a dict for each row")
    return rows


def _row(number: int, row: Any) -> Read:
    if not isinstance(row, Mapping):
        raise TableError(f"rows, row {number}: got {type(row).__name__} {row!r:.60}; expected a dict")
    # A data frame has NaN where a row has no value.
    nan = {name for name, value in row.items() if isinstance(value, float) and value != value}
    return {str(name): None if name in nan else value for name, value in row.items()}, 0, None, "", b""
