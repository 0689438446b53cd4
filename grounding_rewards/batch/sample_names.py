"""Names of the samples that rows belong to: as they came, else made of what rows say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.tables import Batch, Table
from grounding_rewards.tables.base import value_at
from grounding_rewards.tables.prompts import image_path, prompt_text
from grounding_rewards.tables.sample_ids import IMAGE_COLUMNS, INSTRUCTION_COLUMNS, SOURCE_COLUMNS, name_of, sample_id

CONTENT = (*SOURCE_COLUMNS, *IMAGE_COLUMNS, *INSTRUCTION_COLUMNS, "index", "split")
"""Columns that a name is made of, beside the target."""


def names_of(
    scorer: TableScorer, table: Table, batch: Batch, values: Sequence[Any], *, image: str = "", instruction: str = ""
) -> list[str]:
    """Return the names of the samples of a batch: as they came, else their target's id, else made of ``CONTENT``.

    A target's id goes before a column that was guessed, as in ``TableScorer.samples``.
    """
    column, guessed = scorer.columns.id, scorer.guessed("id")
    names = [name_of(name) for name in values]
    for row, (came, name) in enumerate(zip(values, names, strict=True)):
        if name is None and came is not None and came == came:
            raise TableError(
                f"{table.path}, {batch.place(row)}: {column}: got {came!r:.60}; expected the sample's name, "
                "a text or a whole number, or null"
            )
    unsure = [row for row, name in enumerate(names) if name is None or guessed]
    every = scorer.targets(batch) if unsure else []
    targets = [every[row] for row in unsure]
    read = scorer.read_targets(targets).rows if unsure else ()
    for row, target, known in zip(unsure, targets, read, strict=True):
        own = None if known is None or known.id is None else str(known.id)
        names[row] = own or names[row] or _made(table, batch, row, target, image, instruction)
    return [_encodable(table, batch, row, str(name)) for row, name in enumerate(names)]


def _encodable(table: Table, batch: Batch, row: int, name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise TableError(
            f"{table.path}, {batch.place(row)}: sample_id: got {name!r:.60}, which has half a surrogate pair; expected "
            "text that UTF-8 has: write it again, or name another column by --id-column"
        ) from None
    return name


def _cell(batch: Batch, row: int, name: str) -> Any:
    """One value of a row, also of columns that scoring does not need."""
    if isinstance(batch.whole, list):
        return batch.whole[row].get(name)
    return batch.whole.column(name)[row].as_py() if name in batch.whole.schema.names else None


def _cells(batch: Batch, row: int, names: Sequence[str]) -> Iterator[Any]:
    return (_cell(batch, row, name) for name in names)


def _field(batch: Batch, row: int, name: str) -> Any:
    return value_at(batch.rows[row], name) if name else None


def _made(table: Table, batch: Batch, row: int, target: Any, image_column: str, instruction_column: str) -> str:
    """A name made of what a row says."""
    image, instruction, origin = (
        next((value for each in (named, *usual) if (value := read(each)) is not None), None)
        for named, usual, read in (
            (_field(batch, row, image_column), _cells(batch, row, IMAGE_COLUMNS), image_path),
            (_field(batch, row, instruction_column), _cells(batch, row, INSTRUCTION_COLUMNS), prompt_text),
            (None, _cells(batch, row, SOURCE_COLUMNS), name_of),
        )
    )
    counted = image is None and instruction is None
    index, split = (_cell(batch, row, name) if counted else None for name in ("index", "split"))
    try:
        return sample_id(source=origin, image=image, instruction=instruction, target=target, index=index, split=split)
    except (PoolError, ValueError, RecursionError) as error:
        raise TableError(f"{table.path}, {batch.place(row)}: sample_id: got null; {error}") from None
