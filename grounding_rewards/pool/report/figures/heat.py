"""From how many right rollouts to how many: two rounds as a heat map, and beside it what chance alone would show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding_rewards.pool.report.figures.style import LARGE, NORMAL, SMALL, WIDTH, canvas, legible
from grounding_rewards.pool.report.rounds import Numbers
from grounding_rewards.spaces import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BESIDE, _WRITTEN = 10, 18
"""Cells a side up to which both maps stand beside each other, and up to which counts are written into them."""

_WIDEST, _LARGEST, _AROUND = 6.6, 0.95, 1.7  # inches: of one map, of a cell, and of all beside two maps
_LIGHT = 0.72  # the place on the colour scale above which ink is black
_GAMMA = 0.5  # most shares are small: their square roots tell them apart better


def heat_map(found: Numbers, before: str, after: str) -> Figure:
    """Draw how samples went from the number of right rollouts in one round to that in another.

    Rows without a sample stay grey.

    Args:
        found: what ``Transitions.to_json`` says.
        before: the earlier round's name.
        after: the later one's.
    """
    counts = np.array(found["counts"], dtype=np.float64)
    expected = _floats(found["null"]["expected"])
    high, wide = counts.shape
    beside = max(high, wide) <= _BESIDE
    side = min(_LARGEST, (3.55 if beside else _WIDEST) / max(high, wide))
    tall = side * high + 0.85
    broad = min(WIDTH, 2 * side * wide + _AROUND) if beside else WIDTH
    figure = canvas(tall + 0.4 if beside else 2 * tall + 0.3, broad)
    names = f"{legible(before, 40)} to {legible(after, 40)}"
    figure.suptitle(names, fontsize=LARGE, x=0.01, ha="left")
    panels = figure.subplots(*((1, 2) if beside else (2, 1)), squeeze=False, sharex=True, sharey=True).ravel()
    kind = found["null"]["kind"]
    titles = "seen", f"by chance ({kind})"
    image: Any = None
    for axes, cells, title in zip(panels, (counts, expected), titles, strict=True):
        image = _panel(axes, cells, title)
        axes.set_xlabel("right rollouts after", fontsize=NORMAL)
    for axes in panels if not beside else panels[:1]:
        axes.set_ylabel("right rollouts before", fontsize=NORMAL, labelpad=7)
    bar = figure.colorbar(image, ax=list(panels), shrink=0.8, pad=0.02, aspect=24 if beside else 50)
    bar.set_label("share of the row's samples", fontsize=NORMAL)
    bar.set_ticks([0.0, 0.05, 0.2, 0.5, 1.0], labels=["0 %", "5 %", "20 %", "50 %", "100 %"])
    bar.ax.tick_params(labelsize=SMALL, length=3)
    bar.outline.set_visible(False)
    return figure


def _panel(axes: Axes, cells: Floats, title: str) -> Any:
    from matplotlib import colormaps
    from matplotlib.colors import PowerNorm

    totals = np.nansum(cells, axis=1, keepdims=True)
    shares = np.divide(cells, totals, out=np.full(cells.shape, np.nan), where=totals > 0)
    shades = colormaps["viridis"].with_extremes(bad="0.93")
    image = axes.imshow(shares, cmap=shades, norm=PowerNorm(_GAMMA, 0.0, 1.0), aspect="equal", interpolation="nearest")
    axes.set_title(title, fontsize=NORMAL, loc="left")
    axes.spines[:].set_visible(False)
    axes.tick_params(labelsize=SMALL, length=2, color="0.4", labelbottom=True)
    for set_ticks, count in ((axes.set_xticks, cells.shape[1]), (axes.set_yticks, cells.shape[0])):
        step = -(-count // _WRITTEN)
        set_ticks(range(0, count, step))
    if max(cells.shape) <= _WRITTEN:
        _write(axes, cells, shares)
    return image


def _write(axes: Axes, cells: Floats, shares: Floats) -> None:
    size = 8.0 if max(cells.shape) <= 9 else 7.0
    for (row, column), count in np.ndenumerate(cells):
        if np.isnan(shares[row, column]) or count < 0.05:
            continue
        axes.text(
            column, row, _count(float(count)), ha="center", va="center", fontsize=size,
            color="black" if shares[row, column] ** _GAMMA > _LIGHT else "white",
        )  # fmt: skip


def _count(value: float) -> str:
    """A count in little room.

    >>> _count(12.0), _count(0.26), _count(3.44), _count(1234.0), _count(45678.0), _count(1234567.0)
    ('12', '0.3', '3.4', '1234', '46k', '1.2M')
    """
    if value >= 999_500:
        return f"{value / 1e6:.1f}M"
    if value >= 10_000:
        return f"{value / 1e3:.0f}k"
    return f"{value:.0f}" if value >= 9.95 or value == round(value) else f"{value:.1f}"


def _floats(rows: Sequence[Sequence[float | None]]) -> Floats:
    return np.array([[np.nan if cell is None else cell for cell in row] for row in rows], dtype=np.float64)
