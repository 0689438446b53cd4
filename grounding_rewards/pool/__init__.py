"""Choose what to train on next: statistics of rollouts by sample, and methods that weigh, allocate and choose.

>>> stats = sample_stats(["a", "a", "b", "b"], acc=[1, 1, 0, 1])
>>> select(stats, selector("unsolved")).tolist()
[0.0, 1.0]
"""

from grounding_rewards.plugins.named import selector
from grounding_rewards.pool.methods import Choice, Method, Selector, allocate, choose, method, select, setting
from grounding_rewards.pool.methods.answers import DispersionWeighted, RareCells
from grounding_rewards.pool.methods.cures import Cures, CuresRollouts
from grounding_rewards.pool.methods.dars import Dars
from grounding_rewards.pool.methods.dart import Dart, DartProportional, DartSteps, DartStored
from grounding_rewards.pool.methods.exploration import OutcomeExploration
from grounding_rewards.pool.methods.filters import Band, Every, MeanBand, MinRollouts, Source, Spread, Unsolved
from grounding_rewards.pool.methods.greso import Greso, next_chance
from grounding_rewards.pool.methods.knapsack import Knapsack
from grounding_rewards.pool.methods.learnability import ItemResponse, Learnability, Screening
from grounding_rewards.pool.methods.mopps import Mopps
from grounding_rewards.pool.methods.moving_target import MovingTarget, next_target
from grounding_rewards.pool.methods.prime_rl import DifficultyBuffer, DifficultyPools
from grounding_rewards.pool.methods.rorecomp import RoRecomp
from grounding_rewards.pool.methods.step_returns import StepReturns
from grounding_rewards.pool.methods.target_size import TargetSize
from grounding_rewards.pool.methods.variance import D3s, Pods
from grounding_rewards.pool.methods.variance_aware import VarianceAware
from grounding_rewards.pool.methods.vip import Vip
from grounding_rewards.pool.methods.xrpo import Xrpo
from grounding_rewards.pool.rollouts import RolloutColumns, read_columns
from grounding_rewards.pool.stats import SampleStats, sample_stats

__all__ = [
    "Band", "Choice", "Cures", "CuresRollouts", "D3s", "Dars", "Dart", "DartProportional", "DartSteps",
    "DartStored", "DifficultyBuffer", "DifficultyPools", "DispersionWeighted", "Every", "Greso", "ItemResponse",
    "Knapsack", "Learnability", "MeanBand", "Method", "MinRollouts", "Mopps", "MovingTarget",
    "OutcomeExploration", "Pods", "RareCells", "RoRecomp", "RolloutColumns", "SampleStats", "Screening",
    "Selector", "Source", "Spread", "StepReturns", "TargetSize", "Unsolved", "VarianceAware", "Vip", "Xrpo",
    "allocate", "choose", "method", "next_chance", "next_target", "read_columns", "sample_stats", "select",
    "selector", "setting",
]  # fmt: skip
