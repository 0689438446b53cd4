"""Outcomes of samples by source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grounding_rewards.pool.report.figures.style import (
    COLOURS,
    EDGE,
    NORMAL,
    SMALL,
    canvas,
    distinct_labels,
    legible,
    outcome_legend,
    percent_axis,
    tidy_axes,
)
from grounding_rewards.pool.report.groups import merged_sources
from grounding_rewards.pool.report.rounds import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 30
"""Number of sources with a bar of their own; those with fewer samples share one."""

_WRITTEN = 0.06  # smallest share with room for its text in the bar
_INK = {"none_correct": "white", "mixed": "white", "all_correct": "black"}


def sources(lines: Sequence[Numbers], name: str) -> Figure:
    """Draw a bar for each source, the one with the largest share of never-solved samples on top.

    Args:
        lines: ``groups.by_source`` of the round.
        name: the round's.
    """
    shown = _fewer(lines)
    figure = canvas(0.95 + 0.3 * len(shown))
    axes = figure.subplots()
    names = distinct_labels([line["source"] for line in shown])
    labels = [f"{name}  (n = {line['samples']:,})" for name, line in zip(names, shown, strict=True)]
    places = range(len(shown))
    left = [0.0] * len(shown)
    for outcome, colour in COLOURS.items():
        shares = [line[outcome] / line["samples"] for line in shown]
        axes.barh(places, shares, 0.78, left=left, color=colour, **EDGE)
        _write(axes, shares, left, _INK[outcome])
        left = [start + share for start, share in zip(left, shares, strict=True)]
    tidy_axes(axes, "x")
    axes.set_yticks(places, labels=labels, fontsize=SMALL)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(shown) - 0.45, -0.55)
    axes.set_xlim(0.0, 1.0)
    percent_axis(axes, "x")
    axes.set_xlabel(f"share of the source's samples, {legible(name)}", fontsize=NORMAL)
    outcome_legend(figure)
    return figure


def _fewer(lines: Sequence[Numbers]) -> list[Numbers]:
    if len(lines) <= MOST:
        return list(lines)
    largest = sorted(lines, key=lambda line: (-line["samples"], line["source"]))
    kept = {line["source"] for line in largest[: MOST - 1]}
    rest = [line for line in lines if line["source"] not in kept]
    own = [line for line in lines if line["source"] in kept]
    return [*own, merged_sources(f"{len(rest)} other sources", rest)]


def _write(axes: Axes, shares: Sequence[float], left: Sequence[float], ink: str) -> None:
    for place, (share, start) in enumerate(zip(shares, left, strict=True)):
        if share >= _WRITTEN:
            axes.text(
                start + share / 2, place, f"{100 * share:.0f} %", ha="center", va="center", color=ink,
                fontsize=SMALL - 0.5,
            )  # fmt: skip
