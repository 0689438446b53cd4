"""Check that a selector keeps its promises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError, SelectorError
from grounding_rewards.pool import SampleStats, Selector, sample_stats
from grounding_rewards.testing._checks import brief, check_unchanged, close, declared, quietly, survives_copies
from grounding_rewards.verifiers.contract import SELECTOR


def check_selector(selector: Selector, *, seed: int = 0) -> None:
    """Check what every selector promises, on statistics of samples of all kinds.

    Some 300 samples with 0 to 16 scored rollouts: all right, all wrong, some; totals that agree, that do not, that are
    negative or very large, and none at all; and of some of them clicks, target, responses, source, round, temperature.

    Checked: it declares finite ``low`` <= ``high``; it returns (n,) float64, finite and within these bounds, also for
    no samples and for one; it neither raises, warns, prints nor writes into its inputs, but for a ``PoolError`` where
    no sample has the columns that it needs; a second call gives the same, and samples in another order have the same
    weights; it has a hash, can be pickled, and copies equal it. Weights may be below 0 here; those that a pool is drawn
    by may not.

    Args:
        selector: what to check.
        seed: order of the samples, and their rollouts.

    Raises:
        AssertionError: a promise is broken; names the selector, the sample and its statistics.

    >>> from grounding_rewards.pool import Band
    >>> check_selector(Band(0.25, 0.75))
    """
    name = f"selector {brief(selector)}"
    before = declared(name, SELECTOR, selector)
    survives_copies(name, selector)
    stats = generated_stats(seed)
    weights = _weights(name, selector, stats)
    order = np.random.default_rng(seed).permutation(len(stats))
    _agree(name, stats, weights, _weights(name, selector, stats), "the first time and the second")
    back = np.argsort(order)
    _agree(name, stats, weights, _weights(name, selector, stats.taken(order))[back], "in one order and in another")
    _weights(name, selector, stats.taken([]))  # reductions fail on none, and squeezed arrays on one
    bare = sample_stats(["a", "a", "b"], [1, 0, None])  # without the further columns, as from most rollouts
    for few in (stats.taken([0]), bare):
        _weights_unless_refused(name, selector, few)
    check_unchanged(name, SELECTOR, selector, before)


def generated_stats(seed: int = 0) -> SampleStats:
    """Return statistics of samples of all kinds, in an order that the seed decides."""
    rng = np.random.default_rng(seed)
    ids, acc, total = list[str](), list[float | None](), list[float | None]()
    for sample in range(300):
        n, rate, scale = int(rng.integers(0, 17)), rng.choice([0.0, 0.2, 0.5, 1.0]), rng.choice([0.0, 1.0, -3.0, 1e6])
        right = (rng.random(n) < rate).astype(float).tolist()
        ids += [f"s{sample}"] * (n + 1)  # one unscored rollout each, or samples with n = 0 would not exist
        acc += [None, *right]
        total += [None, *(None if sample % 7 == 0 else scale * value for value in right)]
    stats = sample_stats(ids, acc, total)
    stats = replace(stats, **_further(stats, np.random.default_rng([seed, 1])))
    order = rng.permutation(300)
    return SampleStats(**{name: column[order] for name, column in vars(stats).items()})  # to be written into, or not


def _further(stats: SampleStats, rng: np.random.Generator) -> dict[str, Any]:
    """Return further statistics of some samples: clicks, targets, responses, and where they come from."""

    def some(values: Any, unknown: Any) -> Any:
        return np.where(rng.random(len(stats)) < 0.2, unknown, values)

    rollouts = stats.n + stats.unscored
    clicks = np.minimum(rollouts, rng.integers(0, 17, len(stats)))
    x, y, area = rng.random((3, len(stats)))
    return {
        "parse_rate": some(np.where(rollouts > 0, clicks / np.maximum(rollouts, 1), np.nan), np.nan),
        "clicks": clicks,
        "x_unit": np.where(clicks > 0, x, np.nan),
        "y_unit": np.where(clicks > 0, y, np.nan),
        "dispersion": np.where(clicks > 1, some(rng.random(len(stats)) ** 3, np.nan), np.nan),
        "target_area": some(area, np.nan),
        "target_diagonal": some(np.sqrt(area), np.nan),
        "distinct": some(np.minimum(rollouts, 1 + clicks), -1).astype(np.int64),
        **_answers(stats, rng),
        "item_difficulty": some(100 * rng.random(len(stats)), np.nan),
        "source": some(rng.choice(["web", "desktop", "mobile"], len(stats)).astype(np.object_), None),
        "round": some(rng.integers(1, 4, len(stats)), -1).astype(np.int64),
        "temperature": some(rng.choice([0.0, 1.0, 1.7], len(stats)), np.nan),
    }


def _answers(stats: SampleStats, rng: np.random.Generator) -> dict[str, Any]:
    """Return statistics of answers, of which each sample has several once each, and one that all others gave."""
    known = (stats.n > 0) & (rng.random(len(stats)) < 0.8)
    cells = np.minimum(1 + rng.integers(0, 17, len(stats)), np.maximum(stats.n, 1))
    n = np.maximum(stats.n, 1).astype(np.float64)
    alike = n - cells + 1
    entropy = np.log(n) - alike * np.log(alike) / n
    rarity = (cells - 1 + np.sqrt(alike)) / n
    return {
        "cells": np.where(known, cells, -1),
        "cell_entropy": np.where(known, entropy, np.nan),
        "cell_rarity": np.where(known, rarity, np.nan),
    }


def _weights(name: str, selector: Selector, stats: SampleStats) -> Floats:
    """Return the weights, checked by themselves."""
    what = f"{name} on {len(stats)} samples" if len(stats) != 1 else f"{name} on {_shown(stats, 0)}"
    before = {column: values.copy() for column, values in vars(stats).items()}
    weights: Any = quietly(what, lambda: selector(stats), settled=True)
    for column, values in vars(stats).items():
        if repr(values.tolist()) != repr(before[column].tolist()):  # as texts NaN equals NaN
            raise AssertionError(f"{what} writes into {column}")
    if type(weights) is not np.ndarray or weights.dtype != np.float64 or weights.shape != (len(stats),):
        raise AssertionError(f"{what} returns {brief(weights)}: expected float64 of shape ({len(stats)},)")
    low, high = selector.low, selector.high
    for row in np.flatnonzero(~((weights >= low) & (weights <= high)))[:1]:
        raise AssertionError(f"{name} returns {weights[row]}, expected {low} to {high}: {_shown(stats, int(row))}")
    return weights


def _weights_unless_refused(name: str, selector: Selector, stats: SampleStats) -> None:
    try:
        _weights(name, selector, stats)
    except AssertionError as error:
        cause = error.__cause__
        while isinstance(cause, SelectorError):  # of one inside of another
            cause = cause.__cause__
        if not isinstance(cause, PoolError):
            raise


def _agree(name: str, stats: SampleStats, ours: Floats, theirs: Floats, what: str) -> None:
    for row in np.flatnonzero(~close(ours, theirs))[:1]:
        both = f"{float(ours[row])!r} and {float(theirs[row])!r} ({what})"
        raise AssertionError(f"{name} returns {both}: {_shown(stats, int(row))}")


def _shown(stats: SampleStats, row: int) -> str:
    values = (f"{name}={values[row]!r}" for name, values in vars(stats).items())
    return f"sample {', '.join(values)}"
