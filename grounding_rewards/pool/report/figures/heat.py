"""Heat map of transitions by right rollouts, beside the one expected by chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.pool.report.figures import style
from grounding_rewards.pool.report.rounds import Numbers
from grounding_rewards.pool.report.wording import listed, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BESIDE, _WHOLE = 5, 10
"""Largest number of cells a side to place maps side by side, and to keep empty rows and columns."""

_WIDEST, _HALF = 7.3, 3.3  # width of a map in inches: below another, and beside one
_LARGEST, _LINE, _LINES, _LEAST, _FLAT = 0.95, 0.62, 0.38, 0.1, 0.75
"""Size of a cell in inches: the widest, for one line, for two lines, the lowest; and its aspect without text."""
_LIGHT = 0.5  # place on the colour scale above which ink is black
_GAMMA = 0.5  # most shares are small: their square roots tell them apart better


@dataclass(frozen=True)
class _Grid:
    """Two maps of one shape, and the size of a cell in inches."""

    observed: Floats
    expected: Floats

    @property
    def beside(self) -> bool:
        return bool(max(self.observed.shape) <= _BESIDE)

    @property
    def wide(self) -> float:
        return float(min(_LARGEST, (_HALF if self.beside else _WIDEST) / self.observed.shape[1]))

    @property
    def high(self) -> float:
        if self.beside:
            return self.wide
        return 0.36 if self.wide >= _LINES else max(_FLAT * self.wide, _LEAST)


def heat_map(moved: Numbers, before: str, after: str) -> Figure:
    """Draw how samples went from the number of right rollouts in one round to that in another.

    Cells hold counts and shares of their row as far as there is room, and labels of rows how many samples they have.
    Rows without a sample stay grey; of large maps, those at the end are left out, and columns as well.
    """
    grid = _Grid(
        *_cropped(np.array(moved["counts"], dtype=np.float64), np.array(moved["null"]["expected"], dtype=np.float64))
    )
    rows, columns = grid.observed.shape
    room = 0.6, 0.75  # inches around a map, for its labels: at the sides and above and below
    if grid.beside:
        figure = style.canvas(
            grid.high * rows + room[1] + 0.75, min(style.WIDTH, max(2 * (grid.wide * columns + room[0]) + 1.1, 5.2))
        )
    else:
        figure = style.canvas(
            2 * (grid.high * rows + room[1]) + 0.75, min(style.WIDTH, grid.wide * columns + room[0] + 1.5)
        )
    first, second = style.distinct_labels([before, after], 40)
    figure.suptitle(f"{first} to {second}\n{_caption(moved)}", fontsize=style.NORMAL, x=0.01, ha="left")
    panels = figure.subplots(*((1, 2) if grid.beside else (2, 1)), squeeze=False, sharex=True, sharey=True).ravel()
    image: Any = None
    for axes, cells, title in zip(
        panels, (grid.observed, grid.expected), ("observed", f"by chance ({moved['null']['kind']})"), strict=True
    ):
        image = _panel(axes, cells, title, grid)
        axes.set_xlabel(f"right rollouts after, of {listed(moved['n_after'])}", fontsize=style.NORMAL)
    for axes in panels if not grid.beside else panels[:1]:
        axes.set_ylabel(f"before, of {listed(moved['n_before'])} (samples)", fontsize=style.NORMAL, labelpad=7)
    places = range(0, rows, -(-rows // 20))  # some 20 labels: more would overlap
    labels = [f"{place}  ({_count(float(grid.observed[place].sum()))})" for place in places]
    panels[0].set_yticks(places, labels=labels)
    _bar(figure, image, panels.tolist(), grid)
    return figure


def _caption(moved: Numbers) -> str:
    """Return the number of samples in both rounds, and the temperatures."""
    warm = [listed(moved[name]) for name in ("temperatures_before", "temperatures_after")]
    known = "" if warm == ["-", "-"] else f", temperature {warm[0]} before and {warm[1]} after"
    return f"{plural(moved['both'], 'sample')} in both{known}"


def _cropped(observed: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """Crop empty rows and columns at the end of large maps."""
    high = int(np.flatnonzero(observed.sum(axis=1))[-1]) + 1
    held = observed.sum(axis=0) + np.nansum(expected, axis=0)
    wide = int(np.flatnonzero(held >= 0.5)[-1]) + 1  # chance leaves a trace everywhere: half a sample counts
    rows, columns = (
        whole if whole <= _WHOLE else filled for filled, whole in zip((high, wide), observed.shape, strict=True)
    )
    return observed[:rows, :columns], expected[:rows, :columns]


def _panel(axes: Axes, cells: Floats, title: str, grid: _Grid) -> Any:
    from matplotlib import colormaps
    from matplotlib.colors import PowerNorm

    totals = np.nansum(cells, axis=1, keepdims=True)
    shares = np.divide(cells, totals, out=np.full(cells.shape, np.nan), where=totals > 0)
    shades = colormaps["viridis"].with_extremes(bad="0.93")  # NaN: rows without a sample
    image = axes.imshow(shares, cmap=shades, norm=PowerNorm(_GAMMA, 0.0, 1.0), aspect="auto", interpolation="nearest")
    axes.set_title(title, fontsize=style.NORMAL, loc="left")
    axes.spines[:].set_visible(False)
    axes.tick_params(labelsize=style.SMALL, length=2, color="0.4", labelbottom=True)
    axes.set_xticks(range(0, cells.shape[1], -(-cells.shape[1] // 20)))
    if grid.wide >= _LINES:
        between = " \u00b7 " if grid.wide >= _LINE and not grid.beside else "\n"
        _write(axes, cells, shares, between)
    return image


def _bar(figure: Figure, image: Any, panels: list[Axes], grid: _Grid) -> None:
    bar = figure.colorbar(image, ax=panels, shrink=0.8, pad=0.02, aspect=24 if grid.beside else 40)
    bar.set_label("share of the row's samples", fontsize=style.NORMAL)
    bar.set_ticks([0.0, 0.05, 0.2, 0.5, 1.0], labels=["0 %", "5 %", "20 %", "50 %", "100 %"])
    bar.ax.tick_params(labelsize=style.SMALL, length=3)
    bar.outline.set_visible(False)


def _write(axes: Axes, cells: Floats, shares: Floats, between: str) -> None:
    for (row, column), count in np.ndenumerate(cells):
        share = float(shares[row, column])
        if np.isnan(share) or count < 0.05:  # would be written as 0.0
            continue
        text = _count(float(count)) + (f"{between}{100 * share:.0f} %" if share >= 0.005 else "")
        ink = "black" if share**_GAMMA > _LIGHT else "white"
        axes.text(column, row, text, ha="center", va="center", fontsize=7.0, color=ink)


def _count(value: float) -> str:
    """Format a count for a narrow cell.

    >>> _count(12.0), _count(0.26), _count(3.44), _count(1234.0), _count(45678.0), _count(1234567.0)
    ('12', '0.3', '3.4', '1234', '46k', '1.2M')
    """
    if value >= 999_500:  # from here on thousands round to 1000k
        return f"{value / 1e6:.1f}M"
    if value >= 10_000:
        return f"{value / 1e3:.0f}k"
    return f"{value:.0f}" if value >= 9.95 or value == round(value) else f"{value:.1f}"  # 10, not 10.0
