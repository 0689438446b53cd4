"""The whole extension surface: one verb a hook. A plugin declares; the host keeps the table.

A distribution offers a plugin through the entry-point group ``grounding_rewards``; its names become ``plugin/name``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pluggy

PROJECT = "grounding_rewards"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

Register = Callable[[str, Any], None]


@hookspec
def register_parsers(register: Register) -> None:
    """Offer dialects: ``register("name", dialect)``."""


@hookspec
def register_verifiers(register: Register) -> None:
    """Offer verifiers: ``register("name", VerifierClass)``, a frozen dataclass."""


@hookspec
def register_recipes(register: Register) -> None:
    """Offer recipes: ``register("name", build)``, a function of keyword-only options that returns a ``Recipe``."""


@hookspec
def register_methods(register: Register) -> None:
    """Offer selectors, allocations and choices: ``register("name", MethodClass)``, a frozen dataclass."""


@hookspec
def register_families(register: Register) -> None:
    """Offer model families: ``register("name", table)``, a dict as ``coords/families.toml`` has tables."""


@hookspec
def register_layouts(register: Register) -> None:
    """Offer layouts of training sets: ``register("name", table)``, a dict as ``tables/training_sets.toml`` has."""


@hookspec
def register_engines(register: Register) -> None:
    """Offer engines: ``register("name", EngineClass)``, a frozen dataclass with ``model`` and ``start``."""
