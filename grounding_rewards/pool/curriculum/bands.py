"""Read difficulty bands that data declare, with statistics of the same samples."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grounding_rewards.errors import PoolError, near
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.stats_table import is_stats, read_stats
from grounding_rewards.tables.files import open_table
from grounding_rewards.tables.rollout_table import open_rollouts

USUAL = ("difficulty", "band")
"""Columns of declared bands, where none is named."""

_READ = ("sample_id", "source", "round", "temperature")


def declared_bands(
    path: str | os.PathLike[str],
    column: str | None = None,
    by: str = "source",
    rounds: Sequence[int] | None = None,
) -> tuple[SampleStats, Sequence[Any]]:
    """Return statistics of samples, and the band that each sample declares.

    Args:
        path: statistics that ``pool stats --out`` wrote, or rollouts.
        column: the column of declared bands; None for the first of ``USUAL``.
        by: the column of types, which becomes ``source``.
        rounds: the rounds that count; None for all.

    Raises:
        PoolError: there is no such column; names the columns.
        TableError: the path cannot be read, or holds statistics, which cannot be parted by round.
    """
    if is_stats(path):
        table = open_table(path)
        stats = read_stats(path, rounds=rounds)
        name = _column(path, column, table.columns)
        wanted = [name, by] if by in table.columns else [name]
        rows = [row for batch in table.batches(wanted, whole=False) for row in batch.rows]
        kinds = np.empty(len(rows), dtype=np.object_)
        kinds[:] = [row.get(by) for row in rows]
        return replace(stats, source=kinds), [row.get(name) for row in rows]
    rollouts = open_rollouts([path])
    name = _column(path, column, rollouts.columns)
    stats = stats_of(rollouts, rounds=rounds, by=by, columns=_READ)
    return stats, stats_of(rollouts, rounds=rounds, by=name, columns=_READ).source.tolist()


def _column(path: str | os.PathLike[str], column: str | None, there: Sequence[str]) -> str:
    for name in USUAL if column is None else [column]:
        if name in there:
            return name
    missing = " or ".join(map(repr, USUAL)) if column is None else repr(column)
    hint = "." if column is None else near(column, there) or "."
    raise PoolError(
        f"{path}: no column {missing}, which would say of which band a sample is meant to be; name one by "
        f"--band-column{hint} It has: {', '.join(map(str, there))}"
    )
