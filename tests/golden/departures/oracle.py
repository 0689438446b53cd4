"""The oracle of a deviation, and its helpers: readers of lines, and the check for targets that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import grounding_rewards as gr
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.requirements import Requirements

Line = Mapping[str, Any]
"""A ``response``, its ``ground_truth``, and what comes ``extra``, as a published function gets them."""


@dataclass(frozen=True)
class Oracle:
    """One deviation of a recipe, restated without looking at scores.

    Attributes:
        name: the deviation's name.
        applies: is it in force for a line?
        value: what the recipe returns for such a line: names of ``Scores`` columns to numbers. Or, in its place:
        same_as: the line that such a line is scored like.
    """

    name: str
    applies: Callable[[Line], bool]
    value: Callable[[Line], Mapping[str, float]] | None = None
    same_as: Callable[[Line], Line] | None = None


def text_of(line: Line) -> str:
    """Return the response of a line, "" where it is no text."""
    response = line["response"]
    return response if isinstance(response, str) else ""


def truth_of(line: Line) -> Any:
    """Return the ground truth of a line, read from JSON where it is a text that holds JSON."""
    truth = line["ground_truth"]
    try:
        return json.loads(truth) if isinstance(truth, str) else truth
    except (ValueError, RecursionError):
        return truth


def extra_of(line: Line) -> Mapping[str, Any]:
    """Return what comes beside the ground truth of a line; {} where that is null or no mapping."""
    extra = line["extra"]
    return extra if isinstance(extra, Mapping) else {}


def without_unicode(line: Line) -> Line:
    """Return a line with an x for each digit of another script."""
    kept = ["x" if each.isdecimal() and not each.isascii() else each for each in text_of(line)]
    return {**line, "response": "".join(kept)}


def zero(line: Line) -> dict[str, float]:
    """Return the value of a line that scores nothing."""
    return {"total": 0.0, "acc": 0.0}


def ground_truth(line: Line) -> Any:
    """Return the ground truth of a line as it is."""
    return line["ground_truth"]


@dataclass(frozen=True)
class Unreadable:
    """Does a recipe's reader of targets refuse a line's?

    Attributes:
        recipe: name of the recipe.
        row: the target as the recipe gets it, where more than the ground truth belongs to it.
        size: the size of the image, where the recipe needs one.
        sized: do targets themselves have all sizes that are needed?
        options: the options by which the recipe reads a line's target.
    """

    recipe: str
    row: Callable[[Line], Any] = ground_truth
    size: Callable[[Line], Any] | None = None
    sized: bool = False
    options: Callable[[Line], Mapping[str, Any]] = lambda line: {}

    def __call__(self, line: Line) -> bool:
        recipe = gr.recipe(self.recipe, **self.options(line))
        space = recipe.target_space
        try:
            targets = Targets.from_list([self.row(line)], native=recipe.native, space=space)
            target = targets.rows[0]
            into = target.space if target else None
            alone = Requirements(into or space, None, recipe.accepts, space)
            targets.prepare(recipe.requirements if self.sized else alone)
        except gr.TargetError:
            return True
        if self.size is None or (target and target.image_size):
            return False
        return read_size(self.size(line)) is None


def bad_target(
    recipe: str,
    row: Callable[[Line], Any] = ground_truth,
    size: Callable[[Line], Any] | None = None,
    *,
    sized: bool = False,
    options: Callable[[Line], Mapping[str, Any]] = lambda line: {},
) -> Oracle:
    """Return the oracle of targets that the recipe cannot read."""
    return Oracle("bad-target", Unreadable(recipe, row, size, sized, options), zero)
