"""One panel of a picture: a map, and on it the target, the answer and the rest of the group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.explain.plot.reward_map import RewardMap
from grounding_rewards.explain.plot.scene import Scene, Window

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.lines import Line2D

COLOURS = "viridis"
"""Evenly spaced to the eye, and lighter all the way from low to high, so that it reads in grey."""

_SOLID = 0.5  # how solid the highest total is over a screenshot, so that what is below it can still be read
_SHADES = (0.4, 1.0)  # between which a screenshot lies, so that it does not darken the map
_TARGET = {"color": "white", "linewidth": 1.3, "solid_joinstyle": "miter"}
_POINT = {"color": "white", "linestyle": "none", "marker": "x", "markersize": 6.0, "markeredgewidth": 1.3}
_CLICK = {"color": "white", "linestyle": "none", "marker": "+", "markersize": 12.0, "markeredgewidth": 1.8}
_BOX = {"color": "white", "linewidth": 1.5, "linestyle": (0, (4, 3))}
_OTHER = {"color": "white", "linestyle": "none", "marker": "o", "markersize": 4.0, "markeredgewidth": 0.0}
_CLOSER = {"color": "white", "linewidth": 0.7, "solid_joinstyle": "miter"}
_TICK = 45.0, 22.0  # dots between two numbers at each axis

Style = dict[str, Any]


def colours(over: bool) -> Colormap:
    """Return the colour scale of maps; over a screenshot it runs from clear to dark, so that the screen shows."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    shades = colormaps[COLOURS](np.linspace(0.0, 1.0, 256))
    if over:
        shades = shades[::-1].copy()  # dark and solid where high, clear where low
        shades[:, 3] = np.linspace(0.0, _SOLID, len(shades))
    return ListedColormap(shades)


def draw(
    axes: Axes, shown: Scene, view: RewardMap, bounds: tuple[float, float], image: Floats | None, inner: bool
) -> None:
    """Draw one view of a screen, its colours between these bounds, over a screenshot (h, w) as of ``pale``.

    ``inner`` marks a closer view of another panel, which outlines it.
    """
    x1, y1, x2, y2 = view.window
    if image is not None:
        extent = (0.0, shown.width, shown.height, 0.0)  # downwards, as on screens
        axes.imshow(image, cmap="gray", vmin=0.0, vmax=1.0, extent=extent, aspect="auto")
    axes.imshow(
        view.total, cmap=colours(image is not None), vmin=bounds[0], vmax=bounds[1], extent=(x1, x2, y2, y1),
        aspect="auto", interpolation="nearest",
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


def frame(axes: Axes, window: Window) -> None:
    """Outline the window of a closer view."""
    x1, y1, x2, y2 = window
    axes.add_line(_line(_closed(np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]])), _CLOSER, "", 0.5))


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
    """Return a white line with a black edge, which shows on light and on dark."""
    from matplotlib.lines import Line2D
    from matplotlib.patheffects import Normal, Stroke

    width = style.get("linewidth", 0.0) if style.get("linestyle") != "none" else style["markeredgewidth"]
    effects = [Stroke(linewidth=width + 2 * edge, foreground="black"), Normal()]
    return Line2D(*points.T, label=label, path_effects=effects, **style)


def pale(image: NDArray[Any]) -> Floats:
    """Lighten a screenshot (h, w) into pale shades; a dark one is inverted, or it would darken the whole map."""
    shades, (low, high) = _lightness(image), _SHADES
    pale: Floats = low + (high - low) * (1.0 - shades if dark(image) else shades)
    return pale


def dark(image: NDArray[Any]) -> bool:
    """Return True for a dark screenshot, which is drawn inverted."""
    return bool(_lightness(image).mean() < 0.5)


def _lightness(image: NDArray[Any]) -> Floats:
    """Return (h, w) from 0 to 1."""
    shades = np.asarray(image, dtype=np.float64)
    if shades.ndim == 3:
        shades = shades[..., :3] @ np.array([0.299, 0.587, 0.114])  # lightness to the eye (Rec. 601)
    light: Floats = np.clip(shades / 255.0, 0.0, 1.0)
    return light
