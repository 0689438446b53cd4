"""Item response: accuracy by hint rate, SEELE's curve, its fit and its inverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import PoolError, short_repr

_FLATTEST = 0.04
"""Lower bound of k: such a curve rises by 0.01 between rates 0 and 1."""

_CLOSEST = 1e-3
"""Rates that are closer count as so far apart, for the bound of k."""

_GUESSED = 0.99
"""Upper bound of b."""


class ThreePL(NamedTuple):
    """Parameters of curves, one or (m,) each: discrimination k, shifted ability mu, guessing b."""

    k: Floats
    mu: Floats
    b: Floats


def three_pl(q: Any, k: Any, mu: Any, b: Any) -> Floats:
    """Return the accuracy b + (1 - b) / (1 + exp(-k (q + mu))) at hint rate q.

    Args:
        q: the share of the solution that a prompt reveals; an array, or one number, as the others.
        k: discrimination, the steepness of the curve, above 0.
        mu: ability, shifted: at q = -mu the accuracy is halfway between b and 1.
        b: the accuracy of guessing, from 0 to below 1.

    Raises:
        PoolError: an argument is out of its range; names it.

    Source: SEELE, arXiv 2509.06923, section 4 (its text).

    >>> three_pl([0.5, 0.7], 10, -0.5, 0).round(4)
    array([0.5   , 0.8808])
    """
    k, mu, b = _parameters(k, mu, b)
    rate = fitting("q", q, lambda each: np.abs(each) <= COORDINATE_LIMIT, "a finite number")
    return np.asarray(b + (1.0 - b) * sigmoid(k * (rate + mu)))


def hint_rate(target_accuracy: Any, k: Any, mu: Any, b: Any) -> Floats:
    """Return the hint rate at which the accuracy is the target: -mu - ln((1 - b) / (a - b) - 1) / k, within 0 and 1.

    The inverse of ``three_pl``. 0 where the target is b or less, which guessing alone reaches.

    Args:
        target_accuracy: a, from 0 to below 1; SEELE has 0.5.
        k: as in ``three_pl``, like the others.
        mu: see there.
        b: see there.

    Raises:
        PoolError: an argument is out of its range; names it.

    Source: SEELE, arXiv 2509.06923, section 4 (its text); the edges are our own.

    >>> hint_rate(0.5, 10, -0.5, [0, 0.2, 0.5]).round(4)
    array([0.5   , 0.4489, 0.    ])
    """
    k, mu, b = _parameters(k, mu, b)
    wanted = fitting(
        "target_accuracy", target_accuracy, lambda each: (each >= 0) & (each < 1),
        "a number from 0 to below 1, for no hint rate makes every rollout right",
    )  # fmt: skip
    beyond = np.where(wanted > b, wanted - b, 1.0)
    with np.errstate(over="ignore"):  # of a very small k, and clipped
        rate = -mu - (np.log1p(-wanted) - np.log(beyond)) / k
    return np.where(wanted > b, np.clip(rate, 0.0, 1.0), 0.0)


def fit_three_pl(q: Any, acc: Any, n: Any = None) -> ThreePL:
    """Fit the curve of ``three_pl`` to accuracies at several hint rates, by least squares.

    Three parameters need three different rates: with two, b is 0. k is at most 2 ln(99) / gap, with the smallest gap
    between two of the sample's rates: steeper curves rise from 1 % to 99 % between two rates, as a step does, so that
    the data cannot tell them apart. k is 0.04 at least, -mu between -1 and 2, and b 0.99 at most. One sample takes
    about 50 ms, so a million take half a day.

    Args:
        q: (r,) the rates of one sample's rounds, from 0 to 1, or (m, r) those of m samples; NaN where there was none.
        acc: the mean accuracy in each round, from 0 to 1; NaN likewise.
        n: rollouts in each round, by which its squared error is weighed; None: all alike.

    Returns:
        k, mu and b, of one sample or (m,) each; the order of rounds changes nothing.

    Raises:
        PoolError: numbers are out of their range, shapes differ, a sample has fewer than two different rates, or scipy
            is not installed.

    Source: SEELE, arXiv 2509.06923, section 4 (its text: non-linear least squares, trust region reflective); bounds
    and starts are our own form.

    >>> rates = [0.2, 0.4, 0.6, 0.8]
    >>> [round(float(each), 3) for each in fit_three_pl(rates, three_pl(rates, 10, -0.5, 0.2))]
    [10.0, -0.5, 0.2]
    """
    rates = fitting("q", q, _share_or_nan, "numbers from 0 to 1, or NaN")
    means = fitting("acc", acc, _share_or_nan, "numbers from 0 to 1, or NaN")
    times = np.ones(rates.shape) if n is None else fitting("n", n, lambda each: each >= 0, "numbers from 0")
    if rates.ndim not in (1, 2) or not rates.shape == means.shape == times.shape:
        raise PoolError(f"q, acc, n: got shapes {rates.shape}, {means.shape}, {times.shape}; expected (r,) or (m, r)")
    solve = _solver()
    rows = enumerate(np.stack([np.atleast_2d(each) for each in (rates, means, times)], axis=1))
    curves = np.array([_fitted(solve, row, *columns) for row, columns in rows]).reshape(-1, 3)
    return ThreePL(*(curves[0] if rates.ndim == 1 else curves.T))


def sigmoid(z: Floats) -> Floats:
    """Return 1 / (1 + exp(-z)), without overflow.

    >>> sigmoid(np.array([-1e6, 0.0, 1e6])).tolist()
    [0.0, 0.5, 1.0]
    """
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, small) / (1.0 + small)


def fitting(name: str, values: Any, fits: Callable[[Floats], NDArray[np.bool_]], expected: str) -> Floats:
    """Return numbers as an array.

    Raises:
        PoolError: one does not fit, or is no number; names the argument and its place.
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise PoolError(f"{name}: got {short_repr(values)}; expected {expected}") from None
    for place in np.flatnonzero(~fits(numbers))[:1]:
        label = f"{name} of row {place}" if numbers.ndim else name
        raise PoolError(f"{label}: got {numbers.flat[place]:g}; expected {expected}")
    return numbers


def _parameters(k: Any, mu: Any, b: Any) -> ThreePL:
    return ThreePL(
        fitting("k", k, lambda each: (each > 0) & (each <= COORDINATE_LIMIT), "a finite number above 0"),
        fitting("mu", mu, lambda each: np.abs(each) <= COORDINATE_LIMIT, "a finite number"),
        fitting("b", b, lambda each: (each >= 0) & (each < 1), "a number from 0 to below 1"),
    )


def _share_or_nan(values: Floats) -> NDArray[np.bool_]:
    return np.isnan(values) | ((values >= 0) & (values <= 1))


def _fitted(solve: Any, row: int, q: Floats, acc: Floats, n: Floats) -> Floats:
    """Fit one sample's curve: of several starts the one with the least error."""
    order = np.lexsort((n, acc, q))
    q, acc, n = (each[order][~(np.isnan(q) | np.isnan(acc) | (n == 0))[order]] for each in (q, acc, n))
    rates = np.unique(q)
    if len(rates) < 2:
        raise PoolError(f"sample of row {row}: got {len(rates)} hint rates; expected two different ones or more")
    steepest = 2.0 * np.log(99.0) / max(np.diff(rates).min(), _CLOSEST)
    bounds = np.array([[_FLATTEST, -2.0, 0.0], [steepest, 1.0, _GUESSED]])[:, : min(len(rates), 3)]
    weight = np.sqrt(n)
    lowest = min(acc.min(), _GUESSED / 2)

    def errors(curve: Floats) -> Floats:
        return np.asarray(weight * (_curve(q, *curve)[0] - acc))

    def slopes(curve: Floats) -> Floats:
        return np.asarray(weight[:, None] * _curve(q, *curve)[1].T[:, : len(curve)])

    starts = [
        np.array([k, -middle, guess])[: bounds.shape[1]]
        for k in (8.0, steepest / 2)
        for middle in _middles(q, acc)
        for guess in sorted({float(lowest), float(min(np.median(acc), _GUESSED / 2))})
    ]
    inside = [np.clip(start, *(bounds + 1e-9 * np.diff(bounds, axis=0) * [[1], [-1]])) for start in starts]
    best = min(
        (solve(errors, start, slopes, bounds=bounds, method="trf") for start in inside), key=lambda each: each.cost
    )
    return np.append(best.x, 0.0)[:3]


def _middles(q: Floats, acc: Floats) -> list[float]:
    """Return where the accuracy passes the middle of its range, the mean rate, and the middle of each gap."""
    above = q[acc > (acc.min() + acc.max()) / 2]
    rates = np.unique(q)
    gaps = (rates[1:] + rates[:-1]) / 2
    return sorted({float(above.min()) if len(above) else 1.0, float(q.mean()), *gaps.tolist()})


def _curve(q: Floats, k: float, mu: float, b: float = 0.0) -> tuple[Floats, Floats]:
    """Return accuracies, and their slopes by k, mu and b."""
    rise = sigmoid(k * (q + mu))
    slope = (1.0 - b) * rise * (1.0 - rise)
    return b + (1.0 - b) * rise, np.array([slope * (q + mu), slope * k, 1.0 - rise])


def _solver() -> Any:
    try:
        from scipy.optimize import least_squares  # slow to import, and only this function needs it
    except ImportError as error:
        raise PoolError("fit_three_pl needs scipy: pip install 'grounding-rewards[scipy]'") from error
    return least_squares
