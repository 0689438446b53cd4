"""Methods that choose rollouts or allocate further ones, by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from grounding_rewards.errors import PoolError, RecipeError, near
from grounding_rewards.plugins.named import made

ALLOCATIONS: Mapping[str, str] = {}
"""Methods of ``pool allocate``: module and class by name."""

ROLLOUT_CHOICES: Mapping[str, str] = {
    "d3s": "rollout_choice.variance:D3s",
    "pods": "rollout_choice.variance:Pods",
    "step_returns": "rollout_choice.step_returns:StepReturns",
}
"""Methods of ``pool rollouts``: module and class by name."""


def method(spec: str | Mapping[str, Any], known: Mapping[str, str]) -> Any:
    """Build a method from its name, or a mapping with ``name`` and arguments.

    Args:
        spec: the name, or the mapping.
        known: ``ALLOCATIONS`` or ``ROLLOUT_CHOICES``.

    Raises:
        PoolError: there is no such method, or an argument is unknown, missing or does not fit.
    """
    config: dict[str, Any] = dict(spec) if isinstance(spec, Mapping) else {"name": spec}
    name = config.pop("name", None)
    if not isinstance(name, str) or name not in known:
        raise PoolError(f"method: got {name!r:.80}{near(name, known) or '.'} There are: {', '.join(known)}")
    module, _, kind = known[name].partition(":")
    try:
        return made(name, getattr(import_module(f"grounding_rewards.pool.{module}"), kind), config)
    except RecipeError as error:
        raise PoolError(f"method {error}") from None
