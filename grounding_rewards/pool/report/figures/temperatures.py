"""What a temperature does: accuracy, and what else changes with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grounding_rewards.pool.report.figures.style import COLOURS, NORMAL, SMALL, calm, canvas, per_cent
from grounding_rewards.pool.report.rounds import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BESIDE = {
    "parse_rate": ("answers read", "#440154", "s"),
    "mixed_share": ("samples with some correct", "#21918c", "o"),
    "zero_share": ("never-solved samples", "#3b528b", "v"),
    "distinct_share": ("different responses", "#7ad151", "D"),
}


def temperatures(found: Numbers) -> Figure:
    """Draw accuracy with its interval over the temperature, and beside it what else was counted.

    Args:
        found: what ``Sweep.to_json`` says.
    """
    figure = canvas(3.7)
    left, right = figure.subplots(1, 2, sharex=True)
    _accuracy(left, found)
    values = [row["temperature"] for row in found["rows"]]
    for name, (label, colour, marker) in _BESIDE.items():
        shares = [row[name] for row in found["rows"]]
        if all(share is not None for share in shares):
            right.plot(values, shares, color=colour, marker=marker, markersize=5, linewidth=1.3, label=label)
    right.axvline(found["chosen"], color="0.5", linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
    right.set_ylim(-0.03, 1.03)
    right.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=2, frameon=False, fontsize=SMALL, borderpad=0.2,
        columnspacing=1.4,
    )  # fmt: skip
    for axes in (left, right):
        calm(axes)
        per_cent(axes)
        axes.set_xlabel("temperature", fontsize=NORMAL)
        if len(values) <= 12:
            axes.set_xticks(values, labels=[f"{value:g}" for value in values])
    right.set_ylabel("share", fontsize=NORMAL)
    return figure


def _accuracy(axes: Axes, found: Numbers) -> None:
    rows = found["rows"]
    axes.plot(
        [row["temperature"] for row in rows], [row["accuracy"] for row in rows], color="0.6", linewidth=1.2, zorder=1
    )
    labelled = set[str]()
    for row in rows:
        kind = "collapsed" if row["collapsed"] else "held"
        bars = [[max(row["accuracy"] - row["low"], 0.0)], [max(row["high"] - row["accuracy"], 0.0)]]
        axes.errorbar(
            [row["temperature"]], [row["accuracy"]], yerr=bars, capsize=3, markersize=7, elinewidth=1.3,
            color=COLOURS["none_correct" if row["collapsed"] else "mixed"], marker="X" if row["collapsed"] else "o",
            linestyle="none", label=None if kind in labelled else kind,
        )  # fmt: skip
        labelled.add(kind)
    axes.axvline(
        found["chosen"], color="0.5", linewidth=1.0, linestyle=(0, (4, 3)), zorder=1,
        label=f"chosen: {found['chosen']:g}",
    )  # fmt: skip
    axes.margins(x=0.08, y=0.15)
    axes.set_ylabel("accuracy", fontsize=NORMAL)
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=3, frameon=False, fontsize=SMALL, borderpad=0.2,
        columnspacing=1.4,
    )  # fmt: skip
