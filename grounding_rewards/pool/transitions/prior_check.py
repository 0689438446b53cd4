"""Whether a round's histogram of right rollouts looks like what a prior of pass rates expects."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grounding_rewards.pool.transitions.beta import told
from grounding_rewards.stats.intervals import beta_binomial

LEVEL = 0.05
_FEWEST = 5.0


def contradiction(n: ArrayLike, correct: ArrayLike, a: float, b: float, *, fitted: int = 0) -> str:
    """What to say where Pearson's chi-square test rejects Beta(a, b) at 5 %; "" where it does not.

    The cells are numbers of right rollouts, neighbours put together until 5 samples are expected in each.

    Args:
        n: (m,) rollouts a sample.
        correct: (m,) how many of them were right.
        a: the prior's weight of a right rollout.
        b: the same of a wrong one.
        fitted: how many numbers of the prior these samples have fixed.

    >>> contradiction([8] * 90, list(range(9)) * 10, 1, 1)
    ''
    >>> contradiction([8] * 90, [0, 4, 8] * 30, 1, 1)[:83]
    'num_correct before does not look like Beta(1, 1): 30 never solved for 10.0 expected'
    """
    of, right = np.asarray(n, np.int64), np.asarray(correct, np.int64)
    of, right = of[of > 0], right[of > 0]
    expected, never, always = np.zeros(int(of.max(initial=0)) + 1), 0.0, 0.0
    for rollouts, samples in zip(*np.unique(of, return_counts=True), strict=True):
        shares = samples * beta_binomial(int(rollouts), 0, 0, a, b)
        expected[: rollouts + 1] += shares
        never, always = never + float(shares[0]), always + float(shares[-1])
    seen = np.bincount(right, minlength=len(expected))
    statistic, cells = _pearson(seen, expected)
    if _chi_square_tail(statistic, cells - 1 - fitted) >= LEVEL:
        return ""
    return (
        f"num_correct before does not look like {told(a, b)}: {int((right == 0).sum()):,} never solved for "
        f"{never:,.1f} expected, {int((right == of).sum()):,} all-correct for {always:,.1f}; what it calls chance may "
        "be far off. Measure it: a second set of rollouts of the policy before (--null)"
    )


def _pearson(seen: NDArray[np.int64], expected: NDArray[np.float64]) -> tuple[float, int]:
    """The sum over cells of (seen - expected)² / expected, and how many cells there are."""
    cells = [[0.0, 0.0]]
    for count, mean in zip(seen.tolist(), expected.tolist(), strict=True):
        if cells[-1][1] >= _FEWEST:
            cells.append([0.0, 0.0])
        cells[-1][0] += count
        cells[-1][1] += mean
    if len(cells) > 1 and cells[-1][1] < _FEWEST:
        count, mean = cells.pop()
        cells[-1][0] += count
        cells[-1][1] += mean
    return math.fsum((count - mean) ** 2 / mean for count, mean in cells if mean), len(cells)


def _chi_square_tail(statistic: float, freedom: int) -> float:
    """How likely chi-square of so many degrees is larger: the cube root is nearly normal (Wilson and Hilferty, 1931).

    >>> round(_chi_square_tail(14.067, 7), 3), _chi_square_tail(9.0, 0)
    (0.05, 1.0)
    """
    if freedom < 1:
        return 1.0
    width = 2 / (9 * freedom)
    return 0.5 * math.erfc(((statistic / freedom) ** (1 / 3) - 1 + width) / math.sqrt(2 * width))
