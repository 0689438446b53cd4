"""Scores that rollouts had before, which are not written again."""

from __future__ import annotations

from collections.abc import Sequence

from grounding_rewards.batch.row_scoring import Columns
from grounding_rewards.catalogue import RecordedName, recorded_recipe
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.base import Note, Table
from grounding_rewards.tables.rollout_columns import COLUMNS
from grounding_rewards.tables.rollout_table import RolloutTable

_SCORED = frozenset({"total", "acc", "valid", "x", "y", "reason", "dialect"})
"""Columns that `grounding-rewards score` writes."""


def left_out(
    rollouts: RolloutTable, tables: Sequence[Table], recipe: Recipe, columns: Columns, note: Note, warn: Note
) -> set[str]:
    """Columns that are not written again: earlier scores, and what is called otherwise from now on.

    Args:
        rollouts: what is scored anew.
        tables: the files of it.
        recipe: which scores them now.
        columns: what holds what.
        note: takes remarks on scores that are left out.
        warn: takes warnings about recipes whose scores nobody can name.
    """
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
    renamed = {name for role, name in vars(columns).items() if name != getattr(Columns(), role)}
    return {*gone, *recipe.parts, *renamed, "correct"}


def _parts(rollouts: RolloutTable, recipe: Recipe) -> tuple[set[str], list[str]]:
    """Parts of the recipes that rows were scored with before; and those recipes whose parts nobody can tell."""
    names: set[str] = set()
    for batch in rollouts.batches(["recipe"]):
        names.update(name for name in batch.column("recipe").unique().to_pylist() if name is not None)
    parts, unknown = set[str](), list[str]()
    for name in sorted(names):
        found = recipe.parts if name == recipe.name else _parts_of(RecordedName(name))
        parts.update(found or ())
        unknown += [name] if found is None else []
    return parts, unknown


def _parts_of(name: RecordedName) -> tuple[str, ...] | None:
    built = recorded_recipe(name) or recorded_recipe(name, response_space="pixel")
    return None if built is None else built.parts
