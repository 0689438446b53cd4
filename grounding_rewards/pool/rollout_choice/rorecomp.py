"""RoRecomp: short right and long wrong rollouts first, and the rest later, in batches of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Ints
from grounding_rewards.pool.rollout_choice.columns import RolloutColumns
from grounding_rewards.pool.rollout_choice.grouping import groups, moments, need, ranks
from grounding_rewards.pool.rollout_choice.protocol import Choice
from grounding_rewards.pool.selection.quotas import hashed
from grounding_rewards.verifiers import options

_REST, _PRIORITY = 0, 1
_FIRST = 2
"""Numbers of batches in ``_batches``: that of the first compensation batch."""


@dataclass(frozen=True)
class RoRecomp:
    """All rollouts, with the column ``batch``: "priority", "compensation-1", "compensation-2", ... or "rest".

    A group is a sample's rollouts of one round and one step of the trainer. Its right ones are sorted by length up, its
    wrong ones by length down, and the first ceil(alpha · size) of each go into the priority batch. All others go into a
    buffer, by round, step, sample and number; each time that it is full it is emptied into the next compensation batch,
    which is trained on with the probability ``compensation``. "rest" is what stays in the buffer, what a batch that is
    not trained on held, and what was not scored. A group that is all right or all wrong is treated like others. Equal
    lengths keep the order of the rollouts' numbers.

    Args:
        alpha: the share of the right and of the wrong rollouts of a group, above 0 to 1.
        buffer: the number of rollouts in a compensation batch, from 1.
        compensation: the probability of a compensation batch, 0 to 1. A smaller one leaves out batches, and the others
            keep their rollouts and names.
        seed: decides which batches are left out.

    Raises:
        RecipeError: an argument does not fit.
        PoolError: a scored rollout has no token_length.

    Source: RoRecomp, arXiv 2509.25958, from its abstract and reviews, which name no value of the three arguments. The
    rounding, the size and the names of compensation batches, and groups that are all right or all wrong are our own
    form.

    >>> acc, length = np.repeat([1.0, 0.0], 4), np.array([10.0, 20, 30, 40, 50, 40, 15, 5])
    >>> rollouts = RolloutColumns(np.array(["a"], dtype=object), np.zeros(8, int), acc, token_length=length)
    >>> RoRecomp(alpha=0.5, buffer=3, compensation=1)(rollouts).columns["batch"].tolist()
    ... # doctest: +NORMALIZE_WHITESPACE
    ['priority', 'priority', 'compensation-1', 'compensation-1', 'priority', 'priority', 'compensation-1', 'rest']
    """

    alpha: float
    buffer: int
    compensation: float
    seed: int = 0

    needs = ("token_length",)

    def __post_init__(self) -> None:
        options.number(self, "alpha", high=1.0, above=True)
        options.whole(self, "buffer", 1)
        options.number(self, "compensation", high=1.0)
        options.whole(self, "seed", 0)

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        """Keep all rollouts, and name the batch of each."""
        scored = ~np.isnan(rollouts.acc)
        need(rollouts, "token_length", scored)
        batch = np.full(len(rollouts), _REST)
        batch[self._first(rollouts, np.flatnonzero(scored))] = _PRIORITY
        waiting = np.flatnonzero(scored & (batch != _PRIORITY))
        waiting = waiting[np.argsort(moments(rollouts)[waiting], kind="stable")]
        names = self._batches(len(waiting) // self.buffer)
        numbers = _FIRST + np.arange(len(waiting)) // self.buffer
        batch[waiting] = np.where(numbers < len(names), numbers, _REST)
        return Choice(np.arange(len(rollouts)), {"batch": names[batch]})

    def _first(self, rollouts: RolloutColumns, places: Ints) -> Ints:
        """Return the places of those that go first, of the scored ones."""
        right, length = rollouts.acc[places] == 1, rollouts.token_length[places]
        kind = 2 * groups(rollouts)[places] + right
        sizes, size = np.unique(np.bincount(kind), return_inverse=True)
        # As it is written, for 0.14 · 50 is more than 7 in floats.
        firsts = np.array([math.ceil(Fraction(str(self.alpha)) * count) for count in sizes.tolist()], dtype=np.int64)
        first: Ints = places[ranks(kind, np.where(right, length, -length)) < firsts[size][kind]]
        return first

    def _batches(self, full: int) -> NDArray[np.object_]:
        """Return the names of the batches by their numbers; those that are not trained on are called "rest"."""
        keys = hashed(range(1, full + 1), self.seed, "compensation")
        trained = (keys >> np.uint64(11)) * 2.0**-53 < self.compensation  # 0 to below 1
        names = [f"compensation-{place + 1}" if each else "rest" for place, each in enumerate(trained.tolist())]
        return np.array(["rest", "priority", *names], dtype=np.object_)
