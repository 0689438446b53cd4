"""All recipes at a glance: the totals of each for the same target, drawn small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from docs.gallery.figure import COLOURS, draw
from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import PIXEL, UNIT, convert
from grounding_rewards.errors import RecipeError, printable
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.plot.picture import Picture, scene
from grounding_rewards.explain.plot.template import candidates, template
from grounding_rewards.scoring import ACTION, Recipe
from grounding_rewards.targets.write import to_wire

SCREEN = 960.0, 540.0
TARGET = 360.0, 200.0, 600.0, 340.0
_APART = ((0.0, 0.0), (-24.0, -14.0), (22.0, 16.0), (270.0, 150.0), (-12.0, 20.0))
"""Offsets of a group's answers from the target's centre, one of them far off."""

_COLUMNS = 5
_BELOW = "Total for an answer at each place, as a share of the highest in the map, 0 or less dark; target outlined."


def same_target(recipe: Recipe) -> Case:
    """Return a recipe's example, moved to one target on one screen of 960 x 540 pixels, with all places in it.

    Raises:
        RecipeError: the recipe has no example, or one without a place that can be exchanged.

    >>> from grounding_rewards import recipe
    >>> same_target(recipe("gelato")).response, same_target(recipe("gelato")).target["bbox"]
    ('(500, 500)', [360.0, 200.0, 600.0, 340.0])
    """
    example = recipe.example
    if example is None:
        raise RecipeError(f"{recipe.name}: has no example to draw")
    target: dict[str, Any] = {"bbox": [*TARGET], "space": str(PIXEL)}
    own = recipe.read_targets([example.target], warn=False).rows[0]
    if ACTION in recipe.accepts:
        target["action"] = "click" if own is None or own.action is None else to_wire(own)["action"]
    shown = scene(recipe, Case.of(example))
    old = shown.converted(shown.boxes, shown.space, recipe.response_space)
    texts = [
        _moved(recipe, _beside(recipe, text, old), _APART[number % len(_APART)])
        for number, text in enumerate((example.response, *example.group))
    ]
    rows = len(texts)
    sizes = (SCREEN,) * rows
    return Case(tuple(texts), (target,) * rows, image_sizes=sizes, model_image_sizes=sizes, groups=(0,) * rows)


def overview(pictures: Sequence[Picture]) -> Figure:
    """Draw pictures small beside each other, on one scale: the share of the highest total of each."""
    rows = -(-len(pictures) // _COLUMNS)
    figure = Figure(figsize=(9.0, 1.4 * rows + 0.5), dpi=100, facecolor="white", layout="constrained")
    grid = figure.subplots(rows, _COLUMNS, squeeze=False)
    for axes, each in zip_longest(grid.flat, pictures):
        if each:
            _small(axes, each)
        else:
            axes.set_axis_off()
    colours = ScalarMappable(Normalize(0.0, 1.0), COLOURS)
    bar = figure.colorbar(colours, ax=grid, location="bottom", fraction=0.02, aspect=75, pad=0.02)
    bar.set_label(_BELOW, fontsize=8, labelpad=1)
    bar.set_ticks([0.0, 0.5, 1.0], labels=["0", "50 %", "100 %"], fontsize=8)
    bar.outline.set_visible(False)
    return figure


def _moved(recipe: Recipe, text: str, apart: tuple[float, float]) -> str:
    """Return a response that answers with the target's centre, or its box, or with a place some pixels off."""
    sizes = np.array([SCREEN])
    places = np.array([TARGET]) + np.tile(apart, 2)
    extent = _in(recipe, np.array([SCREEN]), sizes)[0]
    written = template(recipe, text, (extent[0].item(), extent[1].item()))
    if written is None:
        return text
    if not written.box:
        places = (places[:, :2] + places[:, 2:]) / 2
    return written.write(_in(recipe, places, sizes))[0]


def _beside(recipe: Recipe, text: str, old: Floats) -> str:
    """Return a response in which the target's box is written wherever that of the example was, as beside its answer."""
    for box in old:
        ways = list(candidates(text, box, recipe.response_space is UNIT))
        if ways:
            new = _in(recipe, np.array([TARGET]), np.array([SCREEN]))
            text = max(ways, key=lambda way: (len(way.order), way.decimals)).write(new)[0]
    return text


def _in(recipe: Recipe, places: Floats, sizes: Floats) -> Floats:
    return convert(places, PIXEL, recipe.response_space, sizes, sizes)


def _small(axes: Axes, each: Picture) -> None:
    view = each.views[0]
    lowest, highest = view.total.min(), view.total.max()
    shown = replace(each.scene, answer=None)  # it would hide the totals below it
    draw(axes, shown, view, (0.0, highest), False)
    axes.set(xticks=[], yticks=[], box_aspect=SCREEN[1] / SCREEN[0])
    axes.set_title(printable(each.name), loc="left", parse_math=False, fontsize=8.5, weight="bold", pad=15)
    ends = f"{lowest:.3g} to {highest:.3g}"
    axes.annotate(ends, (0, 1), (0, 4), "axes fraction", "offset points", fontsize=8, color="0.3")
