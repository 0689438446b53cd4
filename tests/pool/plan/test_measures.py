"""Measures of weights: ranges of pass rates, shares, and overlaps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grounding_rewards.pool import SampleStats
from grounding_rewards.pool.plan import _AT_ONCE, in_per_cent, measures, overlaps
from grounding_rewards.pool.summary import PASS_RATES, pass_rate_bins

WEIGHTS = st.lists(st.floats(0, 1e300), min_size=1, max_size=30).filter(any)


def stats(right, n):
    right = np.array(right)
    return SampleStats(np.arange(len(right)).astype(object), np.broadcast_to(n, right.shape), right)


@pytest.mark.parametrize(("n", "bins"), [
    (1, [0, 6]),
    (2, [0, 3, 6]),
    (4, [0, 2, 3, 4, 6]),
    (5, [0, 2, 3, 3, 4, 6]),
    (8, [0, 1, 2, 2, 3, 4, 4, 5, 6]),
    (10, [0, 1, 2, 2, 3, 3, 3, 4, 4, 5, 6]),
])  # fmt: skip
def test_ranges_of_pass_rates_are_symmetric(n, bins):
    assert pass_rate_bins(stats(range(n + 1), n)).tolist() == bins


def test_a_sample_without_a_scored_rollout_is_in_no_range():
    assert PASS_RATES[pass_rate_bins(stats([0], 0))[0]] == "unmeasured"
    only = measures(stats([0, 0], np.array([0, 4])), np.array([1.0, 0.0]))
    assert (only.zero_share, only.mean_p, only.zero_signal_share) == (0.0, None, None)


def test_totals_are_equal_up_to_a_millionth():
    spread = replace(stats([1, 1, 1], 2), lowest=np.zeros(3), highest=np.array([1e-6, 2e-6, np.nan]))
    assert measures(spread, np.array([1.0, 2.0, 4.0])).zero_signal_share == pytest.approx(1 / 3)


def test_sums_of_the_largest_weights_are_finite():
    largest = measures(stats([0, 4], 4), np.array([1.7e308, 1.7e308]))
    assert (largest.effective, largest.zero_share, largest.mean_p) == (2.0, 0.5, 0.5)
    assert overlaps([np.array([1.7e308, 1.7e308]), np.array([0.0, 1.0])])[0].tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("share", "text"), [(0.01, "1"), (0.0099, "<1"), (0.995, "99"), (1 - 2e-9, "99"), (1 - 1e-10, "100"), (1.0, "100")]
)
def test_overlaps_in_per_cent(share, text):
    assert in_per_cent(share) == text


@given(WEIGHTS, st.data())
def test_measures_are_shares_of_any_weights(weights, data):
    right = data.draw(st.lists(st.integers(0, 8), min_size=len(weights), max_size=len(weights)))
    of = measures(stats(right, 8), np.array(weights))
    assert 1 - 1e-9 <= of.effective <= of.kept + 1e-9
    assert sum(of.by_pass_rate) == pytest.approx(1.0)
    assert of.by_pass_rate[0] == pytest.approx(of.zero_share)
    assert -1e-9 <= of.mean_p <= 1 + 1e-9
    assume(max(weights) >= 2e-323)
    more = measures(stats(right, 8), np.array(weights) / 4)
    assert more.kept <= of.kept  # the smallest float has no fourth
    assert more.mean_p == pytest.approx(of.mean_p)


@given(st.integers(1, 20).flatmap(lambda m: st.lists(
    st.lists(st.floats(0, 1e300), min_size=m, max_size=m).filter(any), min_size=1, max_size=4,
)))  # fmt: skip
def test_overlaps_are_symmetric_and_from_0_to_1(weights):
    shared = overlaps([np.array(each) for each in weights])
    assert np.array_equal(shared, shared.T)
    assert (shared >= 0).all()
    assert (shared <= 1).all()
    assert (np.diag(shared) == 1).all()


def test_many_samples_come_in_parts():
    m = 2 * _AT_ONCE + 5
    first = (np.arange(m) < m // 2).astype(np.float64)
    assert overlaps([first, np.ones(m), 1 - first])[0] == pytest.approx([1, first.mean(), 0])


def test_without_methods_there_are_no_overlaps():
    assert overlaps([]).shape == (0, 0)
