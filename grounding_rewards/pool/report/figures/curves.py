"""Curves of a report: pass rate by target size, and accuracy and other shares by temperature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grounding_rewards.pool.report.figures import style
from grounding_rewards.pool.report.rounds import Numbers
from grounding_rewards.pool.report.wording import area
from grounding_rewards.pool.temperature import ABOVE, COLLAPSED, HELD, LOWER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 6
"""Largest number of lines; of more rounds the first and the last ones are drawn."""

_MARKERS = "osD^vP"


def sizes(rounds: Sequence[tuple[str, Sequence[Numbers]]]) -> Figure:
    """Draw the mean pass rate over the size of targets, a line a round (its name, ``rounds.by_size``), and counts."""
    rounds = fewer(rounds)
    names = style.distinct_labels([name for name, _ in rounds])
    from matplotlib import colormaps

    figure = style.canvas(4.3)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    every = [line for _, lines in rounds for line in lines]
    bins = sorted({(line["area_from"], line["area_to"]) for line in every})
    shades = colormaps["viridis"]
    for number, (_, lines) in enumerate(rounds):
        shift = (number - (len(rounds) - 1) / 2) * min(0.7 / len(rounds), 0.14)  # beside each other: intervals show
        colour = shades(0.08 + 0.77 * number / max(len(rounds) - 1, 1))  # neither too dark nor too pale
        held = [line for line in lines if line["samples"]]
        places = [bins.index((line["area_from"], line["area_to"])) + shift for line in held]
        rates = [line["accuracy"] for line in held]
        bars = [
            # Rounding may put an end past the rate, and matplotlib refuses bars below 0.
            [max(rate - line["accuracy_low"], 0.0) for rate, line in zip(rates, held, strict=True)],
            [max(line["accuracy_high"] - rate, 0.0) for rate, line in zip(rates, held, strict=True)],
        ]
        above.errorbar(
            places, rates, yerr=bars, color=colour, marker=_MARKERS[number], markersize=5.5, linewidth=1.3,
            elinewidth=1.2, capsize=2.5, label=names[number], clip_on=False,
        )  # fmt: skip
    counts = [max(line["samples"] for line in every if (line["area_from"], line["area_to"]) == each) for each in bins]
    below.bar(range(len(bins)), counts, 0.7, color=style.COLOURS["mixed"], edgecolor="0.25", linewidth=0.5)
    for place, count in enumerate(counts):
        below.annotate(
            f"{count:,}", (place, count), (0, 2), textcoords="offset points", ha="center", fontsize=style.SMALL
        )
    for axes in (above, below):
        style.tidy_axes(axes)
    above.set_ylim(0.0, min(1.15 * max(line["accuracy_high"] for line in every if line["samples"]), 1.03))
    style.percent_axis(above)
    above.set_ylabel("mean pass rate", fontsize=style.NORMAL)
    below.set_ylabel("samples" if len(rounds) == 1 else "samples\n(largest round)", fontsize=style.NORMAL)
    below.locator_params(axis="y", nbins=3, integer=True)
    below.margins(y=0.25)
    below.set_xticks(range(len(bins)), labels=[area(*edges) for edges in bins], fontsize=style.SMALL)
    below.set_xlim(-0.6, len(bins) - 0.4)
    below.set_xlabel("area of the target as a share of the screen", fontsize=style.NORMAL)
    figure.legend(loc="outside upper left", ncol=min(len(rounds), 4), frameon=False, fontsize=style.NORMAL)
    return figure


def fewer(rounds: Sequence[tuple[str, Sequence[Numbers]]]) -> list[tuple[str, Sequence[Numbers]]]:
    """Return the first and the last rounds, where there are too many lines to tell apart.

    >>> [name for name, _ in fewer([(str(number), []) for number in range(1, 10)])]
    ['1', '2', '6', '7', '8', '9']
    """
    return list(rounds) if len(rounds) <= MOST else [*rounds[: MOST // 3], *rounds[MOST // 3 - MOST :]]


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


def temperatures(swept: Numbers) -> Figure:
    """Draw accuracy, the paired difference that the rule goes by, and what else was counted, over the temperature."""
    figure = style.canvas(7.6)
    panels = figure.subplots(3, 1, sharex=True, height_ratios=[1.2, 1.0, 1.0])
    values = [row["temperature"] for row in swept["rows"]]
    _points(panels[0], swept, "accuracy", "low", "high")
    _points(panels[1], swept, "difference", "difference_low", "difference_high")
    panels[1].axhline(0.0, color="0.3", linewidth=0.9, zorder=1)
    for name, (label, colour, marker) in _BESIDE.items():
        shares = [row[name] for row in swept["rows"]]
        if all(share is not None for share in shares):  # a line with gaps would join what is not known
            panels[2].plot(values, shares, color=colour, marker=marker, markersize=5, linewidth=1.3, label=label)
    panels[2].set_ylim(-0.03, 1.03)
    titles = "accuracy", f"points from {swept['compared_with']:g}, paired", "share"
    for axes, title in zip(panels, titles, strict=True):
        style.tidy_axes(axes)
        style.percent_axis(axes)
        axes.set_ylabel(title, fontsize=style.NORMAL)
        axes.axvline(
            swept["chosen"], color="0.5", linewidth=1.0, linestyle=(0, (4, 3)), zorder=1,
            label=f"chosen: {swept['chosen']:g}" if axes is panels[0] else None,
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


def _points(axes: Axes, swept: Numbers, name: str, low: str, high: str) -> None:
    rows = [row for row in swept["rows"] if row[name] is not None]
    axes.plot([row["temperature"] for row in rows], [row[name] for row in rows], color="0.6", linewidth=1.2, zorder=1)
    labelled = set[str]()
    for row in rows:
        kind = row["verdict"]
        colour, marker = _MARKS[kind]
        ends = [row[name] if row[end] is None else row[end] for end in (low, high)]  # no interval: a bar without length
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
    room = _LABEL * ((values[-1] - values[0]) or 1.0)  # 1.0 for a single temperature
    ends = [float("-inf")] * _LINES
    labels = list[str]()
    for value in values:
        line = next((line for line, end in enumerate(ends) if value >= end), None)
        labels.append("" if line is None else "\n" * line + f"{value:g}")
        if line is not None:
            ends[line] = value + room
    return list(values), labels
