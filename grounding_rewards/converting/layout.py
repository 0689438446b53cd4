"""Layout of a trainer's rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grounding_rewards.converting.samples import Sample

IMAGES = "images"
MESSAGES = [{"role": str, "content": str}]
"""Type of a column of conversations."""


@dataclass(frozen=True)
class Layout:
    """Layout of the rows of one trainer.

    Attributes:
        name: the trainer's name.
        row: a sample as the trainer's columns, all but the images.
        types: the types of these columns: ``str``, ``int``, ``float`` or ``bytes``, [type] of lists, {field: type}.
        reserved: names of the trainer's own columns.
        decoded: True where it needs images, not paths, so that Parquet must declare the column as images.
        merged: columns of objects in which fields of the input stay beside the packed ones.
        steering: reserved names by which a trainer's own rows steer it; they stay in such rows.
        sourced: the layout of rows that also name the data set they are from; None where all rows do.
    """

    name: str
    row: Callable[[Sample], dict[str, Any]]
    types: Mapping[str, Any]
    reserved: frozenset[str] = frozenset()
    decoded: bool = False
    merged: tuple[str, ...] = ()
    steering: frozenset[str] = frozenset()
    sourced: Layout | None = None

    def taken(self, names: Sequence[str]) -> frozenset[str]:
        """Return the names that other columns cannot keep; the trainer's own rows may keep ``steering`` ones."""
        own = self.merged and all(name in names for name in self.merged)
        return self.reserved - self.steering if own else self.reserved


def over(theirs: Any, ours: Mapping[str, Any]) -> dict[str, Any]:
    """Merge our fields over those of a row; None of ours hides nothing.

    >>> over({"index": 7, "split": "a", "answer": "x"}, {"index": 0, "split": None, "id": None})
    {'index': 0, 'split': 'a', 'answer': 'x', 'id': None}
    """
    there = theirs if isinstance(theirs, Mapping) else {}
    return {**there, **{key: value for key, value in ours.items() if value is not None or key not in there}}
