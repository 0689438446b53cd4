"""SEELE's curve of accuracy over hint rates, its inverse, and its fit."""

import builtins

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.item_response import fit_three_pl, hint_rate, three_pl

RATES = [0.2, 0.4, 0.6, 0.8]


def test_the_curve_and_its_inverse():  # pool.md, example 11
    assert three_pl([0.5, 0.7], 10, -0.5, 0).round(4).tolist() == [0.5, 0.8808]
    assert hint_rate(0.5, 10, -0.5, [0, 0.2]).round(4).tolist() == [0.5, 0.4489]
    assert float(hint_rate(0.2, 10, -0.5, 0.2)) == 0.0


def test_rates_are_within_0_and_1_whatever_the_curve():
    assert hint_rate([0.0, 0.5, 0.5, 0.999], 10, [-0.5, 3, -3, -0.9], 0.1).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert hint_rate([0.4, 0.6], 1e-320, 0, 0).tolist() == [0.0, 1.0]
    assert three_pl([-1e12, 1e12], 1e12, 0, 0.25).tolist() == [0.25, 1.0]


@given(st.floats(0.01, 0.99), st.floats(1, 50), st.floats(-1, 0), st.floats(0, 0.9))
def test_the_inverse_gives_the_rate_of_the_target(target, k, mu, b):
    rate = float(hint_rate(target, k, mu, b))
    assert 0.0 <= rate <= 1.0
    if 0.0 < rate < 1.0:
        assert float(three_pl(rate, k, mu, b)) == pytest.approx(target)
    elif target > b:  # clipped: above the target without a hint, or below it with the whole solution
        reached = float(three_pl(rate, k, mu, b))
        assert reached >= target - 1e-9 if rate == 0.0 else reached <= target + 1e-9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, 10, -0.5, 0), "target_accuracy: got 1; expected a number from 0 to below 1, for no hint rate makes"),
        (([0.5, float("nan")], 10, 0, 0), "target_accuracy of row 1: got nan; expected"),
        ((0.5, 0, 0, 0), "k: got 0; expected a finite number above 0"),
        ((0.5, 1, float("inf"), 0), "mu: got inf; expected a finite number"),
        ((0.5, 1, 0, [0, 1]), "b of row 1: got 1; expected a number from 0 to below 1"),
        ((0.5, "steep", 0, 0), "k: got 'steep'; expected a finite number above 0"),
    ],
)
def test_parameters_out_of_range_are_errors(arguments, message):
    with pytest.raises(PoolError, match=message):
        hint_rate(*arguments)


@settings(max_examples=25, deadline=None)
@given(st.floats(3, 25), st.floats(-0.75, -0.25), st.sampled_from([0.0, 0.2]), st.permutations(range(6)))
def test_the_fit_finds_the_curve_that_made_the_accuracies_in_any_order(k, mu, b, order):
    rates = np.array([0.05, 0.25, 0.4, 0.55, 0.7, 0.95])
    acc = three_pl(rates, k, mu, b)
    fit = fit_three_pl(rates, acc)
    assert three_pl(rates, *fit) == pytest.approx(acc, abs=1e-4)
    assert fit_three_pl(rates[order], acc[order]) == fit


def test_several_samples_at_once_are_those_one_by_one_and_missing_rounds_do_not_count():
    curves = [three_pl(RATES, 10, -0.5, 0.2), three_pl(RATES, 5, -0.3, 0)]
    q, acc = np.array([[*RATES, np.nan], [0.9, *RATES]]), np.array([[*curves[0], 0.5], [np.nan, *curves[1]]])
    fit = fit_three_pl(q, acc)
    for row, curve in enumerate(curves):
        assert [float(each[row]) for each in fit] == [float(each) for each in fit_three_pl(RATES, curve)]
    assert hint_rate(0.5, *fit).round(3).tolist() == [0.449, 0.3]
    assert [len(each) for each in fit_three_pl(np.zeros((0, 3)), np.zeros((0, 3)))] == [0, 0, 0]


def test_two_rates_fix_two_parameters_and_b_is_0():
    fit = fit_three_pl([0.25, 0.75, 0.75], [0.25, 0.75, 0.75])
    assert [round(float(each), 4) for each in fit] == [4.3944, -0.5, 0.0]  # k = 2 ln 3 / 0.5


def test_a_step_is_as_steep_as_the_gap_between_rates_allows():
    fit = fit_three_pl(RATES, [0, 0, 1, 1])
    assert float(fit.k) == pytest.approx(2 * np.log(99) / 0.2)
    assert float(hint_rate(0.5, *fit)) == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(("acc", "rate"), [([0, 0, 0, 0], 1.0), ([1, 1, 1, 1], 0.0), ([1, 0.8, 0.3, 0], 0.0)])
def test_flat_and_falling_accuracies_have_a_finite_fit(acc, rate):
    fit = fit_three_pl(RATES, acc)
    assert np.isfinite(fit).all()
    assert 0.0 <= float(hint_rate(0.5, *fit)) <= 1.0
    if acc == [1, 1, 1, 1]:
        assert float(hint_rate(0.5, *fit)) == rate


def test_parameters_stay_within_their_bounds():
    assert float(fit_three_pl([0.25, 0.75], [0.5, 0.5]).k) == pytest.approx(0.04, rel=1e-3)
    assert float(fit_three_pl([0.5, 0.5005], [0, 1]).k) == pytest.approx(2 * np.log(99) / 1e-3)  # a gap of 1e-3
    assert float(fit_three_pl([0.5, 1], [0.001, 0.002]).mu) == pytest.approx(-2, abs=0.01)
    assert float(fit_three_pl([0.5, 1], [0.998, 0.999]).mu) == pytest.approx(1, abs=0.01)
    assert float(fit_three_pl([0, 0.25, 0.5, 0.75, 1], [0.97] * 4 + [1]).b) == pytest.approx(0.97, abs=1e-3)
    assert float(fit_three_pl([0.2, 0.3, 1], [0.995, 0.995, 1]).b) == pytest.approx(0.99, abs=1e-3)


def test_rollouts_weigh_rounds():
    q, acc = [0.2, 0.2, 0.8], [0.0, 0.5, 0.9]
    assert float(three_pl(0.2, *fit_three_pl(q, acc, [1, 3, 8]))) == pytest.approx(0.375, abs=1e-3)
    assert fit_three_pl(q, acc, [0, 3, 8]) == fit_three_pl(q[1:], acc[1:], [3, 8])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.5], [0.1, 0.2]), "sample of row 0: got 1 hint rates; expected two different ones or more"),
        (([[0.2, 0.5], [0.2, np.nan]], [[0, 1], [0, 1]]), "sample of row 1: got 1 hint rates"),
        (([0.2, 1.5], [0, 1]), "q of row 1: got 1.5; expected numbers from 0 to 1, or NaN"),
        (([0.2, 0.5], [0, 2]), "acc of row 1: got 2; expected numbers from 0 to 1, or NaN"),
        (([0.2, 0.5], [0, 1], [1, -1]), "n of row 1: got -1; expected numbers from 0"),
        (([0.2, 0.5], [0]), r"q, acc, n: got shapes \(2,\), \(1,\), \(2,\)"),
    ],
)
def test_what_cannot_be_fitted_is_an_error(arguments, message):
    with pytest.raises(PoolError, match=message):
        fit_three_pl(*arguments)


def test_without_scipy_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("scipy"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(PoolError, match=r"fit_three_pl needs scipy: pip install 'grounding-rewards\[scipy\]'"):
        fit_three_pl(RATES, RATES)
