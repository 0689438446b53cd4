"""The total paid for a click, or a box, at every place of a screen, through the whole pipeline from text on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from grounding_rewards.columns import Scores
from grounding_rewards.errors import RecipeError
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.scene import Scene, Window, scene, with_its_group
from grounding_rewards.explain.template import Template, template
from grounding_rewards.scoring import Recipe
from grounding_rewards.spaces import CoordSpace, Floats

CELLS = 160 * 90
MOST_ROWS, MOST_CHARACTERS, MOST_TRAJECTORIES = 300_000, 30_000_000, 1_000
"""What scoring a map may take: rows in one call, characters of all responses, calls one by one."""


@dataclass(frozen=True, eq=False)
class RewardMap:
    """What is paid for the same response with its place at the centre of each of w x h cells.

    Attributes:
        window: x1 y1 x2 y2 of what is covered, in ``space``.
        space: the space of ``window``, ``x`` and ``y``.
        x: (w,) the cells' centres from left to right.
        y: (h,) the same from top to bottom.
        total: (h, w) the reward.
        acc: (h, w) 1.0 for full success, else 0.0.
        low: the lowest total that the recipe can pay.
        high: the highest.
        box: width and height of the box answered at every place, before the screen cuts it off; None for a click.
    """

    window: Window
    space: CoordSpace
    x: Floats
    y: Floats
    total: Floats
    acc: Floats
    low: float
    high: float
    box: tuple[float, float] | None


def reward_map(
    recipe: Recipe, case: Case, *, window: Window | None = None, cells: int = CELLS, shown: Scene | None = None
) -> RewardMap:
    """What a recipe pays for an answer at every place of the screen.

    The place in the case's response is exchanged for the centre of each cell, or for a box of the target's size there,
    cut off at the edges of the screen; numbers are as exact as the response's own. A response that answers with no
    place is replaced by the recipe's example. All other responses of the group or the trajectory stay.

    Args:
        recipe: the reward.
        case: the rollout whose place moves, with those that its score depends on.
        window: x1 y1 x2 y2 of what to cover, in the space of ``scene``; the whole screen if None.
        cells: about how many there may be; fewer where a group or a trajectory is scored for each.
        shown: the case's scene, where it is known.

    Raises:
        TargetError: a target cannot be used.
        RecipeError: the place cannot be exchanged, the window is empty, or something that the recipe needs is missing.

    >>> from grounding_rewards import recipe
    >>> found = reward_map(recipe("gelato"), Case(("(200, 150)",), ([0.0, 0.0, 0.5, 1.0],)), cells=4)
    >>> found.x, found.y, found.acc
    (array([0.25, 0.75]), array([0.25, 0.75]), array([[1., 0.],
           [1., 0.]]))
    """
    shown = shown or scene(recipe, case)
    window = window or shown.window
    width, height = window[2] - window[0], window[3] - window[1]
    if not (width > 0 and height > 0 and cells > 0):
        raise RecipeError(
            f"{recipe.name}: window {window}, cells {cells}: expected x1 < x2, y1 < y2 and 1 cell or more"
        )
    written = _template(recipe, case, shown)
    own = with_its_group(recipe, case)
    columns, rows = _grid(width / height, _affordable(recipe, own, cells))
    x, y = _centres(window[0], width, columns), _centres(window[1], height, rows)
    centres = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    box = _box_size(recipe, shown, written) if written.box else None
    places = centres if box is None else _boxes(centres, box, shown)
    texts = written.write(shown.converted(places, shown.space, recipe.response_space))
    total, acc = _scored(recipe, own, texts)
    shape = rows, columns
    return RewardMap(
        window, shown.space, x, y, total.reshape(shape), acc.reshape(shape), recipe.low, recipe.high, box
    )  # fmt: skip


def _template(recipe: Recipe, case: Case, shown: Scene) -> Template:
    extent = shown.extent_in(recipe.response_space)
    found = template(recipe, case.response, extent)
    if found is None and recipe.example is not None:
        found = template(recipe, recipe.example.response, extent)
    if found is None:
        raise RecipeError(
            f"{recipe.name}: neither the response nor the recipe's example answers with a place, so that there is no "
            "map; give --response with an answer"
        )
    return found


def _affordable(recipe: Recipe, own: Case, cells: int) -> int:
    if "trajectories" in recipe.needs:
        return min(cells, MOST_TRAJECTORIES)
    length = sum(len(response or "") for response in own.responses)
    return max(1, min(cells, MOST_ROWS // len(own.responses), MOST_CHARACTERS // max(length, 1)))


def _grid(aspect: float, cells: int) -> tuple[int, int]:
    """Columns and rows of nearly square cells, ``cells`` of them at most."""
    rows = min(max(math.floor(math.sqrt(cells / aspect)), 1), cells)
    return max(min(math.floor(rows * aspect + 1e-9), cells // rows), 1), rows


def _centres(start: float, length: float, cells: int) -> Floats:
    return start + (np.arange(cells, dtype=np.float64) + 0.5) * (length / cells)


def _box_size(recipe: Recipe, shown: Scene, written: Template) -> tuple[float, float]:
    """That of the target's first place that has an extent; else of the answer; else a tenth of the screen."""
    for x1, y1, x2, y2 in [*shown.boxes, *([] if shown.answer is None or len(shown.answer) < 4 else [shown.answer])]:
        if x2 > x1 and y2 > y1:
            return float(x2 - x1), float(y2 - y1)
    return shown.width / 10, shown.height / 10


def _boxes(centres: Floats, size: tuple[float, float], shown: Scene) -> Floats:
    half = np.array(size) / 2
    extent = (shown.width, shown.height) if shown.known else (np.inf, np.inf)
    return np.hstack((np.maximum(centres - half, 0.0), np.minimum(centres + half, extent)))


def _scored(recipe: Recipe, own: Case, texts: list[str]) -> tuple[Floats, Floats]:
    """Total and acc (k,) of the row with each text, all in one call where rows do not hang together by name."""
    if "trajectories" in recipe.needs:
        each = [own.score(recipe, text) for text in texts]
        return np.array([one.total[own.row] for one in each]), np.array([one.acc[own.row] for one in each])
    found, rows = _together(recipe, own, texts), len(own.responses)
    return found.total[own.row :: rows], found.acc[own.row :: rows]


def _together(recipe: Recipe, own: Case, texts: list[str]) -> Scores:
    """The scores of every row, the group repeated for each text."""
    cells = len(texts)
    responses = [*own.responses] * cells
    responses[own.row :: len(own.responses)] = texts
    given: dict[str, Any] = {
        name: None if column is None else [*column] * cells for name, column in own.given().items()
    }
    given["groups"] = np.repeat(np.arange(cells), len(own.responses))
    return recipe.score(responses, [*own.targets] * cells, **given)
