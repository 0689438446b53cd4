"""Selectors map statistics of samples to weights between declared bounds; a weight of 0 leaves a sample out."""

from grounding_rewards.plugins.named import FunctionSelector, selector
from grounding_rewards.pool.selectors.bands import Band, MeanBand, MinRollouts, Source, Spread, Unsolved
from grounding_rewards.pool.selectors.protocol import Selector, select
from grounding_rewards.pool.selectors.weights import Every, Learnability

__all__ = [
    "Band", "Every", "FunctionSelector", "Learnability", "MeanBand", "MinRollouts", "Selector", "Source", "Spread",
    "Unsolved", "select", "selector",
]  # fmt: skip
