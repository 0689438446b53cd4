"""Selectors map statistics of samples to weights between declared bounds; a weight of 0 leaves a sample out."""

from grounding_rewards.pool.selectors.bands import Band, FromSources, MeanBand, MinRollouts, Spread, Unsolved
from grounding_rewards.pool.selectors.protocol import FunctionSelector, Selector, select
from grounding_rewards.pool.selectors.weights import Every, Learnability

__all__ = [
    "Band",
    "Every",
    "FromSources",
    "FunctionSelector",
    "Learnability",
    "MeanBand",
    "MinRollouts",
    "Selector",
    "Spread",
    "Unsolved",
    "select",
]
