"""Choose the samples to train on next: statistics of rollouts by sample, and selectors that weigh samples.

>>> stats = sample_stats(["a", "a", "b", "b"], acc=[1, 1, 0, 1])
>>> select(stats, selector("unsolved")).tolist()
[0.0, 1.0]
"""

from grounding_rewards.plugins.named import selector
from grounding_rewards.pool.selectors.answers import DispersionWeighted, RareCells
from grounding_rewards.pool.selectors.bands import Band, MeanBand, MinRollouts, Source, Spread, Unsolved
from grounding_rewards.pool.selectors.difficulty import ItemResponse, MovingTarget, Screening, next_target
from grounding_rewards.pool.selectors.pools import DifficultyBuffer, DifficultyPools
from grounding_rewards.pool.selectors.protocol import Selector, select
from grounding_rewards.pool.selectors.target_size import TargetSize
from grounding_rewards.pool.selectors.variance_aware import VarianceAware
from grounding_rewards.pool.selectors.weights import Every, Learnability
from grounding_rewards.pool.stats import SampleStats, sample_stats

__all__ = [
    "Band",
    "DifficultyBuffer",
    "DifficultyPools",
    "DispersionWeighted",
    "Every",
    "ItemResponse",
    "Learnability",
    "MeanBand",
    "MinRollouts",
    "MovingTarget",
    "RareCells",
    "SampleStats",
    "Screening",
    "Selector",
    "Source",
    "Spread",
    "TargetSize",
    "Unsolved",
    "VarianceAware",
    "next_target",
    "sample_stats",
    "select",
    "selector",
]
