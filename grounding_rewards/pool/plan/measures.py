"""Measures of weights over samples, the same for every kind of method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.pool.stats import SampleStats

PASS_RATES = (
    "never", "below 0.2", "0.2 to 0.4", "0.4 to 0.6", "0.6 to 0.8", "above 0.8", "always", "unmeasured",
)  # fmt: skip
"""Ranges of pass rates, symmetric about a half: 0.4 and 0.6 are in the middle one, 0.2 and 0.8 in those beside it."""

_AT_ONCE = 1 << 14  # samples: the weights of all methods for so many stay in the processor's cache


@dataclass(frozen=True)
class Measures:
    """Measures of m weights from 0, one of them above 0."""

    kept: int  # number of samples with a weight above 0
    effective: float  # (sum w)^2 / sum w^2: as many samples of one weight would be as uneven
    zero_share: float  # share of the weight on never-solved samples
    mean_p: float | None  # weighted mean of the pass rates of measured samples; None without one
    # share of the weight on samples whose totals are at most 1e-6 apart, of those with totals; None without one
    zero_signal_share: float | None
    by_pass_rate: tuple[float, ...]  # shares of the weight in each of PASS_RATES

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**vars(self), "by_pass_rate": list(self.by_pass_rate)}


def measures(stats: SampleStats, weights: Floats) -> Measures:
    """Return the measures of weights.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a", "a", "b", "b", "c", "c"], [0, 0, 0, 1, 1, 1])
    >>> of = measures(stats, np.array([1.0, 3.0, 0.0]))
    >>> of.kept, of.effective, of.zero_share, of.mean_p
    (2, 1.6, 0.25, 0.375)
    """
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])  # exact; sums of the largest floats would overflow
    shares = np.bincount(pass_rate_bins(stats), weights, len(PASS_RATES)) / weights.sum()
    return Measures(
        kept=int((weights > 0).sum()),
        effective=float(weights.sum() ** 2 / (weights**2).sum()),
        zero_share=float(weights[stats.none_correct].sum() / weights.sum()),
        mean_p=_mean(stats.pass_rate, weights),
        zero_signal_share=_mean(np.where(np.isnan(stats.spread), np.nan, stats.spread <= NO_SIGNAL), weights),
        by_pass_rate=tuple(shares.tolist()),
    )


def pass_rate_bins(stats: SampleStats) -> NDArray[np.int64]:
    """Return the place of each sample's pass rate in ``PASS_RATES``, (m,).

    >>> from grounding_rewards.pool import SampleStats
    >>> right = np.arange(9)
    >>> pass_rate_bins(SampleStats(right, np.full(9, 8), right)).tolist()
    [0, 1, 2, 2, 3, 4, 4, 5, 6]
    """
    fifths = 5 * stats.num_correct  # whole numbers: 3 / 5 is no float
    upper = [fifths < stats.n, fifths < 2 * stats.n, fifths <= 3 * stats.n, fifths <= 4 * stats.n]
    between = np.select(upper, [1, 2, 3, 4], 5)
    ends = [stats.n == 0, stats.none_correct, stats.all_correct]
    return np.select(ends, [7, 0, 6], between).astype(np.int64)


def overlaps(weights: Sequence[Floats]) -> Floats:
    """Return the overlap of each two methods, (k, k): the sum over samples of the smaller of their shares.

    1 where they weigh alike, 0 where no sample has a weight in both.

    >>> overlaps([np.array([1.0, 1.0, 0.0]), np.array([0.0, 3.0, 1.0])])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    shared = np.zeros((len(weights), len(weights)))
    largest = np.array([each.max() for each in weights])[:, None]  # sums near the largest float would overflow
    totals = np.array([(each / each.max()).sum() for each in weights])[:, None]
    for start in range(0, len(weights[0]) if weights else 0, _AT_ONCE):
        parts = np.array([each[start : start + _AT_ONCE] for each in weights]) / largest / totals
        for place, part in enumerate(parts):
            shared[place, place:] += np.minimum(part, parts[place:]).sum(axis=1)
    shared = np.minimum(np.maximum(shared, shared.T), 1.0)
    np.fill_diagonal(shared, 1.0)
    return shared


def in_per_cent(share: float) -> str:
    """Format an overlap, with 100 for methods that weigh alike and a point for those without a common sample.

    >>> [in_per_cent(share) for share in (0.0, 0.004, 2 / 3, 0.999, 1.0 - 1e-12)]
    ['.', '<1', '67', '99', '100']
    """
    if share == 0:
        return "."
    rounded = round(100 * share) if share >= 1.0 - 1e-9 else min(round(100 * share), 99)
    return f"{rounded}" if share >= 0.01 else "<1"


def _mean(values: Floats, weights: Floats) -> float | None:
    """Return the weighted mean of known values; None without one."""
    known = ~np.isnan(values)
    total = weights[known].sum()
    return float((weights[known] * values[known]).sum() / total) if total else None
