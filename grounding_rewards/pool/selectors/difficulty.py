"""Selectors by difficulty: item response, a moving target, and the chance that a screening keeps a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError, RecipeError
from grounding_rewards.pool.selection.quotas import draw
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options

HARDEST = 100.0


@dataclass(frozen=True)
class ItemResponse:
    """4 a (1 - a) with the accuracy a = 1 - difficulty / 100 of an item response fit: most where half are right.

    The improvement that a rollout of accuracy a allows is at most in proportion to a (1 - a). Where ``learnability``
    takes the pass rate for a, this takes what a fit over several policies or rounds expects. 0 where the difficulty is
    unknown.

    Raises:
        PoolError: no sample has a difficulty, or one is not from 0 to 100.

    Source: SEELE, arXiv 2509.06923, section 4 (its text: the bound E[a (1 - a)] / (2 beta) on the descent of the loss);
    the scale of 0 to 1 and the use as a weight of samples are our own form.

    >>> from grounding_rewards.pool import SampleStats
    >>> four, difficulty = np.array([4, 4]), np.array([50.0, 90.0])
    >>> ItemResponse()(SampleStats(np.array(["a", "b"], dtype=object), four, four, item_difficulty=difficulty))
    array([1.  , 0.36])
    """

    low = 0.0
    high = 1.0

    def __call__(self, stats: SampleStats) -> Floats:
        accuracy = 1.0 - _checked(stats) / HARDEST
        known = ~np.isnan(accuracy)
        if len(known) and not known.any():
            raise PoolError(
                "no sample has a difficulty; `grounding-rewards pool stats ROLLOUTS --item-response policy --out FILE` "
                "measures it: select from FILE"
            )
        return np.where(known, np.clip(4.0 * accuracy * (1.0 - accuracy), 0.0, 1.0), 0.0)


@dataclass(frozen=True)
class MovingTarget:
    """1 for the ``batch`` samples whose difficulty d is nearest to a target T, else 0: AdaRFT's curriculum.

    d is ``item_difficulty`` where it is known, else 100 (1 - pass rate); a sample with neither is left out. Samples at
    equal distance are drawn by the seed and their names. Fewer samples than the batch stay all. Nothing is remembered:
    while T stays, so does the choice.

    Args:
        batch: number of samples to keep, from 1.
        target: T, from ``easiest`` to ``hardest``; of an earlier round where ``mean_reward`` is there.
        mean_reward: the mean reward of the last batch, from 0 to 1, by which ``next_target`` moves T; None: T stays.
        beta: see ``next_target``, like the others.
        alpha: see there.
        eta: see there.
        easiest: see there.
        hardest: see there.
        seed: seed of draws among samples at equal distance.

    Raises:
        RecipeError: an option does not fit; names it.
        PoolError: a difficulty is not from 0 to 100.

    Source: AdaRFT, arXiv 2504.05520 (its code, the defaults too; there ties fall as they are sorted).

    >>> from grounding_rewards.pool import SampleStats
    >>> names, ten = np.array(list("abcd"), dtype=object), np.full(4, 10)
    >>> nearest = MovingTarget(batch=2, target=0, mean_reward=0.75)
    >>> nearest(SampleStats(names, ten, np.array([10, 8, 4, 1])))  # difficulties 0, 20, 60, 90; T = 23.1
    array([1., 1., 0., 0.])
    """

    batch: int
    target: float = 0.0
    mean_reward: float | None = None
    beta: float = 0.5
    alpha: float = 2.0
    eta: float = 50.0
    easiest: float = 0.0
    hardest: float = HARDEST
    seed: int = 0

    low = 0.0
    high = 1.0

    def __post_init__(self) -> None:
        options.whole(self, "batch", 1)
        options.whole(self, "seed", 0)
        options.number(self, "easiest", 0.0, HARDEST)
        options.number(self, "hardest", self.easiest, HARDEST, above=True)
        options.number(self, "target", self.easiest, self.hardest)
        options.number(self, "alpha")
        options.number(self, "eta")
        options.number(self, "beta", 0.0, 1.0)
        if self.mean_reward is not None:
            _check_reward(self.mean_reward, f"{type(self).__name__}(mean_reward=)")

    def __call__(self, stats: SampleStats) -> Floats:
        difficulty = _checked(stats)
        difficulty = np.where(np.isnan(difficulty), HARDEST * (1.0 - stats.pass_rate), difficulty)
        # Rounded, for 100 (1 - 0.7) is not 30 in floats, and equal distances are drawn.
        distance = np.round(np.abs(difficulty - self._target()), 9)
        known = np.flatnonzero(~np.isnan(distance))
        weights = np.zeros(len(stats))
        if len(known) <= self.batch:
            weights[known] = 1.0
            return weights
        furthest = np.partition(distance[known], self.batch - 1)[self.batch - 1]
        tied = np.flatnonzero(distance == furthest)
        nearer = distance < furthest
        weights[nearer] = 1.0
        count = self.batch - int(nearer.sum())
        weights[tied[draw(stats.sample_id[tied], count, seed=self.seed, purpose="moving_target")]] = 1.0
        return weights

    def _target(self) -> float:
        if self.mean_reward is None:
            return self.target
        return next_target(
            self.target, self.mean_reward, beta=self.beta, alpha=self.alpha, eta=self.eta, easiest=self.easiest,
            hardest=self.hardest,
        )  # fmt: skip


def next_target(
    target: float,
    mean_reward: float,
    *,
    beta: float = 0.5,
    alpha: float = 2.0,
    eta: float = 50.0,
    easiest: float = 0.0,
    hardest: float = HARDEST,
) -> float:
    """Return the next target difficulty: T + eta tanh(alpha (R - beta)), within ``easiest`` and ``hardest``.

    Args:
        target: T, the difficulty of this batch's samples.
        mean_reward: R, the mean reward of the batch, from 0 to 1.
        beta: the mean reward at which the target stays.
        alpha: sensitivity to the reward.
        eta: the largest step.
        easiest: the lowest target.
        hardest: the highest target.

    Raises:
        RecipeError: the mean reward is not a number from 0 to 1, another argument is no finite number, or
            ``easiest`` is above ``hardest``.

    Source: AdaRFT, arXiv 2504.05520 (its code).

    >>> round(next_target(0, 0.75), 3), round(next_target(23.106, 1.0), 3)
    (23.106, 61.186)
    """
    _check_reward(mean_reward, "mean_reward")
    numbers = {"target": target, "beta": beta, "alpha": alpha, "eta": eta, "easiest": easiest, "hardest": hardest}
    for name, value in numbers.items():
        if not options.is_number(value) or (name == "easiest" and value > hardest):
            raise RecipeError(f"{name}: got {value!r:.80}; expected a finite number, easiest at most hardest")
    return float(min(max(target + eta * math.tanh(alpha * (mean_reward - beta)), easiest), hardest))


@dataclass(frozen=True)
class Screening:
    """1 - p^n - (1 - p)^n: the chance that n rollouts of a sample with pass rate p are neither all right nor all wrong.

    SPEED's screening: n rollouts first, and the rest only of samples that pass. 0 where all rollouts agreed, and where
    none was scored. Most at p = 0.5, and flatter than ``learnability``.

    Args:
        rollouts: n of the screening, from 2; 4 as published.

    Raises:
        RecipeError: it is not a whole number from 2.

    Source: SPEED-RL, Zanette-Labs (4 is from its published script; the formula follows from its rule).

    >>> from grounding_rewards.pool import sample_stats
    >>> Screening()(sample_stats(["a"] * 4 + ["b"] * 4, [1, 0, 0, 0, 1, 1, 0, 0])).round(4)
    array([0.6797, 0.875 ])
    """

    rollouts: int = 4

    low = 0.0
    high = 1.0

    def __post_init__(self) -> None:
        options.whole(self, "rollouts", 2)

    def __call__(self, stats: SampleStats) -> Floats:
        right = np.where(stats.mixed, stats.num_correct / np.maximum(stats.n, 1), 0.5)
        # log1p and expm1: of a small pass rate the plain difference would be rounding alone.
        chance = -np.expm1(self.rollouts * np.log1p(-right)) - right**self.rollouts
        return np.where(stats.mixed, np.clip(chance, 0.0, 1.0), 0.0)


def _check_reward(value: object, label: str) -> None:
    if not options.is_number(value) or not 0.0 <= value <= 1.0:  # type: ignore[operator]
        raise RecipeError(
            f"{label}: got {value!r:.80}; expected a number from 0 to 1, for the target rises where the mean reward is "
            "above beta, a reward in this range: scale other rewards first"
        )


def _checked(stats: SampleStats) -> Floats:
    """Return the difficulties, NaN where unknown."""
    difficulty = stats.item_difficulty
    for row in np.flatnonzero(~(np.isnan(difficulty) | ((difficulty >= 0) & (difficulty <= HARDEST))))[:1]:
        raise PoolError(f"item_difficulty of {stats.named(row)}: got {difficulty[row]:g}; expected 0 to 100, or none")
    return difficulty
