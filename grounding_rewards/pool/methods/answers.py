"""Samples by how many different answers their rollouts have (PuzzleCraft, outcome-based exploration)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.aggregate import GRID
from grounding_rewards.pool.methods import Method, setting
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Count, Positive

ANSWERS = "x_unit and y_unit, or answer_key"
"""Columns of rollouts that say what was answered."""


@dataclass(frozen=True)
class DispersionWeighted(Method):
    """4 d (1 - d) · dpi^gamma: samples of middling difficulty d whose rollouts have different answers weigh most.

    Answers are cells of a grid over the image, or values of the column ``answer_key``; rollouts without one are one
    answer more. 0 where all rollouts are right, or all wrong, with one scored rollout, and where d or dpi is unknown.

    Source: PuzzleCraft, arXiv 2512.14944, section 3.2 (its text); cells as answers, and K without ``choices``, are our
        own form.

    >>> from dataclasses import replace
    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 4 + ["b"] * 4, [1, 1, 0, 0] * 2)
    >>> DispersionWeighted(form="distinct")(replace(stats, cells=np.array([1, 4])))
    array([0., 1.])
    """

    gamma: Positive = setting("the exponent of diversity", 0.5)
    of: Literal["pass_rate", "mean"] = setting("d: the pass rate, or the mean total, from 0 to 1", "pass_rate")
    form: Literal["entropy", "distinct"] = setting(
        "dpi: the entropy of the answers over ln K, or (M - 1) / (n - 1) for M different answers of n", "entropy"
    )
    choices: Count | None = setting("K of entropy; None: the smaller of n and the cells of the grid", None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.choices is not None and self.form != "entropy":
            raise options.wrong(self, "choices", f"none with form {self.form!r}")

    def __call__(self, stats: SampleStats) -> Floats:
        d = stats.pass_rate
        if self.of == "mean":
            stats.check_known("mean", "total")
            d = stats.mean
            for row in np.flatnonzero((d < 0.0) | (d > 1.0))[:1]:
                raise PoolError(f"mean total of {stats.named(row)}: got {d[row]:g}; expected 0 to 1, or of='pass_rate'")
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
class RareCells(Method):
    """Mean of min(1, 1 / sqrt(N)) over a sample's rollouts, N of which have the same answer as this one.

    1 where nothing was scored, for nothing there was tried; 0 where the answers of scored rollouts are unknown.

    Source: Outcome-based exploration, arXiv 2509.06941 (its bonus, from a reading note); a mean of it as a weight of
        samples is our own use.
    """

    def __call__(self, stats: SampleStats) -> Floats:
        stats.check_known("cell_rarity", ANSWERS)
        untried = np.where(stats.n == 0, 1.0, 0.0)
        return np.where(np.isnan(stats.cell_rarity), untried, np.minimum(stats.cell_rarity, 1.0))


def different_share(stats: SampleStats) -> Floats:
    """Return (M - 1) / (n - 1), (m,), for M different answers of n rollouts; 0 where n is 1, NaN where M is unknown."""
    known = stats.known("cells")
    shares = np.where(known, 0.0, np.nan)
    np.divide(stats.cells - 1, stats.n - 1, out=shares, where=known & (stats.n > 1))
    return np.minimum(shares, 1.0)
