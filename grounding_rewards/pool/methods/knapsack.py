"""Knapsack RL: a budget of rollouts, one by one where the next one is worth most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.errors import PoolError
from grounding_rewards.plugins.named import ALLOCATION
from grounding_rewards.pool.methods import Method, in_name_order, setting
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Count, Range, Whole


@dataclass(frozen=True)
class Knapsack(Method):
    """A budget of rollouts, by the chance of a gradient times what it would teach, V(N) = (1 - p^N - q^N) p q².

    p is the share of right ones among the newest ``window`` rollouts, all of the newest round where it has more, and q
    = 1 - p. Every sample gets its least number: ``rollouts`` where fewer than ``measured`` were ever scored,
    ``unsolved`` at p = 0, ``solved`` at p = 1, else ``least``. What is left goes to those with 0 < p < 1, so that the
    sum of V is largest, each at most ``most`` and all together at most the sum of int(ln(1 - alpha) / ln(max(p, q))).
    What they cannot take goes evenly to them; the surplus goes evenly to samples at p = 0 or not measured, else to
    those at p = 1. Of equal values the earlier name comes first.

    Where all samples have 0 < p < 1 the source fails; here they get the surplus, too. The oldest round of a window
    that is only partly in it counts by its mean, for tables have no order within a round. A sample at p = 0 in a few
    rollouts counts as hard, as in the source.

    Source: Knapsack RL, arXiv 2509.25849 (its code at ca5d5f5, which solves the same problem by dynamic programming).

    >>> stats = SampleStats(np.array(list("abcd"), dtype=object), np.full(4, 8), np.array([2, 4, 6, 0]))
    >>> Knapsack(most=16)(stats)
    array([11,  7,  7,  7])
    """

    kind = ALLOCATION
    needs = ("history",)

    rollouts: Count = setting("rollouts of a sample on average", 8)
    budget: Whole | None = setting("rollouts of all samples together; None: rollouts times their number", None)
    least: Count = setting("the fewest rollouts of a sample that is sometimes solved", 2)
    unsolved: Whole = setting("rollouts of one at p = 0, before the surplus", 2)
    solved: Whole = setting("rollouts of one at p = 1", 2)
    most: Count = setting("the most rollouts of one that is sometimes solved", 128)
    alpha: Annotated[float, Range(0.01, 0.99)] = setting("the chance of a gradient that is enough for a sample", 0.9)
    window: Count = setting("rollouts that p is of", 16)
    measured: Count = setting("scored rollouts from which on p counts", 8)

    def __post_init__(self) -> None:
        super().__post_init__()
        options.number(self, "most", self.least, np.inf)

    def __call__(self, stats: SampleStats) -> Ints:
        order = in_name_order(stats)
        rounds = [stats.rounds(row) for row in order.tolist()]
        p = np.array([_newest(each, self.window) for each in rounds], dtype=np.float64)
        known = np.array([sum(n for n, _ in each) >= self.measured for each in rounds], dtype=np.bool_)
        mixed = known & (p > 0) & (p < 1)
        base = np.select([~known, p == 0, p == 1], [self.rollouts, self.unsolved, self.solved], self.least)
        budget = self.rollouts * len(p) if self.budget is None else self.budget
        left = int(budget - base.sum())
        if left < 0:
            raise PoolError(f"budget: got {budget}; expected {base.sum()} or more, the least numbers of all samples")
        hard = np.flatnonzero(~mixed & ~(known & (p == 1)))
        other = hard if len(hard) else np.flatnonzero(~mixed)
        worth = np.log(1.0 - self.alpha) / np.log(np.maximum(p[mixed], 1.0 - p[mixed]))
        spent = min(left, int(np.minimum(worth, self.most).astype(np.int64).sum())) if len(other) else left
        own = p[mixed]
        more = most_gained(
            lambda n: (1.0 - own**n - (1.0 - own) ** n) * own * (1.0 - own) ** 2, self.least, self.most, spent
        )
        base[mixed] += more + _evenly(spent - int(more.sum()), len(more))
        base[other] += _evenly(left - spent, len(other))
        numbers = np.zeros(len(stats), dtype=np.int64)
        numbers[order] = base
        return numbers


def _newest(rounds: tuple[tuple[int, int], ...], window: int) -> float:
    """Return the share of right rollouts in the newest round, or in as many rounds as hold a window; 0.0 of none."""
    right, n = 0.0, 0
    for scored, correct in reversed(rounds):
        taken = scored if n == 0 else min(scored, window - n)
        right, n = right + correct * (taken / scored), n + taken
        if n >= window:
            break
    return right / n if n else 0.0


def _evenly(total: int, samples: int) -> Ints:
    """Split a total evenly; the first ones get one more."""
    places = np.arange(samples)
    return total // max(samples, 1) + (places < total % max(samples, 1))


def most_gained(value: Callable[[int], Floats], least: int, most: int, spend: int) -> Ints:
    """Return how many units above ``least``, up to ``most``, each of m samples gets, for ``spend`` in all to gain most.

    ``value(n)`` are the (m,) values of n units, whose gains fall as n grows: one by one is then best. The first unit
    is worth the whole value behind it. Of equal gains the earlier sample comes first.
    """
    values = np.array([value(n) for n in range(least, most + 1)])
    gains = np.diff(values, axis=0)
    gains[:1] = values[1:2]
    samples = values.shape[1]
    order = np.argsort(-gains, axis=None, kind="stable")[:spend]
    return np.bincount(order % max(samples, 1), minlength=samples).astype(np.int64)
