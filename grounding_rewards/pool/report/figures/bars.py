"""Bars of a report: samples by right rollouts, outcomes by source and by round, and the funnel of each pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.pool.report.figures import style
from grounding_rewards.pool.report.rounds import Numbers, merged_sources
from grounding_rewards.pool.report.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_IN_A_ROW, _TALL, _LEGEND = 3, 2.6, 0.4
_NAME = 22  # characters of a round's name above a panel
_LABELLED = 9  # largest number of bars with counts


def num_correct(rounds: Sequence[Numbers]) -> Figure:
    """Draw each ``rounds.histogram`` on the same axes: shares of a round's samples, from no right rollout to all."""
    wide = min(len(rounds), _IN_A_ROW)
    rows = -(-len(rounds) // wide)
    figure = style.canvas(_LEGEND + _TALL * rows + (0.6 if wide == 1 else 0.0))
    panels = figure.subplots(rows, wide, squeeze=False, sharex=True, sharey=True).ravel()
    names = style.distinct_labels([line["round"] for line in rounds], _NAME)
    for axes, each, name in zip(panels, rounds, names, strict=False):
        _panel(axes, each, name)
    longest = max(len(line["mixed"]) for line in rounds)
    panels[0].set_xlim(-0.6, max(longest - 0.4, 1.6))
    panels[0].set_ylim(0.0, 1.14 * max(float(np.max(_shares(line).sum(axis=0))) for line in rounds) or 1.0)
    panels[0].locator_params(axis="y", nbins=5)
    panels[0].locator_params(axis="x", nbins=12, integer=True)
    style.percent_axis(panels[0])
    for axes in panels[len(rounds) :]:
        axes.set_visible(False)
    for place in range(0, len(rounds), wide):
        panels[place].set_ylabel("share of samples", fontsize=style.NORMAL)
    for axes in panels[max(len(rounds) - wide, 0) : len(rounds)]:
        axes.set_xlabel("right rollouts of a sample", fontsize=style.NORMAL)
        axes.tick_params(labelbottom=True)  # shared axes label the lowest row alone, which may be short
    style.outcome_legend(figure)
    return figure


def _shares(each: Numbers) -> Floats:
    """Return shares of a round's scored samples, (3, n + 1), by outcome and number of right rollouts."""
    counts = np.array([each[name] for name in style.COLOURS], dtype=np.float64)
    return np.asarray(counts / max(counts.sum(), 1.0))  # no sample: all 0


def _panel(axes: Axes, each: Numbers, name: str) -> None:
    shares = _shares(each)
    places, below = range(shares.shape[1]), np.zeros(shares.shape[1])
    for part, colour in zip(shares, style.COLOURS.values(), strict=True):
        axes.bar(places, part, 0.86, bottom=below, color=colour, **style.EDGE)
        below = below + part
    style.tidy_axes(axes)
    counts = [sum(each[outcome][place] for outcome in style.COLOURS) for place in places]
    axes.set_title(f"{name}: {plural(sum(counts), 'sample')}", fontsize=style.NORMAL, loc="left")
    if len(counts) <= _LABELLED:
        for place, count in enumerate(counts):
            if count:
                axes.annotate(
                    f"{count:,}", (place, below[place]), (0, 2), textcoords="offset points", ha="center",
                    fontsize=style.SMALL - 1,
                )  # fmt: skip


MOST_SOURCES = 30
"""Number of sources with a bar of their own; those with fewer samples share one."""

_SIGNAL = ("none_correct", "all_correct", "mixed")
_MARK: dict[str, Any] = {
    "color": "white", "marker": "v", "markersize": 8, "markeredgecolor": "black", "markeredgewidth": 1.2,
}  # fmt: skip


def sources(lines: Sequence[Numbers], name: str) -> Figure:
    """Draw a bar for each source of a round (``rounds.by_source``), the largest share of never-solved on top."""
    shown = _fewer(lines)
    figure = style.canvas(0.95 + 0.3 * len(shown))
    axes = figure.subplots()
    names = style.distinct_labels([line["source"] for line in shown])
    labels = [f"{name}  (n = {line['samples']:,})" for name, line in zip(names, shown, strict=True)]
    shares = {outcome: [line[outcome] / line["samples"] for line in shown] for outcome in style.COLOURS}
    _bars(axes, shares, 0.78, digits=0, fontsize=style.SMALL - 0.5)
    axes.set_yticks(range(len(shown)), labels=labels, fontsize=style.SMALL)
    axes.set_xlabel(f"share of the source's samples, {style.legible(name)}", fontsize=style.NORMAL)
    style.outcome_legend(figure)
    return figure


def signals(rounds: Sequence[Numbers]) -> Figure:
    """Draw a bar for each ``rounds.signal`` with a scored sample, and a mark where groups without spread end."""
    from matplotlib.lines import Line2D

    shown = [line for line in rounds if line["mixed"] is not None]
    figure = style.canvas(0.95 + 0.42 * len(shown))
    axes = figure.subplots()
    shares = {outcome: [line[outcome] for line in shown] for outcome in _SIGNAL}
    _bars(axes, shares, 0.7, digits=1, fontsize=style.SMALL)
    marked = [(line["no_spread"], place) for place, line in enumerate(shown) if line["no_spread"] is not None]
    for share, place in marked:
        axes.add_line(Line2D([share], [place - 0.38], clip_on=False, zorder=5, **_MARK))
    labels = style.distinct_labels([line["round"] for line in shown])
    axes.set_yticks(range(len(shown)), labels=labels, fontsize=style.NORMAL)
    axes.set_xlabel("share of the round's samples", fontsize=style.NORMAL)
    extra = [Line2D([], [], linestyle="none", label="share of groups whose totals do not differ", **_MARK)]
    style.outcome_legend(figure, _SIGNAL, extra if marked else ())
    return figure


def _bars(axes: Axes, shares: Mapping[str, Sequence[float]], height: float, *, digits: int, fontsize: float) -> None:
    """Draw a bar a row, split by outcome, and write the shares where there is room."""
    rows = len(next(iter(shares.values())))
    left = [0.0] * rows
    for outcome, widths in shares.items():
        axes.barh(range(rows), widths, height, left=left, color=style.COLOURS[outcome], **style.EDGE)
        ink = "black" if outcome == "all_correct" else "white"  # the yellow end of viridis
        for place, (share, start) in enumerate(zip(widths, left, strict=True)):
            if share >= 0.06 + 0.005 * digits:  # narrower than its text otherwise
                text = f"{100 * share:.{digits}f} %"
                axes.text(start + share / 2, place, text, ha="center", va="center", color=ink, fontsize=fontsize)
        left = [start + share for start, share in zip(left, widths, strict=True)]
    style.tidy_axes(axes, "x")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(rows - 0.45, -0.55)  # downwards: the first row on top
    axes.set_xlim(0.0, 1.0)
    style.percent_axis(axes, "x")


def _fewer(lines: Sequence[Numbers]) -> list[Numbers]:
    if len(lines) <= MOST_SOURCES:
        return list(lines)
    largest = sorted(lines, key=lambda line: (-line["samples"], line["source"]))
    kept = {line["source"] for line in largest[: MOST_SOURCES - 1]}
    rest = [line for line in lines if line["source"] not in kept]
    own = [line for line in lines if line["source"] in kept]
    return [*own, merged_sources(f"{len(rest)} other sources", rest)]


_ROW, _AROUND = 0.3, 0.95


def flow(pools: Sequence[Numbers]) -> Figure:
    """Draw a panel for each ``inputs.funnel``: the samples left after each step, and in grey those that it removed."""
    heights = [_ROW * (len(_rows(pool)) + 1) + _AROUND for pool in pools]
    figure = style.canvas(sum(heights) + 0.35)
    panels = figure.subplots(len(pools), 1, squeeze=False, height_ratios=heights).ravel()
    names = style.distinct_labels([pool["pool"] for pool in pools], 60)
    for axes, pool, name in zip(panels, pools, names, strict=True):
        _pool(axes, pool, name)
    panels[-1].set_xlabel("samples", fontsize=style.NORMAL)
    _legend_of_steps(figure)
    return figure


def _rows(pool: Numbers) -> list[tuple[str, int, int]]:
    """Return the steps that removed samples: name, left, removed."""
    steps = [(step["step"], step["kept"], step["removed"]) for step in pool["steps"] if step["removed"]]
    return [("measured", pool["samples"], 0), *steps]


def _pool(axes: Axes, pool: Numbers, name: str) -> None:
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


def _legend_of_steps(figure: Figure) -> None:
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
