"""DART: fewer rollouts for what is solved often; right and wrong ones in proportion, a stored success, open steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.errors import PoolError
from grounding_rewards.groups.blocks import by_size
from grounding_rewards.plugins.named import ALLOCATION, CHOICE
from grounding_rewards.pool.methods import Choice, Method, setting
from grounding_rewards.pool.rollouts import RolloutColumns, need, random_keys, ranks
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Count, Range, Share, Whole

RIGHT = 0.8
"""Totals above it are right in the published script; wrong is a total of 0."""


@dataclass(frozen=True)
class Dart(Method):
    """The number of all rollouts of the next round: N, and N - cut where more than a share ``above`` was right.

    Source: DART, arXiv 2509.23866; N = 8 and 0.6 from a third party's notes, which name no cut. Its code has a fixed N.

    >>> from grounding_rewards.pool import sample_stats
    >>> stats = sample_stats(["a"] * 8 + ["b"] * 8, [1] * 5 + [0] * 3 + [1] * 4 + [0] * 4)
    >>> Dart(cut=4)(stats)
    array([4, 8])
    """

    kind = ALLOCATION

    cut: Count = setting("rollouts fewer, below N")
    rollouts: Count = setting("N", 8)
    above: Share = setting("the pass rate above which rollouts are cut", 0.6)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cut >= self.rollouts:
            raise options.wrong(self, "cut", f"less than rollouts, {self.rollouts}")

    def __call__(self, stats: SampleStats) -> Ints:
        return np.where(stats.pass_rate > self.above, self.rollouts - self.cut, self.rollouts)  # NaN, unscored: no


@dataclass(frozen=True)
class DartProportional(Method):
    """Up to ``keep`` rollouts of a sample, as many of them right as among all: those neither too easy nor too hard.

    Of n rollouts with k right ones: k = 0, up to ``keep`` wrong ones; low <= k / n <= high, ceil(keep · k / n) right
    ones and the rest wrong ones; otherwise none. They are drawn at random, by the seed and their names. Where there are
    fewer of one kind, nothing fills up. A sample's rollouts of all rounds count together; what is neither right nor
    wrong counts in n and is not kept, and what was not scored does not count.

    Source: DART, arXiv 2509.23866, from its code (filter_trajectories_proportional.py); n counts all trajectories.

    >>> rollouts = RolloutColumns(np.array(["a"], dtype=object), np.zeros(20, int), np.repeat([1.0, 0.0], [5, 15]))
    >>> kept = DartProportional()(rollouts).kept
    >>> len(kept), int((kept < 5).sum())
    (8, 2)
    """

    kind, samples_apart = CHOICE, True

    keep: Count = setting("rollouts of a sample", 8)
    low: Share = setting("the least share of right rollouts of a sample that has some", 0.125)
    high: Share = setting("the largest", 0.875)
    by: Literal["acc", "total"] = setting("acc of 1 and 0, or the script's total, above 0.8 and 0", "acc")
    seed: Whole = setting("of the draw", 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        options.number(self, "high", low=self.low, high=1.0)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("total",) if self.by == "total" else ()

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        scores = rollouts.acc if self.by == "acc" else rollouts.total
        right = scores == 1 if self.by == "acc" else scores > RIGHT
        counts = [
            np.bincount(rollouts.sample[rows], minlength=len(rollouts.sample_id)) for rows in (right, ~np.isnan(scores))
        ]
        of_right, scored = counts[0], np.maximum(counts[1], 1)
        places = np.flatnonzero(right | (scores == 0))
        right, sample = right[places], rollouts.sample[places]
        wanted = (of_right == 0) | ((self.low <= of_right / scored) & (of_right / scored <= self.high))
        first = -(-self.keep * of_right // scored)  # rounded up, in whole numbers: exact
        numbers = np.stack((self.keep - first, first), axis=1) * wanted[:, None]
        rank = ranks(2 * sample + right, random_keys(rollouts, self.seed, "dart")[places])
        return Choice(places[rank < numbers[sample, right.astype(np.int64)]])


@dataclass(frozen=True)
class DartStored(Method):
    """The latest round's rollouts, and one stored success beside them where all of a sample's failed.

    The stored success is a right rollout of the latest earlier round that has one, the one with the lowest number. It
    keeps its own round. Adds the column ``stored``: 1 for stored successes, 0 for all others.

    Source: DART, arXiv 2509.23866, from a note on it (one stored success if all fail); which one is our own form.

    >>> times = {"round": np.array([1, 1, 2, 2]), "rollout": np.array([0, 1, 0, 1])}
    >>> rollouts = RolloutColumns(np.array(["a"], dtype=object), np.zeros(4, int), np.array([0.0, 1, 0, 0]), **times)
    >>> choice = DartStored()(rollouts)
    >>> choice.kept, choice.columns["stored"]
    (array([1, 2, 3]), array([1, 0, 0]))
    """

    kind, needs = CHOICE, ("round",)

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        need(rollouts, "round")
        if len(rollouts) and rollouts.round.min() == rollouts.round.max():
            raise PoolError(
                f"round: got {rollouts.round[0]} alone; expected earlier rounds, which hold stored successes"
            )
        latest, samples = rollouts.round == rollouts.round.max(initial=-1), len(rollouts.sample_id)
        scored = np.bincount(rollouts.sample[latest & ~np.isnan(rollouts.acc)], minlength=samples)
        right = np.bincount(rollouts.sample[latest & (rollouts.acc == 1)], minlength=samples)
        failed = (scored > 0) & (right == 0)
        stored = np.flatnonzero(~latest & (rollouts.acc == 1) & failed[rollouts.sample])
        stored = stored[ranks(rollouts.sample[stored], -rollouts.round[stored], rollouts.rollout[stored]) == 0]
        kept = np.sort(np.concatenate((np.flatnonzero(latest), stored)))
        return Choice(kept, {"stored": (~latest[kept]).astype(np.int64)})


@dataclass(frozen=True)
class DartSteps(Method):
    """Rollouts, each one step of a trajectory, whose entropy is at least a percentile of that of all.

    The percentile lies between the two nearest entropies where it falls between them. Equal entropies are all kept.

    Source: DART, arXiv 2509.23866, from a note on it (steps from the 20th percentile on, of the mean entropy of the
    tokens of thought and action), which does not say over what.

    >>> entropy = np.array([0.1, 0.5, 0.5, 0.7, 0.9])
    >>> rollouts = RolloutColumns(np.array(["a"], dtype=object), np.zeros(5, int), np.ones(5), entropy=entropy)
    >>> DartSteps(over="all")(rollouts).kept  # the percentile is 0.42
    array([1, 2, 3, 4])
    """

    kind = CHOICE

    over: Literal["all", "trajectory", "sample"] = setting("the rollouts that are compared, of all rounds in each")
    percentile: Annotated[float, Range(0, 100)] = setting("0 keeps all", 20.0)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("entropy", "trajectory") if self.over == "trajectory" else ("entropy",)

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        for name in self.needs:
            need(rollouts, name)
        group = np.zeros(len(rollouts), dtype=np.int64) if self.over == "all" else getattr(rollouts, self.over)
        return Choice(np.flatnonzero(rollouts.entropy >= _percentiles(rollouts.entropy, group, self.percentile)))


def _percentiles(values: Floats, group: Ints, percentile: float) -> Floats:
    """Return the percentile of the values of each row's group."""
    limits = np.empty(len(values))
    for rows in by_size(group, np.arange(len(values))):
        ordered, size = np.sort(values[rows], axis=1), rows.shape[1]
        place = (size - 1) * percentile / 100
        below = math.floor(place)
        lower, upper = ordered[:, below, None], ordered[:, min(below + 1, size - 1), None]
        limits[rows] = np.minimum(lower + (upper - lower) * (place - below), upper)  # rounding shall not pass upper
    return limits
