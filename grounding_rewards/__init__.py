"""Rewards and verifiers for training models that point at things on a screen.

>>> import grounding_rewards as gr
>>> scores = gr.recipe("gelato").score(["(200, 150)", "no idea"], [[0.1, 0.1, 0.3, 0.2]] * 2)
>>> scores.acc, [gr.Reason(code).name for code in scores.reason]
(array([1., 0.]), ['OK', 'NO_ANSWER'])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grounding_rewards._lazy import lazily
from grounding_rewards._version import __version__ as __version__

if TYPE_CHECKING:
    from grounding_rewards import advantages as advantages
    from grounding_rewards import parsing as parsing
    from grounding_rewards import pool as pool
    from grounding_rewards import recipes as recipes
    from grounding_rewards import testing as testing
    from grounding_rewards import verifiers as verifiers
    from grounding_rewards.batch.evaluate import evaluate as evaluate
    from grounding_rewards.batch.steps import evaluate_steps as evaluate_steps
    from grounding_rewards.catalogue import list_recipes as list_recipes
    from grounding_rewards.catalogue import recipe as recipe
    from grounding_rewards.checks.space_fit import fit_spaces as fit_spaces
    from grounding_rewards.combine import affine as affine
    from grounding_rewards.combine import asymmetric as asymmetric
    from grounding_rewards.combine import best as best
    from grounding_rewards.combine import clip as clip
    from grounding_rewards.combine import gate as gate
    from grounding_rewards.combine import product as product
    from grounding_rewards.combine import steps as steps
    from grounding_rewards.combine import weighted as weighted
    from grounding_rewards.coords.spaces import CoordSpace as CoordSpace
    from grounding_rewards.errors import GroundingRewardsError as GroundingRewardsError
    from grounding_rewards.errors import PluginError as PluginError
    from grounding_rewards.errors import RecipeError as RecipeError
    from grounding_rewards.errors import SpaceError as SpaceError
    from grounding_rewards.errors import TableError as TableError
    from grounding_rewards.errors import TargetError as TargetError
    from grounding_rewards.errors import TargetWarning as TargetWarning
    from grounding_rewards.errors import VerifierError as VerifierError
    from grounding_rewards.evaluators.judging import judge_step as judge_step
    from grounding_rewards.explain import room
    from grounding_rewards.rollouts import Predictions as Predictions
    from grounding_rewards.rollouts import Reason as Reason
    from grounding_rewards.rollouts import Rollouts as Rollouts
    from grounding_rewards.rollouts import Scores as Scores
    from grounding_rewards.scoring import Recipe as Recipe
    from grounding_rewards.settings.reading import read_settings as read_settings
    from grounding_rewards.targets.columns import Targets as Targets
    from grounding_rewards.verifiers import Verifier as Verifier
    from grounding_rewards.verifiers import per_row as per_row
    from grounding_rewards.verifiers import verifier as verifier
    from grounding_rewards.verifiers.alternatives import any_of as any_of
    from grounding_rewards.wrapping import wrap as wrap

    explain = room  # the module, which is called, too

_NAMES = {
    "batch.evaluate": "evaluate",
    "batch.steps": "evaluate_steps",
    "catalogue": "list_recipes recipe",
    "checks.space_fit": "fit_spaces",
    "combine": "affine asymmetric best clip gate product steps weighted",
    "coords.spaces": "CoordSpace",
    "errors": "GroundingRewardsError PluginError RecipeError SpaceError TableError TargetError TargetWarning "
    "VerifierError",
    "evaluators.judging": "judge_step",
    "rollouts": "Predictions Reason Rollouts Scores",
    "scoring": "Recipe",
    "settings.reading": "read_settings",
    "targets.columns": "Targets",
    "verifiers": "Verifier per_row verifier",
    "verifiers.alternatives": "any_of",
    "wrapping": "wrap",
}
_ROOMS = frozenset({"advantages", "explain", "parsing", "pool", "recipes", "testing", "verifiers"})
_names, _imported = lazily(__name__, _NAMES)
__all__ = sorted(
    {*_names} - {"evaluate", "evaluate_steps", "wrap"}
)  # these read files, which ``import *`` does without


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for first: the command line takes signals before numpy is imported."""
    return import_module(f"{__name__}.{name}") if name in _ROOMS else _imported(name)


def __dir__() -> list[str]:
    return sorted({*_names, *_ROOMS, *(name for name in globals() if name.startswith("__"))})
