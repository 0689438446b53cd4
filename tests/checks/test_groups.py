"""Differences in reward inside groups of rollouts."""

import numpy as np
import pytest

from grounding_rewards.checks.groups import Groups


@pytest.mark.parametrize(("apart", "equal"), [(0.0, 1), (1e-7, 1), (2e-6, 0)])
def test_rewards_within_a_millionth_teach_nothing_as_elsewhere(apart, equal):
    groups = Groups()
    groups.add(["a", "a", "b"], np.array([0.6, 0.6 + apart, 1.0]), np.ones(3), np.ones(3), np.ones(3))
    found = groups.figures()
    assert (found.groups, found.equal, found.right) == (1, equal, equal)
