"""Rollouts that are there twice."""

from __future__ import annotations

from collections.abc import Sequence

from grounding_rewards.errors import PoolError
from grounding_rewards.tables.rollout_table import RolloutTable


def check_once(table: RolloutTable, where: str = "", names: Sequence[str] | None = None) -> None:
    """Check that no (sample, round, rollout) is there twice; rows without a number may be.

    Args:
        table: rollouts.
        where: which of them count, in SQL from WHERE on; "" for all.
        names: the samples that count; None for all that have a name.

    Raises:
        PoolError: one is.
    """
    key = f"sample_id, {'round' if 'round' in table.columns else 'NULL::BIGINT AS round'}, rollout"
    joined = f"{where} AND" if where else " WHERE"
    chosen = "IS NOT NULL" if names is None else "IN (SELECT unnest(?))"
    sql = (
        f"SELECT {key}, count(*) AS times FROM {{rollouts}}{joined} rollout IS NOT NULL AND sample_id {chosen} "
        "GROUP BY ALL HAVING count(*) > 1 ORDER BY 1, 2, 3 LIMIT 1"
    )
    needed = [name for name in ("sample_id", "round", "rollout", "temperature") if name in table.columns]
    twice = table.query(sql, needed, [] if names is None else [list(names)]).to_pylist()
    if twice:
        sample, number, rollout, count = twice[0].values()
        told = "" if number is None else f"round {number}, "
        raise PoolError(
            f"{', '.join(map(str, table.paths))}: sample {sample!r}, {told}rollout {rollout} is there {count} times; "
            "expected each rollout once: give each file once, and tell rounds apart by a column round"
        )
