"""Shared work of the adapters: build a recipe, say what is wrong, name the metrics."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import grounding_rewards as gr
from grounding_rewards.arrays import Floats
from grounding_rewards.batch.score_rows import ScoredBatch
from grounding_rewards.catalogue import resizing
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.coords.resizing import RESIZING
from grounding_rewards.coords.spaces import MODELS, CoordSpace
from grounding_rewards.errors import MISSING, near
from grounding_rewards_adapters._settings import SHARED, Named, Settings, Trainer

LOG = logging.getLogger("grounding_rewards")

REPORTED = 1000
"""Unusable targets that are logged at most."""


def build(recipe: Any, settings: Settings, trainer: Trainer, key: str = "recipe") -> gr.Recipe:
    """Build one recipe that a launch names under ``key``, with the options beside it beneath its own."""
    if isinstance(recipe, gr.Recipe):
        if rest := settings.options.keys() - {*RESIZING}:
            raise gr.RecipeError(f"recipe {recipe.name} is built already; give it {', '.join(sorted(rest))} there")
        if not settings.options:
            return recipe
        return replace(recipe, resizing=resizing(recipe, _sized(settings.options, trainer)))
    own = dict(recipe) if isinstance(recipe, Mapping) else {"name": recipe}
    name = own.pop("name", None)
    if not name:
        meant = "".join(near(option, SHARED) for option in settings.options)
        place = f"{key}.name" if own else key
        raise gr.RecipeError(f"no recipe is named; set {trainer.set(place, _one_of(gr.list_recipes()))}{meant}")
    if not isinstance(name, str):
        raise gr.RecipeError(
            f"{key}: got {recipe!r:.80}; expected its name, a dict of its name and options, or a recipe: "
            f"set {trainer.set(key, 'a name')}"
        )
    try:
        return gr.recipe(name, **_sized({**settings.options, **own}, trainer))
    except (gr.RecipeError, gr.SpaceError) as error:
        where = "" if key == "recipe" else f"{key}: "
        unknown = next((option for option in settings.options if f"unknown option {option!r}" in str(error)), None)
        names = (*SHARED, *trainer.own)
        hint = "" if unknown is None else f"; every recipe here takes {', '.join(names)}{near(unknown, names)}"
        raise type(error)(f"{where}{error}{hint} (options are set as {trainer.set('NAME')})") from error


def _sized(options: Mapping[str, Any], trainer: Trainer) -> dict[str, Any]:
    """Return the options with the model's name made that of the trainer's own pipeline, and with its own bounds."""
    model = options.get("model")
    if model is None:
        return dict(options)
    if model not in MODELS:
        raise gr.RecipeError(f"model: got {model!r:.60}{near(model, MODELS) or '.'} There are: {', '.join(MODELS)}")
    bounds = options.get("processor_min_pixels"), options.get("processor_max_pixels")
    if trainer.alone_ignored and (bounds[0] is None) != (bounds[1] is None):
        raise gr.SpaceError(
            f"processor_min_pixels, processor_max_pixels: got {bounds[0]}, {bounds[1]}; expected both or none, because "
            f"{trainer.name}'s image processor passes over one of them alone: set both there and here"
        )
    return {**trainer.defaults, **options, "model": f"{trainer.pipeline}{model}"}


_DOES = {"groups": "compares the rollouts of one sample", "trajectories": "adds up a trajectory"}


def refuse(recipe: gr.Recipe, trainer: Trainer) -> None:
    """Raise where a score needs other rows that the trainer does not give."""
    for need, why in trainer.lacking.items():
        if need in recipe.needs:
            raise gr.RecipeError(f"{recipe.name} {_DOES[need]}; {why}")


def report(
    errors: Mapping[int, gr.TargetError],
    logged: set[str],
    *,
    names: Sequence[str | None] = (),
    outcome: str = "the sample abstains",
) -> None:
    """Log each unusable target once: by the sample's id, or by what is wrong where it has none.

    ``logged`` is what was logged before, ``names`` what else names a row's sample, ``outcome`` what becomes of it.
    """
    for row, each in errors.items():
        name = names[row] if names else None
        error = each if name is None else each.named(name)
        key = error.sample if isinstance(error.sample, str) else f"{error.field} {error.came!r:.200} {error.expected}"
        if key in logged:
            continue
        if len(logged) >= REPORTED:
            say_once(f"{REPORTED} targets cannot be used; further ones are not logged", logged)
            break
        logged.add(str(key))
        LOG.error("%s; %s", error, outcome)


def say_once(text: str, logged: set[str], about: str = "", level: int = logging.ERROR) -> None:
    """Log a text, where none was logged before ``about`` the same, or the same text; ``logged`` grows."""
    if (about or text) not in logged:
        logged.add(about or text)
        LOG.log(level, "%s", text)


def remedy(error: gr.TargetError, recipe: gr.Recipe, trainer: Trainer, named: Named | None) -> str:
    """Return what to set, where a space or a size is missing."""
    if error.field == "space" or "target_space" in error.expected:
        if named is None:
            return f"; build the recipe with target_space={_one_of(CoordSpace)}"
        return f"; set {named.set(trainer, {'target_space': _one_of(CoordSpace)})}"
    if error.came is not MISSING:
        return ""
    if error.field == "image_size" or (error.field == "model_image_size" and recipe.resizing is not None):
        return f"; give image_size: {trainer.sizes}"
    if error.field == "model_image_size":
        return (
            f"; set {trainer.set('model', _one_of(MODELS))} (and the bounds of "
            f"resizing to the launch's own), which makes it from image_size, or give model_image_size: {trainer.sizes}"
        )
    return ""


def _one_of(names: Iterable[str]) -> str:
    return f"one of {', '.join(names)}"


def beside(scored: ScoredBatch) -> dict[str, Floats]:
    """Return the columns that go beside total and acc: valid, parsed, in_image and parts."""
    return {name: column for name, column in scored.columns.items() if name not in ("total", "acc")}


def rows(columns: Mapping[str, Floats]) -> list[dict[str, float]]:
    """Return columns of n as n dicts of Python floats.

    >>> import numpy as np
    >>> rows({"score": np.array([0.5, 1.0]), "acc": np.array([0.0, 1.0])})
    [{'score': 0.5, 'acc': 0.0}, {'score': 1.0, 'acc': 1.0}]
    """
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*lists, strict=True)]


def metrics(scored: ScoredBatch) -> dict[str, float]:
    """Means over the usable rows of a batch, if any: acc, parsed, parts; of all rows: valid, share of each reason."""
    columns = scored.columns
    usable = columns["valid"] > 0
    means = {name: columns[name] for name in ("acc", "parsed", *scored.parts)}
    averages = {name: float(column[usable].mean()) for name, column in means.items()} if usable.any() else {}
    shares = {f"reason/{kind.name.lower()}": float((scored.reason == kind).mean()) for kind in gr.Reason}
    return {**averages, "valid": float(columns["valid"].mean()), **shares}


def read_sizes(name: str, column: Sequence[Any], logged: set[str]) -> list[tuple[float, float] | None]:
    """Read the sizes in a column; None where there is none, or none that can be read, which is logged once.

    Such a row is scored where no size is needed, and is not valid where one is.
    """
    sizes = [read_size(value) for value in column]
    for value, size in zip(column, sizes, strict=True):
        if size is None and value is not None:
            complaint = f"{name}: got {value!r:.80}; expected [width, height]; anything else counts as unknown"
            say_once(complaint, logged, about=name)
    return sizes
