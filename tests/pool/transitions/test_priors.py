"""The Beta distribution of pass rates that a null starts from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.intervals import beta_binomial
from grounding_rewards.pool.transitions.priors import JEFFREYS, fit_beta, prior_of

GROUPS = st.lists(st.integers(0, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), max_size=40)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.8), (2, 5), (0.05, 0.02), (20, 30), (1, 1)])
def test_a_fit_finds_what_made_the_counts(a, b):
    rng = np.random.default_rng(7)
    n = rng.integers(4, 17, 50_000)
    found = fit_beta(n, rng.binomial(n, rng.beta(a, b, 50_000)))
    assert found == pytest.approx((a, b), rel=0.06)


@given(GROUPS)
@settings(max_examples=40)
def test_no_prior_nearby_makes_the_counts_likelier(groups):
    n, right = (np.array([group[place] for group in groups], dtype=int) for place in (0, 1))

    def likelihood(a, b):
        return sum(np.log(beta_binomial(of, 0, 0, a, b)[k]) for of, k in zip(n, right, strict=True))

    a, b = fit_beta(n, right)
    assert 0.001 <= a <= 10_000
    assert 0.001 <= b <= 10_000
    if (a, b) != JEFFREYS:
        others = [(a * 1.02, b), (a / 1.02, b), (a, b * 1.02), (a, b / 1.02), (a * 1.02, b * 1.02)]
        assert all(likelihood(*other) <= likelihood(a, b) + 1e-7 for other in others)


@pytest.mark.parametrize(
    ("n", "right"),
    [
        ([], []), ([0], [0]), ([8] * 4, [0] * 4), ([8] * 4, [8] * 4), ([8] * 4, [4] * 4), ([1] * 9, [0, 1, 1] * 3),
        ([8] * 6, [0, 8] * 3),
    ],
    ids=["none", "unscored", "all wrong", "all right", "one rate", "one rollout", "all or nothing"],
)  # fmt: skip
def test_where_counts_fix_no_prior_jeffreys_stands_in_and_says_so(n, right):
    assert fit_beta(n, right) == JEFFREYS
    prior = prior_of("fit", n, right)
    assert (prior.name, prior.a, prior.b) == ("fit", 0.5, 0.5)
    assert "does not fix a prior" in prior.said


def test_priors_by_name_and_by_numbers():
    found = [prior_of(name, [8, 8], [0, 8]) for name in ("jeffreys", "uniform", (2, 0.25))]
    assert [(prior.name, prior.a, prior.b) for prior in found] == [
        ("jeffreys", 0.5, 0.5), ("uniform", 1.0, 1.0), ("given", 2.0, 0.25),
    ]  # fmt: skip
    fitted = prior_of("fit", [8] * 9, range(9))
    assert (fitted.a, fitted.b, fitted.said) == (pytest.approx(1.0), pytest.approx(1.0), "")


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("jefreys", "prior: got 'jefreys'; did you mean 'jeffreys'"),
        ((0, 1), r"prior Beta\(0, 1\): expected two numbers above 0"),
        ((1, float("inf")), "expected two numbers above 0"),
        (("a", 1), "expected two numbers above 0"),
        (3, "prior: got 3; expected jeffreys, uniform, fit or two numbers above 0"),
    ],
)
def test_what_is_no_prior_is_an_error(prior, message):
    with pytest.raises(PoolError, match=message):
        prior_of(prior, [8], [1])
