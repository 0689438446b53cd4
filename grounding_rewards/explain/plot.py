"""Pictures of rewards: heat maps over the screen with the target, the answer and the rest of the group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from grounding_rewards.errors import PictureError
from grounding_rewards.explain import panel
from grounding_rewards.explain.layout import Layout, layout
from grounding_rewards.explain.picture import Picture
from grounding_rewards.explain.reward_map import RewardMap
from grounding_rewards.spaces import CoordSpace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_AXES = {
    CoordSpace.PIXEL: "pixels",
    CoordSpace.MODEL_PIXEL: "pixels of the image that the model saw",
    CoordSpace.UNIT: "sides as 0 to 1",
    CoordSpace.THOUSANDTHS: "sides as 0 to 1000",
}


def plot(pictures: Sequence[Picture], image: NDArray[Any] | None = None) -> Figure:
    """Draw one recipe, or several side by side on one scale.

    Args:
        pictures: the recipes, each with a view of the whole screen and, where its target is small, a closer one.
        image: (h, w) or (h, w, 3 or 4) screenshot to draw below the maps, 0 to 255.

    Returns:
        A figure that no global state knows; ``savefig`` writes it.

    Raises:
        PictureError: there is nothing to draw, the screenshot fits nowhere, or matplotlib is not installed.
    """
    for each in pictures:
        if image is not None and not each.scene.known:
            raise PictureError(
                f"{each.name}: a screenshot cannot be drawn below places in {each.scene.space.value} while that "
                f"image's size is unknown; give the target's {each.scene.space.size_field}"
            )
    figure_class = figures()
    rows = _rows(pictures)
    places = layout([[_aspect(view) if view else None for _, view in row] for row in rows])
    figure = figure_class(figsize=places.size, dpi=100, facecolor="white")
    bounds = scale(pictures)
    for cells, row in zip(rows, places.panels, strict=True):
        for (each, view), place in zip(cells, row, strict=True):
            if view and place:
                axes = figure.add_axes(place)
                inner = view is not each.views[0]
                panel.draw(axes, each.scene, view, bounds, image, inner)
                if inner:
                    axes.set_title("a closer view", fontsize=8.5, loc="left", pad=3)
                elif len(each.views) > 1:
                    panel.frame(axes, each.views[1].window)
                if row is places.panels[-1] and place is row[0]:
                    axes.set_xlabel(_axis(each), fontsize=8.5, loc="left")
    _titles(figure, pictures, places)
    _bar(figure, pictures, places, bounds, image is not None)
    _legend(figure, pictures, places)
    return figure


def figures() -> type[Figure]:
    """The class of figures.

    Raises:
        PictureError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PictureError("pictures need matplotlib: pip install 'grounding-rewards[report]'") from error
    return Figure


def scale(pictures: Sequence[Picture]) -> tuple[float, float]:
    """The ends of the colour scale: the lowest and the highest total of all maps and marked answers."""
    totals = [total for each in pictures for view in each.views for total in (view.total.min(), view.total.max())]
    totals += [each.total for each in pictures if each.scene.answer is not None]
    low, high = float(min(totals)), float(max(totals))
    return (low, high) if high > low else (low, low + 1.0)


def _rows(pictures: Sequence[Picture]) -> list[list[tuple[Picture, RewardMap | None]]]:
    """Views beside each other for one recipe; for several, a column each."""
    if not pictures:
        raise PictureError("plot: got no pictures; expected one or more")
    if len(pictures) == 1:
        return [[(pictures[0], view) for view in pictures[0].views]]
    most = max(len(each.views) for each in pictures)
    return [[(each, each.views[row] if row < len(each.views) else None) for each in pictures] for row in range(most)]


def _aspect(view: RewardMap) -> float:
    x1, y1, x2, y2 = view.window
    return (x2 - x1) / (y2 - y1)


def _axis(each: Picture) -> str:
    """What the numbers on the axes are."""
    unknown = "" if each.scene.known else "; the size of the screen is not known"
    return f"{_AXES[each.scene.space]}{unknown}"


def _titles(figure: Figure, pictures: Sequence[Picture], places: Layout) -> None:
    lone = len(pictures) == 1
    for column, each in enumerate(pictures):
        view = each.views[0]
        bounds = f"; the recipe pays {view.low:.4g} to {view.high:.4g}" if lone else ""
        far = "" if each.scene.visible else " outside the picture"
        told = f"the answer{far} is {each.paid}{bounds}" if lone else f"{each.paid}"
        high = places.size[1]
        figure.text(places.left(column), 1 - 0.3 / high, each.name, fontsize=12 if lone else 10.5, weight="bold")
        figure.text(places.left(column), 1 - 0.52 / high, told, fontsize=9.5 if lone else 8.5)


def _bar(figure: Figure, pictures: Sequence[Picture], places: Layout, bounds: tuple[float, float], over: bool) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    boxes = {view.box for each in pictures for view in each.views[:1]}
    answers = "an answer" if len(boxes) > 1 else "a click" if None in boxes else "a box of the target's size"
    colours = ScalarMappable(Normalize(*bounds), panel.colours(over))
    bar = figure.colorbar(colours, cax=figure.add_axes(places.bar))
    bar.set_label(f"total for {answers} there", fontsize=8.5)
    bar.set_ticks(_ticks(*bounds), labels=[f"{tick:.4g}" for tick in _ticks(*bounds)])
    bar.ax.tick_params(labelsize=8, length=3)
    bar.outline.set_visible(False)


def _ticks(low: float, high: float) -> list[float]:
    """Both ends, and round numbers between that keep off them."""
    from matplotlib.ticker import MaxNLocator

    room = 0.07 * (high - low)
    return [
        low,
        *[
            tick
            for tick in MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
            if low + room < tick < high - room
        ],
        high,
    ]


def _legend(figure: Figure, pictures: Sequence[Picture], places: Layout) -> None:
    found = {line.get_label(): line for each in pictures for line in panel.lines(each.scene)}
    for line in found.values():
        line.set_data([0], [0])
    if found:
        figure.legend(
            handles=[*found.values()], loc="lower left", bbox_to_anchor=(places.left(0), 0.12 / places.size[1]),
            ncol=len(found), frameon=False, fontsize=8.5, handlelength=2.2, columnspacing=2.0, borderpad=0.0,
            borderaxespad=0.0,
        )  # fmt: skip
