"""Picture of a recipe: its totals over the screen of its example, with the target, the answer and its group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import MaxNLocator

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import printable
from grounding_rewards.explain.plot.page import scale
from grounding_rewards.explain.plot.picture import Picture, RewardMap, Scene, Window

COLOURS = "viridis"
_AXES = {
    CoordSpace.PIXEL: "pixels",
    CoordSpace.MODEL_PIXEL: "pixels of the image that the model saw",
    CoordSpace.UNIT: "sides as 0 to 1",
    CoordSpace.THOUSANDTHS: "sides as 0 to 1000",
}

FLAT = 2.5
"""Width over height of a screen from which a closer view stands below."""

# White with a black edge shows on light and on dark.
_TARGET = {"color": "white", "linewidth": 1.3, "solid_joinstyle": "miter"}
_POINT = {"color": "white", "linestyle": "none", "marker": "x", "markersize": 6.0, "markeredgewidth": 1.3}
_CLICK = {"color": "white", "linestyle": "none", "marker": "+", "markersize": 12.0, "markeredgewidth": 1.8}
_BOX = {"color": "white", "linewidth": 1.5, "linestyle": (0, (4, 3))}
_OTHER = {"color": "white", "linestyle": "none", "marker": "o", "markersize": 4.0, "markeredgewidth": 0.0}
_CLOSER = {"color": "white", "linewidth": 0.7, "solid_joinstyle": "miter"}
_TICK = 45.0, 22.0  # dots between two numbers at each axis

Style = dict[str, Any]


def plot(shown: Picture) -> Figure:
    """Draw one recipe: a view of the whole screen and, where its target is small, a closer one."""
    rows = [[view] for view in shown.views] if _aspect(shown.views[0]) > FLAT else [list(shown.views)]
    places = layout([[_aspect(view) for view in row] for row in rows])
    figure = Figure(figsize=places.size, dpi=100, facecolor="white")
    bounds = scale([shown])
    axes = {}
    for row, row_places in zip(rows, places.panels, strict=True):
        for view, place in zip(row, row_places, strict=True):
            axes[place] = _panel(figure, shown, view, place, bounds)
    left, bottom, _, tall = places.panels[0][0]
    _title(figure, shown, left, bottom + tall, places.size[1])
    axes[places.panels[-1][0]].set_xlabel(_axis(shown), fontsize=8.5, loc="left")
    _bar(figure, shown.views[0].answered, places, bounds)
    _legend(figure, shown.scene, places)
    return figure


def _aspect(view: RewardMap) -> float:
    x1, y1, x2, y2 = view.window
    return (x2 - x1) / (y2 - y1)


def _panel(figure: Figure, shown: Picture, view: RewardMap, place: Place, bounds: tuple[float, float]) -> Axes:
    axes, inner = figure.add_axes(place), view is not shown.views[0]
    draw(axes, shown.scene, view, bounds, inner)
    note = "a closer view" if inner else "map of the recipe's own example" if view.exemplary else ""
    axes.set_title(note, fontsize=8.5, loc="left", pad=3)
    if not inner and len(shown.views) > 1:
        x1, y1, x2, y2 = shown.views[1].window
        axes.add_line(_line(_closed(np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]])), _CLOSER, "", 0.5))
    return axes


def _axis(shown: Picture) -> str:
    """Name the numbers on the axes, and changes to the screen."""
    notes = [_AXES[shown.scene.space]]
    if not shown.scene.known:
        notes.append("the size of the screen is not known")
    if any(shaped(_aspect(view)) != _aspect(view) for view in shown.views):
        notes.append("the narrow side is stretched")
    notes += [
        f"answers in steps of {view.step[0]:.3g} x {view.step[1]:.3g}" for view in shown.views[-1:] if view.coarse
    ]
    return "; ".join(notes)


def _title(figure: Figure, shown: Picture, left: float, top: float, high: float) -> None:
    """Write name and scores above a panel."""
    view, far = shown.views[0], "" if shown.scene.visible else " outside the picture"
    verdict = f"the answer{far}: {shown.verdict}; range of the recipe {view.low:.4g} to {view.high:.4g}"
    # A $ in a name would begin a formula.
    figure.text(left, top + 0.5 / high, printable(shown.name), parse_math=False, fontsize=12, weight="bold")
    figure.text(left, top + 0.28 / high, verdict, fontsize=9.5)


def _bar(figure: Figure, answers: str, places: Layout, bounds: tuple[float, float]) -> None:
    bar = figure.colorbar(ScalarMappable(Normalize(*bounds), COLOURS), cax=figure.add_axes(places.bar))
    bar.set_label(f"total for {answers} there", fontsize=8.5)
    bar.set_ticks(_ticks(*bounds), labels=[f"{tick:.4g}" for tick in _ticks(*bounds)])
    bar.ax.tick_params(labelsize=8, length=3)
    bar.outline.set_visible(False)


def _ticks(low: float, high: float) -> list[float]:
    """Return both ends, and round numbers between that keep off them."""
    room = 0.07 * (high - low)
    ticks = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [low, *(tick for tick in ticks if low + room < tick < high - room), high]


def _legend(figure: Figure, shown: Scene, places: Layout) -> None:
    marks = {line.get_label(): line for line in lines(shown)}
    for line in marks.values():
        line.set_data([0], [0])
    if marks:
        figure.legend(
            handles=[*marks.values()], loc="lower left", bbox_to_anchor=(LEFT / places.size[0], 0.12 / places.size[1]),
            ncol=len(marks), frameon=False, fontsize=8.5, handlelength=2.2, columnspacing=2.0, borderpad=0.0,
            borderaxespad=0.0,
        )  # fmt: skip


def draw(axes: Axes, shown: Scene, view: RewardMap, bounds: tuple[float, float], inner: bool) -> None:
    """Draw one view of a screen, its colours between these bounds; ``inner`` marks a closer view of another panel."""
    x1, y1, x2, y2 = view.window
    axes.imshow(
        view.total, cmap=colormaps[COLOURS], vmin=bounds[0], vmax=bounds[1], extent=(x1, x2, y2, y1), aspect="auto",
        interpolation="nearest",
    )  # fmt: skip
    axes.set_autoscale_on(False)  # else marks widen the view
    axes.set_xlim(x1, x2)
    axes.set_ylim(y2, y1)
    wide, high = axes.get_window_extent().size
    most = 5 if inner else 6
    axes.locator_params(axis="x", nbins=int(np.clip(wide / _TICK[0], 1, most)))
    axes.locator_params(axis="y", nbins=int(np.clip(high / _TICK[1], 1, most)))
    axes.tick_params(labelsize=8, length=3, color="0.4")
    for line in lines(shown, view.window):
        axes.add_line(line)


def lines(shown: Scene, window: Window | None = None) -> Iterator[Line2D]:
    """Yield target, answers and group as lines with labels, the answers last; no marks outside the window."""
    window = window or shown.window
    for corners in shown.outlines:
        if len(corners) == 1:
            yield from _marks(corners, window, _POINT, "target", 0.9)
        else:
            yield _line(_closed(corners), _TARGET, "target", 0.9)
    yield from _marks(shown.marks, window, _POINT, "point of the target", 1.1)
    if shown.consensus is not None:
        yield _line(_closed(shown.consensus), _TARGET, "agreed on by the group", 0.9)
    if shown.answer is not None and shown.visible:
        if len(shown.answer) == 4:
            x1, y1, x2, y2 = shown.answer.tolist()
            yield _line(_closed(np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]])), _BOX, "the answer", 0.9)
        else:
            yield from _marks(shown.answer[None], window, _CLICK, "the answer", 1.3)
    yield from _marks(shown.others, window, _OTHER, "other answers of the group", 1.2)


def _marks(points: Floats, window: Window, style: Style, label: str, edge: float) -> Iterator[Line2D]:
    """Mark the visible ones of the points (k, 2), whole even where they lie at the border."""
    x1, y1, x2, y2 = window
    visible = points[((points >= (x1, y1)) & (points <= (x2, y2))).all(axis=1)]
    if len(visible):
        yield _line(visible, {**style, "clip_on": False, "zorder": 3}, label, edge)


def _closed(corners: Floats) -> Floats:
    return np.vstack((corners, corners[:1]))


def _line(points: Floats, style: Style, label: str, edge: float) -> Line2D:
    width = style.get("linewidth", 0.0) if style.get("linestyle") != "none" else style["markeredgewidth"]
    effects = [Stroke(linewidth=width + 2 * edge, foreground="black"), Normal()]
    return Line2D(*points.T, label=label, path_effects=effects, **style)


Place = tuple[float, float, float, float]
"""Left, bottom, width and height, as shares of the figure."""

WIDTH, TALLEST, NARROWEST = 9.0, 4.0, 2.3
"""The figure's width, a panel's height and a column's width at most and at least; 100 dots an inch are meant."""

LEFT, RIGHT, TOP, BOTTOM, GAP = 0.62, 1.0, 0.8, 0.82, 0.55
_BAR, _BAR_GAP, _LEAST = 0.16, 0.18, 5.8
_FLATTEST = 5.0  # a panel's longer side over its shorter one: beyond that it is stretched, so that something shows


@dataclass(frozen=True)
class Layout:
    """Width and height of the figure, places of each row's panels from the top, and of the colour bar."""

    size: tuple[float, float]
    panels: tuple[tuple[Place, ...], ...]
    bar: Place


def layout(aspects: list[list[float]]) -> Layout:
    """Lay out rows of panels, by width over height: one row, or rows of one panel.

    >>> places = layout([[2.0]])
    >>> places.size, [round(share, 2) for share in places.panels[0][0]]
    ((9.0, 5.31), [0.07, 0.15, 0.82, 0.69])
    """
    drawn = [[shaped(aspect) for aspect in row] for row in aspects]
    columns, gaps = len(drawn[0]), [TOP, *[GAP] * (len(drawn) - 1)]
    room = WIDTH - LEFT - RIGHT - GAP * (columns - 1)
    if len(drawn) == 1:  # all panels of one height, as wide as they are
        height = min(TALLEST, max(room, NARROWEST * columns) / sum(drawn[0]))
        widths, heights = [aspect * height for aspect in drawn[0]], [height]
    else:
        widths, heights = [max(room, NARROWEST)], [min(TALLEST, max(room, NARROWEST) / aspect) for (aspect,) in drawn]
    whole = max(LEFT + sum(widths) + GAP * (columns - 1) + RIGHT, _LEAST)
    high = sum(heights) + sum(gaps) + BOTTOM
    panels = []
    for number, (row, tall) in enumerate(zip(drawn, heights, strict=True)):
        top = high - sum(heights[:number]) - sum(gaps[: number + 1])
        lefts = [LEFT + sum(widths[:column]) + GAP * column for column in range(columns)]
        sizes = [min(width, tall * aspect) for width, aspect in zip(widths, row, strict=True)]
        panels.append(tuple(
            _shares(left, top, width, width / aspect, whole, high)
            for left, width, aspect in zip(lefts, sizes, row, strict=True)
        ))  # fmt: skip
    bar = LEFT + sum(widths) + GAP * (columns - 1) + _BAR_GAP
    return Layout(
        (round(whole, 2), round(high, 2)), tuple(panels),
        _shares(bar, high - TOP, _BAR, min(high - TOP - BOTTOM, TALLEST), whole, high),
    )  # fmt: skip


def shaped(aspect: float) -> float:
    """Return the width over the height with which a panel is drawn.

    >>> shaped(1.6), shaped(500.0)
    (1.6, 5.0)
    """
    return min(max(aspect, 1 / _FLATTEST), _FLATTEST)


def _shares(left: float, top: float, width: float, height: float, whole: float, high: float) -> Place:
    return left / whole, (top - height) / high, width / whole, height / high
