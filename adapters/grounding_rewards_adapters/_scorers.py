"""Recipes that a launch names, built once in a process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import deepcopy
from threading import RLock
from typing import Any

import grounding_rewards as gr
from grounding_rewards_adapters import _bridge
from grounding_rewards_adapters._routing import Router
from grounding_rewards_adapters._scoring import Scorer
from grounding_rewards_adapters._settings import Named, Settings, Trainer


def read(trainer: Trainer, arguments: Mapping[str, Any]) -> Settings:
    """Read the settings that a launch gives."""
    try:
        return Settings.of(arguments)
    except gr.RecipeError as error:
        raise gr.RecipeError(f"{error} (options are set as {trainer.set('NAME')})") from error


def make(trainer: Trainer, settings: Settings) -> Scorer:
    """Build a scorer."""
    recipes: dict[gr.Recipe, Named | None] = {}

    def place(recipe: Any, key: str) -> int:
        built = _bridge.build(recipe, settings, trainer, key)
        _bridge.refuse(built, trainer)
        built.read_targets([], bad_target=settings.bad_target)  # so that an unknown bad_target is an error now
        recipes.setdefault(built, _named(recipe, key))  # equal recipes are one
        return list(recipes).index(built)

    rest, router = None, None
    if settings.recipe is not None or settings.routes is None:
        rest = place(settings.recipe, "recipe")
    for name, by_value in (settings.routes or {}).items():
        places = {str(value): place(recipe, f"routes.{name}.{value}") for value, recipe in by_value.items()}
        router = Router(str(name), places, rest)
    return Scorer(trainer, settings, tuple(recipes), tuple(recipes.values()), router)


def _named(recipe: Any, key: str) -> Named | None:
    """Return the place where a launch names a recipe; None where it came built."""
    if isinstance(recipe, Mapping):
        return Named(f"{key}.")
    if isinstance(recipe, str):
        return Named() if key == "recipe" else Named(key, recipe)
    return None


_SCORERS: dict[tuple[str, str], Scorer] = {}
_LAST: dict[str, tuple[str, dict[str, Any], dict[str, Any], tuple[str, str]]] = {}
"""Directory, options, copies of those that may change, and scorer's key of each trainer's last call.

The next call mostly has the same options. These are kept, and so are alive: no other object can pass for one of them.
"""
_LOCK = RLock()


def scorer(trainer: Trainer, arguments: Mapping[str, Any]) -> Scorer:
    """Return the scorer of the options that a launch gives: the same one at every call in a process."""
    if trainer.name in _LAST:  # without the lock, since an entry is replaced as a whole
        directory, options, copies, key = _LAST[trainer.name]
        if (
            key in _SCORERS
            and arguments.keys() == options.keys()
            and all([value is options[name] for name, value in arguments.items()])  # noqa: C419 (faster so)
            and (not copies or _changeable(arguments) == copies)
            and os.getcwd() == directory
        ):
            return _SCORERS[key]
    settings = read(trainer, arguments)
    key = trainer.name, settings.key()
    if ".py:" in key[1]:  # the working directory says which file a relative path means
        settings = settings.in_full()
        key = trainer.name, settings.key()
    with _LOCK:
        built = _SCORERS.get(key)  # another thread may have had the lock before
        if built is None:
            built = _SCORERS[key] = make(trainer, settings)
        _LAST[trainer.name] = os.getcwd(), dict(arguments), deepcopy(_changeable(arguments)), key
    return built


def _changeable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that may change and still be the same objects."""
    return {name: value for name, value in arguments.items() if type(value) in (dict, list)}


def _unlocked() -> None:
    """Make new locks: in a process forked while another thread held one, nobody would ever release it."""
    global _LOCK
    _LOCK = RLock()
    for each in _SCORERS.values():
        each._lock = RLock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_unlocked)
