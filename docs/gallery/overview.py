"""All recipes at a glance: what each pays for the same target, drawn small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding_rewards.errors import PictureError, RecipeError, printable
from grounding_rewards.explain import panel
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.picture import Picture
from grounding_rewards.explain.plot import figures
from grounding_rewards.explain.template import template
from grounding_rewards.scoring import ACTION, Recipe
from grounding_rewards.spaces import PIXEL, Floats, convert

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCREEN = 960.0, 540.0
TARGET = 360.0, 200.0, 600.0, 340.0
_APART = ((0.0, 0.0), (-24.0, -14.0), (22.0, 16.0), (270.0, 150.0), (-12.0, 20.0))
"""From the target's centre to the answers of a group, one of which is far off."""

_COLUMNS, _WIDTH, _MARGIN, _GAP, _TITLE, _FOOT = 5, 9.0, 0.12, 0.14, 0.46, 0.62


def same_target(recipe: Recipe) -> Case:
    """A recipe's example, moved to one target on one screen of 960 x 540 pixels.

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
    if ACTION in recipe.accepts:
        target["action"] = "click"
    texts = [
        _moved(recipe, text, _APART[number % len(_APART)])
        for number, text in enumerate((example.response, *example.group))
    ]
    rows = len(texts)
    sizes = (SCREEN,) * rows
    return Case(
        tuple(texts), (target,) * rows, image_sizes=sizes, model_image_sizes=sizes, groups=(0,) * rows
    )  # fmt: skip


def overview(pictures: Sequence[Picture]) -> Figure:
    """Draw pictures small beside each other, each from its own lowest to its own highest total.

    Raises:
        PictureError: there is nothing to draw, or matplotlib is not installed.
    """
    if not pictures:
        raise PictureError("overview: got no pictures; expected one or more")
    columns, width = _COLUMNS, (_WIDTH - 2 * _MARGIN - (_COLUMNS - 1) * _GAP) / _COLUMNS
    height = width * SCREEN[1] / SCREEN[0]
    rows = -(-len(pictures) // columns)
    high = rows * (height + _TITLE) + _FOOT
    figure = figures()(figsize=(_WIDTH, round(high, 2)), dpi=100, facecolor="white")
    for number, each in enumerate(pictures):
        row, column = divmod(number, columns)
        left, top = _MARGIN + column * (width + _GAP), high - row * (height + _TITLE)
        _small(figure, each, (left / _WIDTH, (top - _TITLE - height) / high, width / _WIDTH, height / high))
        figure.text(
            left / _WIDTH, (top - 0.24) / high, printable(each.name), parse_math=False, fontsize=8.5, weight="bold"
        )
        view = each.views[0]
        paid = f"{view.total.min():.3g} to {view.total.max():.3g}"
        figure.text(left / _WIDTH, (top - 0.4) / high, paid, fontsize=8, color="0.3")
    _bar(figure, high)
    return figure


def _moved(recipe: Recipe, text: str, apart: tuple[float, float]) -> str:
    """A response that answers with the target's centre, or its box, or with what is some pixels off."""
    sizes = np.array([SCREEN])
    places = np.array([TARGET]) + np.tile(apart, 2)
    extent = _in(recipe, np.array([SCREEN]), sizes)[0]
    found = template(recipe, text, (extent[0].item(), extent[1].item()))
    if found is None:
        return text
    if not found.box:
        places = (places[:, :2] + places[:, 2:]) / 2
    return found.write(_in(recipe, places, sizes))[0]


def _in(recipe: Recipe, places: Floats, sizes: Floats) -> Floats:
    return convert(places, PIXEL, recipe.response_space, sizes, sizes)


def _small(figure: Figure, each: Picture, place: tuple[float, float, float, float]) -> None:
    axes, view = figure.add_axes(place), each.views[0]
    shown = replace(each.scene, answer=None)  # it would hide what is paid below it
    panel.draw(axes, shown, view, (view.total.min(), view.total.max()), None, False)
    axes.set_xticks([])
    axes.set_yticks([])


def _bar(figure: Figure, high: float) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    place = figure.add_axes((0.3 / _WIDTH, 0.34 / high, 2.2 / _WIDTH, 0.12 / high))
    bar = figure.colorbar(ScalarMappable(Normalize(0.0, 1.0), panel.COLOURS), cax=place, orientation="horizontal")
    bar.set_ticks([0.0, 1.0], labels=["lowest", "highest"])
    bar.ax.tick_params(labelsize=8, length=2)
    bar.outline.set_visible(False)
    told = "Total for an answer at each place, in the colours of each recipe's own lowest and highest; target outlined."
    figure.text(2.9 / _WIDTH, 0.36 / high, told, fontsize=8)
