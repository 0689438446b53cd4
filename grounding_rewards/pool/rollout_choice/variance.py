"""Rollouts whose rewards differ most: in each group (PODS), and over a whole batch (D3S)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from grounding_rewards.arrays import Floats, Ints, numbered
from grounding_rewards.groups.max_variance import max_variance
from grounding_rewards.groups.spread import EPSILON, normalised
from grounding_rewards.pool.rollout_choice.columns import RolloutColumns
from grounding_rewards.pool.rollout_choice.grouping import Reward, groups, rewards_of
from grounding_rewards.pool.rollout_choice.protocol import Choice
from grounding_rewards.verifiers.options import choice, number, whole, wrong

Advantages = Literal["none", "kept", "all"]


@dataclass(frozen=True)
class Pods:
    """Keep the rollouts of each group whose rewards have the largest variance.

    A group is the rollouts of a sample in a round and in a train step. Of one with ``keep`` scored rollouts or fewer
    all stay, with equal rewards too; rollouts that were not scored never do.

    Args:
        keep: rollouts to keep of each group, 1 or more.
        advantages: a column ``advantage`` of those that are kept, A = (r - mean) / (std + 1e-6) with the unbiased
            standard deviation (of m - 1): over those of the group that are ``"kept"``, as a trainer computes it on what
            it gets, or over ``"all"`` of it; ``"none"`` writes no such column.
        of: the reward, ``"total"``, or ``"acc"`` for tables without totals.

    Source: PODS (arXiv 2504.13818), not its code; the column is our own form: code of others centres on the subset.
    """

    keep: int
    advantages: Advantages = "none"
    of: Reward = "total"

    samples_apart: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole(self, "keep", 1)
        choice(self, "advantages", Advantages)
        choice(self, "of", Reward)

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that a table must have."""
        return (self.of,)

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        """Return the rollouts to keep."""
        rewards, group = rewards_of(rollouts, self.of), groups(rollouts)
        kept = np.flatnonzero(max_variance(rewards, group, self.keep))
        return Choice(kept, _advantages(rewards, group, kept, self.advantages))


@dataclass(frozen=True)
class D3s:
    """Keep the rollouts of each batch whose advantages have the largest variance.

    Values are advantages within a group: A = (r - mean) / (std + 1e-6), with the unbiased standard deviation (of
    m - 1), and 0 in groups whose rewards do not differ, which are kept last. A group is the rollouts of a sample in a
    round and in a train step. In a single group the choice is that of ``Pods``. Rollouts that were not scored are never
    kept. Exactly one of ``keep`` and ``share`` is needed.

    Args:
        keep: rollouts to keep of each batch, 1 or more.
        share: the share of each batch's scored rollouts to keep, above 0 and at most 1, rounded half up, 1 at least.
        by: the batch: the whole ``"table"``, or each ``"train_step"``; rollouts without one make a batch of their own.
        advantages: the column ``advantage`` of those that are kept: over ``"all"`` of their group, by which they are
            chosen, over those that are ``"kept"``, or ``"none"``.
        of: the reward, ``"total"`` or ``"acc"``.

    Source: D3S (arXiv 2509.22115), its sample level, from reviews of the paper; its schedules are not known.
    """

    needs_one_of: ClassVar[tuple[str, ...]] = ("keep", "share")

    keep: int | None = None
    share: float | None = None
    by: Literal["table", "train_step"] = "table"
    advantages: Advantages = "all"
    of: Reward = "total"

    def __post_init__(self) -> None:
        if (self.keep is None) == (self.share is None):
            raise wrong(self, "keep", f"exactly one of keep and share; share is {self.share!r:.60}")
        if self.keep is not None:
            whole(self, "keep", 1)
        else:
            number(self, "share", 0.0, 1.0, above=True)
        choice(self, "by", Literal["table", "train_step"])
        choice(self, "advantages", Advantages)
        choice(self, "of", Reward)

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that a table must have."""
        return (self.of,) if self.by == "table" else (self.of, "train_step")

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        """Return the rollouts to keep."""
        rewards = rewards_of(rollouts, self.of)
        group = groups(rollouts)
        batch = numbered(rollouts.train_step) if self.by == "train_step" else np.zeros(len(rollouts), dtype=np.int64)
        scored = np.bincount(batch, weights=~np.isnan(rewards))
        sizes = scored if self.share is None else np.maximum(np.floor(self.share * scored + 0.5), 1)
        keep = sizes.astype(np.int64) if self.keep is None else self.keep
        values = _normalised(rewards, group)
        kept = np.flatnonzero(max_variance(values, batch, keep))
        if self.advantages == "all":
            return Choice(kept, {"advantage": values[kept]})
        return Choice(kept, _advantages(rewards, group, kept, self.advantages))


def _normalised(rewards: Floats, group: Ints) -> Floats:
    """Return advantages within groups; NaN where a rollout was not scored."""
    known = ~np.isnan(rewards)
    if known.all():
        return normalised(rewards, group, EPSILON)
    scored = np.flatnonzero(known)
    values = np.full(len(rewards), np.nan)
    values[scored] = normalised(rewards[scored], group[scored], EPSILON)
    return values


def _advantages(rewards: Floats, group: Ints, kept: Ints, over: Advantages) -> dict[str, Floats]:
    if over == "none":
        return {}
    if over == "all":
        return {"advantage": _normalised(rewards, group)[kept]}
    return {"advantage": _normalised(rewards[kept], group[kept])}
