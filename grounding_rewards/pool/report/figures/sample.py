"""Figure of one sample: its screen, its target, and the clicks of its rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import PIXEL, UNIT
from grounding_rewards.explain.plot import panel
from grounding_rewards.explain.plot.picture import closer
from grounding_rewards.explain.plot.scene import Scene, Window
from grounding_rewards.pool.report.figures import style
from grounding_rewards.pool.report.samples import ShownSample

Image = NDArray[Any]
"""(h, w) shades of grey."""

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_ASPECT = 16 / 9  # of a screen of unknown size
_TALLEST, _LEFT, _GAP, _RIGHT, _TOP, _BOTTOM = 3.6, 0.1, 0.3, 0.1, 0.3, 0.42
_NARROWEST = 4.0
_TITLE, _CLOSER = 2.1, 2.5  # width of a closer view's title, and height of such a view in a row of its own, in inches
_TARGET: dict[str, Any] = {"color": style.COLOURS["mixed"], "linewidth": 2.4, "solid_joinstyle": "miter"}
_DOT: dict[str, Any] = {"linestyle": "none", "markersize": 7.0}
_POINT = {**_DOT, "color": style.COLOURS["mixed"], "marker": "D", "markeredgecolor": "white"}
_WRONG = {**_DOT, "color": style.COLOURS["none_correct"], "marker": "X", "markersize": 7.5}
_RIGHT_ONE = {**_DOT, "color": style.COLOURS["all_correct"], "marker": "o"}
_LEAST = 0.15  # smallest closer view, as a share of the screen's shorter side: shows the surroundings
_DOTS = 1400  # pixels of a screenshot's side that a picture can show
_MARK = 13.0  # height of a view's number in points, above or below its frame
_TIGHT = 0.25  # largest share of each side for a closer view of the clicks


def sample(shown: ShownSample) -> Figure:
    """Draw the whole screen and, where they are small, closer views of the target and of where the clicks agree.

    Args:
        shown: the sample, with its screenshot if it has one.
    """
    from grounding_rewards.explain.plot.figure import figures

    scene = screen(shown)
    views = [("", scene.window), *closer_views(scene, shown)]
    aspects = [(x2 - x1) / (y2 - y1) for _, (x1, y1, x2, y2) in views]
    places = _places(aspects)
    wide = max(_NARROWEST, *(left + across + _RIGHT for left, _, across, _ in places))
    high = max(top + tall + _BOTTOM for _, top, _, tall in places)
    figure = figures()(figsize=(round(wide, 2), round(high, 2)), dpi=100, facecolor="white")
    lines = dict[str, "Line2D"]()
    whole: Axes | None = None
    for number, ((name, window), (left, top, across, tall)) in enumerate(zip(views, places, strict=True)):
        axes = figure.add_axes((left / wide, 1 - (top + tall) / high, across / wide, tall / high))
        lines |= _draw(axes, shown, scene, window)
        axes.set_title(_title(number, name, window, scene), fontsize=style.NORMAL, loc="left", pad=4)
        if whole is None:
            whole = axes
        else:
            _frame(whole, window, str(number))
    _legend(figure, lines, wide, high)
    return figure


def _places(aspects: Sequence[float]) -> list[tuple[float, float, float, float]]:
    """Return the left, top, width and height of each view in inches.

    All stand in a row; closer views that would be narrower than their titles stand in a second one.

    >>> [[round(each, 1) for each in place] for place in _places([3.0, 1.0])]
    [[0.1, 0.3, 6.4, 2.1], [6.8, 0.3, 2.1, 2.1]]
    >>> [[round(each, 1) for each in place] for place in _places([5.0, 1.0, 1.0])]
    [[0.1, 0.3, 8.8, 1.8], [0.1, 2.4, 2.5, 2.5], [2.9, 2.4, 2.5, 2.5]]
    """
    in_one = _row(aspects, _TOP, _TALLEST, 0.0)
    if all(across >= _TITLE for _, _, across, _ in in_one[1:]):
        return in_one
    first = _row(aspects[:1], _TOP, _TALLEST, 0.0)
    return [*first, *_row(aspects[1:], first[0][3] + 2 * _TOP, _CLOSER, 1.0)]


def _row(aspects: Sequence[float], top: float, tallest: float, least: float) -> list[tuple[float, float, float, float]]:
    """Place views in one row, each in a room whose aspect is ``least`` or more."""
    rooms = [max(aspect, least) for aspect in aspects]
    tall = min(tallest, (style.WIDTH - _LEFT - _RIGHT - _GAP * (len(rooms) - 1)) / sum(rooms))
    lefts = [_LEFT + sum(rooms[:place]) * tall + place * _GAP for place in range(len(rooms))]
    return [(left, top, aspect * tall, tall) for left, aspect in zip(lefts, aspects, strict=True)]


def _title(number: int, name: str, window: Window, scene: Scene) -> str:
    wide = f", {window[2] - window[0]:,.0f} px wide" if scene.known else ""
    return f"{number}: {name}{wide}" if name else "the whole screen"


def screen(shown: ShownSample) -> Scene:
    """Return the screen with the target on it, in pixels where its size is known, else in shares of it."""
    known = shown.image_size is not None
    width, height = shown.image_size or (_ASPECT, 1.0)
    scale = np.array([width, height])
    outlines = tuple(corners * scale for corners in shown.outlines)
    bounds = [np.hstack((corners.min(axis=0), corners.max(axis=0))) for corners in outlines]
    return Scene(
        space=PIXEL if known else UNIT, width=width, height=height, known=known, outlines=outlines,
        boxes=np.array(bounds).reshape(-1, 4), marks=np.zeros((0, 2)), answer=None, others=shown.clicks * scale,
        consensus=None, sizes=np.full((2, 2), np.nan),
    )  # fmt: skip


def closer_views(scene: Scene, shown: ShownSample) -> list[tuple[str, Window]]:
    """Return closer views: of a small target, and of clicks that agree on a place outside of that view."""
    near_target = (
        [("around the target", _widened(window, scene)) for window in closer(scene)] if len(scene.boxes) else []
    )
    clicks = _inside(scene.others, scene.window)
    if len(clicks) < 2:
        return near_target
    size = np.array([scene.width, scene.height])
    low, high = clicks.min(axis=0), clicks.max(axis=0)
    taken = any(len(_inside(clicks, window)) == len(clicks) for _, window in near_target)  # that view shows them all
    if taken or ((high - low) > _TIGHT * size).any():
        return near_target
    reach = 1.5 * (high - low).max()
    x1, y1, x2, y2 = np.hstack(((low + high) / 2 - reach, (low + high) / 2 + reach)).tolist()
    return [*near_target, ("around the clicks", _widened((x1, y1, x2, y2), scene))]


def _widened(window: Window, scene: Scene) -> Window:
    """Widen a window around its middle, within the screen, until its surroundings can be recognised."""
    size, low, high = np.array([scene.width, scene.height]), np.array(window[:2]), np.array(window[2:])
    side = np.minimum(np.maximum(high - low, _LEAST * size.min()), size)
    start = np.clip((low + high) / 2 - side / 2, 0.0, size - side)
    x1, y1, x2, y2 = np.hstack((start, start + side)).tolist()
    return x1, y1, x2, y2


def _draw(axes: Axes, shown: ShownSample, scene: Scene, window: Window) -> dict[str, Line2D]:
    """Draw one view, and return its artists by their legend's label."""
    x1, y1, x2, y2 = window
    axes.set_facecolor("0.95")
    if shown.image is not None:
        part, extent = _cut(shown.image, scene, window)
        if panel.dark(shown.image):
            part = 255 - part  # by the whole screen, so that all views of it agree
        axes.imshow(0.35 + part / 255.0 * 0.65, cmap="gray", vmin=0.0, vmax=1.0, extent=extent, aspect="auto")
    axes.set_autoscale_on(False)
    axes.set_xlim(x1, x2)
    axes.set_ylim(y2, y1)  # downwards, as on screens
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color("0.6")
    lines = [*_target(scene), *_clicks(scene.others, shown, window)]
    for line in lines:
        axes.add_line(line)
    return {str(line.get_label()): line for line in lines}


def _cut(image: Image, scene: Scene, window: Window) -> tuple[Image, Window]:
    """Return the part of a screenshot in a view, no finer than a picture can show, and its extent x1 x2 y2 y1."""
    high, wide = image.shape
    scale = np.array([wide / scene.width, high / scene.height])
    low = np.maximum(np.floor(np.array(window[:2]) * scale).astype(int), 0)
    top = np.minimum(np.ceil(np.array(window[2:]) * scale).astype(int), (wide, high))
    step = max(1, int((top - low).max()) // _DOTS)  # whole pixels, so that blocks can be averaged
    (x1, y1), (x2, y2) = low.tolist(), (low + np.maximum((top - low) // step, 1) * step).tolist()
    cut = image[y1:y2, x1:x2]
    if step > 1:
        rows, columns = cut.shape[0] // step, cut.shape[1] // step
        cut = cut.reshape(rows, step, columns, step).mean(axis=(1, 3))
    left, upper = (np.array([x1, y1]) / scale).tolist()
    right, lower = (np.array([x2, y2]) / scale).tolist()
    return cut, (left, right, lower, upper)


def _target(scene: Scene) -> list[Line2D]:
    from matplotlib.lines import Line2D
    from matplotlib.patheffects import Normal, Stroke

    effects = [Stroke(linewidth=4.4, foreground="white"), Normal()]  # a white edge shows on any screenshot
    lines = []
    for corners in scene.outlines:
        if len(corners) == 1:
            lines.append(Line2D(corners[:, 0], corners[:, 1], label="target", zorder=3, **_POINT))
        else:
            closed = np.vstack((corners, corners[:1]))
            lines.append(Line2D(closed[:, 0], closed[:, 1], label="target", path_effects=effects, zorder=3, **_TARGET))
    return lines


def _clicks(points: Floats, shown: ShownSample, window: Window) -> list[Line2D]:
    from matplotlib.lines import Line2D

    lines = []
    for right, look, edge in ((False, _WRONG, "white"), (True, _RIGHT_ONE, "black")):
        inside = _inside(points[shown.right == right], window)
        if len(inside):
            every = int((shown.inside & (shown.right == right)).sum())  # of the whole screen: one label for all views
            label = f"{every:,} {'right' if right else 'wrong'} click{'' if every == 1 else 's'}"
            options = {**look, "markeredgecolor": edge, "markeredgewidth": 0.8, "clip_on": False, "zorder": 4}
            lines.append(Line2D(inside[:, 0], inside[:, 1], label=label, **options))
    return lines


def _frame(axes: Axes, window: Window, name: str) -> None:
    """Outline what a closer view covers, with its number."""
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import Normal, Stroke

    x1, y1, x2, y2 = window
    axes.add_patch(Rectangle((x1, y1), x2 - x1, y2 - y1, fill=False, edgecolor="0.25", linewidth=0.9, zorder=2))
    effects = [Stroke(linewidth=2.0, foreground="white"), Normal()]
    high = axes.get_ylim()[0]
    room = high * _MARK * axes.figure.dpi / 72 / axes.get_window_extent().height
    y, shift = (y1, 4) if y1 >= room else (min(y2, high - room), -10)  # above is the title, and below the legend
    axes.annotate(
        name, (x1, y), (3, shift), textcoords="offset points", fontsize=style.SMALL, weight="bold",
        path_effects=effects, annotation_clip=False, zorder=6,
    )  # fmt: skip


def _inside(points: Floats, window: Window) -> Floats:
    x1, y1, x2, y2 = window
    inside: Floats = points[((points >= (x1, y1)) & (points <= (x2, y2))).all(axis=1)]
    return inside


def _legend(figure: Figure, lines: dict[str, Line2D], wide: float, high: float) -> None:
    from copy import copy

    handles = []
    for line in lines.values():
        handle = copy(line)  # the line itself is on its axes, and would move
        handle.set_data([0], [0])
        handles.append(handle)
    if handles:
        figure.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(_LEFT / wide, 0.06 / high), ncol=len(handles),
            frameon=False, fontsize=style.NORMAL, borderpad=0.0, borderaxespad=0.0, columnspacing=2.0,
        )  # fmt: skip
