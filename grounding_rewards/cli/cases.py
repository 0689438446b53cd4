"""What ``explain`` explains: a response and its target from the command line, from a file, or a recipe's example."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grounding_rewards.cli.options import OnBadTarget, read_value
from grounding_rewards.cli.scorer import Columns, Scorer, read_size
from grounding_rewards.errors import RecipeError, TableError
from grounding_rewards.explain.case import Case, Size
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables import Batch, Table, open_table


def given(
    recipe: Recipe,
    response: str,
    target: str | None,
    group: Sequence[str],
    image_size: str | None,
    model_image_size: str | None,
) -> Case:
    """The case that words on the command line give.

    Args:
        recipe: which judges it.
        response: the text; "-" reads it from stdin.
        target: JSON, or a text in the recipe's own form.
        group: the other responses of the group.
        image_size: ``W,H`` or JSON.
        model_image_size: the same.

    Raises:
        RecipeError: the target is missing, or a size is none.
    """
    if target is None and not recipe.label_free:
        raise RecipeError(
            "--target: got nothing; expected the target of --response, such as '{\"bbox\": [1, 2, 3, 4]}'"
        )
    text = sys.stdin.read() if response == "-" else response
    rows = 1 + len(group)
    sizes = [_sizes(name, size, rows) for name, size in (("image", image_size), ("model-image", model_image_size))]
    wanted = None if target is None else read_value(target)
    return Case((text, *group), (wanted,) * rows, 0, sizes[0], sizes[1], (0,) * rows)


def example(recipe: Recipe) -> Case:
    """The recipe's own example.

    Raises:
        RecipeError: it has none.
    """
    if recipe.example is None:
        raise RecipeError(f"{recipe.name} has no example: give --response and --target, or --file and --row")
    return Case.of(recipe.example)


def row_of(file: Path, row: int, recipe: Recipe, columns: Columns) -> Case:
    """A row of a table, with the rows of its group or trajectory where the recipe needs these.

    Args:
        file: JSON lines or Parquet.
        row: counted from 0.
        recipe: which judges it.
        columns: which columns hold what.

    Raises:
        TableError: there is no such row or column, a response is no text, or a size cannot be read.
    """
    table, scorer = open_table(file), Scorer(recipe, columns, OnBadTarget.RAISE)
    rows = 0
    for batch in scorer.batches(table, whole=False):
        rows = batch.start + len(batch)
        if batch.start <= row < rows:
            return _case(table, scorer, batch, row - batch.start)
    raise TableError(f"{file}: --row: got {row}; expected one from 0 to {rows - 1}")


def _case(table: Table, scorer: Scorer, batch: Batch, index: int) -> Case:
    indices = _together(scorer, batch, index)
    alone = [_alone(batch, each) for each in indices]
    found = [scorer.responses(table, each)[0] for each in alone]
    names = scorer.columns.image_size, scorer.columns.model_image_size
    sizes = [[scorer.sizes(table, each, name) for each in alone] for name in names]
    columns = [tuple(size[0] if size else None for size in column) for column in sizes]
    targets = batch.column(scorer.columns.target)
    return Case(
        tuple(found),
        tuple(targets[each] for each in indices),
        indices.index(index),
        columns[0] if any(columns[0]) else None,
        columns[1] if any(columns[1]) else None,
        (0,) * len(indices) if "groups" in scorer.recipe.needs else None,
    )


def _together(scorer: Scorer, batch: Batch, index: int) -> list[int]:
    """The rows that are scored with one row, itself included."""
    if "groups" in scorer.recipe.needs:
        return _same([json.dumps(name, default=str) for name in batch.column(scorer.columns.id)], index)
    if "trajectories" in scorer.recipe.needs:
        targets = scorer.recipe.read_targets(batch.column(scorer.columns.target), bad_target="abstain")
        return _same([row and row.trajectory for row in targets.rows], index)
    return [index]


def _same(values: Sequence[Any], index: int) -> list[int]:
    return [index] if values[index] is None else [row for row, value in enumerate(values) if value == values[index]]


def _alone(batch: Batch, index: int) -> Batch:
    """A batch of one row, which errors name as before."""
    lines = None if batch.lines is None else [batch.lines[index]]
    return Batch(batch.start + index, [batch.rows[index]], None, batch.done, lines)


def _sizes(name: str, text: str | None, rows: int) -> tuple[Size, ...] | None:
    if text is None:
        return None
    size = read_size(text if text.lstrip().startswith("[") else f"[{text.replace('x', ',')}]")
    if size is None:
        raise RecipeError(f"--{name}-size: got {text!r:.60}; expected W,H in pixels, such as 1920,1080")
    return (size,) * rows
