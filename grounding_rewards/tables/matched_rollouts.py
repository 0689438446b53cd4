"""Annotations and predictions, joined, as rollouts."""

from __future__ import annotations

from dataclasses import asdict

from grounding_rewards.tables.matched import MatchedTable
from grounding_rewards.tables.rollout_sql import JsonRollouts
from grounding_rewards.tables.rollout_table import RolloutTable


class MatchedRollouts(RolloutTable):
    """Rollouts of a joined table; other columns of the id make other rollouts of the same files."""

    def __init__(self, table: MatchedTable) -> None:
        super().__init__(table.inputs, table.files, [JsonRollouts(table)])
        ids = {"annotations": list(table.ours), "predictions": list(table.theirs)}
        self.identity = {"id": ids, "joined": asdict(table.counts)}
