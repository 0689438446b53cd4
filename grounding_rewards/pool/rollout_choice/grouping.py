"""Groups of rollouts, and the reward that choices compare."""

from __future__ import annotations

from typing import Literal

import numpy as np

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.pool.rollout_choice.columns import RolloutColumns


def numbered(*columns: Ints) -> Ints:
    """Number the distinct rows of several columns of whole numbers, from 0 and in the order of their values.

    >>> numbered(np.array([1, 0, 1]), np.array([5, 7, 5]))
    array([1, 0, 1])
    """
    order = np.lexsort(columns[::-1])  # the last key goes first
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = np.logical_or.reduce([np.diff(column[order]) != 0 for column in columns])
    codes = np.empty(len(order), dtype=np.int64)
    codes[order] = np.cumsum(fresh) - 1
    return codes


Reward = Literal["total", "acc"]


def rewards_of(rollouts: RolloutColumns, of: Reward = "total") -> Floats:
    """Return the total, or ``acc``, of each rollout; NaN where it was not scored."""
    return rollouts.acc if of == "acc" else np.where(np.isnan(rollouts.acc), np.nan, rollouts.total)
