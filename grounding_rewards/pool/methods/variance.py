"""Rollouts whose rewards differ most: in each group (PODS), and over a whole batch (D3S)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards.arrays import Floats, Ints, numbered
from grounding_rewards.groups.max_variance import max_variance
from grounding_rewards.groups.spread import EPSILON, normalised
from grounding_rewards.plugins.named import CHOICE
from grounding_rewards.pool.methods import Choice, Method, setting
from grounding_rewards.pool.rollouts import Reward, RolloutColumns, groups, rewards_of
from grounding_rewards.verifiers.options import Count, Part, wrong

Advantages = Literal["none", "kept", "all"]
_COLUMN = "a column advantage, A = (r - mean) / (std of m - 1, + 1e-6), over those kept of the group, or all of it"


@dataclass(frozen=True)
class Pods(Method):
    """Keep the rollouts of each group whose rewards have the largest variance.

    A group is the rollouts of a sample in a round and in a train step. Of one with ``keep`` scored rollouts or fewer
    all stay, with equal rewards too; rollouts that were not scored never do.

    Source: PODS (arXiv 2504.13818), not its code; the column is our own form: code of others centres on the subset.
    """

    kind, samples_apart = CHOICE, True

    keep: Count = setting("rollouts to keep of each group")
    advantages: Advantages = setting(_COLUMN, "none")
    of: Reward = setting("the reward", "total")

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.of,)

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        rewards, group = rewards_of(rollouts, self.of), groups(rollouts)
        kept = np.flatnonzero(max_variance(rewards, group, self.keep))
        return Choice(kept, _advantages(rewards, group, kept, self.advantages))


@dataclass(frozen=True)
class D3s(Method):
    """Keep the rollouts of each batch whose advantages within their group have the largest variance.

    Advantages are 0 in groups whose rewards do not differ, which are kept last. In a single group the choice is that of
    ``Pods``. Rollouts that were not scored are never kept. Exactly one of ``keep`` and ``share`` is needed.

    Source: D3S (arXiv 2509.22115), its sample level, from reviews of the paper; its schedules are not known.
    """

    kind, needs_one_of = CHOICE, ("keep", "share")

    keep: Count | None = setting("rollouts to keep of each batch", None)
    share: Part | None = setting("the share of each batch's scored rollouts to keep", None)
    by: Literal["table", "train_step"] = setting("the batch; rollouts without a step make one of their own", "table")
    advantages: Advantages = setting(_COLUMN, "all")
    of: Reward = setting("the reward", "total")

    def __post_init__(self) -> None:
        if (self.keep is None) == (self.share is None):
            raise wrong(self, "keep", f"exactly one of keep and share; share is {self.share!r:.60}")
        super().__post_init__()

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.of,) if self.by == "table" else (self.of, "train_step")

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        rewards, group = rewards_of(rollouts, self.of), groups(rollouts)
        batch = numbered(rollouts.train_step) if self.by == "train_step" else np.zeros(len(rollouts), dtype=np.int64)
        scored = np.bincount(batch, weights=~np.isnan(rewards))
        sizes = scored if self.share is None else np.maximum(np.floor(self.share * scored + 0.5), 1)
        keep = sizes.astype(np.int64) if self.keep is None else self.keep
        kept = np.flatnonzero(max_variance(_normalised(rewards, group), batch, keep))
        return Choice(kept, _advantages(rewards, group, kept, self.advantages))


def _normalised(rewards: Floats, group: Ints) -> Floats:
    """Return advantages within groups; NaN where a rollout was not scored."""
    scored, values = np.flatnonzero(~np.isnan(rewards)), np.full(len(rewards), np.nan)
    values[scored] = normalised(rewards[scored], group[scored], EPSILON)
    return values


def _advantages(rewards: Floats, group: Ints, kept: Ints, over: Advantages) -> dict[str, Floats]:
    if over == "none":
        return {}
    if over == "all":
        return {"advantage": _normalised(rewards, group)[kept]}
    return {"advantage": _normalised(rewards[kept], group[kept])}
