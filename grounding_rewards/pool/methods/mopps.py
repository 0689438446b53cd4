"""MoPPS: a belief about each sample's pass rate, and the samples whose draw from it is nearest to a half."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.pool.draws import hashed, uniform
from grounding_rewards.pool.methods import Method, in_name_order, setting
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers.options import Count, Share, Whole


@dataclass(frozen=True)
class Mopps(Method):
    """1 for the ``batch`` samples whose pass rate, drawn from Beta(a, b), is nearest to ``target``, else 0.

    a and b begin at 1. Each round of n rollouts, r of them right, makes them L a + (1 - L) + r and L b + (1 - L) +
    n - r, with L = ``decay``; rounds without rollouts of a sample leave its belief. A draw depends on the seed, the
    round and the name alone; with ``drawn`` false it is the mean a / (a + b), our own form. Of equal distances the
    earlier name comes first.

    The source has two further rules of choice, and candidates that its loader shuffles: the samples here are all
    candidates. Its code sets a and b to 8 where a group has one rollout, which is not here.

    Source: MoPPS, arXiv 2507.04632 (its code at a883f51; also verl's recipe of that name).

    >>> histories = np.empty(4, dtype=object)
    >>> histories[:] = [((8, 2),), ((8, 2), (8, 4), (8, 8)), (), ((8, 5),)]
    >>> stats = SampleStats(np.array(list("abcd"), dtype=object), np.full(4, 8), np.full(4, 2), history=histories)
    >>> Mopps(batch=2, decay=0.5).belief(stats).T
    array([[ 3. ,  7. ],
           [11.5,  4.5],
           [ 1. ,  1. ],
           [ 6. ,  4. ]])
    >>> Mopps(batch=2, decay=0.5, drawn=False)(stats)
    array([0., 0., 1., 1.])
    """

    needs = ("history",)

    batch: Count = setting("number of samples to keep")
    target: Share = setting("the pass rate that is sought", 0.5)
    decay: Share = setting("L, what is kept of a belief from round to round", 1.0)
    drawn: bool = setting("draw from the belief; false: its mean", True)
    seed: Whole = setting("seed of the draw", 0)

    def belief(self, stats: SampleStats) -> Floats:
        """Return a and b of each sample, (2, m)."""
        belief = np.ones((2, len(stats)))
        for row in range(len(stats)):
            for n, right in stats.rounds(row):
                belief[:, row] = self.decay * belief[:, row] + (1.0 - self.decay) + (right, n - right)
        return belief

    def __call__(self, stats: SampleStats) -> Floats:
        from scipy.special import betaincinv

        a, b = self.belief(stats)
        rate = a / (a + b)
        if self.drawn:
            keys = hashed(stats.sample_id, self.seed, f"mopps {int(stats.round.max(initial=-1))}")
            rate = betaincinv(a, b, uniform(keys))
        order = in_name_order(stats)
        distance = np.round(np.abs(rate[order] - self.target), 12)  # 0.7 - 0.5 is not 0.5 - 0.3 in floats
        nearest = order[np.argsort(distance, kind="stable")[: self.batch]]
        weights = np.zeros(len(stats))
        weights[nearest] = 1.0
        return weights
