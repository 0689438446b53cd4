"""Groups of rollouts that were drawn together, places within groups, and random orders that names alone decide."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints, changes, numbered
from grounding_rewards.errors import PoolError
from grounding_rewards.groups.blocks import by_size
from grounding_rewards.pool.rollout_choice.columns import RolloutColumns
from grounding_rewards.pool.selection.quotas import hashed


def moments(rollouts: RolloutColumns) -> Ints:
    """Number the rounds and, within them, the trainer's steps, in their order; unknown ones come first.

    >>> times = {"round": np.array([1, 2, 1]), "train_step": np.array([7, 5, 8])}
    >>> moments(RolloutColumns(np.array(["a"], dtype=object), np.zeros(3, int), np.ones(3), **times))
    array([0, 2, 1])
    """
    return numbered(rollouts.round, rollouts.train_step)


def groups(rollouts: RolloutColumns) -> Ints:
    """Number the groups from 0: a sample's rollouts of one round and one step of the trainer."""
    return numbered(rollouts.sample, rollouts.round, rollouts.train_step)


def ranks(group: NDArray[Any], *keys: NDArray[Any]) -> Ints:
    """Return the place of each row among those of its group, from 0, by the first key, then the next, then the row.

    >>> ranks(np.array([0, 1, 0, 0]), np.array([5, 1, 3, 4]))
    array([2, 0, 0, 1])
    """
    starts = np.flatnonzero(changes(group))
    if not keys and len(np.unique(group[starts])) == len(starts):  # each group's rows lie side by side
        return np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))
    rank = np.empty(len(group), dtype=np.int64)
    for rows in by_size(group, np.arange(len(group))):
        if keys:
            order = np.lexsort([key[rows] for key in keys[::-1]], axis=-1)
            rows = np.take_along_axis(rows, order, axis=1)
        rank[rows] = np.arange(rows.shape[1])
    return rank


def random_keys(rollouts: RolloutColumns, seed: int, purpose: str) -> NDArray[np.uint64]:
    """Return 64 random bits a rollout, which its sample, round, number, the seed and the purpose alone decide.

    Rollouts without a number go by their place among those of their sample.
    """
    names = hashed(rollouts.sample_id, seed, purpose)[rollouts.sample]
    number = rollouts.rollout
    if (number < 0).any():
        number = np.where(number < 0, -1 - ranks(rollouts.sample), number)
    return _mixed(_mixed(names ^ rollouts.round.astype(np.uint64)) ^ number.astype(np.uint64))


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix 64 bits with the finaliser of SplitMix64 (Steele, Lea and Flood, 2014); products wrap around."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return bits


Reward = Literal["total", "acc"]


def rewards_of(rollouts: RolloutColumns, of: Reward = "total") -> Floats:
    """Return the total, or ``acc``, of each rollout; NaN where it was not scored.

    Raises:
        PoolError: a scored rollout has no total.
    """
    if of == "acc":
        return rollouts.acc
    for place in np.flatnonzero(np.isnan(rollouts.total) & ~np.isnan(rollouts.acc))[:1]:
        raise PoolError(f"total of {rollouts.named(int(place))}: got none; expected one for each scored rollout")
    return np.where(np.isnan(rollouts.acc), np.nan, rollouts.total)


def need(rollouts: RolloutColumns, name: str, places: NDArray[np.bool_] | None = None) -> None:
    """Check that rollouts, those at ``places``, have a value in a column.

    Raises:
        PoolError: one has none; names it.
    """
    column: NDArray[Any] = getattr(rollouts, name)
    unknown = np.isnan(column) if column.dtype.kind == "f" else column < 0
    for place in np.flatnonzero(unknown if places is None else unknown & places)[:1]:
        raise PoolError(f"{name} of {rollouts.named(int(place))}: got none; expected one for each rollout")
