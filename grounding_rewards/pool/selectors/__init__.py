"""Selectors map statistics of samples to weights between declared bounds; a weight of 0 leaves a sample out."""

from grounding_rewards.plugins.named import FunctionSelector, selector
from grounding_rewards.pool.selectors.answers import DispersionWeighted, RareCells
from grounding_rewards.pool.selectors.bands import Band, MeanBand, MinRollouts, Source, Spread, Unsolved
from grounding_rewards.pool.selectors.difficulty import ItemResponse, MovingTarget, Screening, next_target
from grounding_rewards.pool.selectors.pools import DifficultyBuffer, DifficultyPools
from grounding_rewards.pool.selectors.protocol import Selector, select
from grounding_rewards.pool.selectors.target_size import TargetSize
from grounding_rewards.pool.selectors.variance_aware import VarianceAware
from grounding_rewards.pool.selectors.weights import Every, Learnability

__all__ = [
    "Band", "DifficultyBuffer", "DifficultyPools", "DispersionWeighted", "Every", "FunctionSelector",
    "ItemResponse", "Learnability", "MeanBand", "MinRollouts", "MovingTarget", "RareCells", "Screening", "Selector",
    "Source", "Spread", "TargetSize", "Unsolved", "VarianceAware", "next_target", "select", "selector",
]  # fmt: skip
