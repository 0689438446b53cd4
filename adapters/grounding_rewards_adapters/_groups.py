"""Which completions are of one sample, where a trainer repeats each sample's row and does not say how often."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr

WHOLE = (
    "set per_device_train_batch_size * steps_per_generation to a multiple of num_generations (in evaluation, "
    "per_device_eval_batch_size to one of num_generations_eval): a group that is split over processes cannot be seen "
    "whole"
)
"""What makes groups whole in TRL."""


def repeated(columns: Sequence[Sequence[Any]], rows: int, num_generations: int | None = None) -> NDArray[np.int64]:
    """Groups of rows that stand one after another and are alike, all groups of one size.

    Size = greatest common divisor of the lengths of the runs of equal rows, so that two equal samples beside each other
    are still two groups, as long as not all runs are that long. Pictures are read where nothing else tells rows apart.

    Args:
        columns: what rows of one sample have in common, such as prompts and targets, n values each.
        rows: n.
        num_generations: the size of the groups, where it is known; it is checked.

    Returns:
        (n,) the group of each row, counted from 0.

    Raises:
        RecipeError: rows do not make whole groups of ``num_generations``, or a group has unequal rows.

    >>> repeated([list("aabbbb")], 6).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    if num_generations is not None:
        _check(columns, rows, num_generations)
        return np.arange(rows) // num_generations
    if not rows:
        return np.arange(0)
    size = math.gcd(*_runs(columns, rows, pixels=False))
    if size > 1:
        size = math.gcd(*_runs(columns, rows, pixels=True))
    return np.arange(rows) // size


def _check(columns: Sequence[Sequence[Any]], rows: int, count: int) -> None:
    if rows % count:
        raise gr.RecipeError(
            f"num_generations={count}: got {rows} completions in one call; expected whole groups: {WHOLE}"
        )
    for row in range(rows):
        first = row - row % count
        if columns and not _alike(columns, first, row, pixels=False):
            raise gr.RecipeError(
                f"num_generations={count}: got another prompt or target in row {row} than in row {first}; expected "
                f"{count} of one sample one after another: give reward_funcs(..., num_generations=) the trainer's own "
                f"number, and {WHOLE}"
            )


def _runs(columns: Sequence[Sequence[Any]], rows: int, *, pixels: bool) -> list[int]:
    """Lengths of the runs of equal rows."""
    starts = [row for row in range(rows) if row == 0 or not _alike(columns, row - 1, row, pixels=pixels)]
    return [end - start for start, end in zip(starts, [*starts[1:], rows], strict=True)]


def _alike(columns: Sequence[Sequence[Any]], first: int, second: int, *, pixels: bool) -> bool:
    return bool(columns) and all(same(column[first], column[second], pixels=pixels) for column in columns)


def same(a: Any, b: Any, *, pixels: bool = True) -> bool:
    """Whether two cells say the same: nested lists and mappings, arrays, pictures; NaN is NaN.

    Args:
        a: one cell.
        b: the other.
        pixels: whether pictures of one size are compared by what they show, which reads both in full, or taken to be
            the same.
    """
    if a is b:
        return True
    if isinstance(a, str) or isinstance(b, str):
        return type(a) is type(b) and bool(a == b)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key], pixels=pixels) for key in a)
    if isinstance(a, np.ndarray | list | tuple) and isinstance(b, np.ndarray | list | tuple):
        return len(a) == len(b) and all(same(x, y, pixels=pixels) for x, y in zip(a, b, strict=True))
    if isinstance(getattr(a, "size", None), tuple) and hasattr(a, "tobytes"):
        return _same_picture(a, b, pixels)
    try:
        return bool(a == b) or bool(a != a and b != b)
    except Exception:  # whatever a data set holds: what cannot be compared is not the same
        return False


def _same_picture(a: Any, b: Any, pixels: bool) -> bool:
    if type(a) is not type(b) or (a.size, a.mode) != (b.size, b.mode):
        return False
    name = getattr(a, "filename", "")
    same_file = bool(name) and name == getattr(b, "filename", "")
    return not pixels or same_file or bool(a.tobytes() == b.tobytes())
