"""What ``pool next`` starts from: rollouts, or statistics of samples that ``pool stats --out`` wrote of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import TableError
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.stats_table import is_stats, read_stats
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.base import Note
from grounding_rewards.tables.manifests import fingerprint
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts


class Measured(Protocol):
    """Samples that were measured by rollouts."""

    @property
    def files(self) -> Sequence[Path]:
        """The files that are read."""
        ...

    def stats(self) -> SampleStats:
        """Statistics of the samples."""
        ...

    def told(self, stats: SampleStats) -> dict[str, Any]:
        """What the manifest says of rounds and temperatures, None among them where one is unknown, and of ``by``.

        Statistics do not say which rounds they are of, nor what they were counted by: None.
        """
        ...

    def inputs(self) -> list[dict[str, Any]]:
        """What the manifest says of the files."""
        ...


def open_measured(
    paths: Sequence[Path],
    rounds: Sequence[int] | None = None,
    target_space: CoordSpace | None = None,
    by: str = "source",
    recipe: Recipe | None = None,
    *,
    warn: Note = lambda text: None,
) -> Measured:
    """Open rollouts, or one file of statistics.

    Args:
        paths: of rollouts, or of the statistics.
        rounds: the only ones that count; None for all.
        target_space: the space of targets that name none.
        by: the column that samples are counted by.
        recipe: the recipe whose form targets have, where rollouts name none that is installed.
        warn: takes what rollouts lack.

    Raises:
        TableError: a path cannot be read; or it holds statistics, and there are other paths, or something is asked
            for that only rollouts can tell.
    """
    for path in paths:
        if is_stats(path):
            asked: dict[str, Any] = {
                "other inputs": len(paths) > 1,
                "--round": rounds is not None,
                "--target-space": target_space,
            }
            asked |= {"--by": by != "source", "--recipe": recipe}
            for name, given in asked.items():
                if given:
                    raise TableError(f"{path}: holds statistics of samples, which do not go with {name}; give rollouts")
            return _Counted(path)
    table = open_rollouts(paths)
    if rounds is not None:
        table.need("round")
    return _Rollouts(table, rounds, target_space, by, recipe, warn)


@dataclass(frozen=True)
class _Counted:
    path: Path

    @property
    def files(self) -> Sequence[Path]:
        return [self.path]

    def stats(self) -> SampleStats:
        return read_stats(self.path)

    def told(self, stats: SampleStats) -> dict[str, Any]:
        return {"rounds": None, "temperatures": _temperatures(stats), "by": None}  # of a sample's rounds they know one

    def inputs(self) -> list[dict[str, Any]]:
        return [{"role": "statistics", **fingerprint(self.path, self.files)}]


@dataclass(frozen=True)
class _Rollouts:
    table: RolloutTable
    rounds: Sequence[int] | None
    target_space: CoordSpace | None
    by: str
    recipe: Recipe | None
    warn: Note

    @property
    def files(self) -> Sequence[Path]:
        return self.table.files

    def stats(self) -> SampleStats:
        return stats_of(
            self.table, rounds=self.rounds, by=self.by, target_space=self.target_space, recipe=self.recipe,
            warn=self.warn,
        )  # fmt: skip

    def told(self, stats: SampleStats) -> dict[str, Any]:
        if self.rounds is None:
            rounds, temperatures = list(self.table.rounds()), list(self.table.temperatures())
        else:
            rounds, temperatures = list(self.rounds), _temperatures(stats)
        return {"rounds": rounds, "temperatures": temperatures, "by": self.by}

    def inputs(self) -> list[dict[str, Any]]:
        return [{"role": "rollouts", **each} for each in self.table.inputs()]


def _temperatures(stats: SampleStats) -> list[float | None]:
    """Those of the samples; None where one is unknown, or a sample has several."""
    known = sorted({each for each in stats.temperature.tolist() if each == each})
    return [None, *known] if np.isnan(stats.temperature).any() else known
