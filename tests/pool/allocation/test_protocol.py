"""Numbers of further rollouts are checked, and methods built by name."""

from __future__ import annotations

import numpy as np
import pytest

from grounding_rewards.errors import PoolError
from grounding_rewards.pool import sample_stats
from grounding_rewards.pool.allocation import allocate
from grounding_rewards.pool.methods import method

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


def test_methods_are_built_by_name():
    known = {"band": "selectors.bands:Band"}
    assert method({"name": "band", "low_rate": 0.25}, known).low_rate == 0.25
    for spec, message in (
        ("bnad", "method: got 'bnad'; did you mean 'band'"),
        ({"low_rate": 1}, 'method: got None, expected a name, or JSON with a "name". There are: band'),
        ("pods", "method: got 'pods'; pods chooses rollouts: `pool rollouts`. There are: band"),
        ("learnability", "learnability is a selector: `pool next --selector`. There are"),
        ({"name": "band", "low_rate": 1, "n": 1}, "unknown argument 'n'"),
        ({"name": "band", "lowest": 1}, "method band: unknown argument 'lowest'"),
        ({"name": "band", "low_rate": 3}, r"method band: Band\(low_rate=\): got 3"),
    ):
        with pytest.raises(PoolError, match=message):
            method(spec, known)
