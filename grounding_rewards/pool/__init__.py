"""Choose the samples to train on next: statistics of rollouts by sample, and selectors that weigh samples.

>>> stats = sample_stats(["a", "a", "b", "b"], acc=[1, 1, 0, 1])
>>> select(stats, selector("unsolved")).tolist()
[0.0, 1.0]
"""

from grounding_rewards.plugins.named import selector
from grounding_rewards.pool.selectors.answers import DispersionWeighted, RareCells
from grounding_rewards.pool.selectors.bands import Band, MeanBand, MinRollouts, Source, Spread, Unsolved
from grounding_rewards.pool.selectors.protocol import Selector, select
from grounding_rewards.pool.selectors.target_size import TargetSize
from grounding_rewards.pool.selectors.variance_aware import VarianceAware
from grounding_rewards.pool.selectors.weights import Every, Learnability
from grounding_rewards.pool.stats import SampleStats, sample_stats

__all__ = [
    "Band",
    "DispersionWeighted",
    "Every",
    "Learnability",
    "MeanBand",
    "MinRollouts",
    "RareCells",
    "SampleStats",
    "Selector",
    "Source",
    "Spread",
    "TargetSize",
    "Unsolved",
    "VarianceAware",
    "sample_stats",
    "select",
    "selector",
]
