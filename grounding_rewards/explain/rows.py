"""A row of a table as a case to explain, with the rows of its group or trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grounding_rewards.errors import ConvertError, TableError
from grounding_rewards.explain.case import Case
from grounding_rewards.tables.columns import columns_read
from grounding_rewards.tables.image_files import read_images
from grounding_rewards.tables.rows import Batch, value_at

if TYPE_CHECKING:
    from PIL.Image import Image

    from grounding_rewards.batch.table_scorer import TableScorer


def row_of(row: int, scorers: Sequence[TableScorer]) -> Case:
    """Read a row of a table, with the rows of its group or trajectory where a recipe needs these."""
    rows = 0
    grouped = next((scorer for scorer in scorers if "groups" in scorer.recipe.needs), None)
    # Its batches hold all rows that the others need, too.
    widest = grouped or next((scorer for scorer in scorers if "trajectories" in scorer.recipe.needs), scorers[0])
    further = any(scorer.recipe.reads_extras for scorer in scorers)
    for batch in widest.batches(by=widest.table.columns if further else (), whole=False):
        rows = batch.start + len(batch)
        if batch.start <= row < rows:
            return _case(scorers, grouped, batch, row - batch.start, further=further)
    raise TableError(f"{widest.table.path}: --row: got {row}; expected one from 0 to {rows - 1}")


def screenshot_of(row: int, scorer: TableScorer) -> Image | None:
    """Decode the image of a row, of several the last one; None where no column of images is known."""
    images = scorer.images
    if images is None or not images.column:
        return None
    for batch in scorer.table.batches(columns_read([images.column]), whole=False):
        if batch.start <= row < batch.start + len(batch):
            return images.files.decode(read_images(value_at(batch.rows[row - batch.start], images.column))[-1])
    raise ConvertError(f"there is no row {row}")


def _case(
    scorers: Sequence[TableScorer], grouped: TableScorer | None, batch: Batch, index: int, *,
    further: bool,
) -> Case:  # fmt: skip
    scorer, chosen, groups = scorers[0], {index}, None
    targets = scorer.targets(batch)
    if any(each.recipe.needs & {"groups", "trajectories"} for each in scorers):
        read = scorer.read_targets(targets)
        if grouped is not None:
            groups = grouped.samples(batch, read)
            chosen |= _same(groups, index)
        if any("trajectories" in each.recipe.needs for each in scorers):
            chosen |= _same([row and row.trajectory for row in read.rows], index)
    indices = sorted(chosen)
    # One by one: a bad row of another sample is no error here.
    alone = [batch.take([place], whole=False) for place in indices]
    sizes = [[scorer.needed_sizes(one) for one in alone]]
    sizes.append([scorer.sizes(one, scorer.columns.model_image_size) for one in alone])
    known = [tuple(size[0] if size else None for size in column) for column in sizes]
    lengths = [length[0] for length in (scorer.lengths(one) for one in alone) if length] if further else []
    return Case(
        tuple(scorer.responses(one)[0] for one in alone),
        tuple(targets[place] for place in indices),
        indices.index(index),
        known[0] if any(known[0]) else None,
        known[1] if any(known[1]) else None,
        None if groups is None else tuple(groups[place] for place in indices),
        token_lengths=tuple(lengths) if len(lengths) == len(indices) else None,
        extras=tuple(batch.rows[place] for place in indices) if further else None,
        names=tuple(batch.start + place for place in indices),
        box_format=scorer.box_format,
    )


def _same(values: Sequence[Any], index: int) -> set[int]:
    return set() if values[index] is None else {row for row, value in enumerate(values) if value == values[index]}
