"""Numbers of further rollouts are checked, and methods built by name."""

from __future__ import annotations

import numpy as np
import pytest

from grounding_rewards.errors import PoolError
from grounding_rewards.pool import sample_stats
from grounding_rewards.pool.methods.protocol import allocate

STATS = sample_stats(["a", "b"], [1, 0])


def test_numbers_are_checked():
    assert allocate(STATS, lambda stats: np.array([3, 0], dtype=np.int32)).tolist() == [3, 0]
    for numbers, message in (
        (np.array([1]), "expected 2 whole numbers"),
        (np.array([1.0, 2.0]), "expected 2 whole numbers"),
        (np.array([0, -1]), "returned -1 for sample 'b'; expected 0 or more"),
    ):
        with pytest.raises(PoolError, match=message):
            allocate(STATS, lambda stats, numbers=numbers: numbers)
