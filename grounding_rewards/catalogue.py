"""Recipes by name: `recipes()` lists them, `recipe(name, **options)` builds one."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing import Answers, Thinking
from grounding_rewards.plugins import registry
from grounding_rewards.scoring import Recipe
from grounding_rewards.spaces import as_space

SHARED = ("response_space", "target_space", "answers", "thinking")
"""Options that every recipe takes."""


def recipes() -> tuple[str, ...]:
    """Names of all recipes, those of installed plugins included.

    >>> recipes()
    ('click', 'gelato', 'gelato-pixel', 'gta1')
    """
    return tuple(registry().recipes)


def recipe(name: str | Mapping[str, Any], /, **options: Any) -> Recipe:
    """Build a recipe.

    Args:
        name: a name from ``recipes()``, or a mapping with ``name`` and options, as ``Recipe.to_dict`` returns.
        options: the recipe's own, and for every recipe ``response_space``, ``target_space``, ``answers`` ("only",
            "first", "last", "all") and ``thinking`` ("closed", "open", "read").

    Raises:
        RecipeError: the name or an option is unknown, or a value does not fit.
        SpaceError: a space is unknown, or missing where the recipe has no own.

    >>> recipe("gelato", format_weight=0.1).to_dict()
    {'name': 'gelato', 'format_weight': 0.1}
    >>> recipe("gelatto")
    Traceback (most recent call last):
    grounding_rewards.errors.RecipeError: unknown recipe 'gelatto'; did you mean 'gelato'? There are: click, gelato, \
gelato-pixel, gta1
    """
    if isinstance(name, Mapping):
        given = dict(name)
        name = given.pop("name", None)
        options = {**given, **options}
    build = registry().recipes.get(name) if isinstance(name, str) else None
    if build is None or not isinstance(name, str):
        raise RecipeError(f"unknown recipe {name!r};{_near(name, recipes())} There are: {', '.join(recipes())}")
    own = {key: parameter.default for key, parameter in inspect.signature(build).parameters.items()}
    for option in options:
        if option not in (*own, *SHARED):
            known = ", ".join(dict.fromkeys((*own, *SHARED)))
            raise RecipeError(f"{name}: unknown option {option!r};{_near(option, (*own, *SHARED))} It takes: {known}")
    built = build(**{key: value for key, value in options.items() if key in own})
    if not isinstance(built, Recipe):
        raise RecipeError(f"{name}: its plugin returned {type(built).__name__}; expected a Recipe")
    shared = {key: _shared(name, key, value) for key, value in options.items() if key in SHARED}
    kept = {key: _plain(value) for key, value in options.items() if _plain(value) != _default(key, own, built)}
    return replace(built, **shared, name=name, options=tuple(sorted(kept.items())))


def _shared(name: str, option: str, value: Any) -> Any:
    if option.endswith("_space"):
        return as_space(value)
    choices = get_args(Answers if option == "answers" else Thinking)
    if value not in choices:
        raise RecipeError(f"{name}: option {option}: got {value!r}; expected one of {', '.join(choices)}")
    return value


def _default(option: str, own: Mapping[str, Any], built: Recipe) -> Any:
    return own[option] if option in own else _plain(getattr(built, option))


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def _near(name: Any, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(str(name), known, n=1)
    return f" did you mean {near[0]!r}?" if near else ""
