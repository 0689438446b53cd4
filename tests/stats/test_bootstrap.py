"""Bootstrap of means, over values and over clusters of them."""

import math
from collections import Counter
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.stats.intervals import Bootstrap

SMALL = Bootstrap(200, 3, 0.9)
ROWS = st.lists(st.tuples(st.integers(-8, 8), st.integers(0, 5)), min_size=1, max_size=40)


def quantile(means, share):
    """Return the smallest mean below or at which there is this share of equally likely draws."""
    counts, total = Counter(means), len(means)
    below = 0
    for mean in sorted(counts):
        below += counts[mean]
        if below >= share * total:
            return mean
    raise AssertionError(share)


@pytest.mark.parametrize("confidence", [0.6, 0.8, 0.95])
def test_interval_is_that_of_all_draws_of_clusters(confidence):
    clusters = [[1.0, 0.0], [1.0], [0.0, 0.0, -1.0], [0.5]]
    means = []
    for draw in product(clusters, repeat=4):
        values = [value for cluster in draw for value in cluster]
        means.append(round(sum(values) / len(values), 9))
    expected = [quantile(means, (1 - confidence) / 2), quantile(means, (1 + confidence) / 2)]
    values, numbers = np.concatenate(clusters), np.repeat(np.arange(4), [2, 1, 3, 1])
    assert Bootstrap(40_000, 0, confidence).interval(values, numbers) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=50)
@given(ROWS, st.integers(1, 5))
def test_a_copied_value_is_no_further_evidence(rows, times):
    values = np.array([value / 8 for value, _ in rows])
    clusters = np.repeat(np.arange(len(values)), times)
    copied = SMALL.interval(np.repeat(values, times), clusters)
    assert copied == pytest.approx(SMALL.interval(values), abs=1e-9)


def test_copies_that_count_one_by_one_make_the_interval_too_narrow():
    values, clusters = np.tile(np.repeat([0.0, 1.0], 20), 4), np.tile(np.arange(40), 4)
    together, alone = Bootstrap(4000, 0, 0.95).interval(values, clusters), Bootstrap(4000, 0, 0.95).interval(values)
    assert [round(end, 3) for end in together] == [0.35, 0.65]  # 14 and 26 of 40: P(X <= 13) = .019
    assert [round(end, 3) for end in alone] == [0.425, 0.575]  # 68 and 92 of 160: P(X <= 67) = .024


@settings(max_examples=50)
@given(ROWS, st.randoms(use_true_random=False))
def test_order_and_names_of_clusters_do_not_matter(rows, random):
    values, clusters = np.array(rows, dtype=np.int64).T
    first = SMALL.interval(values / 8, clusters)
    order, names = random.sample(range(len(rows)), len(rows)), np.array(random.sample(range(20), 6))
    assert SMALL.interval(values[order] / 8, names[clusters[order]]) == first
    assert min(values) / 8 <= first[0] <= first[1] <= max(values) / 8


def test_equal_sums_added_in_another_order_are_equal():
    values, clusters = np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1]), np.array([0, 0, 0, 1, 1, 1])
    assert SMALL.interval(values, clusters) == pytest.approx((0.2, 0.2), abs=1e-12)


def test_clusters_hold_the_true_mean_and_single_values_do_not():
    rng, trials, held = np.random.default_rng(0), 300, np.zeros(2)
    bounds = [NormalDist().inv_cdf(rate) for rate in (0.5, 0.6)]
    for _ in range(trials):
        clusters = np.repeat(np.arange(50), rng.integers(1, 21, 50))
        right = [
            math.sqrt(0.5) * (rng.standard_normal(50)[clusters] + rng.standard_normal(len(clusters))) < bound
            for bound in bounds
        ]
        moved = right[1].astype(float) - right[0]
        for place, each in enumerate((clusters, None)):
            low, high = Bootstrap(500, 0, 0.95).interval(moved, each)
            held[place] += low <= 0.1 <= high
    together, alone = held / trials
    assert 0.90 <= together <= 0.97
    assert alone <= 0.70
