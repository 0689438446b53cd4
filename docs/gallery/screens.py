"""Pictures of the reference: each kind of place on a mock screen with a hit and a miss, and one click in all spaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Patch, Polygon, Rectangle

from grounding_rewards.catalogue import recipe
from grounding_rewards.coords.resizing import model_image_size
from grounding_rewards.coords.spaces import MODEL_PIXEL, PIXEL, SPACES, THOUSANDTHS, UNIT, CoordSpace, convert

SCREEN = 1000, 500
_WINDOW, _BAR, _BLANK, _TEXT = "#ffffff", "#d9dee6", "#eceff3", "#c3cad5"
_PLACE, _HIT, _MISS = "#1f5fbf", "#11823b", "#c8351f"
Point = tuple[float, float]


@dataclass(frozen=True)
class Shown:
    """A target, two clicks, of which the first counts, and the options of ``click`` under which they do."""

    target: Mapping[str, Any]
    hit: Point
    miss: Point
    options: Mapping[str, Any] = field(default_factory=dict)


PLACES: Mapping[str, Shown] = {
    "bbox": Shown({"bbox": [560, 180, 780, 260]}, (780, 240), (800, 210)),
    "polygon": Shown({"polygon": [560, 140, 800, 140, 800, 220, 650, 220, 650, 340, 560, 340]}, (600, 300), (720, 280)),
    "circle": Shown({"circle": [680, 240, 80]}, (720, 280), (750, 310)),
    "point": Shown({"point": [680, 240]}, (715, 270), (755, 285), {"point_radius": 60}),
    "regions": Shown({"regions": [{"bbox": [420, 180, 600, 260]}, {"circle": [800, 220, 60]}]}, (500, 240), (670, 220)),
}
"""By the name of the picture: what it shows."""

CLICK, ORIGINAL, MODEL, BOUNDS = (1440.0, 270.0), (1920, 1080), "qwen2_5_vl", {"max_pixels": 1_003_520}


def pictures() -> dict[str, Figure]:
    """Draw all pictures, by the name of the file."""
    return {**{name: place(shown) for name, shown in PLACES.items()}, "spaces": spaces()}


def accs(shown: Shown) -> list[float]:
    """Score the two clicks."""
    judge = recipe("click", response_space="pixel", **shown.options)
    return [judge.score(f"({x:g}, {y:g})", dict(shown.target)).acc.item() for x, y in (shown.hit, shown.miss)]


def place(shown: Shown) -> Figure:
    """Draw a target on a screen, with a click that hits it and one that misses it."""
    assert accs(shown) == [1.0, 0.0], shown
    figure, axes = _figure(6.4, 3.4)
    _screen(axes, *SCREEN)
    for each in shown.target.get("regions", [shown.target]):
        for patch in _patches(each, shown.options.get("point_radius")):
            axes.add_patch(patch)
        if "point" in each:
            _mark(axes, each["point"], "x", _PLACE)
    for point, word, colour, marker, side in (
        (shown.hit, "hit", _HIT, "+", 0.38),
        (shown.miss, "miss", _MISS, "X", 0.82),
    ):
        _mark(axes, point, marker, colour)
        beside = side * SCREEN[0], 0.86 * SCREEN[1]
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkB": 7.0}
        text = f"{word} ({point[0]:g}, {point[1]:g})"
        axes.annotate(text, point, beside, arrowprops=line, ha="center", va="center", **_words(colour))
    return figure


def written() -> dict[CoordSpace, Point]:
    """Return the click of the picture of spaces as each space writes it."""
    point, sizes = np.array([CLICK]), np.array([ORIGINAL], dtype=np.float64)
    resized = np.array([model_image_size(*ORIGINAL, MODEL, **BOUNDS)], dtype=np.float64)
    converted = {space: convert(point, PIXEL, space, sizes, resized)[0].tolist() for space in SPACES}
    return {space: (round(x, 3), round(y, 3)) for space, (x, y) in converted.items()}


def spaces() -> Figure:
    """Draw one click on the original screen and on the image that the model saw, with its numbers in each space."""
    resized = model_image_size(*ORIGINAL, MODEL, **BOUNDS)
    figure = Figure(figsize=(9.0, 3.6), dpi=100, facecolor="white", layout="constrained")
    panels = figure.subplots(1, 2, width_ratios=[ORIGINAL[0], resized[0]])
    numbers = {space: f"{space}  ({x:g}, {y:g})" for space, (x, y) in written().items()}
    for axes, (width, height), title, lines in zip(
        panels,
        (ORIGINAL, resized),
        (f"the screen, {ORIGINAL[0]} x {ORIGINAL[1]}", f"the image that the model saw, {resized[0]} x {resized[1]}"),
        ((PIXEL, UNIT, THOUSANDTHS), (MODEL_PIXEL, UNIT, THOUSANDTHS)),
        strict=True,
    ):
        _screen(axes, width, height)
        point = CLICK[0] * width / ORIGINAL[0], CLICK[1] * height / ORIGINAL[1]
        _mark(axes, point, "+", _HIT)
        text = "\n".join(numbers[space] for space in lines)
        axes.annotate(text, point, (0, -14), textcoords="offset points", ha="center", va="top", **_words(_HIT))
        axes.set_title(title, fontsize=9.5, loc="left")
    return figure


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), dpi=100, facecolor="white", layout="constrained")
    return figure, figure.subplots()


def _screen(axes: Axes, width: float, height: float) -> None:
    """Draw a window with a bar, a list at the left and lines of text; y goes down."""
    axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    axes.tick_params(labelsize=8, colors="0.3")
    boxes: list[tuple[float, float, float, float, str]] = [
        (0, 0, 1, 1, _WINDOW),
        (0, 0, 1, 0.09, _BAR),
        (0, 0.09, 0.22, 0.91, _BLANK),
    ]
    boxes += [(0.03, 0.16 + 0.1 * row, 0.15, 0.035, _TEXT) for row in range(7)]
    boxes += [(0.27, 0.16 + 0.1 * row, 0.62 - 0.05 * (row % 3), 0.03, _BLANK) for row in range(8)]
    for x, y, w, h, colour in boxes:
        axes.add_patch(Rectangle((x * width, y * height), w * width, h * height, facecolor=colour, linewidth=0))


def _patches(target: Mapping[str, Any], radius: float | None) -> list[Patch]:
    style: dict[str, Any] = {"facecolor": (*_rgb(_PLACE), 0.15), "edgecolor": _PLACE, "linewidth": 2.0}
    if "bbox" in target:
        x1, y1, x2, y2 = target["bbox"]
        return [Rectangle((x1, y1), x2 - x1, y2 - y1, **style)]
    if "polygon" in target:
        return [Polygon(np.reshape(target["polygon"], (-1, 2)), closed=True, **style)]
    if "circle" in target:
        x, y, r = target["circle"]
        return [Circle((x, y), r, **style)]
    return [Circle(target["point"], radius or 0.0, **style, linestyle="--")]


def _rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))


def _mark(axes: Axes, point: Point, marker: str, colour: str) -> None:
    size = 9.0 if marker == "X" else 13.0
    axes.plot(*point, marker=marker, color=colour, markersize=size, markeredgewidth=0.0 if marker == "X" else 2.5)


def _words(colour: str) -> dict[str, Any]:
    box = {"facecolor": "white", "edgecolor": colour, "linewidth": 0.8, "boxstyle": "round,pad=0.25"}
    return {"color": colour, "fontsize": 9, "bbox": box}
