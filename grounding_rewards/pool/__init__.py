"""Which samples to train on next: statistics of rollouts by sample, and selectors that weigh them.

>>> stats = sample_stats(["a", "a", "b", "b"], acc=[1, 1, 0, 1])
>>> select(stats, selector("unsolved")).tolist()
[0.0, 1.0]
"""

from grounding_rewards.pool.named import selector
from grounding_rewards.pool.selectors import Band, Selector, Unsolved, select
from grounding_rewards.pool.stats import SampleStats, sample_stats

__all__ = ["Band", "SampleStats", "Selector", "Unsolved", "sample_stats", "select", "selector"]
