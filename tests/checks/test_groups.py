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


@pytest.mark.parametrize(("apart", "form"), [(0.0, None), (1e-7, None), (2e-6, 1.0)])
def test_nothing_explains_differences_within_a_millionth(apart, form):
    groups = Groups()
    groups.add(["a", "a"], np.array([0.6, 0.6 + apart]), np.zeros(2), np.array([0.0, 1.0]), np.ones(2))
    assert groups.figures().form == form
