"""The Beta distribution of pass rates that a null starts from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.transitions.priors import COMMON, JEFFREYS, contradiction, prior_of
from grounding_rewards.stats.intervals import beta_binomial

GROUPS = st.lists(st.integers(0, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), max_size=40)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.8), (2, 5), (0.05, 0.02), (20, 30), (1, 1)])
def test_a_fit_finds_what_made_the_counts(a, b):
    rng = np.random.default_rng(7)
    n = rng.integers(4, 17, 50_000)
    found = prior_of("fit", n, rng.binomial(n, rng.beta(a, b, 50_000)))
    assert (found.a, found.b) == pytest.approx((a, b), rel=0.06)


@given(GROUPS)
@settings(max_examples=40)
def test_no_prior_nearby_makes_the_counts_likelier(groups):
    n, right = (np.array([group[place] for group in groups], dtype=int) for place in (0, 1))

    def likelihood(a, b):
        return sum(np.log(beta_binomial(of, 0, 0, a, b)[k]) for of, k in zip(n, right, strict=True))

    fitted = prior_of("fit", n, right)
    a, b = fitted.a, fitted.b
    assert min(a, b) >= 0.001
    assert max(a, b) <= 10_000 or a + b == pytest.approx(COMMON)
    if (a, b) != JEFFREYS:
        others = [(a * 1.02, b), (a / 1.02, b), (a, b * 1.02), (a, b / 1.02), (a * 1.02, b * 1.02)]
        assert all(likelihood(*other) <= likelihood(a, b) + 1e-7 for other in others)


@pytest.mark.parametrize(
    ("n", "right"),
    [
        ([], []), ([0], [0]), ([8] * 4, [0] * 4), ([8] * 4, [8] * 4), ([1] * 9, [0, 1, 1] * 3),
        ([8] * 6, [0, 8] * 3),
    ],
    ids=["none", "unscored", "all wrong", "all right", "one rollout", "all or nothing"],
)  # fmt: skip
def test_where_counts_fix_no_prior_jeffreys_stands_in_and_says_so(n, right):
    prior = prior_of("fit", n, right)
    assert (prior.name, prior.a, prior.b) == ("fit", 0.5, 0.5)
    assert "does not fix a prior" in prior.warning


@pytest.mark.parametrize("right", [[4] * 40, [3, 5] * 20], ids=["the same", "less than chance"])
def test_counts_that_spread_no_wider_than_chance_have_one_rate(right):
    prior = prior_of("fit", [8] * 40, right)
    assert prior.rate == 0.5
    assert beta_binomial(8, 0, 8, prior.a, prior.b)[0] == pytest.approx(0.5**8, rel=1e-6)
    assert prior_of("jeffreys", [8], [4]).rate is None


SPIKE = [0] * 400 + list(range(9)) * 67


@pytest.mark.parametrize("prior", ["fit", "uniform", (1, 1)])
def test_a_prior_that_the_histogram_contradicts_says_so(prior):
    found = prior_of(prior, [8] * len(SPIKE), SPIKE)
    assert found.warning.startswith(
        f"num_correct before does not look like Beta({found.a:.3g}, {found.b:.3g}): 467 never"
    )
    assert "67 all-correct for" in found.warning
    assert found.warning.endswith("Measure it: a second set of rollouts of the policy before (--null)")
    assert prior_of(prior, [8] * 603, SPIKE[400:]).warning == ""


def test_the_check_counts_samples_of_all_sizes_and_cells_with_enough_of_them():
    n, right = [4] * 50 + [8] * 90 + [0] * 9, list(range(5)) * 10 + list(range(9)) * 10 + [0] * 9
    assert contradiction(n, right, 1, 1) == ""
    assert contradiction(n, [0] * 149, 1, 1).startswith(
        "num_correct before does not look like Beta(1, 1): 140 never solved for 20.0 expected, 0 all-correct for 20.0"
    )
    assert contradiction([8] * 4, [0] * 4, 1, 1) == contradiction([], [], 1, 1) == ""  # too few to tell


def test_a_fit_is_held_to_more_than_a_prior_that_was_given():
    right = np.repeat(range(9), [10, 10, 10, 18, 2, 10, 12, 8, 10])  # chi-square 13.6: .034 of 6, .093 of 8
    fitted = prior_of("fit", [8] * 90, right)
    assert fitted.warning.startswith("num_correct before does not look like Beta(0.992, 1.04): 10 never solved for")
    assert prior_of((fitted.a, fitted.b), [8] * 90, right).warning == ""


def test_priors_by_name_and_by_numbers():
    found = [prior_of(name, [8, 8], [0, 8]) for name in ("jeffreys", "uniform", (2, 0.25))]
    assert [(prior.name, prior.a, prior.b) for prior in found] == [
        ("jeffreys", 0.5, 0.5), ("uniform", 1.0, 1.0), ("given", 2.0, 0.25),
    ]  # fmt: skip
    fitted = prior_of("fit", [8] * 9, range(9))
    assert (fitted.a, fitted.b, fitted.warning) == (pytest.approx(1.0), pytest.approx(1.0), "")


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
