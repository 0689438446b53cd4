"""What ``explain`` explains: a response and its target from the command line, from a file, or a recipe's example."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grounding_rewards.batch.row_scoring import Columns, Scorer
from grounding_rewards.cli import terminal
from grounding_rewards.cli.options import read_value
from grounding_rewards.coords.image_sizes import read_size
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


def row_of(file: Path, row: int, recipes: Sequence[Recipe], columns: Columns) -> Case:
    """A row of a table, with the rows of its group or trajectory where a recipe needs these.

    Args:
        file: JSON lines or Parquet.
        row: counted from 0.
        recipes: which judge it; the first is the one whose form of targets the table has.
        columns: which columns hold what.

    Raises:
        TableError: there is no such row or column, a response is no text, or a size cannot be read.
    """
    table, rows = open_table(file), 0
    columns.check(table, label_free=recipes[0].label_free)
    scorers = [Scorer(each, columns, warn=terminal.warn) for each in recipes]
    grouped = next((each for each in scorers if "groups" in each.recipe.needs), None)
    widest = grouped or next((each for each in scorers if "trajectories" in each.recipe.needs), scorers[0])
    further = any(recipe.reads_extras for recipe in recipes)
    for batch in widest.batches(table, by=table.columns if further else (), whole=False):
        rows = batch.start + len(batch)
        if batch.start <= row < rows:
            return _case(table, scorers, grouped, batch, row - batch.start, further=further)
    raise TableError(f"{file}: --row: got {row}; expected one from 0 to {rows - 1}")


def _case(
    table: Table, scorers: Sequence[Scorer], grouped: Scorer | None, batch: Batch, index: int, *, further: bool
) -> Case:
    scorer, found, groups = scorers[0], {index}, None
    targets = batch.column(scorer.columns.target)
    if any(each.recipe.needs & {"groups", "trajectories"} for each in scorers):
        read = scorer.recipe.read_targets(targets, bad_target="abstain", warn=False)
        if grouped is not None:
            groups = grouped.samples(table, batch, read)
            found |= _same(groups, index)
        if any("trajectories" in each.recipe.needs for each in scorers):
            found |= _same([row and row.trajectory for row in read.rows], index)
    indices = sorted(found)
    alone = [_alone(batch, each) for each in indices]
    names = scorer.columns.image_size, scorer.columns.model_image_size
    sizes = [[scorer.sizes(table, each, name) for each in alone] for name in names]
    known = [tuple(size[0] if size else None for size in column) for column in sizes]
    lengths = [each[0] for each in (scorer.lengths(table, one) for one in alone) if each] if further else []
    return Case(
        tuple(scorer.responses(table, each)[0] for each in alone),
        tuple(targets[each] for each in indices),
        indices.index(index),
        known[0] if any(known[0]) else None,
        known[1] if any(known[1]) else None,
        None if groups is None else tuple(groups[each] for each in indices),
        token_lengths=tuple(lengths) if len(lengths) == len(indices) else None,
        extras=tuple(batch.rows[each] for each in indices) if further else None,
        names=tuple(batch.start + each for each in indices),
    )


def _same(values: Sequence[Any], index: int) -> set[int]:
    return set() if values[index] is None else {row for row, value in enumerate(values) if value == values[index]}


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
