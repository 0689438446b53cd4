"""Names of the samples that rows belong to: as they came, else made of what rows say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.tables import Batch, Table
from grounding_rewards.tables.prompts import image_path, prompt_text
from grounding_rewards.tables.sample_ids import IMAGE_COLUMNS, INSTRUCTION_COLUMNS, SOURCE_COLUMNS, name_of, sample_id

CONTENT = (*SOURCE_COLUMNS, *IMAGE_COLUMNS, *INSTRUCTION_COLUMNS, "index", "split")
"""Columns that a name is made of, beside the target."""


def names_of(scorer: TableScorer, table: Table, batch: Batch, values: Sequence[Any]) -> list[str]:
    """Return the names of the samples of a batch: as they came, else their target's id, else made of ``CONTENT``.

    A target's id goes before a column that was guessed, as in ``TableScorer.samples``.

    Args:
        scorer: of this table.
        table: the table.
        batch: some of its rows.
        values: its column of names.

    Raises:
        TableError: a value is no name, or nothing names a row; names the row.
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
        names[row] = own or names[row] or _made(table, batch, row, target)
    return [str(name) for name in names]


def _cell(batch: Batch, row: int, name: str) -> Any:
    """One value of a row, also of columns that scoring does not need."""
    if isinstance(batch.whole, list):
        return batch.whole[row].get(name)
    return batch.whole.column(name)[row].as_py() if name in batch.whole.schema.names else None


def _made(table: Table, batch: Batch, row: int, target: Any) -> str:
    """A name made of what a row says."""
    image, instruction, origin = (
        next((value for name in names if (value := read(_cell(batch, row, name))) is not None), None)
        for names, read in ((IMAGE_COLUMNS, image_path), (INSTRUCTION_COLUMNS, prompt_text), (SOURCE_COLUMNS, name_of))
    )
    counted = image is None and instruction is None
    index, split = (_cell(batch, row, name) if counted else None for name in ("index", "split"))
    try:
        return sample_id(source=origin, image=image, instruction=instruction, target=target, index=index, split=split)
    except (PoolError, ValueError, RecursionError) as error:
        raise TableError(f"{table.path}, {batch.place(row)}: sample_id: got null; {error}") from None
