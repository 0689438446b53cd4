"""Recipes by name: `list_recipes()` lists them, `recipe(name, **options)` builds one.

Two functions build recipes, by the origin of the name. ``recipe`` takes names from the caller (Python, a config, the
command line) and may load code by its place. ``recorded_recipe`` takes names from data, and never loads anything.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast, get_args

from msgspec import Struct

from grounding_rewards.combine import RESERVED
from grounding_rewards.coords.axes import axes_named
from grounding_rewards.coords.families import family_of, options_for
from grounding_rewards.coords.register import Family, families, further_family, space_of
from grounding_rewards.coords.resizing import RESIZING, Resizing, pipelines
from grounding_rewards.coords.spaces import CoordSpace, as_space
from grounding_rewards.errors import GroundingRewardsError, RecipeError, near
from grounding_rewards.literals import yaml_values
from grounding_rewards.parsing import Answers, Thinking
from grounding_rewards.plugins.loading import absolute, names_code
from grounding_rewards.plugins.registry import frozen, in_full, makes_callables, origin, registry, thing_named, unknown
from grounding_rewards.scoring import ACTION, Recipe
from grounding_rewards.verifiers.options import checked

_BOUND = "whole numbers from 1"

SHARED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "response_space": (", ".join(CoordSpace), "the space that the model answers in."),
        "target_space": (", ".join(CoordSpace), "the space of targets that name none."),
        "answers": (
            ", ".join(get_args(Answers)),
            "the answer that counts where a response holds several: none of them (`only`), the first, the last, all.",
        ),
        "thinking": (
            ", ".join(get_args(Thinking)),
            "the part that is read: behind the last `</think>` (`closed`); the same, and unfinished without one, since "
            "the prompt opens the thinking (`open`); or everything (`read`).",
        ),
        "trim": (
            "true, false",
            "leaves out tokens such as `<|im_end|>` and `<pad>` at the end of a response. If it is not set, trainers "
            "and commands do, and published recipes in Python do not.",
        ),
        "axes": (
            "xy, yx, percent, x/2,y/1.5, ...",
            "the order of x and y in responses, with divisors of other scales.",
        ),
        "action_names": (
            "a list of texts",
            "names of your own for actions in targets, beside those of the vocabulary and of the source.",
        ),
        "family": (
            "gta1, verl+gta1, qwen2_5_vl, ...; the folder of a checkpoint; or auto:MODEL",
            "the model's family: it sets `response_space`, `axes`, `model` and its bounds, and `answers` where the "
            "recipe has `dialect`, each unless that is set, too. The recipe keeps what it sets, not the name.",
        ),
        "model": (
            "qwen2_5_vl, qwen3_vl, ...; after a trainer: verl+qwen3_vl, easyr1+qwen3_vl, ...",
            "the model, after its trainer's resizing where it has one: the size of the image that it saw is then "
            "computed from `image_size`, and its `response_space` holds, unless that is set, too.",
        ),
        "min_pixels": (_BOUND, "least size of the image after the first resizing, beside `model`."),
        "max_pixels": (_BOUND, "largest size of the image after the first resizing, beside `model`."),
        "processor_min_pixels": (_BOUND, "least size of the image after the model's processor, beside `model`."),
        "processor_max_pixels": (_BOUND, "largest size of the image after the model's processor, beside `model`."),
    }
)
"""Options that every recipe takes: values and meaning of each."""

_FIELDS = frozenset(SHARED) - frozenset(RESIZING) - {"family"}

_BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def list_recipes() -> tuple[str, ...]:
    """Return the names of all recipes, those of installed plugins included.

    >>> "gelato" in list_recipes()
    True
    """
    return tuple(registry().recipes)


def recipe(name: str | Mapping[str, Any] | Recipe, /, **options: Any) -> Recipe:
    """Build a recipe.

    Args:
        name: a name from ``list_recipes()``; or ``module:attr`` or ``/path/file.py:attr`` of a ``Recipe`` or of a
            function of keyword-only options that returns one; or a mapping with ``name`` and options, as
            ``Recipe.to_dict`` returns, that mapping as JSON, or the path of a file of it that ends in .json, .yaml
            or .yml (with PyYAML installed). The recipe keeps paths in full, as those among its options, so that it can
            be built anywhere. A ``Recipe`` is returned as it is.
        options: the recipe's own, and those that every recipe takes: see ``SHARED``. ``action_names`` are for recipes
            that judge actions.

    Raises:
        RecipeError: the name or an option is unknown, or a value does not fit.
        SpaceError: a space is unknown, or missing where the recipe has no own; or a model does not take such bounds.

    >>> recipe("gelato", format_weight=0.1).to_dict()
    {'name': 'gelato', 'format_weight': 0.1}
    >>> recipe("click", model="qwen3_vl").response_space
    <CoordSpace.THOUSANDTHS: 'thousandths'>
    >>> recipe("gelatto")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    grounding_rewards.errors.RecipeError: unknown recipe 'gelatto'; did you mean 'gelato'? There are: action, ...
    """
    if isinstance(name, Recipe):
        if options:
            raise RecipeError(f"{name.name}: got {', '.join(options)} beside a recipe; build the recipe with them")
        return name
    name, options = named(name, options)
    build, own = builder(name), own_options(name)
    options = in_full(frozen(options))
    for option, value in options.items():
        if not isinstance(value, Hashable):
            raise RecipeError(f"{name}: option {option}: got {value!r:.80}; expected plain values")
        if option not in (*own, *SHARED):
            known = list(dict.fromkeys((*own, *SHARED)))
            hint = near(option, known) or "."
            raise RecipeError(f"{name}: unknown option {option!r}{hint} It takes: {', '.join(known)}")
    if "family" in options and "family" not in own:
        family = options.pop("family")
        options.update({} if family is None else options_for(family, own, options, known_families()))
    bounds = {key: value for key, value in options.items() if key in RESIZING and key not in own}
    answered = _model_space(name, bounds.get("model"))
    arguments = {**answered, **options}  # what the caller says goes before what a model's name implies
    built = _built(name, build, {key: value for key, value in arguments.items() if key in own})
    shared = {key: _shared(built, name, key, value) for key, value in arguments.items() if key in _FIELDS}
    if bounds:
        shared["resizing"] = resizing(built, bounds)
    defaults = {key: own[key] if key in own else frozen(shared_option(built, key)) for key in options} | answered
    kept = {key: value for key, value in options.items() if value != defaults[key]}  # equal recipes, equal options
    return replace(built, **shared, name=absolute(name), options=tuple(sorted(kept.items())))


def named(name: str | Mapping[str, Any], options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a recipe's name and options, those of a mapping, JSON or a file under the caller's."""
    read = _mapping(name) if isinstance(name, str) else name
    own = dict(read) if isinstance(read, Mapping) else {"name": read}
    read = own.pop("name", None)
    if not isinstance(read, str):
        raise _unknown(read)
    return read, {**own, **options}


def known_families() -> Mapping[str, Family]:
    """Return the families of the register, and those of installed plugins as ``plugin/name``."""
    own = families()
    offered = registry().families
    return {**own, **{name: further_family(name, row, own) for name, row in offered.items()}} if offered else own


def family(name: str) -> Family:
    """Return a family by its name, a plugin's among them, by FILE.toml:NAME, or by the folder of a checkpoint."""
    return family_of(name, known_families())


def _mapping(name: str) -> Any:
    """Read a recipe that is JSON or the path of a file; return any other name as it is."""
    suffix = Path(name).suffix.lower() if len(name) < 4096 else ""
    inline = name.lstrip().startswith("{")
    if not inline and suffix not in (".json", ".yaml", ".yml"):
        return name
    try:
        text = name if inline else Path(name).read_text(encoding="utf-8")
        value = json.loads(text) if inline or suffix == ".json" else yaml_values(text)
    except ImportError as error:
        raise RecipeError(f"recipe {name}: YAML needs PyYAML: pip install pyyaml; JSON does without") from error
    except (OSError, ValueError, RecursionError) as error:
        raise RecipeError(
            f"recipe {name:.200}: cannot be read ({error}); expected what Recipe.to_dict() writes"
        ) from None
    except Exception as error:  # YAML's own errors, which no name of ours stands for
        why = " ".join(str(error).split())
        raise RecipeError(f"recipe {name}: is no YAML ({why}); expected what Recipe.to_dict() writes") from None
    if not isinstance(value, Mapping):
        raise RecipeError(f"recipe {name:.200}: got {type(value).__name__}; expected a mapping with name and options")
    return value


class RecordedName(Struct, frozen=True):
    """Name of a recipe as data hold it: in a rollout, a trainer's log, a record or a manifest.

    It is not a ``str``, so ``recipe``, which loads code by its place, refuses it.
    """

    text: str


def recorded_recipe(name: RecordedName, /, **options: Any) -> Recipe | None:
    """Look up the recipe that data name, among the built-in and installed ones only.

    No name from data is ever imported, opened or called, whatever it says: ``module:attr`` and ``file.py:attr`` are
    unknown names here. None where none of this name is installed, or it needs options that the caller does not give.

    >>> recorded_recipe(RecordedName("gelato")).name
    'gelato'
    >>> recorded_recipe(RecordedName("os:abort")) is None
    True
    >>> recipe(RecordedName("gelato"))
    Traceback (most recent call last):
    grounding_rewards.errors.RecipeError: 'gelato' is a name from data; look it up by recorded_recipe, which loads \
no code
    """
    if name.text not in registry().recipes:
        return None
    try:
        return recipe(name.text, **options)
    except GroundingRewardsError:
        return None


def own_options(name: str) -> dict[str, Any]:
    """Return a recipe's own options and their defaults; ``inspect.Parameter.empty`` where one must be given."""
    build = builder(name)
    try:
        parameters = inspect.signature(build).parameters
    except (TypeError, ValueError):  # some functions written in C do not say what they take
        parameters = None
    if parameters is None or any(each.kind not in _BY_NAME for each in parameters.values()):
        raise RecipeError(f"{name}{origin(build)}: its function must name each option, such as (*, weight=0.1)")
    return {key: parameter.default for key, parameter in parameters.items()}


def shared_option(built: Recipe, option: str) -> Any:
    """Return what a recipe has for one of the options in ``SHARED``."""
    return getattr(built.resizing if option in RESIZING else built, option, None)


def shown_with(name: str, options: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Return the options to show a recipe with: the caller's, and those that it cannot be built without."""
    needed = dict(getattr(builder(name), "shown_with", {}))
    if options.get("model") is not None or options.get("family") is not None:
        needed.pop("response_space", None)  # the model's name implies it
    return {**needed, **options}


def builder(name: str) -> Callable[..., Any]:
    """Return the function that builds a recipe of this name."""
    if name not in registry().recipes and not names_code(name):
        raise _unknown(name)
    thing: Any = thing_named("recipes", name)
    if isinstance(thing, Recipe):
        return lambda: thing
    bounded = hasattr(thing, "low") and hasattr(thing, "high")
    if names_code(name) and callable(thing) and not bounded:
        from grounding_rewards.wrapping import contract_of, wrap  # which registered names do without

        if contract_of(thing):
            return partial(wrap, thing)
    if makes_callables(thing) and (isinstance(thing, type) or bounded):
        raise RecipeError(f"{name!r} is a verifier and no recipe; {_as_part(name, thing)}")
    if not callable(thing):
        raise RecipeError(f"recipe {name!r} is {thing!r:.60}; expected a Recipe or a function that returns one")
    return cast(Callable[..., Any], thing)


def _built(name: str, build: Callable[..., Any], options: Mapping[str, Any]) -> Recipe:
    """Run a recipe's function."""
    try:
        built = build(**checked(build, options))
    except RecipeError as error:
        if not (where := origin(build)):  # a recipe of ours says enough
            raise
        raise RecipeError(f"{name}{where}: {error}") from error
    except GroundingRewardsError:
        raise
    except (Exception, SystemExit) as error:
        hint = f"; a function of Rollouts is no recipe: {_as_part(name, build)}" if _asks(build, options) else ""
        raise RecipeError(f"{name}{origin(build)} cannot be built ({type(error).__name__}: {error}){hint}") from error
    if not isinstance(built, Recipe):
        where = "function" if names_code(name) else "plugin"
        raise RecipeError(f"{name}{origin(build)}: its {where} returned {type(built).__name__}; expected a Recipe")
    return built


def _asks(build: Callable[..., Any], options: Mapping[str, Any]) -> bool:
    """Return True for a function that must be given something in place, rather than by name, that no option gives."""
    required = [each for each in inspect.signature(build).parameters.values() if each.default is each.empty]
    return any(each.kind is each.POSITIONAL_OR_KEYWORD and each.name not in options for each in required)


def _as_part(name: str, thing: Any) -> str:
    """Return how to make a verifier a part of a recipe."""
    bounds = {"low": 0, "high": 1} if inspect.isroutine(thing) else {}
    part, label = {"verifier": name, "weight": 1.0, **bounds}, re.split("[:/]", name)[-1]
    parts = {label if label.isidentifier() and label not in RESERVED else "mine": part}
    return f"make it a part: recipe composite with parts={json.dumps(parts, ensure_ascii=False)}"


def _unknown(name: Any) -> RecipeError:
    if isinstance(name, RecordedName):
        return RecipeError(f"{name.text!r:.80} is a name from data; look it up by recorded_recipe, which loads no code")
    known = registry().verifiers
    if isinstance(name, str) and name in known:
        return RecipeError(f"{name!r} is a verifier and no recipe; {_as_part(name, known[name])}")
    return unknown("recipe", name, list_recipes())


def _shared(built: Recipe, name: str, option: str, value: Any) -> Any:
    if option.endswith("_space"):
        return as_space(value)
    if option == "axes":
        return str(axes_named(value))
    if option == "action_names":
        return tuple(dict.fromkeys((*built.action_names, *_names(built, name, value))))
    choices = (True, False) if option == "trim" else get_args(Answers if option == "answers" else Thinking)
    if value not in choices or (option == "trim" and type(value) is not bool):
        raise RecipeError(f"{name}: option {option}: got {value!r}; expected one of {', '.join(map(str, choices))}")
    return value


def _model_space(name: str, model: Any) -> dict[str, Any]:
    """The option that a model's name stands for: the space that it answers in."""
    if model is None:
        return {}
    if model not in pipelines():
        hint = near(model, pipelines()) or "."
        raise RecipeError(f"{name}: option model: got {model!r:.60}{hint} There are: {', '.join(pipelines())}")
    return {"response_space": space_of(model)}


def resizing(built: Recipe, options: Mapping[str, Any]) -> Resizing | None:
    """Return a recipe's ``resizing`` with other options of it."""
    settings = {**(vars(built.resizing) if built.resizing else {}), **options}
    bounds = {name: bound for name, bound in settings.items() if name != "model" and bound is not None}
    for name, bound in bounds.items():
        if type(bound) is not int or bound < 1:
            raise RecipeError(f"{built.name}: {name}: got {bound!r:.60}; expected a whole number of pixels from 1")
        if settings.get("model") is None:
            say = "says how images are resized; say for which model: set model too"
            raise RecipeError(f"{built.name}: {name}={bound} {say}")
    return None if settings.get("model") is None else Resizing(**settings)


def _names(built: Recipe, name: str, value: Any) -> tuple[str, ...]:
    """Read names of actions from the option that declares them: one, or several."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, tuple) or not all(isinstance(each, str) and each for each in names):
        raise RecipeError(f"{name}: option action_names: got {value!r:.80}; expected names such as ['snap', 'zoom']")
    if any("," in each for each in names):
        raise RecipeError(f"{name}: option action_names: got {value!r:.80}; write several as a list: ['snap', 'zoom']")
    if names and ACTION not in built.accepts:
        raise RecipeError(f"{name}: option action_names: got {value!r:.80}, and this recipe judges no actions")
    return names
