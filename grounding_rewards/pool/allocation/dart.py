"""DART: fewer rollouts in the next round for samples that are solved often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Ints
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options


@dataclass(frozen=True)
class Dart:
    """The number of rollouts of the next round: N, and N - cut where more than a share ``above`` was right.

    These are all rollouts of the next round; other methods return rollouts beyond those that there are. A sample
    without a scored rollout gets N.

    Args:
        cut: rollouts fewer, from 1 to N - 1. The paper's is not stated in what we read, so there is no default.
        rollouts: N.
        above: the pass rate above which rollouts are cut; 0.6 itself is not.

    Raises:
        RecipeError: an option does not fit.

    Source: DART, arXiv 2509.23866; N = 8 and 0.6 from a third party's notes on the paper. Its published code has a
    fixed N.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 8 + ["b"] * 8, [1] * 5 + [0] * 3 + [1] * 4 + [0] * 4)
    >>> Dart(cut=4)(stats)
    array([4, 8])
    """

    cut: int
    rollouts: int = 8
    above: float = 0.6

    def __post_init__(self) -> None:
        for name in ("cut", "rollouts"):
            options.whole(self, name, 1)
        options.number(self, "above", 0.0, 1.0)
        if self.cut >= self.rollouts:
            raise options.wrong(self, "cut", f"less than rollouts, {self.rollouts}")

    def __call__(self, stats: SampleStats) -> Ints:
        """Return the number of the next round's rollouts of each sample, (m,)."""
        often = stats.pass_rate > self.above  # NaN, unscored: no
        return np.where(often, self.rollouts - self.cut, self.rollouts)
