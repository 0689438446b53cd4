"""Rewards and verifiers for training models that point at things on a screen.

>>> import grounding_rewards as gr
>>> scores = gr.recipe("gelato").score(["(200, 150)", "no idea"], [[0.1, 0.1, 0.3, 0.2]] * 2)
>>> scores.acc, [gr.Reason(code).name for code in scores.reason]
(array([1., 0.]), ['OK', 'NO_ANSWER'])
"""

from grounding_rewards import recipes as _package  # noqa: F401 (first: the function takes the package's name)
from grounding_rewards.catalogue import recipe, recipes
from grounding_rewards.columns import Predictions, Reason, Rollouts, Scores
from grounding_rewards.errors import (
    GroundingRewardsError,
    PluginError,
    RecipeError,
    SpaceError,
    TableError,
    TargetError,
    VerifierError,
)
from grounding_rewards.scoring import Recipe
from grounding_rewards.spaces import CoordSpace
from grounding_rewards.targets import Targets
from grounding_rewards.verifiers import Verifier, verifier

__version__ = "0.1.0"

__all__ = [
    "CoordSpace",
    "GroundingRewardsError",
    "PluginError",
    "Predictions",
    "Reason",
    "Recipe",
    "RecipeError",
    "Rollouts",
    "Scores",
    "SpaceError",
    "TableError",
    "TargetError",
    "Targets",
    "Verifier",
    "VerifierError",
    "recipe",
    "recipes",
    "verifier",
]
