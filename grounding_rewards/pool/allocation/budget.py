"""Numbers of rollouts scaled to a budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from grounding_rewards.arrays import Ints
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.allocation.protocol import in_name_order
from grounding_rewards.pool.selection.quotas import check_whole
from grounding_rewards.pool.stats import SampleStats


def within_budget(stats: SampleStats, numbers: Ints, budget: Any) -> Ints:
    """Scale numbers of rollouts so that they sum to a budget exactly: floors, and one more for the largest remainders.

    Of equal remainders the larger number is served first, then the earlier name: the rule of
    ``selection.quotas.largest_remainder``, for millions of samples.

    Args:
        stats: m samples.
        numbers: (m,) whole numbers from 0, such as ``allocate`` returns.
        budget: the sum of the result, a whole number from 1 to 1e12.

    Raises:
        PoolError: the budget is none, or all numbers are 0.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a", "b", "c"], [1, 0, 0])
    >>> within_budget(stats, np.array([100, 50, 10]), 20)
    array([13,  6,  1])
    """
    check_budget(budget)
    total = int(numbers.sum())
    if not total:
        raise PoolError(f"budget: got {budget}, and the method gives no sample any rollout")
    parts = numbers.astype(np.object_) * int(budget)  # Python's whole numbers, which do not overflow
    scaled: Ints = (parts // total).astype(np.int64)
    rest = (parts % total).astype(np.int64)
    order = in_name_order(stats)
    order = order[np.lexsort((-numbers[order], -rest[order]))]  # stable, and its last key counts first
    scaled[order[: int(budget) - int(scaled.sum())]] += 1
    return scaled


def check_budget(budget: Any) -> None:
    """Check a budget.

    Raises:
        PoolError: it is not a whole number from 1 to 1e12.
    """
    if check_whole("budget", budget, 1) > COORDINATE_LIMIT:
        raise PoolError(f"budget: got {budget}; expected 1e12 at most")
