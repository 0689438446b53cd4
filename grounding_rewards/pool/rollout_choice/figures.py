"""Figures of rollouts before and after a choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.pool.rollout_choice.columns import RolloutColumns
from grounding_rewards.pool.rollout_choice.grouping import groups


def figures(rollouts: RolloutColumns, kept: Ints | None = None) -> dict[str, Any]:
    """Return figures of all rollouts, or of those at some places.

    ``rollouts`` and ``samples`` are counts, ``mean_p`` is the mean pass rate of samples, and ``no_signal`` the share of
    groups (a sample's rollouts of a round and train step) whose totals, without totals their ``acc``, are no farther
    apart than 1e-6. The last two are None where nothing was scored.

    >>> acc = np.array([1.0, 0, 1, 1])
    >>> rollouts = RolloutColumns(np.array(["a", "b"], dtype=object), np.array([0, 0, 1, 1]), acc)
    >>> figures(rollouts), figures(rollouts, np.array([0, 1]))["no_signal"]
    ({'rollouts': 4, 'samples': 2, 'mean_p': 0.75, 'no_signal': 0.5}, 0.0)
    """
    group = groups(rollouts)
    rewards = rollouts.acc if np.isnan(rollouts.total).all() else rollouts.total
    rewards = np.where(np.isnan(rollouts.acc), np.nan, rewards)
    sample, acc = rollouts.sample, rollouts.acc
    if kept is not None:
        sample, acc, group, rewards = sample[kept], acc[kept], group[kept], rewards[kept]
    samples = int(np.count_nonzero(np.bincount(sample)))
    return {
        "rollouts": len(sample), "samples": samples, "mean_p": _mean_p(sample, acc),
        "no_signal": _no_signal(group, rewards),
    }  # fmt: skip


def _mean_p(sample: Ints, acc: Floats) -> float | None:
    n, right = np.bincount(sample, weights=~np.isnan(acc)), np.bincount(sample, weights=acc == 1.0)
    return float((right[n > 0] / n[n > 0]).mean()) if n.any() else None


def _no_signal(group: Ints, rewards: Floats) -> float | None:
    number = int(group.max(initial=-1)) + 1
    highest, lowest = np.full((2, number), np.nan)  # fmax and fmin pass over NaN
    np.fmax.at(highest, group, rewards)
    np.fmin.at(lowest, group, rewards)
    spread = (highest - lowest)[~np.isnan(highest)]
    return float((spread <= NO_SIGNAL).mean()) if len(spread) else None
