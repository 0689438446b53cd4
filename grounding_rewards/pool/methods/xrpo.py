"""XRPO: a budget of further rollouts for the samples whose mean is least certain, or that were tried least."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.errors import PoolError
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.plugins.named import ALLOCATION
from grounding_rewards.pool.methods import Method, in_name_order, setting
from grounding_rewards.pool.methods.learnability import outcome_variance
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Count, Length, Range, Whole

MOST_TURNS = 10_000_000
"""Turns of a budget; so many take some 15 seconds."""


@dataclass(frozen=True)
class Xrpo(Method):
    """A budget of further rollouts, each to the sample with the highest priority D + phi.

    With n rollouts whose scores have the standard deviation s (that of n - 1), h(n) = t s / sqrt(n) is half the width
    of the mean's interval, t being Student's quantile of 1 - alpha / 2 with n - 1 degrees of freedom. One more rollout
    takes D = h(n) - h(n + 1) off it, and phi = exploration · sqrt(ln(1 + total) / n). Every rollout raises n and leaves
    s. Of equal priorities the sample with fewer rollouts comes first, then the earlier name. A sample with fewer than
    two scored rollouts has no t: it comes before all others, by name, and gets what it lacks to two; its s is 0.

    Source: XRPO, arXiv 2510.06672; the formula is from a review, with which a third party's code agrees; no source
    states alpha, exploration and total. What samples with fewer than two rollouts get is our own form.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["half"] * 4 + ["once"] * 4 + ["never"] * 4, [1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    >>> xrpo = Xrpo(budget=3, alpha=0.05, exploration=0.1, total=12)
    >>> xrpo.priority(stats).round(4), xrpo(stats)
    (array([0.2819, 0.2549, 0.0801]), array([2, 1, 0]))
    """

    kind = ALLOCATION

    budget: Whole = setting("further rollouts of all samples together")
    alpha: Annotated[float, Range(1e-9, 1)] = setting("1 - the confidence of the intervals")
    exploration: Length = setting("the weight lambda of exploration")
    total: Length = setting("T in the logarithm: the number of steps, or of all rollouts so far")
    per_turn: Count = setting("rollouts that are allocated at a time", 1)
    of: Literal["acc", "total"] = setting("the scores that s is of", "acc")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget > MOST_TURNS * self.per_turn:
            raise options.wrong(self, "budget", f"{MOST_TURNS:,} turns at most: raise per_turn, {self.per_turn}")

    def priority(self, stats: SampleStats) -> Floats:
        """Return D + phi of each sample, (m,); infinite below two scored rollouts."""
        measured, priority = stats.n >= 2, np.full(len(stats), np.inf)
        priority[measured] = self._priority(stats.n[measured], self._deviations(stats)[measured])
        return priority

    def __call__(self, stats: SampleStats) -> Ints:
        if self.budget and not len(stats):
            raise PoolError(f"budget: got {self.budget}, and no sample to spend it on")
        order = in_name_order(stats)
        n, deviation = stats.n[order], self._deviations(stats)[order]
        lacking = np.maximum(2 - n, 0)
        further = np.clip(self.budget - (np.cumsum(lacking) - lacking), 0, lacking)
        further += self._turns(n + further, deviation, self.budget - int(further.sum()))
        numbers = np.zeros(len(stats), dtype=np.int64)
        numbers[order] = further
        return numbers

    def _turns(self, n: Ints, deviation: Floats, left: int) -> Ints:
        """Allocate what is left of the budget, turn by turn; samples are in the order of names."""
        further, turns = np.zeros(len(n), dtype=np.int64), -(-left // self.per_turn)
        if not turns:
            return further
        priority = self._priority(n, deviation)
        # No sample beyond the first ``turns`` can get a turn: one of these is untouched to the end.
        first = np.lexsort((n, -priority))[:turns]
        columns = (-priority[first], n[first], first, deviation[first])
        heap = list(zip(*(column.tolist() for column in columns), strict=True))
        heapq.heapify(heap)
        terms = cache(self._terms)
        for _ in range(turns):
            _, size, row, std = heap[0]
            more = min(self.per_turn, left)
            further[row] += more
            left -= more
            drop, phi = terms(size + more)
            heapq.heapreplace(heap, (-(std * drop + phi), size + more, row, std))
        return further

    def _priority(self, n: Ints, deviation: Floats) -> Floats:
        sizes, place = np.unique(n, return_inverse=True)  # quantiles are slow, and sizes few
        drop, phi = self._terms(sizes)
        priority: Floats = deviation * drop[place] + phi[place]
        return priority

    def _terms(self, n: Any) -> tuple[Any, Any]:
        """Return D of a standard deviation of 1, and phi, for n from 2."""
        from scipy.special import stdtrit

        # Half the width of Student's interval of a mean, t(1 - alpha / 2, n - 1) / sqrt(n). By the lower tail:
        # 1 - alpha / 2 would lose the digits of a small alpha.
        now, then = (-stdtrit(size - 1.0, self.alpha / 2.0) / np.sqrt(size) for size in (n, n + 1))
        return now - then, self.exploration * np.sqrt(np.log1p(self.total) / n)

    def _deviations(self, stats: SampleStats) -> Floats:
        """Return standard deviations of n - 1; 0 for fewer than two rollouts, and for equal scores."""
        variance = outcome_variance(stats) if self.of == "acc" else stats.variance
        for row in np.flatnonzero((stats.n > 0) & np.isnan(variance))[:1]:
            raise PoolError(f"{stats.named(row)}: its rollouts have no total; expected one in each, or of='acc'")
        deviation = np.sqrt(np.where(stats.n > 1, variance, 0.0) * (stats.n / np.maximum(stats.n - 1, 1)))
        return np.where(deviation > NO_SIGNAL, deviation, 0.0)
