"""Outcomes of samples, none, some or all rollouts right: by source, and by round with the samples without signal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grounding_rewards.pool.report.figures import style
from grounding_rewards.pool.report.groups import merged_sources
from grounding_rewards.pool.report.rounds import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 30
"""Number of sources with a bar of their own; those with fewer samples share one."""

_SIGNAL = ("none_correct", "all_correct", "mixed")
_MARK: dict[str, Any] = {
    "color": "white", "marker": "v", "markersize": 8, "markeredgecolor": "black", "markeredgewidth": 1.2,
}  # fmt: skip


def sources(lines: Sequence[Numbers], name: str) -> Figure:
    """Draw a bar for each source, the one with the largest share of never-solved samples on top.

    Args:
        lines: ``groups.by_source`` of the round.
        name: the round's name.
    """
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
    """Draw a bar for each round, with a mark where groups without spread end.

    Args:
        rounds: ``rounds.signal`` of each round; rounds without a scored sample are left out.
    """
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
        ink = "black" if outcome == "all_correct" else "white"
        for place, (share, start) in enumerate(zip(widths, left, strict=True)):
            if share >= 0.06 + 0.005 * digits:
                text = f"{100 * share:.{digits}f} %"
                axes.text(start + share / 2, place, text, ha="center", va="center", color=ink, fontsize=fontsize)
        left = [start + share for start, share in zip(left, widths, strict=True)]
    style.tidy_axes(axes, "x")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(rows - 0.45, -0.55)
    axes.set_xlim(0.0, 1.0)
    style.percent_axis(axes, "x")


def _fewer(lines: Sequence[Numbers]) -> list[Numbers]:
    if len(lines) <= MOST:
        return list(lines)
    largest = sorted(lines, key=lambda line: (-line["samples"], line["source"]))
    kept = {line["source"] for line in largest[: MOST - 1]}
    rest = [line for line in lines if line["source"] not in kept]
    own = [line for line in lines if line["source"] in kept]
    return [*own, merged_sources(f"{len(rest)} other sources", rest)]
