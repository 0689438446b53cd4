"""The samples that rows of training data are: in a column of their own, or where ``convert`` packed their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.base import Table, require_column
from grounding_rewards.tables.sample_ids import from_json

PLACES = ("sample_id", "extra_info.id", "reward_model.ground_truth.id", "answer.id", "target.id", "id")
"""Where a name is looked for, in this order: in a column, or in an object or the JSON of one inside of it."""


def sample_names(
    table: Table, column: str | None = None, *, advance: Callable[[float], None] = lambda done: None
) -> list[str | None]:
    """The name of each row's sample; None for a row without one.

    Args:
        table: training data.
        column: where names are, ``a.b`` for the field b of the column a; None looks into the first of ``PLACES`` that
            has one.
        advance: is told the share of rows that have been looked at.

    Raises:
        TableError: no row has a name, or two rows have the same; names them.
    """
    if column is not None:
        require_column(table, column if column in table.columns else column.partition(".")[0], "--id-column")
    places = _paths(PLACES if column is None else [column], table)
    found, first = list[str | None](), dict[str, int]()
    for batch in table.batches(sorted({path[0] for path in places}), whole=False):
        for index, row in enumerate(batch.rows):
            name = _named(row, places)
            if name is not None and first.setdefault(name, batch.start + index) != batch.start + index:
                raise TableError(
                    f"{table.path}, {batch.place(index)}: sample {name!r} is in row {first[name]} already; expected "
                    "one row a sample: remove one, or name a column that tells them apart by --id-column"
                )
            found.append(name)
        advance(batch.done)
    if not first:
        looked = f"looked into {', '.join(PLACES)}" if column is None else f"looked into {column}"
        raise TableError(
            f"{table.path}: no row says which sample it is ({looked}); name the column by --id-column. It has: "
            f"{', '.join(map(str, table.columns))}"
        )
    return found


def _paths(places: Sequence[str], table: Table) -> list[Sequence[str]]:
    return [(place,) if place in table.columns else tuple(place.split(".")) for place in places]


def _named(row: Mapping[str, Any], places: Sequence[Sequence[str]]) -> str | None:
    for path in places:
        value: Any = row
        for name in path:
            value = from_json(value) if isinstance(value, str) else value
            value = value.get(name) if isinstance(value, Mapping) else None
        if (found := name_of(value)) is not None:
            return found
    return None


def name_of(value: Any) -> str | None:
    """A sample's name as text: 1 and 1.0, as files hold 1 beside nulls, are "1"; None where it is no name.

    >>> name_of("a"), name_of(1.0), name_of(None), name_of(True)
    ('a', '1', None, None)
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
