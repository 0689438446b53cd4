"""Ids that join the rows of two tables: the columns that hold them, and one key for equal ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from grounding_rewards.errors import TableError
from grounding_rewards.tables.base import Batch, Note, Table, require_column
from grounding_rewards.tables.columns import GUESSED
from grounding_rewards.tables.sample_ids import name_of

Key = tuple[str | int, ...]
"""An id: a value of each of its columns."""

_DEFAULT = (
    "sample_id", "id", *(f"{image},{words}" for image in GUESSED["image"] for words in GUESSED["instruction"]),
)  # fmt: skip
"""Columns that are the id where none is named: benchmarks without ids name an image and an instruction."""

_SHOWN = 3


class IdColumns(NamedTuple):
    """Columns of the id, in annotations and in predictions."""

    annotations: tuple[str, ...]
    predictions: tuple[str, ...]


def id_columns(named: str | None, annotations: Table, predictions: Table, note: Note) -> IdColumns:
    """Return the columns of the id: those that ``named`` names, as of ``matched``, else the first that are there.

    Raises:
        TableError: a table lacks one, or none is named and none is in both.
    """
    both = [name for name in annotations.columns if name in predictions.columns]
    if named is None:
        named = next((name for name in _DEFAULT if {*name.split(",")} <= {*both}), None)
        if named is None:
            raise TableError(f"{annotations.path} and {predictions.path}: {_question(annotations, predictions, both)}")
        if named != _DEFAULT[0]:
            note(f"predictions are joined by {named.replace(',', ' and ')}; --id names others")
    parts = [named] if named in both else named.split(",")
    pairs = [(part, part) if part in both else _pair(part, named) for part in parts]
    for ours, theirs in pairs:
        require_column(annotations, ours, "--id")
        require_column(predictions, theirs, "--id")
    return IdColumns(tuple(ours for ours, _ in pairs), tuple(theirs for _, theirs in pairs))


def keys_of(table: Table, batch: Batch, names: Sequence[str], *, texts: bool) -> list[Key | None]:
    """Return the id of each row of a batch; None where a part of it is null. ``texts``: numbers stand for their digits.

    Raises:
        TableError: a part is neither a text nor a whole number; names the row.
    """
    columns = [[_part(value, texts=texts) for value in batch.column(name)] for name in names]
    keys = list[Key | None]()
    for row, key in enumerate(zip(*columns, strict=True)):
        for name, part in zip(names, key, strict=True):
            if part is _NO_ID:
                raise TableError(
                    f"{table.path}, {batch.place(row)}: {name}: got {batch.rows[row][name]!r:.60}; expected the id of "
                    "a sample (--id), a text or a whole number"
                )
        keys.append(None if None in key else key)
    return keys


def shown(key: Key | None) -> str:
    """Return an id as errors show it.

    >>> shown(("a",)), shown(("a.png", 7)), shown(None)
    ("'a'", "('a.png', 7)", 'null')
    """
    if key is None:
        return "null"
    return f"{key[0]!r:.80}" if len(key) == 1 else f"{key!r:.80}"


def examples(keys: Iterable[Key | None]) -> str:
    """Return the first ids.

    >>> examples([("a",), ("b",), (3,), ("d",)])
    "'a', 'b', 3"
    """
    return ", ".join(map(shown, islice(keys, _SHOWN)))


def alike(ours: Iterable[Key], theirs: Iterable[Key | None]) -> bool:
    """Return True where ids of two tables would be equal if numbers were texts."""
    first, second = ({tuple(map(str, key)) for key in keys if key is not None} for keys in (ours, theirs))
    return not first.isdisjoint(second)


_NO_ID = object()


def _part(value: Any, *, texts: bool) -> Any:
    """Return a value as a part of an id: None for nothing, ``_NO_ID`` for what is none."""
    if value is None or value != value:
        return None
    name = name_of(value)
    if name is None:
        return _NO_ID
    return name if texts or isinstance(value, str) else int(value)


def _pair(part: str, named: str) -> tuple[str, str]:
    ours, equals, theirs = part.partition("=")
    if not ours or (equals and not theirs):
        raise TableError(
            f"--id: got {named!r:.80}; expected COLUMN, COLUMN,COLUMN or ANNOTATIONS=PREDICTIONS, names of columns"
        )
    return ours, theirs or ours


def _question(annotations: Table, predictions: Table, both: Sequence[str]) -> str:
    if not both:
        first, second = (", ".join(map(str, table.columns)) for table in (annotations, predictions))
        return f"have no column in common ({first}; {second}); name the id of samples by --id ANNOTATIONS=PREDICTIONS"
    several = f" or --id {','.join(both[:2])}" if len(both) > 1 else ""
    return (
        f"both have neither sample_id nor id nor an image with an instruction, but {', '.join(both)}; name what holds "
        "the id of samples, such as "
        f"--id {both[0]}{several}"
    )
