"""What columns rows have: their names, the fields in them, and a value of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Survey:
    """Takes note of rows, and keeps a few values of each column, however many rows there are.

    >>> survey = Survey()
    >>> survey.add([{"id": 1, "about": {"w": 2}}, {"id": 2, "about": {"h": 3}}, {"id": None}, {"image": "a.png"}])
    >>> survey.rows()
    [{'id': 1, 'about': {'w': 2, 'h': 3}, 'image': 'a.png'}, {'id': None}]
    """

    def __init__(self) -> None:
        self._seen: dict[str, dict[type, Any]] = {}

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take note of rows."""
        for row in rows:
            for name, value in row.items():
                kinds = self._seen.setdefault(name, {})
                if isinstance(value, dict):
                    fields = kinds.setdefault(dict, {})
                    fields.update({key: each for key, each in value.items() if fields.get(key) is None})
                else:
                    kinds.setdefault(type(value), value)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order of appearance."""
        return tuple(self._seen)

    def objects(self, name: str) -> bool:
        """Whether a column holds nothing but objects and nulls."""
        kinds = {*self._seen.get(name, ())} - {type(None)}
        return kinds == {dict}

    def rows(self) -> list[dict[str, Any]]:
        """Rows that were not there but might have been: all names, and of each column a value of each type."""
        columns = {name: [*kinds.values()] for name, kinds in self._seen.items()}
        longest = max(map(len, columns.values()), default=0)
        return [
            {name: values[place] for name, values in columns.items() if place < len(values)} for place in range(longest)
        ]
