"""Funnel of each pool: samples removed by each step, and samples left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grounding_rewards.pool.report.figures import style
from grounding_rewards.pool.report.rounds import Numbers
from grounding_rewards.pool.report.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _AROUND = 0.3, 0.95


def flow(pools: Sequence[Numbers]) -> Figure:
    """Draw a panel a pool: the samples left after each step, and in grey those that it removed.

    Args:
        pools: ``funnel.funnel`` of each pool.
    """
    heights = [_ROW * (len(_rows(pool)) + 1) + _AROUND for pool in pools]
    figure = style.canvas(sum(heights) + 0.35)
    panels = figure.subplots(len(pools), 1, squeeze=False, height_ratios=heights).ravel()
    names = style.distinct_labels([pool["pool"] for pool in pools], 60)
    for axes, pool, name in zip(panels, pools, names, strict=True):
        _panel(axes, pool, name)
    panels[-1].set_xlabel("samples", fontsize=style.NORMAL)
    _legend(figure)
    return figure


def _rows(pool: Numbers) -> list[tuple[str, int, int]]:
    """Return the steps that removed samples: name, left, removed."""
    steps = [(step["step"], step["kept"], step["removed"]) for step in pool["steps"] if step["removed"]]
    return [("measured", pool["samples"], 0), *steps]


def _panel(axes: Axes, pool: Numbers, name: str) -> None:
    rows = _rows(pool)
    most = max(max(left + removed for _, left, removed in rows), pool["kept"], 1)
    for place, (_, left, removed) in enumerate(rows):
        axes.barh(place, left, 0.7, color=style.COLOURS["mixed"], alpha=0.45, **style.EDGE)
        axes.barh(place, removed, 0.7, left=left, color=style.GREY, **style.EDGE)
    last = len(rows)
    axes.barh(last, pool["zero"], 0.7, color=style.COLOURS["none_correct"], **style.EDGE)
    axes.barh(last, pool["positive"], 0.7, left=pool["zero"], color=style.COLOURS["mixed"], **style.EDGE)
    style.tidy_axes(axes, "x")
    names = [*(style.legible(step, 30) for step, *_ in rows), "the pool"]
    axes.set_yticks(range(len(names)), labels=names, fontsize=style.SMALL)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0.0, most)
    axes.locator_params(axis="x", nbins=6, integer=True)
    axes.xaxis.set_major_formatter(lambda value, place: f"{value:,.0f}")
    axes.set_title(f"{name}\n{_caption(pool)}", fontsize=style.NORMAL, loc="left")
    counts = [f"{left:,}" + (f"  (-{removed:,})" if removed else "") for _, left, removed in rows]
    for place, text in enumerate([*counts, f"{pool['kept']:,}"]):
        axes.text(1.01, place, text, transform=axes.get_yaxis_transform(), va="center", fontsize=style.SMALL)


def _caption(pool: Numbers) -> str:
    share = "" if pool["zero_share"] is None else f", {100 * pool['zero_share']:.1f} % of them never solved"
    short = f"; {pool['shortfall']:,} never-solved too few" if pool.get("shortfall") else ""
    return f"{pool['kept']:,} of {plural(pool['samples'], 'sample')} kept{share}{short}"


def _legend(figure: Figure) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=style.COLOURS["mixed"], alpha=0.45, label="left after the step", **style.EDGE),
        Patch(facecolor=style.GREY, label="removed by it", **style.EDGE),
        Patch(facecolor=style.COLOURS["none_correct"], label="in the pool: never solved", **style.EDGE),
        Patch(facecolor=style.COLOURS["mixed"], label="in the pool: partly solved", **style.EDGE),
    ]
    figure.legend(
        handles=handles, loc="outside upper left", ncol=4, frameon=False, fontsize=style.NORMAL, handlelength=1.2
    )
