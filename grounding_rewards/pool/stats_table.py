"""Tables of statistics: the file of ``pool stats --out``, written and read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from grounding_rewards.arrays import read_only
from grounding_rewards.errors import PoolError, TableError, near
from grounding_rewards.pool.aggregate import ALL, stats_of
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.stats.intervals import pass_at_k, wilson
from grounding_rewards.tables.contents import JSON, JSON_LINES, PARQUET, suffix_of
from grounding_rewards.tables.opening import open_table
from grounding_rewards.tables.rollout_columns import CORRECT
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.tables.rows import Note

_TEXTS = ("sample_id", "source")
_NEEDED = ("sample_id", "n", "num_correct")
_WHOLE = {"n": 0, "num_correct": 0, "unscored": 0, "clicks": 0, "distinct": -1, "cells": -1, "round": -1}
"""Columns of whole numbers, and what stands for null in them."""

_AT_ONCE = 1 << 17


def to_table(stats: SampleStats, ks: Sequence[int] = ()) -> pa.Table:
    """Return all columns of statistics as a table, with derived ones; null for unknown values."""
    low, high = wilson(stats.num_correct, stats.n)
    with np.errstate(divide="ignore", invalid="ignore"):  # a point target has no diagonal
        beside = stats.dispersion / stats.target_diagonal
    further = {"pass_rate": stats.pass_rate, "wilson_low": low, "wilson_high": high, "spread": stats.spread}
    further["dispersion_target"] = np.where(np.isfinite(beside), beside, np.nan)
    further |= {f"pass_at_{k}": pass_at_k(stats.n, stats.num_correct, k) for k in ks}
    own = {name: getattr(stats, name) for name in ALL}
    return pa.table({name: _array(name, column) for name, column in {**own, **further}.items()})


def in_tables(stats: SampleStats, rows: NDArray[np.int64] | None = None, ks: Sequence[int] = ()) -> Iterator[pa.Table]:
    """Yield tables of some rows, or all, about 100,000 rows each: a single table takes several times their memory."""
    rows = np.arange(len(stats)) if rows is None else rows
    for start in range(0, len(rows) or 1, _AT_ONCE):
        yield to_table(stats.taken(rows[start : start + _AT_ONCE]), ks)


def from_table(table: pa.Table) -> SampleStats:
    """Read statistics from a table; missing columns are unknown."""
    missing = [name for name in _NEEDED if name not in table.column_names]
    if missing:
        hint = near(missing[0], table.column_names) or "."
        raise PoolError(f"no column {missing[0]!r}{hint} There are: {', '.join(table.column_names)}")
    columns = {name: _column(name, table[name]) for name in ALL if name in table.column_names}
    stats = SampleStats(**columns)
    for row, name in enumerate(stats.sample_id.tolist()):
        if not name:
            raise PoolError(f"sample_id of row {row}: got {name!r}; expected the name of the sample")
    twice = [name for name, count in Counter(stats.sample_id.tolist()).items() if count > 1]
    if twice:
        raise PoolError(f"sample {twice[0]!r} has several rows; expected one a sample")
    for row in np.flatnonzero((stats.num_correct < 0) | (stats.num_correct > stats.n))[:1]:
        raise PoolError(
            f"{stats.named(row)}: got num_correct {stats.num_correct[row]} of n {stats.n[row]}; "
            "expected 0 <= num_correct <= n"
        )
    read_only(*vars(stats).values())
    return stats


def read_stats(
    path: str | os.PathLike[str], *, rounds: Sequence[int] | None = None, warn: Note = lambda text: None
) -> SampleStats:
    """Read a file of statistics (it has ``n`` and ``num_correct``, and no ``acc``), or count rollouts."""
    if not is_stats(path):
        return stats_of(open_rollouts([path]), rounds=rounds, warn=warn)
    if rounds is not None:
        raise TableError(f"{path}: holds statistics of samples, which cannot be parted by round; give rollouts")
    try:
        return from_table(_read(path))
    except PoolError as error:
        raise PoolError(f"{path}, statistics of samples: {error}") from None


def is_stats(path: str | os.PathLike[str]) -> bool:
    """True for a file of statistics, such as ``pool stats --out`` writes; False for rollouts."""
    if not os.path.isfile(path) or suffix_of(Path(path)) not in (*PARQUET, *JSON_LINES, *JSON):
        return False
    columns = open_table(path).columns
    return {"n", "num_correct"} <= set(columns) and not {"acc", CORRECT} & set(columns)


def _read(path: str | os.PathLike[str]) -> pa.Table:
    if os.fspath(path).lower().endswith(PARQUET):
        import pyarrow.parquet as pq  # JSON lines need none of it

        with open(path, "rb") as opened, pq.ParquetFile(opened) as file:  # names of files need not be UTF-8
            return file.read()
    rows = [row for batch in open_table(path).batches() for row in batch.rows]
    names = dict.fromkeys(key for row in rows for key in row if key in ALL)
    try:
        return pa.table({name: [row.get(name) for row in rows] for name in names})
    except (pa.ArrowException, OverflowError) as error:
        raise PoolError(str(error)) from None


def _array(name: str, column: Any) -> pa.Array:
    if name in _TEXTS:
        return pa.array([None if text is None else str(text) for text in column.tolist()], pa.string())
    if name in ("distinct", "cells", "round"):
        return pa.array(np.asarray(column), mask=np.asarray(column) < 0)  # -1 is unknown here, null in files
    return pa.array(np.ascontiguousarray(column), from_pandas=True)  # NaN becomes null


def _column(name: str, column: pa.ChunkedArray) -> Any:
    if name in _TEXTS:
        texts = np.empty(len(column), dtype=np.object_)
        texts[:] = [None if text is None else str(text) for text in column.to_pylist()]
        return texts
    try:
        # Through floats: nulls become NaN, and fractions are refused below rather than cut off.
        numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)
    except (pa.ArrowException, ValueError):
        raise PoolError(f"column {name} holds {column.type}; expected numbers") from None
    if name not in _WHOLE:
        return numbers
    known = ~np.isnan(numbers)
    # From 2^53 on floats skip whole numbers.
    for row in np.flatnonzero(known & ~((numbers == np.trunc(numbers)) & (np.abs(numbers) < 2**53)))[:1]:
        raise PoolError(f"{name} of row {row}: got {numbers[row]:g}; expected a whole number")
    return np.where(known, numbers, _WHOLE[name]).astype(np.int64)
