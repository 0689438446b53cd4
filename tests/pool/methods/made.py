"""Rollouts for tests of choices, from rows or columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from grounding_rewards.pool.methods import Method as RolloutChoice
from grounding_rewards.pool.methods import choose
from grounding_rewards.pool.rollouts import RolloutColumns, read_columns
from grounding_rewards.tables.rollout_table import open_rollouts


def columns(acc: list[float], **more: list[Any]) -> RolloutColumns:
    """Rollouts of sample "a", or of those that ``sample`` numbers, named "a", "b", ..."""
    sample = np.array(more.pop("sample", [0] * len(acc)), dtype=np.int64)
    names = np.array([chr(ord("a") + number) for number in range(int(sample.max(initial=0)) + 1)], dtype=object)
    return RolloutColumns(names, sample, np.array(acc, dtype=float), **{key: np.array(v) for key, v in more.items()})


def chosen(folder: Path, rows: list[dict[str, Any]], choice: RolloutChoice) -> list[tuple[Any, ...]]:
    """(sample, round, rollout) of the rollouts chosen of a table, and what its further columns hold, sorted."""
    file = folder / "rollouts.parquet"
    pq.write_table(pa.Table.from_pylist(rows), file)
    rollouts = read_columns(open_rollouts([file]), choice.needs)
    kept = choose(rollouts, choice)
    names = [rollouts.sample_id[sample] for sample in rollouts.sample[kept.kept]]
    return list(zip(
        names, rollouts.round[kept.kept].tolist(), rollouts.rollout[kept.kept].tolist(),
        *(column.tolist() for column in kept.columns.values()), strict=True,
    ))  # fmt: skip
