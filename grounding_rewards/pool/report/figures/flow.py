"""From pool to pool: what each step removed, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grounding_rewards.pool.report.figures.style import (
    COLOURS,
    EDGE,
    GREY,
    NORMAL,
    SMALL,
    calm,
    canvas,
    legible,
)
from grounding_rewards.pool.report.rounds import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _AROUND = 0.3, 0.75


def flow(pools: Sequence[Numbers]) -> Figure:
    """Draw a panel a pool: what is left after each step, with what it removed in grey beside it.

    Args:
        pools: of each pool what ``funnel.funnel`` says.
    """
    heights = [_ROW * (len(_rows(pool)) + 1) + _AROUND for pool in pools]
    figure = canvas(sum(heights) + 0.35)
    panels = figure.subplots(len(pools), 1, squeeze=False, height_ratios=heights).ravel()
    for axes, pool in zip(panels, pools, strict=True):
        _panel(axes, pool)
    panels[-1].set_xlabel("samples", fontsize=NORMAL)
    _legend(figure)
    return figure


def _rows(pool: Numbers) -> list[tuple[str, int, int]]:
    """Step, left, removed, of the steps that removed something."""
    steps = [(step["step"], step["kept"], step["removed"]) for step in pool["steps"] if step["removed"]]
    return [("measured", pool["samples"], 0), *steps]


def _panel(axes: Axes, pool: Numbers) -> None:
    rows = _rows(pool)
    most = max(max(left + removed for _, left, removed in rows), pool["kept"], 1)
    for place, (_, left, removed) in enumerate(rows):
        axes.barh(place, left, 0.7, color=COLOURS["mixed"], alpha=0.45, **EDGE)
        axes.barh(place, removed, 0.7, left=left, color=GREY, **EDGE)
        told = f"{left:,}" + (f"   (-{removed:,})" if removed else "")
        axes.text(left + removed + 0.01 * most, place, told, va="center", fontsize=SMALL)
    last = len(rows)
    axes.barh(last, pool["zero"], 0.7, color=COLOURS["none_correct"], **EDGE)
    axes.barh(last, pool["positive"], 0.7, left=pool["zero"], color=COLOURS["mixed"], **EDGE)
    share = "" if pool["zero_share"] is None else f", {100 * pool['zero_share']:.1f} % never solved"
    short = f", {pool['shortfall']:,} never-solved too few" if pool.get("shortfall") else ""
    axes.text(pool["kept"] + 0.01 * most, last, f"{pool['kept']:,}{share}{short}", va="center", fontsize=SMALL)
    calm(axes, "x")
    names = [*(legible(name, 30) for name, *_ in rows), "the pool"]
    axes.set_yticks(range(len(names)), labels=names, fontsize=SMALL)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0.0, 1.3 * most)
    axes.locator_params(axis="x", nbins=6, integer=True)
    axes.xaxis.set_major_formatter(lambda value, place: f"{value:,.0f}")
    axes.set_title(legible(pool["pool"], 70), fontsize=NORMAL, loc="left")


def _legend(figure: Figure) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=COLOURS["mixed"], alpha=0.45, label="left after the step", **EDGE),
        Patch(facecolor=GREY, label="removed by it", **EDGE),
        Patch(facecolor=COLOURS["none_correct"], label="in the pool: never solved", **EDGE),
        Patch(facecolor=COLOURS["mixed"], label="in the pool: partly solved", **EDGE),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncol=4, frameon=False, fontsize=NORMAL, handlelength=1.2)
