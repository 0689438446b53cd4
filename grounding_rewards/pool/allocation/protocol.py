"""Protocol of allocations, and the call that checks their numbers."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from grounding_rewards.arrays import Ints
from grounding_rewards.errors import PoolError, short_repr
from grounding_rewards.pool.stats import SampleStats


class Allocation(Protocol):
    """Map from m samples to m numbers of further rollouts, whole and from 0."""

    def __call__(self, stats: SampleStats) -> Ints:
        """Return the number of further rollouts of each sample."""
        ...


def allocate(stats: SampleStats, allocation: Allocation) -> Ints:
    """Return the number of further rollouts of each sample, checked: (m,) int64.

    Args:
        stats: m samples.
        allocation: allocates; build one with ``pool.methods.method("dars", ALLOCATIONS)``.

    Raises:
        PoolError: it did not return m whole numbers from 0; names it and the sample.
    """
    numbers = np.asarray(allocation(stats))
    label = short_repr(allocation)
    if numbers.shape != (len(stats),) or numbers.dtype.kind not in "iu":
        raise PoolError(f"{label} returned {short_repr(numbers)}; expected {len(stats)} whole numbers")
    for row in np.flatnonzero(numbers < 0)[:1]:
        raise PoolError(f"{label} returned {numbers[row]} for {stats.named(row)}; expected 0 or more")
    return numbers.astype(np.int64)


def in_name_order(stats: SampleStats) -> Ints:
    """Return the rows of samples in the order of their names, so that ties do not depend on the order of rows."""
    names = [str(name) for name in stats.sample_id.tolist()]
    return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
