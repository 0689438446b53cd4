"""Methods that choose rollouts or allocate further ones, by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from grounding_rewards.errors import PoolError, RecipeError, near
from grounding_rewards.plugins.builtins import BUILT_IN
from grounding_rewards.plugins.named import made

ALLOCATIONS: Mapping[str, str] = {
    "dars": "allocation.dars:Dars",
    "dart": "allocation.dart:Dart",
    "xrpo": "allocation.xrpo:Xrpo",
}
"""Methods of ``pool allocate``: module and class by name."""

ROLLOUT_CHOICES: Mapping[str, str] = {
    "d3s": "rollout_choice.variance:D3s",
    "dart_proportional": "rollout_choice.dart:DartProportional",
    "dart_steps": "rollout_choice.dart:DartSteps",
    "dart_stored": "rollout_choice.dart:DartStored",
    "outcome_exploration": "rollout_choice.exploration:OutcomeExploration",
    "pods": "rollout_choice.variance:Pods",
    "rorecomp": "rollout_choice.rorecomp:RoRecomp",
    "step_returns": "rollout_choice.step_returns:StepReturns",
}
"""Methods of ``pool rollouts``: module and class by name."""


def class_of(name: Any, known: Mapping[str, str]) -> Any:
    """Return the class of a method.

    Raises:
        PoolError: there is no method of this name.
    """
    if not isinstance(name, str) or name not in known:
        expected = "" if isinstance(name, str) else ', expected a name, or JSON with a "name"'
        hint = other_kind(name, known) or near(name, known) or "."
        raise PoolError(f"method: got {name!r:.80}{expected}{hint} There are: {', '.join(known)}")
    module, _, kind = known[name].partition(":")
    return getattr(import_module(f"grounding_rewards.pool.{module}"), kind)


def other_kind(name: Any, known: Mapping[str, str]) -> str:
    """Return the command that takes a method which is not ``known`` to another, for errors; "" for no such method.

    >>> other_kind("pods", ALLOCATIONS), other_kind("band", ALLOCATIONS), other_kind("pods", ROLLOUT_CHOICES)
    ('; pods chooses rollouts: `pool rollouts`.', '; band is a selector: `pool next --selector`.', '')
    """
    tables = {
        "chooses rollouts: `pool rollouts`": ROLLOUT_CHOICES,
        "allocates rollouts: `pool allocate`": ALLOCATIONS,
        "is a selector: `pool next --selector`": BUILT_IN["selectors"],
    }
    words = [words for words, table in tables.items() if isinstance(name, str) and name in table and name not in known]
    return f"; {name} {words[0]}." if words else ""


def method(spec: str | Mapping[str, Any], known: Mapping[str, str]) -> Any:
    """Build a method from its name, or a mapping with ``name`` and arguments.

    Args:
        spec: the name, or the mapping.
        known: ``ALLOCATIONS`` or ``ROLLOUT_CHOICES``.

    Raises:
        PoolError: there is no such method, or an argument is unknown, missing or does not fit.
    """
    config: dict[str, Any] = dict(spec) if isinstance(spec, Mapping) else {"name": spec}
    name: Any = config.pop("name", None)
    kind = class_of(name, known)
    try:
        return made(name, kind, config)
    except RecipeError as error:
        raise PoolError(f"method {error}") from None
