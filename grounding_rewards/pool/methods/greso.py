"""GRESO: skip, mostly, samples whose last rounds were all right or all wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.pool.draws import hashed, uniform
from grounding_rewards.pool.methods import Method, setting
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers.options import Share, Whole


@dataclass(frozen=True)
class Greso(Method):
    """1 for samples that are rolled out again, 0 for those that a draw skips; with ``drawn`` false the chance to stay.

    z is the number of rounds at the end of a sample's history that were all right, or all wrong. It stays with the
    chance max(p^z, 0.01), p being ``easy`` or ``hard``, and surely at z = 0 or without a history. The draw depends on
    the seed, the round and the name alone. ``next_chance`` moves p between rounds; a file keeps it for the next one.

    The source also calls a mean of 0.98 and above all right, and of up to 0.11 all wrong, for its rewards have a term
    for the form; here rounds are counted by ``acc``.

    Source: GRESO, arXiv 2506.02177 (its code at b277843).

    >>> histories = np.empty(3, dtype=object)
    >>> histories[:] = [((8, 3), (8, 8)), ((8, 0),) * 3, ((8, 8), (8, 5))]
    >>> stats = SampleStats(np.array(list("abc"), dtype=object), np.full(3, 24), np.full(3, 9), history=histories)
    >>> Greso(drawn=False)(stats)
    array([0.5  , 0.125, 1.   ])
    """

    needs = ("history",)

    easy: Share = setting("p of rounds that were all right", 0.5)
    hard: Share = setting("p of rounds that were all wrong", 0.5)
    least: Share = setting("the least chance to stay", 0.01)
    drawn: bool = setting("draw; false: the chances as weights", True)
    seed: Whole = setting("seed of the draw", 0)

    def __call__(self, stats: SampleStats) -> Floats:
        stay = np.array([self._stays(stats.rounds(row)) for row in range(len(stats))], dtype=np.float64)
        if not self.drawn:
            return stay
        keys = hashed(stats.sample_id, self.seed, f"greso {int(stats.round.max(initial=-1))}")
        return (uniform(keys) < stay).astype(np.float64)

    def _stays(self, rounds: tuple[tuple[int, int], ...]) -> float:
        if not rounds or 0 < rounds[-1][1] < rounds[-1][0]:
            return 1.0
        solved, z = rounds[-1][1] > 0, 0
        for n, right in reversed(rounds):
            if right != (n if solved else 0):
                break
            z += 1
        return max((self.easy if solved else self.hard) ** z, self.least)


def next_chance(chance: float, share: float, target: float, step: float = 0.01) -> float:
    """Return p of the next round: ``step`` less where the share of such groups is at the target or above, else more.

    ``share`` is that of all right, or all wrong, groups among those rolled out; the source's targets are 1/12 and 1/6.
    It stays from 0.05 to 0.95.

    >>> next_chance(0.5, 0.10, 1 / 12), next_chance(0.5, 0.12, 1 / 6)
    (0.49, 0.51)
    """
    return min(max(chance - step if share >= target else chance + step, 0.05), 0.95)
