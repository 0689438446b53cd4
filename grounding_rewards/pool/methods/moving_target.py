"""AdaRFT: the samples nearest to a difficulty that follows the mean reward."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import RecipeError
from grounding_rewards.pool.draws import draw
from grounding_rewards.pool.methods import Method, setting
from grounding_rewards.pool.methods.learnability import HARDEST, difficulties
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.verifiers import options
from grounding_rewards.verifiers.options import Count, Length, Range, Share, Whole


@dataclass(frozen=True)
class MovingTarget(Method):
    """1 for the ``batch`` samples whose difficulty d is nearest to a target T, else 0.

    d is ``item_difficulty`` where it is known, else 100 (1 - pass rate); a sample with neither is left out. Samples at
    equal distance are drawn by the seed and their names. Nothing is remembered: while T stays, so does the choice.

    Source: AdaRFT, arXiv 2504.05520 (its code, the defaults too; there ties fall as they are sorted).

    >>> names, ten = np.array(list("abcd"), dtype=object), np.full(4, 10)
    >>> nearest = MovingTarget(batch=2, target=0, mean_reward=0.75)
    >>> nearest(SampleStats(names, ten, np.array([10, 8, 4, 1])))  # difficulties 0, 20, 60, 90; T = 23.1
    array([1., 1., 0., 0.])
    """

    batch: Count = setting("number of samples to keep")
    target: Length = setting("T, from easiest to hardest; of an earlier round where mean_reward is there", 0.0)
    mean_reward: Share | None = setting("the mean reward of the last batch, which moves T; None: T stays", None)
    beta: Share = setting("the mean reward at which the target stays", 0.5)
    alpha: Length = setting("sensitivity to the reward", 2.0)
    eta: Length = setting("the largest step", 50.0)
    easiest: Annotated[float, Range(0, HARDEST)] = setting("the lowest target", 0.0)
    hardest: Annotated[float, Range(0, HARDEST)] = setting("the highest target", HARDEST)
    seed: Whole = setting("seed of draws among samples at equal distance", 0)

    def __post_init__(self) -> None:
        if self.mean_reward is not None:
            _check_reward(self.mean_reward, f"{type(self).__name__}(mean_reward=)")
        options.number(self, "easiest", 0.0, HARDEST)
        options.number(self, "hardest", self.easiest, HARDEST, above=True)
        options.number(self, "target", self.easiest, self.hardest)
        super().__post_init__()

    def __call__(self, stats: SampleStats) -> Floats:
        difficulty = difficulties(stats)
        difficulty = np.where(np.isnan(difficulty), HARDEST * (1.0 - stats.pass_rate), difficulty)
        target = self.target if self.mean_reward is None else next_target(
            self.target, self.mean_reward, beta=self.beta, alpha=self.alpha, eta=self.eta, easiest=self.easiest,
            hardest=self.hardest,
        )  # fmt: skip
        # Rounded, for 100 (1 - 0.7) is not 30 in floats, and equal distances are drawn.
        distance = np.round(np.abs(difficulty - target), 9)
        known = np.flatnonzero(~np.isnan(distance))
        furthest = np.sort(distance[known])[self.batch - 1] if len(known) > self.batch else math.inf
        nearer, tied = distance < furthest, np.flatnonzero(distance == furthest)
        weights = np.where(nearer, 1.0, 0.0)
        count = min(self.batch - int(nearer.sum()), len(tied))
        weights[tied[draw(stats.sample_id[tied], count, seed=self.seed, purpose="moving_target")]] = 1.0
        return weights


def next_target(
    target: float, mean_reward: float, *, beta: float = 0.5, alpha: float = 2.0, eta: float = 50.0,
    easiest: float = 0.0, hardest: float = HARDEST,
) -> float:  # fmt: skip
    """Return the next target difficulty: T + eta tanh(alpha (R - beta)), within ``easiest`` and ``hardest``.

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


def _check_reward(value: object, label: str) -> None:
    if not options.is_number(value) or not 0.0 <= value <= 1.0:  # type: ignore[operator]
        raise RecipeError(
            f"{label}: got {value!r:.80}; expected a number from 0 to 1, for the target rises where the mean reward is "
            "above beta, a reward in this range: scale other rewards first"
        )
