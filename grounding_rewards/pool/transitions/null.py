"""Null hypothesis of a transition matrix: a second measurement of the same policy, with nothing learnt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.pool.transitions.paired import plain
from grounding_rewards.pool.transitions.priors import Prior
from grounding_rewards.stats.intervals import beta_binomial, mcnemar, wilson

BETA_BINOMIAL, MEASURED = "beta-binomial", "measured"
_NEGLIGIBLE = 1e-13


@dataclass(frozen=True, eq=False)
class Chance:
    """Transition matrix and escapes of never-solved samples that chance alone would show.

    Attributes:
        kind: "beta-binomial", computed from a prior, or "measured", a second set of rollouts of the same policy.
        prior: the prior; None where it was measured.
        samples: number of never-solved samples that it covers.
        expected: (B + 1, A + 1) counts, in the shape of the matrix. NaN in rows that the measured null lacks.
        escape_share: the expected share of never-solved samples with a right rollout; NaN without never-solved ones.
        low: the lower end of the central 95 % of such shares (of the measured: its Wilson interval).
        high: the upper end.
        p_value: two-sided, of the observed number of escapes under the null (of the measured: McNemar's exact test over
            the samples in all three); NaN without never-solved samples.
    """

    kind: str
    prior: Prior | None
    samples: int
    expected: Floats
    escape_share: float
    low: float
    high: float
    p_value: float

    def to_json(self) -> dict[str, Any]:
        """Return plain values; None for NaN."""
        own = self.prior
        prior = own and {"name": own.name, "a": own.a, "b": own.b, "said": own.warning, "rate": own.rate}
        return {**plain(self), "prior": prior}


def computed(
    correct: NDArray[np.int64],
    n: NDArray[np.int64],
    n_after: NDArray[np.int64],
    shape: tuple[int, int],
    escaped: int,
    prior: Prior,
) -> Chance:
    """Compute the null from a prior of pass rates: each sample's second count is beta-binomial, given its first.

    The number of escapes is a sum of independent draws. Its distribution is exact for a known prior; a fitted one is
    taken as known.

    Args:
        correct: (m,) right rollouts before.
        n: (m,) scored rollouts before.
        n_after: (m,) rollouts after.
        shape: shape of the matrix.
        escaped: number of never-solved samples with a right rollout after.
        prior: Beta(a, b).
    """
    expected = np.zeros(shape)
    leaving: list[tuple[float, int]] = []  # chances of an escape, each with the number of its samples
    sides = shape[0], shape[0], shape[1]
    # Equal counts have equal chances, so each kind of sample is computed once.
    kinds, counts = np.unique(np.ravel_multi_index((correct, n, n_after), sides), return_counts=True)
    for *each, count in zip(*np.unravel_index(kinds, sides), counts, strict=True):
        right, of, later, count = map(int, (*each, count))
        chances = beta_binomial(later, right, of, prior.a, prior.b)
        expected[right, : later + 1] += count * chances
        leaving += [(float(1 - chances[0]), count)] if right == 0 else []
    samples = sum(count for _, count in leaving)
    if not samples:
        return Chance(BETA_BINOMIAL, prior, 0, expected, np.nan, np.nan, np.nan, np.nan)
    share = sum(chance * count for chance, count in leaving) / samples
    start, chances = _number_of_escapes(leaving)
    reached = np.cumsum(chances)
    low, high = (start + int(np.searchsorted(reached, edge)) for edge in (0.025, 0.975))
    places = start + np.arange(len(chances))
    tails = chances[places <= escaped].sum(), chances[places >= escaped].sum()
    p_value = min(1.0, 2 * float(min(tails)))  # both tails include the middle, so twice may exceed 1
    return Chance(BETA_BINOMIAL, prior, samples, expected, share, low / samples, min(1.0, high / samples), p_value)


def measured(
    before: NDArray[np.int64],
    null: NDArray[np.int64],
    solved_null: NDArray[np.bool_],
    solved_after: NDArray[np.bool_],
) -> Chance:
    """Estimate the null from a second set of rollouts of the policy before.

    Args:
        before: (B + 1,) samples of the matrix by right rollouts before.
        null: (B + 1, A + 1) counts of samples from before to the second set.
        solved_null: (s,) True for never-solved samples that the second set solves.
        solved_after: (s,) True for those that the rollouts after solve.
    """
    totals = null.sum(axis=1, keepdims=True)
    shares = np.divide(null, totals, out=np.full(null.shape, np.nan), where=totals > 0)
    expected = np.where(before[:, None] > 0, before[:, None] * shares, 0.0)
    samples, escaped = len(solved_null), int(solved_null.sum())
    low, high = (float(end) for end in wilson(escaped, samples))
    if not samples:
        return Chance(MEASURED, None, 0, expected, np.nan, np.nan, np.nan, np.nan)
    # The same samples twice, so a paired test: the two shares are not independent.
    p_value = mcnemar(int((solved_null & ~solved_after).sum()), int((solved_after & ~solved_null).sum()))
    return Chance(MEASURED, None, samples, expected, escaped / samples, low, high, p_value)


def _number_of_escapes(leaving: list[tuple[float, int]]) -> tuple[int, Floats]:
    """Return the first number of escapes worth keeping, and the chances from there on; see ``computed``."""
    start, chances = 0, np.ones(1)
    for chance, count in leaving:
        first, others = _binomial(count, chance)
        start, chances = start + first, np.convolve(chances, others)  # no leading zeros: short
    return start, chances / chances.sum()  # a sum of 1 in spite of the cut tails


def _binomial(n: int, chance: float) -> tuple[int, Floats]:
    """Return the first number of a binomial distribution without its negligible tails, and its chances."""
    if not 0 < chance < 1:  # logarithms of 0 below
        return (n if chance >= 1 else 0), np.ones(1)
    right = np.arange(n)
    steps = np.log((n - right) / (right + 1)) + np.log(chance) - np.log1p(-chance)  # ratios, for factorials overflow
    logs = np.concatenate([np.zeros(1), np.cumsum(steps)])
    shares = np.exp(logs - logs.max())  # of the largest: the first may underflow to 0
    shares = shares / shares.sum()
    kept = np.flatnonzero(shares > _NEGLIGIBLE)
    return int(kept[0]), shares[kept[0] : kept[-1] + 1]
