"""Rewards and verifiers for training models that point at things on a screen.

>>> import grounding_rewards as gr
>>> scores = gr.recipe("gelato").score(["(200, 150)", "no idea"], [[0.1, 0.1, 0.3, 0.2]] * 2)
>>> scores.acc, [gr.Reason(code).name for code in scores.reason]
(array([1., 0.]), ['OK', 'NO_ANSWER'])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grounding_rewards._version import __version__ as __version__

if TYPE_CHECKING:
    from grounding_rewards import advantages as advantages
    from grounding_rewards import parsing as parsing
    from grounding_rewards import pool as pool
    from grounding_rewards import recipes as recipes
    from grounding_rewards import tables as tables
    from grounding_rewards import testing as testing
    from grounding_rewards import verifiers as verifiers
    from grounding_rewards.batch.evaluate import evaluate as evaluate
    from grounding_rewards.catalogue import list_recipes, recipe
    from grounding_rewards.checks.space_fit import fit_spaces
    from grounding_rewards.combine import affine, asymmetric, best, clip, gate, product, steps, weighted
    from grounding_rewards.coords.spaces import CoordSpace
    from grounding_rewards.errors import (
        GroundingRewardsError,
        PluginError,
        RecipeError,
        SpaceError,
        TableError,
        TargetError,
        TargetWarning,
        VerifierError,
    )
    from grounding_rewards.explain import room
    from grounding_rewards.rollouts import Predictions, Reason, Rollouts, Scores
    from grounding_rewards.scoring import Recipe
    from grounding_rewards.settings.reading import read_settings
    from grounding_rewards.targets.columns import Targets
    from grounding_rewards.verifiers import Verifier, per_row, verifier
    from grounding_rewards.verifiers.alternatives import any_of
    from grounding_rewards.wrapping import wrap as wrap

    explain = room  # the module, which is called, too

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
    "TargetWarning",
    "Targets",
    "Verifier",
    "VerifierError",
    "affine",
    "any_of",
    "asymmetric",
    "best",
    "clip",
    "fit_spaces",
    "gate",
    "list_recipes",
    "per_row",
    "product",
    "read_settings",
    "recipe",
    "steps",
    "verifier",
    "weighted",
]

_MODULES = {
    "catalogue": ("list_recipes", "recipe"),
    "rollouts": ("Predictions", "Reason", "Rollouts", "Scores"),
    "combine": ("affine", "asymmetric", "best", "clip", "gate", "product", "steps", "weighted"),
    "errors": (
        "GroundingRewardsError", "PluginError", "RecipeError", "SpaceError", "TableError", "TargetError",
        "TargetWarning", "VerifierError",
    ),
    "scoring": ("Recipe",),
    "settings.reading": ("read_settings",),
    "batch.evaluate": ("evaluate",),  # reads files, which `import *` does without
    "checks.space_fit": ("fit_spaces",),
    "coords.spaces": ("CoordSpace",),
    "targets.columns": ("Targets",),
    "verifiers": ("Verifier", "per_row", "verifier"),
    "verifiers.alternatives": ("any_of",),
    "wrapping": ("wrap",),  # likewise
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_ROOMS = frozenset({"advantages", "explain", "parsing", "pool", "recipes", "tables", "testing", "verifiers"})


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for first: the command line takes signals before numpy is imported."""
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*_HOMES, *_ROOMS, *(name for name in globals() if name.startswith("__"))})
