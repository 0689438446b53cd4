"""DART's rules for rollouts: right and wrong ones in proportion, a stored success, steps picked by entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.errors import PoolError
from grounding_rewards.groups.blocks import by_size
from grounding_rewards.pool.rollout_choice.columns import RolloutColumns
from grounding_rewards.pool.rollout_choice.grouping import need, random_keys, ranks
from grounding_rewards.pool.rollout_choice.protocol import Choice
from grounding_rewards.verifiers import options

RIGHT = 0.8
"""Totals above it are right in the published script; wrong is a total of 0."""

Judged = Literal["acc", "total"]
Scope = Literal["all", "trajectory", "sample"]


@dataclass(frozen=True)
class DartProportional:
    """Up to ``keep`` rollouts of a sample, as many of them right as among all: those neither too easy nor too hard.

    Of n rollouts with k right ones: k = 0, up to ``keep`` wrong ones; low <= k / n <= high, ceil(keep · k / n) right
    ones and the rest wrong ones; otherwise none. They are drawn at random, by the seed and their names. Where there are
    fewer of one kind, nothing fills up. A sample's rollouts of all rounds count together.

    Args:
        keep: rollouts of a sample.
        low: the least share of right rollouts of a sample that has some.
        high: the largest.
        by: "acc", where 1 is right and 0 wrong, or the script's "total", where above 0.8 is right and 0 wrong; others
            count in n and are not kept. Rollouts that were not scored do not count.
        seed: of the draw.

    Raises:
        RecipeError: an argument does not fit.

    Source: DART, arXiv 2509.23866, from its code (filter_trajectories_proportional.py); n counts all trajectories.

    >>> rollouts = RolloutColumns(np.array(["a"], dtype=object), np.zeros(20, int), np.repeat([1.0, 0.0], [5, 15]))
    >>> kept = DartProportional()(rollouts).kept
    >>> len(kept), int((kept < 5).sum())
    (8, 2)
    """

    keep: int = 8
    low: float = 0.125
    high: float = 0.875
    by: Judged = "acc"
    seed: int = 0

    samples_apart = True

    def __post_init__(self) -> None:
        options.whole(self, "keep", 1)
        options.whole(self, "seed", 0)
        options.number(self, "low", high=1.0)
        options.number(self, "high", low=self.low, high=1.0)
        options.choice(self, "by", Judged)

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the columns that it reads."""
        return ("total",) if self.by == "total" else ()

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        """Keep right and wrong rollouts in proportion."""
        judged = rollouts.acc if self.by == "acc" else rollouts.total
        right, samples = judged == 1 if self.by == "acc" else judged > RIGHT, len(rollouts.sample_id)
        counted = np.bincount(rollouts.sample[~np.isnan(judged)], minlength=samples)
        numbers = self._numbers(np.bincount(rollouts.sample[right], minlength=samples), counted)
        places = np.flatnonzero(right | (judged == 0))
        right, sample = right[places], rollouts.sample[places]
        keys = random_keys(rollouts, self.seed, "dart")[places]
        rank = ranks(2 * sample + right, keys)
        return Choice(places[rank < numbers[sample, right.astype(np.int64)]])

    def _numbers(self, right: Ints, scored: Ints) -> Ints:
        """Return how many wrong and how many right rollouts of each sample to keep: (m, 2)."""
        scored = np.maximum(scored, 1)
        rate = right / scored
        wanted = (right == 0) | ((self.low <= rate) & (rate <= self.high))
        of_right = -(-self.keep * right // scored)  # rounded up, in whole numbers: exact
        numbers: Ints = np.stack((self.keep - of_right, of_right), axis=1) * wanted[:, None]
        return numbers


@dataclass(frozen=True)
class DartStored:
    """The latest round's rollouts, and one stored success beside them where all of a sample's failed.

    A sample failed where none of its rollouts of the table's latest round is right, and at least one was scored. Its
    stored success is a right rollout of an earlier round of the same table: of the latest such round, the one with the
    lowest number. A sample without an earlier success keeps what it has; one without rollouts in the latest round has
    none. Adds the column ``stored``: 1 for stored successes, 0 for all others.

    A stored success keeps its own round, so methods that group by round count it apart; trainers that group by sample
    do not.

    Raises:
        PoolError: a rollout has no round, or all are of one.

    Source: DART, arXiv 2509.23866, from a note on it (one stored success if all fail); which one is our own form.

    >>> times = {"round": np.array([1, 1, 2, 2]), "rollout": np.array([0, 1, 0, 1])}
    >>> rollouts = RolloutColumns(np.array(["a"], dtype=object), np.zeros(4, int), np.array([0.0, 1, 0, 0]), **times)
    >>> choice = DartStored()(rollouts)
    >>> choice.kept, choice.columns["stored"]
    (array([1, 2, 3]), array([1, 0, 0]))
    """

    needs = ("round",)

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        """Keep the latest round, and stored successes."""
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
class DartSteps:
    """Rollouts, each one step of a trajectory, whose entropy is at least a percentile of that of all.

    The percentile lies between the two nearest entropies where it falls between them. Equal entropies are all kept.

    Args:
        over: the rollouts that are compared, which is not known of the published rule: "all" of the table, those of
            their "trajectory", or those of their "sample"; of all rounds in each.
        percentile: 0 to 100; 0 keeps all.

    Raises:
        RecipeError: an argument does not fit.
        PoolError: a rollout has no entropy, or no trajectory where ``over`` asks for one.

    Source: DART, arXiv 2509.23866, from a note on it (steps from the 20th percentile on, of the mean entropy of the
    tokens of thought and action).

    >>> entropy = np.array([0.1, 0.5, 0.5, 0.7, 0.9])
    >>> rollouts = RolloutColumns(np.array(["a"], dtype=object), np.zeros(5, int), np.ones(5), entropy=entropy)
    >>> DartSteps(over="all")(rollouts).kept  # the percentile is 0.42
    array([1, 2, 3, 4])
    """

    over: Scope
    percentile: float = 20.0

    def __post_init__(self) -> None:
        options.choice(self, "over", Scope)
        options.number(self, "percentile", high=100.0)

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the columns that it reads."""
        return ("entropy", "trajectory") if self.over == "trajectory" else ("entropy",)

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        """Keep rollouts of high entropy."""
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
