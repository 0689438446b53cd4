"""Recipes by name: `recipes()` lists them, `recipe(name, **options)` builds one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any, cast, get_args

from grounding_rewards.errors import RecipeError, near
from grounding_rewards.loading import load, names_code
from grounding_rewards.parsing import Answers, Thinking
from grounding_rewards.plain import frozen
from grounding_rewards.plugins import registry
from grounding_rewards.scoring import Recipe
from grounding_rewards.spaces import as_space

SHARED = ("response_space", "target_space", "answers", "thinking")
"""Options that every recipe takes."""


def recipes() -> tuple[str, ...]:
    """Names of all recipes, those of installed plugins included.

    >>> recipes()
    ('action', 'agentcpm-gui', 'btl-ui', 'click', 'composite', 'gelato', 'gelato-pixel', 'groundnext', 'gta1', \
'gui-g1', 'gui-g2', 'gui-r1', 'infigui-g1', 'se-gui', 'ui-agile', 'ui-ins', 'ui-r1', 'ui-r1-e', 'ui-rft', 'ui-s1', \
'ui-venus', 'ui-venus-navigation')
    """
    return tuple(registry().recipes)


def recipe(name: str | Mapping[str, Any], /, **options: Any) -> Recipe:
    """Build a recipe.

    Args:
        name: a name from ``recipes()``; or ``module:attr`` or ``/path/file.py:attr`` of a ``Recipe`` or of a function
            of keyword-only options that returns one; or a mapping with ``name`` and options, as ``Recipe.to_dict``
            returns.
        options: the recipe's own, and for every recipe ``response_space``, ``target_space``, ``answers`` ("only",
            "first", "last", "all") and ``thinking`` ("closed", "open", "read").

    Raises:
        RecipeError: the name or an option is unknown, or a value does not fit.
        SpaceError: a space is unknown, or missing where the recipe has no own.

    >>> recipe("gelato", format_weight=0.1).to_dict()
    {'name': 'gelato', 'format_weight': 0.1}
    >>> recipe("gelatto")
    Traceback (most recent call last):
    grounding_rewards.errors.RecipeError: unknown recipe 'gelatto'; did you mean 'gelato'? There are: action, \
agentcpm-gui, btl-ui, click, composite, gelato, gelato-pixel, groundnext, gta1, gui-g1, gui-g2, gui-r1, infigui-g1, \
se-gui, ui-agile, ui-ins, ui-r1, ui-r1-e, ui-rft, ui-s1, ui-venus, ui-venus-navigation
    """
    if isinstance(name, Mapping):
        given = dict(name)
        name = given.pop("name", None)
        options = {**given, **options}
    if not isinstance(name, str):
        raise _unknown(name)
    build, own = _build(name), own_options(name)
    options = {option: frozen(value) for option, value in options.items()}
    for option, value in options.items():
        if not isinstance(value, Hashable):
            raise RecipeError(f"{name}: option {option}: got {value!r:.80}; expected plain values")
        if option not in (*own, *SHARED):
            known = list(dict.fromkeys((*own, *SHARED)))
            hint = near(option, known) or "."
            raise RecipeError(f"{name}: unknown option {option!r}{hint} It takes: {', '.join(known)}")
    built = build(**{key: value for key, value in options.items() if key in own})
    if not isinstance(built, Recipe):
        origin = "function" if names_code(name) else "plugin"
        raise RecipeError(f"{name}: its {origin} returned {type(built).__name__}; expected a Recipe")
    shared = {key: _shared(name, key, value) for key, value in options.items() if key in SHARED}
    kept = {key: value for key, value in options.items() if value != _default(key, own, built)}
    return replace(built, **shared, name=name, options=tuple(sorted(kept.items())))


def own_options(name: str) -> dict[str, Any]:
    """A recipe's own options and their defaults; ``inspect.Parameter.empty`` where one must be given.

    Raises:
        RecipeError: the name is unknown.

    >>> own_options("gelato")
    {'format_weight': 0.0}
    """
    return {key: parameter.default for key, parameter in inspect.signature(_build(name)).parameters.items()}


def shown_with(name: str) -> dict[str, Any]:
    """The options to show a recipe with that cannot be built without any.

    Raises:
        RecipeError: the name is unknown.

    >>> shown_with("click")
    {'response_space': 'pixel'}
    """
    return dict(getattr(_build(name), "shown_with", {}))


def _build(name: str) -> Callable[..., Any]:
    """The function that builds a recipe of this name."""
    known: Mapping[str, Callable[..., Any]] = registry().recipes
    if name in known:
        return known[name]
    if not names_code(name):
        raise _unknown(name)
    found = load(name)
    if isinstance(found, Recipe):
        return lambda: found
    if not callable(found):
        raise RecipeError(f"recipe {name!r} is {found!r:.60}; expected a Recipe or a function that returns one")
    return cast(Callable[..., Any], found)


def _unknown(name: Any) -> RecipeError:
    return RecipeError(f"unknown recipe {name!r}{near(name, recipes()) or '.'} There are: {', '.join(recipes())}")


def _shared(name: str, option: str, value: Any) -> Any:
    if option.endswith("_space"):
        return as_space(value)
    choices = get_args(Answers if option == "answers" else Thinking)
    if value not in choices:
        raise RecipeError(f"{name}: option {option}: got {value!r}; expected one of {', '.join(choices)}")
    return value


def _default(option: str, own: Mapping[str, Any], built: Recipe) -> Any:
    return own[option] if option in own else frozen(getattr(built, option))
