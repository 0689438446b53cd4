"""Earlier scores of rollouts, which are not written again, and their keys, which must differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from grounding_rewards.batch.columns import OWN, has
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.catalogue import RecordedName, recorded_recipe
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.base import Note, Table
from grounding_rewards.tables.columns import columns_read
from grounding_rewards.tables.rollout_columns import COLUMNS, arrow
from grounding_rewards.tables.rollout_table import RolloutTable
from grounding_rewards.tables.sample_ids import name_of

_SCORED = frozenset({"total", "acc", "valid", "x", "y", "reason", "dialect"})
"""Columns that `grounding-rewards score` writes."""

_KEY = ("sample_id", "round", "rollout")


def left_out(rollouts: RolloutTable, tables: Sequence[Table], recipe: Recipe, note: Note, warn: Note) -> set[str]:
    """Return columns that are not written again: earlier scores, and what takes their names."""
    known = {name for table in tables for name in table.columns}
    parts, stay = _parts(rollouts, recipe) if "recipe" in known else (set[str](), list[str]())
    scored = _SCORED - set(COLUMNS) if known >= _SCORED else frozenset[str]()
    gone = sorted(((parts | scored) & known) - set(recipe.parts) - set(COLUMNS))
    if gone:
        note(f"scores of earlier recipes are left out: {', '.join(gone)}")
    if stay:
        warn(
            "rollouts name recipes that are not installed, or that need options: "
            f"{', '.join(f'{name!r:.80}' for name in stay[:3])}; a name in a file is never loaded as code, so the "
            "columns of their parts are unknown and stay as they are"
        )
    return {*gone, *recipe.parts, "correct"}


def renamed(scorer: TableScorer) -> set[str]:
    """Return columns of one table that are called otherwise from now on; another table may have more by these names."""
    kept = {
        "image",
        "refusal",
        *(field for field in ("id", "image_size") if scorer.guessed(field)),
    }  # targets may say another
    return {name for field, name in vars(scorer.columns).items() if field not in kept} - {*vars(OWN).values()}


def _parts(rollouts: RolloutTable, recipe: Recipe) -> tuple[set[str], list[str]]:
    """Parts of the recipes that rows were scored with before; and those recipes whose parts nobody can tell."""
    names: set[str] = set()
    for batch in rollouts.batches(["recipe"]):
        names.update(name for name in batch.column("recipe").unique().to_pylist() if name is not None)
    parts, unknown = set[str](), list[str]()
    for name in sorted(names):
        named = RecordedName(name)
        built = (
            # Some recipes demand a space, on which their parts do not depend.
            recipe if name == recipe.name else recorded_recipe(named) or recorded_recipe(named, response_space="pixel")
        )
        parts.update(() if built is None else built.parts)
        unknown += [name] if built is None else []
    return parts, unknown


def check_once(rollouts: RolloutTable, tables: Sequence[Table], scorers: Sequence[TableScorer]) -> None:
    """Check that no rollout is there twice, as far as files name and number them."""
    named = [(table, each.columns.id) for table, each in zip(tables, scorers, strict=True) if not each.guessed("id")]
    numbered = [(table, name) for table, name in named if has(table, name) and "rollout" in table.columns]
    if numbered:
        RolloutTable(rollouts.paths, rollouts.files, [], [_Keys(numbered)]).check_once()


class _Keys:
    """The keys of all rows. Unlike in a rollout table samples may lack names, and what cannot be read is null."""

    columns = _KEY

    def __init__(self, tables: Sequence[tuple[Table, str]]) -> None:
        self.tables = tables  # each with the column of names

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows; see ``Rows``."""
        schema = pa.schema([(name, COLUMNS[name]) for name in _KEY])
        yield pa.RecordBatch.from_pylist([], schema=schema)
        for table, named in self.tables:
            own = (named, "round", "rollout")
            for batch in table.batches(columns_read(own), whole=False):
                names, rounds, numbers = (batch.column(name) for name in own)
                values = ([name_of(name) for name in names], rounds, numbers)
                arrays = [arrow(each, field.type) for each, field in zip(values, schema, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema).select(list(columns))
