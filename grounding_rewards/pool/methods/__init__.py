"""Published ways to weigh samples, to allocate rollouts and to choose among them: one file a paper, all by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grounding_rewards.errors import PoolError, RecipeError
from grounding_rewards.plugins.named import ALLOCATION, CHOICE, SELECTOR, kind_of, method_named
from grounding_rewards.pool.methods.protocol import Choice, Method, allocate, choose, select, setting

__all__ = [
    "ALLOCATION", "CHOICE", "SELECTOR", "Choice", "Method", "allocate", "choose", "kind_of", "method", "select",
    "setting",
]  # fmt: skip


def method(spec: str | Mapping[str, Any], kind: str | None = None) -> Any:
    """Build a method from its name, its place in code, or a mapping with ``name`` and arguments.

    Args:
        spec: ``"pods"``, ``"plugin/name"``, ``"module:attr"``, ``"/path/file.py:attr"``, or the mapping.
        kind: ``SELECTOR``, ``ALLOCATION`` or ``CHOICE``; None takes any.

    Raises:
        PoolError: there is no such method of this kind, or an argument is unknown, missing or does not fit.

    >>> method({"name": "pods", "keep": 4}).keep
    4
    """
    try:
        return method_named(spec if isinstance(spec, Mapping) else {"name": spec}, kind)
    except RecipeError as error:
        raise PoolError(f"method: {error}") from None
