"""Groups of completions of one sample, where a trainer repeats each sample's row and does not say how often."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr

WHOLE = (
    "set per_device_train_batch_size * steps_per_generation to a multiple of num_generations (in evaluation, "
    "per_device_eval_batch_size to one of num_generations_eval): a group that is split over processes is nowhere "
    "whole"
)
"""Advice for TRL that makes groups whole."""


def repeated(columns: Sequence[Sequence[Any]], rows: int, sizes: Sequence[int] = ()) -> NDArray[np.int64]:
    """Return (n,) groups of rows that stand one after another and are alike in all columns, groups of one size.

    Of several ``sizes``, the largest of which rows make whole groups: rows of the smaller one pass for groups of the
    larger one only where equal samples stand beside each other in all of them.

    Without ``sizes``, size = greatest common divisor of the lengths of the runs of equal rows, so that two equal
    samples beside each other are still two groups, as long as not all runs are that long. Images are read where
    nothing else tells rows apart, and not where one size is known.

    Raises:
        RecipeError: rows do not make whole groups of any of ``sizes``, or a group has unequal rows.

    >>> repeated([list("aabbbb")], 6).tolist()
    [0, 0, 1, 1, 2, 2]
    >>> repeated([list("aabbbb")], 6, (4, 2)).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    if not rows:
        return np.arange(0)
    if sizes:
        return np.arange(rows) // _fitting(columns, rows, sizes)
    size = math.gcd(*_runs(columns, rows, pixels=False))
    if size > 1:  # 1 is the least that there is, so that no image need be read in full
        size = math.gcd(*_runs(columns, rows, pixels=True))
    return np.arange(rows) // size


def doubt(name: str, groups: NDArray[np.int64], sizes: Sequence[int], *, first: bool) -> str:
    """Return a complaint about a call's groups; empty where nothing seems wrong.

    The ``first`` call is one of training, whose size is the first, unless evaluation goes before it.
    """
    rows = len(groups)
    if not sizes and 1 < rows == len(np.unique(groups)):
        return (
            f"{name} compares the rollouts of one sample; got {rows} completions, of which no two beside each other "
            f"have one prompt and target. Let num_generations be 2 or more, and {WHOLE}. Where evaluation draws one "
            "completion a sample, give reward_funcs(..., num_generations=, num_generations_eval=1)"
        )
    size = int(np.count_nonzero(groups == 0))
    if first and rows and sizes and size != sizes[0]:
        return (
            f"{name}: the first call holds groups of num_generations_eval={size}, and none of "
            f"num_generations={sizes[0]}. If it is no evaluation, {WHOLE}"
        )
    return ""


def _fitting(columns: Sequence[Sequence[Any]], rows: int, sizes: Sequence[int]) -> int:
    smallest = min(sizes)
    for size in sorted(sizes, reverse=True):
        # Images are read in full only where a smaller size is left to choose.
        if rows % size == 0 and _stranger(columns, rows, size, pixels=size > smallest) is None:
            return size
    names = "num_generations={}", "num_generations_eval={}"
    called = ", ".join(name.format(size) for name, size in zip(names, sizes, strict=False))
    whole = [size for size in sizes if rows % size == 0]
    if not whole:
        raise gr.RecipeError(f"{called}: got {rows} completions in one call; expected whole groups: {WHOLE}")
    row = _stranger(columns, rows, whole[0], pixels=True) or 0
    raise gr.RecipeError(
        f"{called}: got another prompt or target in row {row} than in row {row - row % whole[0]}; expected {whole[0]} "
        "of one sample one after another: give reward_funcs(..., num_generations=) the trainer's own number (and "
        f"num_generations_eval=, where it evaluates with another one), and {WHOLE}"
    )


def _stranger(columns: Sequence[Sequence[Any]], rows: int, size: int, *, pixels: bool) -> int | None:
    """The first row that is not like the first one of its group of ``size``."""
    for row in range(rows if columns else 0):
        if not _alike(columns, row - row % size, row, pixels=pixels):
            return row
    return None


def _runs(columns: Sequence[Sequence[Any]], rows: int, *, pixels: bool) -> list[int]:
    """Lengths of the runs of equal rows."""
    starts = [row for row in range(rows) if row == 0 or not _alike(columns, row - 1, row, pixels=pixels)]
    return [end - start for start, end in zip(starts, [*starts[1:], rows], strict=True)]


def _alike(columns: Sequence[Sequence[Any]], first: int, second: int, *, pixels: bool) -> bool:
    return bool(columns) and all(same(column[first], column[second], pixels=pixels) for column in columns)


def same(a: Any, b: Any, *, pixels: bool = True) -> bool:
    """Return True for two cells that say the same: nested lists and mappings, arrays, images; NaN is NaN.

    Without ``pixels``, images of one size are taken to be the same; else both are read in full and compared.
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
        return _same_image(a, b, pixels)
    try:
        return bool(a == b) or bool(a != a and b != b)
    except Exception:  # whatever a data set holds: what cannot be compared is not the same
        return False


def _same_image(a: Any, b: Any, pixels: bool) -> bool:
    if type(a) is not type(b) or (a.size, a.mode) != (b.size, b.mode):
        return False
    name = getattr(a, "filename", "")
    same_file = bool(name) and name == getattr(b, "filename", "")  # which need not be decoded to be compared
    return not pixels or same_file or bool(a.tobytes() == b.tobytes())
