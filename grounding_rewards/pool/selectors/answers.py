"""Selectors that weigh samples by how many different answers their rollouts have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.sql import GRID
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options

Difficulty = Literal["pass_rate", "mean"]
Form = Literal["entropy", "distinct"]

ANSWERS = "x_unit and y_unit, or answer_key"
"""Columns of rollouts that say what was answered."""


@dataclass(frozen=True)
class DispersionWeighted:
    """4 d (1 - d) · dpi^gamma: samples of middling difficulty d whose rollouts have different answers weigh most.

    d is the pass rate or the mean total, dpi the diversity of the answers, from 0 (all rollouts have the same one) to
    1. Answers are cells of a grid over the image, or values of the column ``answer_key``; rollouts without one are one
    answer more. 0 where all rollouts are right, or all wrong, with one scored rollout, and where d or dpi is unknown.

    Args:
        gamma: the exponent of diversity, above 0.
        of: d, the ``pass_rate`` or the ``mean`` total, for totals from 0 to 1.
        form: dpi. ``entropy``: the entropy of the answers over ln K; ``distinct``: (M - 1) / (n - 1) for M different
            answers of n rollouts.
        choices: K, the number of possible answers, of ``entropy`` alone; None for the smaller of n and the cells of
            the grid. Above K, as where some rollouts have no answer, dpi is 1.

    Raises:
        RecipeError: an option does not fit.
        PoolError: when called: the answers or the means of all samples are unknown, or a mean is not from 0 to 1.

    Source: PuzzleCraft, arXiv 2512.14944, section 3.2 (its text); cells as answers, and K without ``choices``, are our
        own form.

    >>> from dataclasses import replace
    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 4 + ["b"] * 4, [1, 1, 0, 0] * 2)
    >>> DispersionWeighted(form="distinct")(replace(stats, cells=np.array([1, 4])))
    array([0., 1.])
    """

    gamma: float = 0.5
    of: Difficulty = "pass_rate"
    form: Form = "entropy"
    choices: int | None = None

    low = 0.0
    high = 1.0

    def __post_init__(self) -> None:
        options.number(self, "gamma", above=True)
        options.choice(self, "of", Difficulty)
        options.choice(self, "form", Form)
        if self.choices is not None:
            options.number(self, "choices", 1)
            if self.choices != int(self.choices):
                raise options.wrong(self, "choices", "a whole number from 1")
            if self.form != "entropy":
                raise options.wrong(self, "choices", f"none with form {self.form!r}")

    def __call__(self, stats: SampleStats) -> Floats:
        d = stats.pass_rate if self.of == "pass_rate" else _mean(stats)
        weights = 4.0 * d * (1.0 - d) * self.diversity(stats) ** self.gamma
        return np.where(np.isnan(weights), 0.0, weights)

    def diversity(self, stats: SampleStats) -> Floats:
        """Return dpi, (m,), 0 to 1; NaN where unknown."""
        if self.form == "distinct":
            stats.check_known("cells", ANSWERS)
            return different_share(stats)
        stats.check_known("cell_entropy", ANSWERS)
        possible = np.minimum(stats.n, GRID * GRID) if self.choices is None else np.full(len(stats), self.choices)
        most = np.log(np.maximum(possible, 1))
        shares = np.divide(stats.cell_entropy, most, out=0.0 * stats.cell_entropy, where=most > 0)  # 0 keeps NaN
        return np.clip(shares, 0.0, 1.0)


@dataclass(frozen=True)
class RareCells:
    """Mean of min(1, 1 / sqrt(N)) over a sample's rollouts, N of which have the same answer as this one.

    1 where no two rollouts have the same answer, 1 / sqrt(n) where all n have; 1 where nothing was scored, for nothing
    there was tried. Answers are those of ``DispersionWeighted``. Rollouts of all rounds count, unless the statistics
    are of some alone. 0 where the answers of scored rollouts are unknown.

    Raises:
        PoolError: when called: no sample's answers are known.

    Source: Outcome-based exploration, arXiv 2509.06941 (its bonus, from memory); a mean of it as a weight of samples
        is our own use.

    >>> from dataclasses import replace
    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 4 + ["b"], [1, 0, 0, 0, None])
    >>> RareCells()(replace(stats, cell_rarity=np.array([0.5, np.nan])))
    array([0.5, 1. ])
    """

    low = 0.0
    high = 1.0

    def __call__(self, stats: SampleStats) -> Floats:
        stats.check_known("cell_rarity", ANSWERS)
        untried = np.where(stats.n == 0, 1.0, 0.0)
        return np.where(np.isnan(stats.cell_rarity), untried, np.minimum(stats.cell_rarity, 1.0))


def different_share(stats: SampleStats) -> Floats:
    """Return (M - 1) / (n - 1), (m,), for M different answers of n rollouts; 0 where n is 1, NaN where M is unknown.

    >>> one = np.ones(3, dtype=np.int64)
    >>> different_share(SampleStats(one, 8 * one, one, cells=np.array([1, 2, -1]))).round(3)
    array([0.   , 0.143,   nan])
    """
    known = stats.known("cells")
    shares = np.where(known, 0.0, np.nan)
    np.divide(stats.cells - 1, stats.n - 1, out=shares, where=known & (stats.n > 1))
    return np.minimum(shares, 1.0)


def _mean(stats: SampleStats) -> Floats:
    stats.check_known("mean", "total")
    for row in np.flatnonzero((stats.mean < 0.0) | (stats.mean > 1.0))[:1]:
        raise PoolError(
            f"mean total of {stats.named(row)}: got {stats.mean[row]:g}; expected 0 to 1, or of='pass_rate'"
        )
    return stats.mean
