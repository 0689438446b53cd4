"""Pictures of rewards: heat maps over the screen with the target, the answer and the rest of the group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import PictureError, printable
from grounding_rewards.explain.plot import panel
from grounding_rewards.explain.plot.layout import LEFT, Layout, Place, layout, shaped
from grounding_rewards.explain.plot.picture import Picture
from grounding_rewards.explain.plot.reward_map import RewardMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AXES = {
    CoordSpace.PIXEL: "pixels",
    CoordSpace.MODEL_PIXEL: "pixels of the image that the model saw",
    CoordSpace.UNIT: "sides as 0 to 1",
    CoordSpace.THOUSANDTHS: "sides as 0 to 1000",
}


IN_A_ROW, FLAT = 3, 2.5
"""Recipes beside each other at most; width over height of a screen from which a closer view stands below."""

Cell = tuple[Picture, RewardMap] | None


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
    if not pictures:
        raise PictureError("plot: got no pictures; expected one or more")
    for each in pictures if image is not None else ():
        check_screen(each)
    figure_class, rows, lone = figures(), _rows(pictures), len(pictures) == 1
    places = layout(
        [[cell and _aspect(cell[1]) for cell in row] for row in rows],
        [any(cell and cell[1] is cell[0].views[0] for cell in row) for row in rows],
    )
    figure = figure_class(figsize=places.size, dpi=100, facecolor="white")
    bounds, first, below = scale(pictures), None, None if image is None else panel.pale(image)
    for cells, row in zip(rows, places.panels, strict=True):
        for cell, place in zip(cells, row, strict=True):
            if cell and place:
                axes = _panel(figure, cell, place, bounds, below, lone)
                first = axes if place is row[0] else first  # the last row's first panel: the axis is named below it
                if cell[1] is cell[0].views[0]:
                    _title(figure, cell[0], lone, place, places.size[1])
    if first:
        first.set_xlabel(_axis(pictures, image), fontsize=8.5, loc="left")
    _bar(figure, pictures, places, bounds, image is not None)
    _legend(figure, pictures, places)
    return figure


def check_screen(shown: Picture) -> None:
    """Check that a screenshot can be drawn below a picture: the size of its screen is known."""
    if not shown.scene.known:
        raise PictureError(
            f"{shown.name}: a screenshot cannot be drawn below places in {shown.scene.space.value} while that "
            f"image's size is unknown; give the target's {shown.scene.space.size_field}"
        )


def figures() -> type[Figure]:
    """Return the class of figures, imported when it is needed.

    Raises:
        PictureError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PictureError("pictures need matplotlib: pip install 'grounding-rewards[report]'") from error
    return Figure


def scale(pictures: Sequence[Picture]) -> tuple[float, float]:
    """Return the ends of the colour scale: the lowest and the highest total of all maps and answers.

    Where all totals are one: that, and the highest or else the lowest total that a recipe can have.
    """
    views = [view for each in pictures for view in each.views]
    totals = [total for view in views for total in (view.total.min(), view.total.max())]
    totals += [each.total for each in pictures]
    low, high = float(min(totals)), float(max(totals))
    if low == high and (most := max(view.high for view in views)) > low:
        high = most
    elif low == high:
        low = min(view.low for view in views)
    return (low, high) if high > low else (low, low + 1.0)  # a scale needs two ends


def _rows(pictures: Sequence[Picture]) -> list[list[Cell]]:
    """Put one recipe's views beside each other, or below each other where flat; several recipes into columns."""
    if len(pictures) == 1:
        (lone,) = pictures
        views: list[Cell] = [(lone, view) for view in lone.views]
        return [[view] for view in views] if _aspect(lone.views[0]) > FLAT else [views]
    wide = -(-len(pictures) // -(-len(pictures) // IN_A_ROW))  # rounded up twice: rows as even as they can be
    rows = []
    for start in range(0, len(pictures), wide):
        chosen = pictures[start : start + wide]
        for number in range(max(len(each.views) for each in chosen)):
            row: list[Cell] = [(each, each.views[number]) if number < len(each.views) else None for each in chosen]
            rows.append(row + [None] * (wide - len(row)))
    return rows


def _aspect(view: RewardMap) -> float:
    x1, y1, x2, y2 = view.window
    return (x2 - x1) / (y2 - y1)


def _panel(
    figure: Figure,
    cell: tuple[Picture, RewardMap],
    place: Place,
    bounds: tuple[float, float],
    image: Floats | None,
    lone: bool,
) -> Axes:
    each, view = cell
    axes, inner = figure.add_axes(place), view is not each.views[0]
    panel.draw(axes, each.scene, view, bounds, image, inner)
    notes = ["a closer view"] if inner else ["map of the recipe's own example"] if view.exemplary else []
    if not lone and view.coarse and not view.exemplary:
        notes.append(_steps(view))
    axes.set_title("; ".join(notes), fontsize=8.5, loc="left", pad=3)
    if not inner and len(each.views) > 1:
        panel.frame(axes, each.views[1].window)
    return axes


def _axis(pictures: Sequence[Picture], image: NDArray[Any] | None) -> str:
    """Name the numbers on the axes, and changes to the screen."""
    first = pictures[0].scene
    notes = [_AXES[first.space]]
    if not first.known:
        notes.append("the size of the screen is not known")
    if any(shaped(_aspect(view)) != _aspect(view) for each in pictures for view in each.views):
        notes.append("the narrow side is stretched")
    if len(pictures) == 1:
        notes += [_steps(view) for view in pictures[0].views[-1:] if view.coarse]
    if image is not None and panel.dark(image):
        notes.append("the dark screenshot is shown inverted")
    return "; ".join(notes)


def _steps(view: RewardMap) -> str:
    return f"answers in steps of {view.step[0]:.3g} x {view.step[1]:.3g}"


def _title(figure: Figure, each: Picture, lone: bool, place: Place, high: float) -> None:
    """Write name and scores above a panel."""
    view, (left, bottom, _, tall) = each.views[0], place
    bounds = f"; range of the recipe {view.low:.4g} to {view.high:.4g}" if lone else ""
    far = "" if each.scene.visible else " outside the picture"
    verdict = f"the answer{far}: {each.verdict}{bounds}" if lone else each.verdict
    top = bottom + tall
    # A $ in a name would begin a formula.
    figure.text(
        left, top + 0.5 / high, printable(each.name), parse_math=False, fontsize=12 if lone else 10.5, weight="bold"
    )
    figure.text(left, top + 0.28 / high, verdict, fontsize=9.5 if lone else 8.5)


def _bar(figure: Figure, pictures: Sequence[Picture], places: Layout, bounds: tuple[float, float], over: bool) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    answered = {each.views[0].answered for each in pictures}
    answers = "an answer" if len(answered) > 1 else answered.pop()  # clicks for one recipe, boxes for another
    colours = ScalarMappable(Normalize(*bounds), panel.colours(over))
    bar = figure.colorbar(colours, cax=figure.add_axes(places.bar))
    bar.set_label(f"total for {answers} there", fontsize=8.5)
    bar.set_ticks(_ticks(*bounds), labels=[f"{tick:.4g}" for tick in _ticks(*bounds)])
    bar.ax.tick_params(labelsize=8, length=3)
    bar.outline.set_visible(False)


def _ticks(low: float, high: float) -> list[float]:
    """Return both ends, and round numbers between that keep off them."""
    from matplotlib.ticker import MaxNLocator

    room = 0.07 * (high - low)
    ticks = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [low, *(tick for tick in ticks if low + room < tick < high - room), high]


def _legend(figure: Figure, pictures: Sequence[Picture], places: Layout) -> None:
    marks = {line.get_label(): line for each in pictures for line in panel.lines(each.scene)}
    for line in marks.values():
        line.set_data([0], [0])
    if marks:
        figure.legend(
            handles=[*marks.values()], loc="lower left", bbox_to_anchor=(LEFT / places.size[0], 0.12 / places.size[1]),
            ncol=len(marks), frameon=False, fontsize=8.5, handlelength=2.2, columnspacing=2.0, borderpad=0.0,
            borderaxespad=0.0,
        )  # fmt: skip
