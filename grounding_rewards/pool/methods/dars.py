"""DARS: further rollouts for samples that are solved less than half of the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards.arrays import Ints
from grounding_rewards.plugins.named import ALLOCATION
from grounding_rewards.pool.methods import Method, setting
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers.options import Count


@dataclass(frozen=True)
class Dars(Method):
    """Further rollouts that bring the sum of a hard sample's advantages up to that of one solved half of the time.

    With N rollouts, of which a share a was right: S = 2 a (1 - a) and peak = N / 2, or with ``std``
    S = 2 sqrt(a (1 - a)) and peak = N. The sample gets min(ceil((peak - N S) / S), most - N) further rollouts, and with
    ``form="hardness"`` 2 (1 - a) peak in place of peak. A never-solved sample counts as a = 0.5 / N. One with
    a >= 0.5, one with N of ``most`` or more, and one without a scored rollout get none.

    Source: DARS, arXiv 2508.13755; the formula, its limits and both defaults of ``most`` are from its published code.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 8 + ["b"] * 8 + ["c"] * 8, [0] * 8 + [1] + [0] * 7 + [1] * 4 + [0] * 4)
    >>> Dars()(stats), Dars(form="hardness")(stats)
    (array([24, 11,  0]), array([56, 24,  0]))
    """

    kind = ALLOCATION

    form: Literal["equal", "hardness"] = setting("treat samples below 0.5 alike, or give the harder more", "equal")
    std: bool = setting("True where the trainer divides advantages by their standard deviation", False)
    rollouts: Count | None = setting("N; None for each sample's number of scored rollouts", None)
    most: Count | None = setting("the most rollouts of a sample, N among them; None: 32, or 64 of hardness", None)

    def __call__(self, stats: SampleStats) -> Ints:
        first = np.maximum(stats.n if self.rollouts is None else self.rollouts, np.ones(len(stats)))
        rate = stats.num_correct / np.maximum(stats.n, 1)
        rate = np.where(rate <= 1e-6, 0.5 / first, rate)
        hard = np.flatnonzero((stats.n > 0) & (rate < 0.5))
        first, rate = first[hard], rate[hard]
        signal, peak = 2.0 * rate * (1.0 - rate), first / 2.0
        if self.std:
            signal, peak = 2.0 * np.sqrt(rate * (1.0 - rate)), first
        if self.form == "hardness":
            peak = 2.0 * (1.0 - rate) * peak
        further = np.ceil((peak - first * signal) / signal - 1e-9)  # whole numbers that floats miss are not rounded up
        most = self.most or {"equal": 32, "hardness": 64}[self.form]
        numbers = np.zeros(len(stats), dtype=np.int64)
        numbers[hard] = np.clip(further, 0, np.maximum(most - first, 0))
        return numbers
