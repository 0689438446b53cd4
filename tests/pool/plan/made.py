"""Five samples, 0, 1, 2 and 4 of 4 right and one not scored, and methods of each kind made for tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from grounding_rewards.plugins import named
from grounding_rewards.plugins import registry as plugins
from grounding_rewards.plugins.registry import PATHS, registry
from grounding_rewards.pool import methods, plan
from grounding_rewards.pool.methods import Choice
from grounding_rewards.pool.rollouts import RolloutColumns
from grounding_rewards.pool.stats import SampleStats, sample_stats

RIGHT = {"a": (0, 0, 0, 0), "b": (1, 0, 0, 0), "c": (1, 0, 1, 0), "d": (1, 1, 1, 1), "e": (None, None)}
ROWS: list[dict[str, Any]] = [
    {"sample_id": name, "rollout": number, "acc": acc, "total": acc}
    for name, right in RIGHT.items()
    for number, acc in enumerate(right)
]


def five() -> SampleStats:
    """Return the statistics of the five samples."""
    ids, acc = [row["sample_id"] for row in ROWS], [row["acc"] for row in ROWS]
    return sample_stats(ids, acc, acc)


def five_rollouts() -> RolloutColumns:
    """Return their rollouts."""
    sample = np.array(["abcde".index(row["sample_id"]) for row in ROWS])
    acc = np.array([row["acc"] for row in ROWS], dtype=np.float64)
    number = np.array([row["rollout"] for row in ROWS])
    return RolloutColumns(np.array(list("abcde"), dtype=object), sample, acc, rollout=number)


@dataclass(frozen=True)
class Further(methods.Method):
    """Three further rollouts of never-solved samples, one of those solved once."""

    kind = "allocation"

    def __call__(self, stats: SampleStats) -> Any:
        return np.where(stats.none_correct, 3, np.where(stats.num_correct == 1, 1, 0))


@dataclass(frozen=True)
class Budget(Further):
    """The same with a required argument."""

    budget: int


@dataclass(frozen=True)
class First(methods.Method):
    """The first rollouts of each sample that were scored."""

    kind = "choice"

    keep: int = 2
    needs: ClassVar[tuple[str, ...]] = ()

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        return Choice(np.flatnonzero((rollouts.rollout < self.keep) & ~np.isnan(rollouts.acc)))


@dataclass(frozen=True)
class Short(First):
    """The same, by a column that few tables have."""

    needs = ("token_length",)


@dataclass(frozen=True)
class Raising(methods.Method):
    """An error of each kind's own."""

    kind = "choice"

    needs: ClassVar[tuple[str, ...]] = ()

    def __call__(self, rows: Any) -> Any:
        raise KeyError("no\nnumber")


SELECTED = [name for name in PATHS["methods"] if named.kind_of(registry().methods[name]) == named.SELECTOR]


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put these methods in the registry, in place of the built-in ones of their kinds."""
    known = registry()
    every = {name: known.methods[name] for name in SELECTED}
    every |= {each.__name__.lower(): each for each in (Further, Budget, First, Short, Raising)}
    for module in (named, plugins, plan):
        monkeypatch.setattr(module, "registry", lambda: replace(known, methods=every))
    monkeypatch.setattr(plan, "PATHS", {"methods": every})
