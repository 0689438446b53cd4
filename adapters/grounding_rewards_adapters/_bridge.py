"""What the adapters have in common: build a recipe, say what is wrong, name the metrics."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import grounding_rewards as gr
from grounding_rewards.sizes import read_size

LOG = logging.getLogger("grounding_rewards")

REPORTED = 1000
"""Unusable targets that are logged at most."""


def build(
    recipe: str | Mapping[str, Any] | gr.Recipe | None, options: Mapping[str, Any], key: str = "recipe"
) -> gr.Recipe:
    """The recipe that a trainer's settings name.

    Raises:
        RecipeError: no recipe is named (says which ``key`` to set), or options come beside a recipe that is built
            already.
    """
    if isinstance(recipe, gr.Recipe):
        if options:
            raise gr.RecipeError(f"recipe {recipe.name} is built already; give it {', '.join(options)} there")
        return recipe
    if not recipe:
        raise gr.RecipeError(f"no recipe is named; set {key} to one of {', '.join(gr.recipes())}")
    return gr.recipe(recipe, **options)


_DOES = {"groups": "compares the rollouts of one sample", "trajectories": "adds up a trajectory"}


def refuse(recipe: gr.Recipe, **lacking: str) -> None:
    """Raise where a score needs other rows that the trainer does not give; ``lacking`` says why, by need."""
    for need, why in lacking.items():
        if need in recipe.needs:
            raise gr.RecipeError(f"{recipe.name} {_DOES[need]}; {why}")


def report(
    scores: gr.Scores,
    seen: set[str],
    *,
    names: Sequence[str | None] = (),
    outcome: str = "the sample abstains",
) -> None:
    """Log each unusable target once: by the sample's id, or by what is wrong where it has none.

    Args:
        scores: a scored batch.
        seen: what was logged before; grows to at most REPORTED.
        names: what else names the sample of each row whose target has no id.
        outcome: what becomes of such a sample.
    """
    for row, error in scores.errors.items():
        error = _named(error, names[row] if names else None)
        named = isinstance(error.sample, str)
        key = error.sample if named else f"{error.field} {error.came!r:.200} {error.expected}"
        if key in seen or len(seen) >= REPORTED:
            continue
        seen.add(str(key))
        LOG.error("%s; %s", error, outcome)
        if len(seen) == REPORTED:
            LOG.error("%d targets cannot be used; further ones are not logged", REPORTED)


def say_once(text: str, seen: set[str], about: str = "") -> None:
    """Log an error, where none was logged before ``about`` the same, or of the same text; ``seen`` grows."""
    if (about or text) not in seen:
        seen.add(about or text)
        LOG.error("%s", text)


def _named(error: gr.TargetError, name: str | None) -> gr.TargetError:
    if name is None or isinstance(error.sample, str):
        return error
    return gr.TargetError(name, error.field, error.came, error.expected)


def require_some_valid(scores: gr.Scores, where: str) -> None:
    """Raise where no target of a batch can be used: that is wiring, not a bad row.

    Raises:
        RecipeError: names the first complaint, and ``where`` to look.
    """
    if len(scores) and not scores.valid.any():
        raise unwired(len(scores), where, next(iter(scores.errors.values())))


def unwired(count: int, where: str, error: gr.TargetError) -> gr.RecipeError:
    """What to raise where none of the first ``count`` targets can be used."""
    return gr.RecipeError(f"not one of the first {count} targets can be used; check {where}: {error}")


def metrics(scores: gr.Scores) -> dict[str, float]:
    """Means over the usable rows of a batch: acc, parsed, valid, every part, and the share of each reason."""
    usable = scores.valid > 0
    means = {"acc": scores.acc, "parsed": scores.predictions.parsed.astype(np.float64), **scores.parts}
    found = {name: float(column[usable].mean()) if usable.any() else 0.0 for name, column in means.items()}
    shares = {f"reason/{kind.name.lower()}": float((scores.reason == kind).mean()) for kind in gr.Reason}
    return {**found, "valid": float(scores.valid.mean()), **shares}


def read_sizes(name: str, column: Sequence[Any], seen: set[str]) -> list[tuple[float, float] | None]:
    """The sizes in a column; None where there is none, or none that can be read, which is logged once.

    Such a row is judged where no size is needed, and is not valid where one is.
    """
    sizes = [read_size(value) for value in column]
    for value, size in zip(column, sizes, strict=True):
        if size is None and value is not None:
            complaint = f"{name}: got {value!r:.80}; expected [width, height]; anything else counts as unknown"
            say_once(complaint, seen, about=name)
    return sizes


def image_sizes(columns: Sequence[Any]) -> list[tuple[int, int] | None]:
    """Width and height of each row's image; of a list of images the last one's; None where there is none."""
    sizes: list[tuple[int, int] | None] = []
    for row in columns:
        image = (row[-1] if row else None) if isinstance(row, list | tuple) else row
        size = getattr(image, "size", None)
        sizes.append((int(size[0]), int(size[1])) if isinstance(size, tuple) and len(size) == 2 else None)
    return sizes
