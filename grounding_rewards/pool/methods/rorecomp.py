"""RoRecomp: short right and long wrong rollouts first, and the rest later, in batches of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from grounding_rewards.plugins.named import CHOICE
from grounding_rewards.pool.draws import hashed
from grounding_rewards.pool.methods import Choice, Method, setting
from grounding_rewards.pool.rollouts import RolloutColumns, groups, moments, need, ranks
from grounding_rewards.verifiers.options import Count, Part, Share, Whole


@dataclass(frozen=True)
class RoRecomp(Method):
    """All rollouts, with the column ``batch``: "priority", "compensation-1", "compensation-2", ... or "rest".

    A group's (of one round and step) right rollouts are sorted by length up, its wrong ones by length down, and the
    first ceil(alpha · size) of each go into the priority batch. All others go into a buffer, by round, step, sample and
    number; each time that it is full it is emptied into the next compensation batch, which is trained on with the
    probability ``compensation``. "rest" is what stays in the buffer, what a batch that is not trained on held, and what
    was not scored. Equal lengths keep the order of the rollouts' numbers.

    Source: RoRecomp, arXiv 2509.25958, from its abstract and reviews, which name no value of the three arguments. The
    rounding, the size and the names of compensation batches, and groups that are all right or all wrong are our own
    form.

    >>> acc, length = np.repeat([1.0, 0.0], 4), np.array([10.0, 20, 30, 40, 50, 40, 15, 5])
    >>> rollouts = RolloutColumns(np.array(["a"], dtype=object), np.zeros(8, int), acc, token_length=length)
    >>> [name[:5] for name in RoRecomp(alpha=0.5, buffer=3, compensation=1)(rollouts).columns["batch"]]
    ['prior', 'prior', 'compe', 'compe', 'prior', 'prior', 'compe', 'rest']
    """

    kind, needs = CHOICE, ("token_length",)

    alpha: Part = setting("the share of the right and of the wrong rollouts of a group")
    buffer: Count = setting("the number of rollouts in a compensation batch")
    compensation: Share = setting("the probability of a compensation batch; a smaller one leaves out batches")
    seed: Whole = setting("decides which batches are left out", 0)

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        scored = ~np.isnan(rollouts.acc)
        need(rollouts, "token_length", scored)
        places = np.flatnonzero(scored)
        right, length = rollouts.acc[places] == 1, rollouts.token_length[places]
        kind = 2 * groups(rollouts)[places] + right
        sizes, size = np.unique(np.bincount(kind), return_inverse=True)
        # As it is written, for 0.14 · 50 is more than 7 in floats.
        firsts = np.array([math.ceil(Fraction(str(self.alpha)) * count) for count in sizes.tolist()], dtype=np.int64)
        first = ranks(kind, np.where(right, length, -length)) < firsts[size][kind]
        waiting = places[~first]
        waiting = waiting[np.argsort(moments(rollouts)[waiting], kind="stable")]
        full = len(waiting) // self.buffer
        keys = hashed(range(1, full + 1), self.seed, "compensation")
        trained = (keys >> np.uint64(11)) * 2.0**-53 < self.compensation  # 0 to below 1
        names = [f"compensation-{place + 1}" if each else "rest" for place, each in enumerate(trained.tolist())]
        batch = np.full(len(rollouts), "rest", dtype=np.object_)
        batch[places[first]] = "priority"
        batch[waiting] = np.array([*names, "rest"], dtype=np.object_)[
            np.minimum(np.arange(len(waiting)) // self.buffer, full)
        ]
        return Choice(np.arange(len(rollouts)), {"batch": batch})
