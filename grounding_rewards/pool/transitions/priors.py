"""Beta priors of pass rates for the null: given by the caller, named, or fitted to a round's histogram, and checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError, near
from grounding_rewards.stats.intervals import beta_binomial, check_prior

COMMON = 1e12
"""a + b where all samples have one rate: a second measurement is binomial, to the precision of 64-bit floats."""


def common_rate(a: float, b: float) -> float | None:
    """Return the pass rate that all samples have under Beta(a, b); None where they differ."""
    return a / (a + b) if a + b >= COMMON else None


def describe_prior(a: float, b: float) -> str:
    """Describe Beta(a, b) in words.

    >>> describe_prior(0.5, 0.5), describe_prior(0.3 * COMMON, 0.7 * COMMON)
    ('Beta(0.5, 0.5)', 'one rate of 30.0 % for all samples')
    """
    rate = common_rate(a, b)
    return f"Beta({a:.3g}, {b:.3g})" if rate is None else f"one rate of {100 * rate:.1f} % for all samples"


JEFFREYS = (0.5, 0.5)
NAMED = {"jeffreys": JEFFREYS, "uniform": (1.0, 1.0)}

_STEPS = 200
_LOW, _HIGH = np.log(1e-3), np.log(1e4)


@dataclass(frozen=True)
class Prior:
    """Beta(a, b) with its origin.

    Attributes:
        name: jeffreys, uniform, fit or given.
        a: the weight of a right rollout, above 0.
        b: the weight of a wrong one.
        warning: a sentence for the reader; "" without one.
    """

    name: str
    a: float
    b: float
    warning: str = ""

    @property
    def rate(self) -> float | None:
        """Return the pass rate that all samples have; None where they differ."""
        return common_rate(self.a, self.b)


def prior_of(prior: str | tuple[float, float], n: ArrayLike, correct: ArrayLike) -> Prior:
    """Return the requested prior.

    Args:
        prior: ``"jeffreys"``, ``"uniform"``, ``"fit"`` (to these samples) or two numbers above 0.
        n: (m,) rollouts a sample, for the fit and for the check of any prior.
        correct: (m,) right ones among them.

    Raises:
        PoolError: the prior is none of these.

    >>> prior_of("uniform", [], []), prior_of("fit", [8], [8]).warning
    (Prior(name='uniform', a=1.0, b=1.0, warning=''), 'the histogram of num_correct does not fix a prior: Jeffreys, \
Beta(0.5, 0.5), stands in')
    """
    if prior == "fit":
        parameters = _fitted(*_tallies(n, correct))
        if parameters is None:
            text = "the histogram of num_correct does not fix a prior: Jeffreys, Beta(0.5, 0.5), stands in"
            return Prior("fit", *JEFFREYS, warning=text)
        return Prior("fit", *parameters, warning=contradiction(n, correct, *parameters, fitted=2))
    if isinstance(prior, str):
        if prior not in NAMED:
            known = [*NAMED, "fit"]
            raise PoolError(f"prior: got {prior!r}{near(prior, known) or '.'} There are: {', '.join(known)}, or A,B")
        return Prior(prior, *NAMED[prior], warning=contradiction(n, correct, *NAMED[prior]))
    try:
        a, b = prior
    except (TypeError, ValueError):
        raise PoolError(f"prior: got {prior!r}; expected jeffreys, uniform, fit or two numbers above 0") from None
    check_prior(a, b)
    return Prior("given", float(a), float(b), warning=contradiction(n, correct, a, b))


def _tallies(n: ArrayLike, correct: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count the samples with more than i right, wrong and scored rollouts, for i from 0."""
    of, right = np.asarray(n, np.int64), np.asarray(correct, np.int64)
    size = int(of.max(initial=0))
    # Summed from the end: how many samples exceed i.
    counts = (np.bincount(tally, minlength=size + 1)[::-1].cumsum()[::-1][1:] for tally in (right, of - right, of))
    right_over, wrong_over, scored_over = counts
    return right_over, wrong_over, scored_over


def _fitted(
    right: NDArray[np.int64], wrong: NDArray[np.int64], scored: NDArray[np.int64]
) -> tuple[float, float] | None:
    """Fit Beta(a, b) to a round's counts of right rollouts, by maximum likelihood of beta-binomials.

    The log-likelihood is the sum over samples of sum_{i < k} log(a + i) + sum_{i < n - k} log(b + i) -
    sum_{i < n} log(a + b + i), with k right of n (see ``_tallies``); maximised by Newton's steps on log a and log b.
    Both are from 0.001 to 10,000; where they diverge, a + b is 10^12, which leaves one common rate. None where no
    sample has two rollouts, each is all right or all wrong, or the steps do not converge.
    """
    if len(scored) < 2 or not (right[0] and wrong[0]):  # the likelihood has no single maximum
        return None
    share = right.sum() / scored.sum()  # start at the mean pass rate with a + b = 1
    place, damping = np.log(np.array([share, 1 - share])), 1e-3
    value = _value(place, right, wrong, scored)
    for _ in range(_STEPS):
        gradient, curvature = _slopes(place, right, wrong, scored)
        if np.abs(gradient).max() < 1e-9 * scored[0]:  # relative: the gradient grows with the samples
            return float(np.exp(place[0])), float(np.exp(place[1]))
        away = np.abs(np.linalg.eigvalsh(curvature)).max()
        top = max(np.linalg.eigvalsh(curvature).max(), 0.0)  # not concave there: made so, for a step uphill
        step = np.linalg.solve((top + damping * away + 1e-12) * np.eye(2) - curvature, gradient)
        # A factor of e² at most; just past the limits, so that they can be reached.
        tried = np.clip(place + np.clip(step, -2, 2), _LOW - 1, _HIGH + 1)
        tried_value = _value(tried, right, wrong, scored)
        if tried_value >= value:
            place, value, damping = tried, tried_value, damping / 10
        else:
            damping = min(damping * 10, 1e9)  # Levenberg and Marquardt: a shorter step
        if (place <= _LOW).any():  # every sample is all right or all wrong
            return None
        if (place >= _HIGH).any():
            return float(share * COMMON), float((1 - share) * COMMON)
    return None


def _value(place: Floats, right: NDArray[np.int64], wrong: NDArray[np.int64], scored: NDArray[np.int64]) -> float:
    (a, b), i = np.exp(place), np.arange(len(scored))
    return float(right @ np.log(a + i) + wrong @ np.log(b + i) - scored @ np.log(a + b + i))


def _slopes(
    place: Floats, right: NDArray[np.int64], wrong: NDArray[np.int64], scored: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Return the first and second derivatives by log a and log b."""
    (a, b), i = np.exp(place), np.arange(len(scored))
    both = (scored / (a + b + i)).sum(), (scored / (a + b + i) ** 2).sum()
    first = np.array([a * ((right / (a + i)).sum() - both[0]), b * ((wrong / (b + i)).sum() - both[0])])
    second = np.array([-(right / (a + i) ** 2).sum(), -(wrong / (b + i) ** 2).sum()]) + both[1]
    off = a * b * both[1]
    return first, np.array([[a * a * second[0] + first[0], off], [off, b * b * second[1] + first[1]]])


LEVEL = 0.05
_FEWEST = 5.0


def contradiction(n: ArrayLike, correct: ArrayLike, a: float, b: float, *, fitted: int = 0) -> str:
    """Return a warning where Pearson's chi-square test rejects Beta(a, b) at 5 %, else "".

    The cells are numbers of right rollouts, neighbours merged until 5 samples are expected in each.

    Args:
        n: (m,) rollouts a sample.
        correct: (m,) right ones among them.
        a: the prior's weight of a right rollout.
        b: the same of a wrong one.
        fitted: number of the prior's parameters that were fitted to these samples.

    >>> contradiction([8] * 90, list(range(9)) * 10, 1, 1)
    ''
    >>> contradiction([8] * 90, [0, 4, 8] * 30, 1, 1)[:83]
    'num_correct before does not look like Beta(1, 1): 30 never solved for 10.0 expected'
    """
    of, right = np.asarray(n, np.int64), np.asarray(correct, np.int64)
    of, right = of[of > 0], right[of > 0]  # without rollouts any prior fits
    expected, never, always = np.zeros(int(of.max(initial=0)) + 1), 0.0, 0.0
    for rollouts, samples in zip(*np.unique(of, return_counts=True), strict=True):
        shares = samples * beta_binomial(int(rollouts), 0, 0, a, b)
        expected[: rollouts + 1] += shares
        never, always = never + float(shares[0]), always + float(shares[-1])
    observed = np.bincount(right, minlength=len(expected))
    statistic, cells = _pearson(observed, expected)
    if _chi_square_tail(statistic, cells - 1 - fitted) >= LEVEL:  # a fitted parameter costs a degree
        return ""
    return (
        f"num_correct before does not look like {describe_prior(a, b)}: {int((right == 0).sum()):,} never solved for "
        f"{never:,.1f} expected, {int((right == of).sum()):,} all-correct for {always:,.1f}; what it calls chance may "
        "be far off. Measure it: a second set of rollouts of the policy before (--null)"
    )


def _pearson(observed: NDArray[np.int64], expected: NDArray[np.float64]) -> tuple[float, int]:
    """Return the sum over cells of (observed - expected)² / expected, and the number of cells."""
    cells = [[0.0, 0.0]]
    for count, mean in zip(observed.tolist(), expected.tolist(), strict=True):
        if cells[-1][1] >= _FEWEST:
            cells.append([0.0, 0.0])
        cells[-1][0] += count
        cells[-1][1] += mean
    if len(cells) > 1 and cells[-1][1] < _FEWEST:  # the last cell has no neighbour above
        count, mean = cells.pop()
        cells[-1][0] += count
        cells[-1][1] += mean
    return math.fsum((count - mean) ** 2 / mean for count, mean in cells if mean), len(cells)


def _chi_square_tail(statistic: float, freedom: int) -> float:
    """Return the upper tail of chi-square: its cube root is nearly normal (Wilson and Hilferty, 1931)."""
    if freedom < 1:  # too few cells to reject anything
        return 1.0
    width = 2 / (9 * freedom)
    return 0.5 * math.erfc(((statistic / freedom) ** (1 / 3) - 1 + width) / math.sqrt(2 * width))
