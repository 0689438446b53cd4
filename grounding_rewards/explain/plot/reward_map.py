"""The total of a click, or a box, at every place of a screen, through the whole pipeline from text on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.axes import axes_named
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import RecipeError
from grounding_rewards.explain.case import Case
from grounding_rewards.explain.plot.scene import Scene, Window, centre, scene, with_its_group
from grounding_rewards.explain.plot.template import Template, template
from grounding_rewards.rollouts import Scores
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.reporting import Advance

CELLS = 160 * 90
MOST_ROWS, MOST_PAIRS, MOST_CHARACTERS, MOST_TRAJECTORIES = 300_000, 50_000_000, 30_000_000, 1_000
"""Limits of scoring a map: rows, pairs of rows of one group, characters of all responses, calls one by one."""

AT_ONCE = 40_000  # rows that are scored in one call


@dataclass(frozen=True, eq=False)
class RewardMap:
    """The scores of the same response with its place in each of w x h cells.

    The place is the centre of the cell, or a point of the target or the answer that lies in the same column or row: the
    highest total may be there alone.
    """

    window: Window  # x1 y1 x2 y2 of the part that is covered, in `space`
    space: CoordSpace  # the space of `window`, `x` and `y`
    x: Floats  # (w,) the places from left to right, one a column
    y: Floats  # (h,) the same from top to bottom
    total: Floats  # (h, w) the reward
    acc: Floats  # (h, w) 1.0 for full success, else 0.0
    low: float  # the lowest total that the recipe can have
    high: float  # the highest
    # width and height of the box answered at every place, before the screen cuts it off; None for a click
    box: tuple[float, float] | None
    answered: str  # the answer at every place, in words
    exemplary: bool  # True where the recipe's example moves, because the response answers with no place
    step: tuple[float, float]  # (2,) how far apart the places are that the response can say, in `space`

    @property
    def coarse(self) -> bool:
        """True where several cells show the total of one and the same answer."""
        x1, y1, x2, y2 = self.window
        return self.step[0] > (x2 - x1) / len(self.x) or self.step[1] > (y2 - y1) / len(self.y)


def reward_map(
    recipe: Recipe,
    case: Case,
    *,
    window: Window | None = None,
    cells: int = CELLS,
    shown: Scene | None = None,
    advance: Advance = lambda done: None,
) -> RewardMap:
    """Score an answer at every place of the screen.

    The place in the case's response is exchanged for one in each cell, or for a box of the target's size around it, cut
    off at the edges of the screen; the centres of the target's places are among them, and the answer where it lies in
    other rows and columns. Numbers are as exact as the response's own. A response that answers with no
    place is replaced by the recipe's example. All other responses of the group or the trajectory stay; those whose
    target cannot be used are not valid.
    """
    shown = shown or scene(recipe, case)
    window = window or shown.window
    width, height = window[2] - window[0], window[3] - window[1]
    if not (width > 0 and height > 0 and cells > 0):
        raise RecipeError(
            f"{recipe.name}: window {window}, cells {cells}: expected x1 < x2, y1 < y2 and 1 cell or more"
        )
    written, exemplary = _template(recipe, case, shown)
    own = with_its_group(recipe, case)  # the rest would be scored again for each cell
    columns, rows = _grid(width / height, _affordable(recipe, own, cells))
    points = _points(shown)
    x = _places(window[0], width, columns, points[:, 0])
    y = _places(window[1], height, rows, points[:, 1])
    centres = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    box, answered = _box_size(shown) if written.box else (None, "a click")
    places = centres if box is None else _boxes(centres, box, shown)
    answers = shown.converted(places, shown.space, recipe.response_space)
    texts = written.write(axes_named(recipe.axes).write(answers))
    total, acc = _scored(recipe, own, texts, advance)
    shape = rows, columns
    return RewardMap(
        window, shown.space, x, y, total.reshape(shape), acc.reshape(shape), recipe.low, recipe.high, box, answered,
        exemplary, _step(recipe, shown, written),
    )  # fmt: skip


def _template(recipe: Recipe, case: Case, shown: Scene) -> tuple[Template, bool]:
    """Return the response's template, or else that of the recipe's example, and True for the example's."""
    extent = shown.extent_in(recipe.response_space)
    written = template(recipe, case.response, extent)
    if written is not None:
        return written, False
    if recipe.example is not None:
        written = template(recipe, recipe.example.response, extent)
    if written is None:
        raise RecipeError(
            f"{recipe.name}: neither the response nor the recipe's example answers with a place, so that there is no "
            "map; give --response with an answer"
        )
    return written, True


def _step(recipe: Recipe, shown: Scene, written: Template) -> tuple[float, float]:
    width, height = shown.extent_in(recipe.response_space)
    return shown.width / width * 10.0**-written.decimals, shown.height / height * 10.0**-written.decimals


def _affordable(recipe: Recipe, own: Case, cells: int) -> int:
    if "trajectories" in recipe.needs:
        return min(cells, MOST_TRAJECTORIES)
    rows, length = len(own.responses), sum(len(response or "") for response in own.responses)
    return max(1, min(cells, MOST_ROWS // rows, MOST_PAIRS // rows**2, MOST_CHARACTERS // max(length, 1)))


def _grid(aspect: float, cells: int) -> tuple[int, int]:
    """Return columns and rows of nearly square cells, ``cells`` of them at most."""
    rows = min(max(math.floor(math.sqrt(cells / aspect)), 1), cells)
    return max(min(math.floor(rows * aspect + 1e-9), cells // rows), 1), rows  # floats: 15.999... is 16 columns


def _points(shown: Scene) -> Floats:
    """Return points (k, 2) that shall be on the map: those of the target first, then the answer."""
    marks = shown.marks[~np.isnan(shown.marks).any(axis=1)]
    answer = [] if shown.answer is None else [centre(shown.answer)]
    return np.vstack([marks, (shown.boxes[:, :2] + shown.boxes[:, 2:]) / 2, *answer])


def _places(start: float, length: float, cells: int, points: Floats) -> Floats:
    """Return the centre of each cell, or in its stead the first point that lies in the cell."""
    places = start + (np.arange(cells, dtype=np.float64) + 0.5) * (length / cells)
    for point in points[(points >= start) & (points <= start + length)][::-1]:  # the first one last: it stays
        places[min(int((point - start) / length * cells), cells - 1)] = point
    return places


def _box_size(shown: Scene) -> tuple[tuple[float, float], str]:
    """Return the size of the target's first place that has an extent; else the answer's; else a tenth of the screen."""
    boxes = [(box, "a box of the target's size") for box in shown.boxes]
    if shown.answer is not None and len(shown.answer) == 4:
        boxes.append((shown.answer, "a box of the answer's size"))
    for (x1, y1, x2, y2), words in boxes:
        if x2 > x1 and y2 > y1:
            return (float(x2 - x1), float(y2 - y1)), words
    return (shown.width / 10, shown.height / 10), "a box of a tenth of the screen"


def _boxes(centres: Floats, size: tuple[float, float], shown: Scene) -> Floats:
    half = np.array(size) / 2
    extent = (shown.width, shown.height) if shown.known else (np.inf, np.inf)  # no edge to cut at
    return np.hstack((np.maximum(centres - half, 0.0), np.minimum(centres + half, extent)))


def _scored(recipe: Recipe, own: Case, texts: list[str], advance: Advance) -> tuple[Floats, Floats]:
    """Return total and acc (k,) of the row with each text."""
    # A target names its trajectory: repeated rows would all be of one, so these are scored one by one.
    by_name, rows = "trajectories" in recipe.needs, len(own.responses)
    total, acc, step = np.zeros(len(texts)), np.zeros(len(texts)), 1 if by_name else max(1, AT_ONCE // rows)
    for start in range(0, len(texts), step):
        part = slice(start, start + step)
        scores = own.score(recipe, texts[start]) if by_name else _together(recipe, own, texts[part])
        total[part], acc[part] = scores.total[own.row :: rows], scores.acc[own.row :: rows]  # one group after the other
        advance(min(start + step, len(texts)) / len(texts))
    return total, acc


def _together(recipe: Recipe, own: Case, texts: list[str]) -> Scores:
    """Score every row, the group repeated for each text."""
    cells, rows = len(texts), len(own.responses)
    repeated: dict[str, Any] = {name: column * cells for name, column in vars(own).items() if isinstance(column, tuple)}
    responses = [*repeated["responses"]]
    responses[own.row :: rows] = texts
    # Each text has a group of its own, or the cells would be compared with one another.
    repeated |= {"responses": tuple(responses), "groups": tuple(np.repeat(np.arange(cells), rows).tolist())}
    return recipe.evaluate(Case(**repeated).rollouts(recipe, checked=False))
