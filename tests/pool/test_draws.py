"""Quotas to the sample, and draws that nothing but seed, purpose and names decides."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool import draws as quotas
from grounding_rewards.pool.draws import draw, largest_remainder, most_positive, zero_quota

SHARES = st.integers(0, 99).map(lambda percent: percent / 100)


def test_largest_remainder():  # pool.md, example 25
    assert largest_remainder([100, 50, 10], 20) == [13, 6, 1]
    assert largest_remainder([0.2, 0.8], 10) == [2, 8]
    assert largest_remainder([1, 1, 1], 2) == [1, 1, 0]
    assert largest_remainder([1, 3], 2) == [0, 2]  # 0.5 and 1.5: of equal remainders the larger share is served
    assert largest_remainder([0, 1], 0) == [0, 0]


@given(st.lists(st.integers(0, 1000), min_size=1).filter(any), st.integers(0, 10_000))
def test_quotas_are_met_within_one_sample(shares, total):
    found = largest_remainder(shares, total)
    assert sum(found) == total
    assert all(abs(got - Fraction(share * total, sum(shares))) < 1 for got, share in zip(found, shares, strict=True))


@pytest.mark.parametrize(
    ("shares", "total", "message"),
    [
        ([1, -1], 2, r"shares: got \[1, -1\]; expected numbers from 0, and one above 0"),
        ([0, 0], 2, "and one above 0"),
        ([], 2, "and one above 0"),
        (["x"], 2, "shares: got 'x'; expected a number from 0"),
        ([float("nan")], 2, "shares: got nan"),
        ([1], -1, "total: got -1; expected a whole number from 0"),
        ([1], True, "total: got True"),
    ],
)
def test_shares_that_are_none_are_errors(shares, total, message):
    with pytest.raises(PoolError, match=message):
        largest_remainder(shares, total)


def test_zeros_that_go_with_positive_samples():  # pool.md, example 1: 2.5 is rounded up
    assert [zero_quota(positive, 0.2) for positive in (12, 10, 77, 80, 0)] == [3, 3, 19, 20, 0]
    assert (zero_quota(10, 0), zero_quota(2, Fraction(1, 5)), zero_quota(10, 0.9)) == (0, 1, 90)


def test_a_decimal_share_is_what_it_says():
    # 0.3 / 0.7 of 35 is 15; the float next to 0.3 / 0.7 times 35 falls short of it, and 3.5 must round up.
    assert zero_quota(35, 0.3) == 15
    assert zero_quota(1, 0.6) == 2  # 1.5
    assert zero_quota(1, np.float64(0.6)) == 2
    assert zero_quota(7, 1 / 3) == 3  # 0.3333333333333333 is less than a third: 3.4999...
    assert zero_quota(7, Fraction(1, 3)) == 4  # 3.5


@given(st.integers(0, 10**6), SHARES)
def test_the_share_is_met_within_one_sample(positive, share):
    exact = Fraction(str(share)) / (1 - Fraction(str(share))) * positive
    assert -Fraction(1, 2) < zero_quota(positive, share) - exact <= Fraction(1, 2)


@given(st.integers(1, 10**5), SHARES)
def test_a_limit_holds_as_many_positive_samples_as_fit(limit, share):
    found = most_positive(limit, share)
    assert not found or found + zero_quota(found, share) <= limit
    assert found + 1 + zero_quota(found + 1, share) > limit


@pytest.mark.parametrize(
    ("share", "message"),
    [
        (1, "zero_share: got 1; a pool of never-solved samples alone.*expected a number below 1"),
        (1.0, "zero_share: got 1; a pool of never-solved samples alone"),
        (1.2, "zero_share: got 1.2; expected a number from 0 to below 1"),
        (-0.1, "zero_share: got -0.1; expected a number from 0 to below 1"),
        (float("nan"), "zero_share: got nan; expected a number"),
        (None, "zero_share: got None"),
    ],
)
def test_a_share_that_is_none_is_an_error(share, message):
    with pytest.raises(PoolError, match=message):
        zero_quota(10, share)


NAMES = [f"s{place}" for place in range(200)]


def names_of(ids, count, **options):
    options = {"seed": 7, "purpose": "zero", **options}
    return {ids[row] for row in draw(ids, count, **options)}


@given(st.permutations(NAMES[:40]), st.integers(0, 50), st.integers(0, 2**70))
def test_a_draw_depends_on_names_and_seed_alone(ids, count, seed):
    rows = draw(ids, count, seed=seed, purpose="zero").tolist()
    assert rows == sorted(set(rows))
    assert len(rows) == min(count, 40)
    assert names_of(ids, count, seed=seed) == names_of(NAMES[:40], count, seed=seed)


def test_a_draw_is_another_one_for_another_seed_or_purpose_and_grows_with_its_size():
    assert names_of(NAMES, 100) != names_of(NAMES, 100, seed=8)
    assert names_of(NAMES, 100) != names_of(NAMES, 100, purpose="control")
    assert names_of(NAMES, 50) < names_of(NAMES, 100)
    assert names_of(NAMES[:100], 100) == set(NAMES[:100])
    assert len(names_of([1, 2, 3, "\ud800"], 2)) == 2
    assert draw([], 3, seed=0, purpose="zero").tolist() == []


def test_draws_are_the_same_on_every_machine():
    assert draw(NAMES[:20], 5, seed=7, purpose="zero").tolist() == [9, 12, 13, 16, 18]
    weights = np.where(np.arange(20) < 10, 5.0, 1.0)
    assert draw(NAMES[:20], 5, seed=7, purpose="zero", log_weights=np.log(weights)).tolist() == [6, 7, 9, 12, 16]


def test_every_sample_is_drawn_alike():
    counts = np.zeros(20)
    for seed in range(400):
        counts[draw(NAMES[:20], 5, seed=seed, purpose="zero")] += 1
    assert counts.sum() == 2000
    assert abs(counts - 100).max() < 40  # 100 expected of each; a deviation of 8.7


def test_weights_steer_a_draw_and_equal_ones_do_nothing():
    weights = np.array([np.log(3.0), 0.0, -np.inf])
    first = [draw(["a", "b", "c"], 1, seed=seed, purpose="zero", log_weights=weights).item() for seed in range(400)]
    assert 270 < first.count(0) < 330  # 3 of 4
    assert first.count(2) == 0
    assert draw(["a", "b", "c"], 3, seed=1, purpose="zero", log_weights=weights).tolist() == [0, 1]
    for equal in (0.0, -1e4, 1e4):
        same = np.full(200, equal)
        assert (
            draw(NAMES, 50, seed=7, purpose="zero", log_weights=same).tolist()
            == draw(NAMES, 50, seed=7, purpose="zero").tolist()
        )
    far = np.array([-1e4, 1e4, 0.0])
    assert draw(["a", "b", "c"], 2, seed=3, purpose="zero", log_weights=far).tolist() == [1, 2]


def test_the_number_1_is_another_name_than_the_text_1():
    first = [draw([1, "1"], 1, seed=seed, purpose="zero").item() for seed in range(40)]
    assert set(first) == {0, 1}
    assert first == [1 - draw(["1", np.int64(1)], 1, seed=seed, purpose="zero").item() for seed in range(40)]


@pytest.mark.parametrize("seed", [-1, 1.5, True, None])
def test_a_seed_that_is_none_is_an_error(seed):
    with pytest.raises(PoolError, match=r"seed: got .*; expected a whole number from 0"):
        draw(NAMES, 1, seed=seed, purpose="zero")


def test_names_that_are_hashed_in_several_turns_are_drawn_as_in_one(monkeypatch):
    names = [f"s{each}" for each in range(50)]
    expected = draw(names, 20, seed=7, purpose="zero").tolist()
    monkeypatch.setattr(quotas, "_AT_ONCE", 8)
    assert draw(names, 20, seed=7, purpose="zero").tolist() == expected
