"""Selectors map statistics of samples to weights between declared bounds; a weight of 0 leaves a sample out."""

from grounding_rewards.plugins.named import FunctionSelector, selector
from grounding_rewards.pool.selectors.answers import DispersionWeighted, RareCells
from grounding_rewards.pool.selectors.bands import Band, MeanBand, MinRollouts, Source, Spread, Unsolved
from grounding_rewards.pool.selectors.protocol import Selector, select
from grounding_rewards.pool.selectors.target_size import TargetSize
from grounding_rewards.pool.selectors.variance_aware import VarianceAware
from grounding_rewards.pool.selectors.weights import Every, Learnability

__all__ = [
    "Band", "DispersionWeighted", "Every", "FunctionSelector", "Learnability", "MeanBand", "MinRollouts", "RareCells",
    "Selector", "Source", "Spread", "TargetSize", "Unsolved", "VarianceAware", "select", "selector",
]  # fmt: skip
