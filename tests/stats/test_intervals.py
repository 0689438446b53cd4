"""Wilson's interval, pass@k, the beta-binomial and McNemar's test."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.stats.intervals import (
    beta_binomial,
    mcnemar,
    pass_at_k,
    sign_flip,
    sign_test,
    wilson,
    wilson_of_samples,
)

COUNTS = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("correct", "n", "low", "high"),
    [
        (0, 8, 0, 0.3244), (1, 8, 0.0224, 0.4709), (4, 8, 0.2152, 0.7848), (7, 8, 0.5291, 0.9776), (8, 8, 0.6756, 1),
        (0, 16, 0, 0.1936), (16, 16, 0.8064, 1), (0, 0, 0, 1),
    ],
)  # fmt: skip
def test_wilson_95(correct, n, low, high):
    assert [round(float(end), 4) for end in wilson(correct, n)] == [low, high]


def test_wilson_of_arrays_is_that_of_each():
    low, high = wilson(np.array([[0, 4], [8, 0]]), [8, 8])
    assert low.tolist() == [[0.0, pytest.approx(0.215216, abs=1e-6)], [pytest.approx(0.675592, abs=1e-6), 0.0]]
    assert high.shape == (2, 2)


@given(COUNTS, st.floats(0, 10))
def test_wilson_holds_the_share_inside_0_to_1_and_is_tight_at_the_ends(counts, z):
    correct, n = counts
    low, high = (float(end) for end in wilson(correct, n, z))
    assert 0 <= low <= correct / n <= high <= 1
    assert low == 0 or correct > 0
    assert high == 1 or correct < n


@given(st.integers(1, 10**6), st.floats(0, 1), st.sampled_from([0.67449, 1.959964, 3.290527]))
def test_wilson_ends_solve_the_score_equation(n, share, z):
    correct = int(share * n)
    for end in map(float, wilson(correct, n, z)):
        assert abs(correct / n - end) == pytest.approx(z * math.sqrt(end * (1 - end) / n), abs=1e-7)


@given(st.integers(1, 100))
def test_wilson_rises_with_the_count_and_mirrors(n):
    low, high = wilson(np.arange(n + 1), n)
    assert (np.diff(low) > 0).all()
    assert (np.diff(high) > 0).all()
    assert low == pytest.approx(1 - high[::-1], abs=1e-12)


@pytest.mark.parametrize(
    ("correct", "n", "low", "high"),
    [
        # Rates 1, .5, 0: their squared distances from .5 sum to .5, so .25 * 3² / .5 = 4.5 trials of 6 rollouts. Around
        # .5 the half of Wilson's interval is z / 2 / sqrt(trials + z²): .979982 / sqrt(8.341459) = .339310.
        ([2, 1, 0], [2, 2, 2], 0.160690, 0.839310),
        ([4, 4, 4, 4], [8, 8, 8, 8], 0.336309, 0.663691),  # all alike: 32 trials, .979982 / sqrt(35.841459)
        ([8, 8, 0, 0], [8, 8, 8, 8], 0.150039, 0.849961),  # 4 trials, .979982 / sqrt(7.841459)
        ([8, 8, 8], [8, 8, 8], 0.438503, 1.0),  # 3 trials: 3 / 6.841459
        ([0, 0, 0, 0], [8, 8, 8, 0], 0.0, 0.561497),
        ([3, 1], [4, 4], 0.215216, 0.784784),  # .25 * 2² / .125 = 8 trials
        ([], [], 0.0, 1.0),
    ],
)
def test_wilson_of_samples_worked_by_hand(correct, n, low, high):
    assert wilson_of_samples(correct, n) == pytest.approx((low, high), abs=1e-6)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 9))
def test_a_copied_rollout_makes_no_interval_narrower(right, times):
    correct = np.array(right, dtype=np.int64)
    found = wilson_of_samples(correct * times, np.full(len(right), times))
    assert found == pytest.approx([float(end) for end in wilson(correct.sum(), len(right))], abs=1e-12)


@given(st.lists(st.integers(1, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=40))
def test_wilson_of_samples_lies_between_one_trial_a_sample_and_one_a_rollout(counts):
    correct, n = np.array(counts).T
    rate, (low, high) = (correct / n).mean(), wilson_of_samples(correct, n)
    assert 0 <= low <= rate + 1e-12
    assert rate - 1e-12 <= high <= 1
    square = 1.959964**2
    narrowest, widest = (
        2 * math.sqrt(square * (rate * (1 - rate) * trials + square / 4)) / (trials + square)
        for trials in (int(n.sum()), len(n))
    )
    assert narrowest - 1e-9 <= high - low <= widest + 1e-9


@pytest.mark.parametrize(
    ("n", "correct", "k", "expected"),
    [(8, 1, 1, 0.125), (8, 1, 4, 0.5), (8, 2, 4, 0.7857), (8, 0, 4, 0), (8, 5, 4, 1), (10, 3, 5, 0.9167)],
)
def test_pass_at_k(n, correct, k, expected):
    assert round(float(pass_at_k(n, correct, k)), 4) == expected


@given(COUNTS, st.integers(1, 200))
def test_pass_at_k_is_its_formula_of_binomial_coefficients(counts, k):
    correct, n = counts
    found = pass_at_k([n], [correct], k)
    if k > n:
        assert np.isnan(found).all()
    else:
        assert found.tolist() == [pytest.approx(1 - math.comb(n - correct, k) / math.comb(n, k), abs=1e-9)]


@pytest.mark.parametrize(("prior", "expected"), [(0.5, 0.7126), (1, round(9 / 17, 4))])
def test_0_of_8_stays_0_of_8_by_chance(prior, expected):
    assert round(float(beta_binomial(8, 0, 8, prior, prior)[0]), 4) == expected


def beta(a, b):
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@given(st.integers(0, 30), COUNTS, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_beta_binomial_is_its_formula_and_sums_to_1(later, counts, a, b):
    right, n = counts
    found = beta_binomial(later, right, n, a, b)
    alpha, other = right + a, n - right + b
    expected = [
        math.comb(later, j) * math.exp(beta(alpha + j, other + later - j) - beta(alpha, other))
        for j in range(later + 1)
    ]
    assert found.tolist() == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert found.sum() == pytest.approx(1, abs=1e-12)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_twice_the_binomial_tail(one, other):
    total, fewer = one + other, min(one, other)
    tail = sum(math.comb(total, i) for i in range(fewer + 1)) / 2**total
    assert mcnemar(one, other) == mcnemar(other, one) == pytest.approx(min(1.0, 2 * tail), rel=1e-9)


def test_mcnemar_of_counts_that_are_next_to_each_other_is_1():
    assert [mcnemar(each, each + 1) for each in (0, 2, 7, 40, 3000)] == [1.0] * 5
    assert mcnemar(2, 4) == 0.6875


def test_sign_test_is_the_binomial_tail():
    for wins, losses in ((40, 60), (100, 156), (100, 157), (0, 9)):
        tail = sum(math.comb(wins + losses, each) for each in range(losses + 1)) / 2 ** (wins + losses)
        assert sign_test(wins, losses) == pytest.approx(tail, rel=1e-12)
    tail = sum(math.comb(4097, each) for each in range(1998))
    assert sign_test(2100, 1997) == pytest.approx(tail / 2**4097, rel=1e-10)
    assert (sign_test(0, 5000), sign_test(0, 0)) == (pytest.approx(1.0, rel=1e-12), 1.0)


def test_sign_flip_by_hand():
    one_each = np.arange(5)
    assert sign_flip(np.array([1.0, 1, 1, 1, 1]), one_each) == pytest.approx(2 / 32)
    assert sign_flip(np.array([1.0, 1, 1, -1, 0]), one_each) == pytest.approx(mcnemar(1, 3))  # 0 does not count
    assert sign_flip(np.ones(5), np.zeros(5, int)) == 1.0  # one screenshot
    assert sign_flip(np.array([1.0, -1, 0]), np.array([0, 0, 1])) == 1.0
    # Sums 3, 1, -1: of 8 signs, totals of 3 or more from 0 are 5, 3, 3, and their opposites.
    assert sign_flip(np.array([1.0, 1, 1, 1, -1]), np.array([7, 7, 7, 2, 3])) == 0.75


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 6)), min_size=1, max_size=30))
def test_sign_flip_counts_all_signs_of_the_clusters_sums(rows):
    values, clusters = np.array(rows, dtype=np.int64).T
    sums = [each for each in np.bincount(clusters, values).tolist() if each]
    totals = [abs(sum(sign * each for sign, each in zip(signs, sums, strict=True)))
              for signs in product((1, -1), repeat=len(sums))]  # fmt: skip
    expected = sum(total >= abs(sum(sums)) for total in totals) / len(totals)
    assert sign_flip(values / 8, clusters) == pytest.approx(expected, rel=1e-12)
    assert sign_flip(-values / 8, clusters) == sign_flip(values / 8, clusters)


def test_sign_flip_of_many_clusters_draws_signs_by_a_seed():
    sums = np.array([1.0, 2.0] * 8 + [-1.0, -2.0] * 4)
    drawn = [sign_flip(sums, np.arange(24), seed) for seed in (0, 0, 1)]
    exact = np.ones(1)
    for size in sums:  # chances of totals, by steps of 1
        exact = np.convolve(exact, np.insert(np.zeros(2 * int(abs(size)) - 1), [0, 2 * int(abs(size)) - 1], 0.5))
    totals = np.abs(np.arange(len(exact)) - len(exact) // 2)
    assert drawn == pytest.approx([exact[totals >= 12].sum()] * 3, rel=0.05)
    assert drawn[0] == drawn[1] != drawn[2]
    assert sign_flip(np.repeat([1.0, 2.0], 50), np.arange(100)) == 1e-5  # none of 99,999 is as far


def test_mcnemar_of_many_samples():
    assert mcnemar(34, 17) == pytest.approx(0.0240929, abs=1e-7)
    assert mcnemar(0, 5000) == 0.0
    assert mcnemar(50_000, 50_500) == pytest.approx(0.1155, abs=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wilson_of_samples([1, 9], [8, 8]), "got 9 of 8; expected whole numbers, 0 <= correct <= n"),
        (lambda: wilson(9, 8), "got 9 of 8; expected whole numbers, 0 <= correct <= n"),
        (lambda: wilson([0, -1], 8), "got -1 of 8"),
        (lambda: wilson(0.5, 8), "got 0.5 of 8"),
        (lambda: wilson(np.nan, 8), "got nan of 8"),
        (lambda: wilson([1, 2], [3, 4, 5]), "expected whole numbers of one shape"),
        (lambda: wilson(1, 8, z=-1), "z: got -1; expected a number from 0"),
        (lambda: pass_at_k(4, 1, 5), "pass@5: got 4 rollouts; expected 5 or more"),
        (lambda: pass_at_k(4, 1, 0), "pass@k: got k = 0; expected a whole number from 1"),
    ],
)
def test_what_is_no_count_is_an_error(call, message):
    with pytest.raises(PoolError, match=message):
        call()
