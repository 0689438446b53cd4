"""Accuracy, paired difference and other shares by temperature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grounding_rewards.pool.report.figures import style
from grounding_rewards.pool.report.rounds import Numbers
from grounding_rewards.pool.report.wording import ABOVE, COLLAPSED, HELD, LOWER, verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BESIDE = {
    "parse_rate": ("answers read", "#440154", "s"),
    "mixed_share": ("samples with some correct", "#21918c", "o"),
    "zero_share": ("never-solved samples", "#3b528b", "v"),
    "distinct_share": ("different responses", "#7ad151", "D"),
}
_MARKS = {
    HELD: (style.COLOURS["mixed"], "o"),
    LOWER: ("0.45", "v"),
    COLLAPSED: (style.COLOURS["none_correct"], "X"),
    ABOVE: ("#b5a300", "D"),
}
_LABEL, _LINES = 0.05, 3  # the share of the axis that a temperature's label takes, and lines for those that are close


def temperatures(found: Numbers) -> Figure:
    """Draw accuracy, the paired difference that the rule goes by, and what else was counted, over the temperature.

    Args:
        found: ``Sweep.to_json``.
    """
    figure = style.canvas(7.6)
    panels = figure.subplots(3, 1, sharex=True, height_ratios=[1.2, 1.0, 1.0])
    values = [row["temperature"] for row in found["rows"]]
    _points(panels[0], found, "accuracy", "low", "high")
    _points(panels[1], found, "difference", "difference_low", "difference_high")
    panels[1].axhline(0.0, color="0.3", linewidth=0.9, zorder=1)
    for name, (label, colour, marker) in _BESIDE.items():
        shares = [row[name] for row in found["rows"]]
        if all(share is not None for share in shares):
            panels[2].plot(values, shares, color=colour, marker=marker, markersize=5, linewidth=1.3, label=label)
    panels[2].set_ylim(-0.03, 1.03)
    titles = "accuracy", f"points from {found['compared_with']:g}, paired", "share"
    for axes, title in zip(panels, titles, strict=True):
        style.tidy_axes(axes)
        style.percent_axis(axes)
        axes.set_ylabel(title, fontsize=style.NORMAL)
        axes.axvline(
            found["chosen"], color="0.5", linewidth=1.0, linestyle=(0, (4, 3)), zorder=1,
            label=f"chosen: {found['chosen']:g}" if axes is panels[0] else None,
        )  # fmt: skip
    for axes in (panels[0], panels[2]):
        axes.legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), ncol=5, frameon=False, fontsize=style.SMALL, borderpad=0.2,
            columnspacing=1.6,
        )  # fmt: skip
    panels[1].yaxis.set_major_formatter(lambda value, place: f"{100 * value:+g}" if value else "0")
    panels[2].set_xticks(*_ticks(values))
    panels[2].set_xlabel("temperature", fontsize=style.NORMAL)
    return figure


def _points(axes: Axes, found: Numbers, name: str, low: str, high: str) -> None:
    rows = [row for row in found["rows"] if row[name] is not None]
    axes.plot([row["temperature"] for row in rows], [row[name] for row in rows], color="0.6", linewidth=1.2, zorder=1)
    labelled = set[str]()
    for row in rows:
        kind = verdict(row, found)
        colour, marker = _MARKS[kind]
        ends = [row[name] if row[end] is None else row[end] for end in (low, high)]
        bars: Any = [[max(row[name] - ends[0], 0.0)], [max(ends[1] - row[name], 0.0)]]
        axes.errorbar(
            [row["temperature"]], [row[name]], yerr=bars, capsize=3, markersize=7, elinewidth=1.3, color=colour,
            marker=marker, linestyle="none", label=None if kind in labelled else kind,
        )  # fmt: skip
        labelled.add(kind)
    axes.margins(x=0.04, y=0.15)


def _ticks(values: Sequence[float]) -> tuple[list[float], list[str]]:
    r"""Return temperatures, ascending, and their labels, those that are close on lower lines or without one.

    >>> _ticks([1.0, 1.02, 1.04, 1.06, 2.0])
    ([1.0, 1.02, 1.04, 1.06, 2.0], ['1', '\n1.02', '\n\n1.04', '1.06', '2'])
    """
    room = _LABEL * ((values[-1] - values[0]) or 1.0)
    ends = [float("-inf")] * _LINES
    labels = list[str]()
    for value in values:
        line = next((line for line, end in enumerate(ends) if value >= end), None)
        labels.append("" if line is None else "\n" * line + f"{value:g}")
        if line is not None:
            ends[line] = value + room
    return list(values), labels
