"""Picture of a comparison: each method's weight by pass rate, beside the overlap of the methods."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.explain.plot import files
from grounding_rewards.explain.plot.figure import figures
from grounding_rewards.pool.plan.comparison import Plan
from grounding_rewards.pool.plan.measures import PASS_RATES, in_per_cent
from grounding_rewards.pool.report.figures import style
from grounding_rewards.tables.atomic import atomic_file
from grounding_rewards.tables.files import check_place

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEFT, _NAME, _CELL, _ROW, _AROUND = 4.2, 0.075, 0.29, 0.29, 1.15
"""Inches of the bars, of a letter of a name, of a cell's sides, and above and below the rows."""

_LEAST = 6.5  # inches: narrower, the legend would not fit
_DARK = 0.6  # overlap from which ink is white


def check_picture(path: Path, inputs: Sequence[Path]) -> None:
    """Check that a picture can be drawn and written, before the long work.

    Raises:
        PictureError: the path has another suffix, or matplotlib is not installed.
        TableError: the path is no file, lies in no directory, or is or lies in one of the inputs.
    """
    files.check(path)
    check_place(path, inputs)
    figures()


def write_picture(plan: Plan, path: Path) -> None:
    """Write the picture of a comparison atomically; the same comparison gives the same bytes."""
    with atomic_file(path) as file:
        files.save(draw(plan), file, path.suffix)


def draw(plan: Plan) -> Figure:
    """Draw, for each method, the distribution of its weight over pass rates, and its overlap with the others."""
    rows = len(plan.rows)
    names = style.distinct_labels([row.method.label for row in plan.rows], 40)
    names = [f"{name}  {number}" for number, name in enumerate(names, 1)]
    matrix = max(_CELL * rows, 1.6)
    width = max(_LEFT + _NAME * max(map(len, names)) + matrix + 0.4, _LEAST)
    figure = style.canvas(_ROW * rows + _AROUND, width)
    bars, cells = figure.subplots(1, 2, sharey=True, width_ratios=(_LEFT, matrix))
    present = _bars(bars, np.array([row.measures.by_pass_rate for row in plan.rows]))
    bars.set_yticks(range(rows), labels=names)
    _cells(cells, plan.overlap)
    cells.set_ylim(rows - 0.5, -0.5)
    figure.legend(
        handles=present, loc="outside upper left", ncol=len(present), frameon=False, fontsize=style.SMALL,
        title="pass rate of the samples", title_fontsize=style.NORMAL, alignment="left", handlelength=1.0,
        handletextpad=0.4, columnspacing=1.1, borderpad=0.1,
    )  # fmt: skip
    return figure


def _bars(axes: Axes, shares: Floats) -> list[Any]:
    """Draw stacked bars, a row of shares each, and return the legend's handles for the ranges that occur."""
    from matplotlib import colormaps

    shades = [*colormaps["viridis"](np.linspace(0.0, 1.0, len(PASS_RATES) - 1)), style.GREY]
    start, handles = np.zeros(len(shares)), []
    for name, part, colour in zip(PASS_RATES, shares.T, shades, strict=True):
        if part.any():
            handles.append(
                axes.barh(range(len(shares)), part, 0.78, left=start, color=colour, label=name, **style.EDGE)
            )
            start = start + part
    style.tidy_axes(axes, "x")
    axes.set_xlim(0.0, 1.0)
    style.percent_axis(axes, "x")
    axes.set_xlabel("share of the weight", fontsize=style.NORMAL)
    return handles


def _cells(axes: Axes, overlap: Floats) -> None:
    """Draw the overlaps as a heat map with their numbers, the methods of the columns by their row."""
    axes.imshow(overlap, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
    axes.spines[:].set_visible(False)
    axes.tick_params(labelsize=style.SMALL, length=0, labelleft=False)
    axes.set_xticks(range(len(overlap)), labels=[str(place + 1) for place in range(len(overlap))])
    axes.set_xlabel("overlap in per cent", fontsize=style.NORMAL)
    for (row, column), share in np.ndenumerate(overlap):
        ink = "white" if share > _DARK else "black"
        axes.text(column, row, in_per_cent(share), ha="center", va="center", fontsize=7.0, color=ink)
