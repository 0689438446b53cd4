"""Pass rate by target size, a line a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grounding_rewards.pool.report.figures import style
from grounding_rewards.pool.report.rounds import Numbers
from grounding_rewards.pool.report.wording import area

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST = 6
"""Largest number of lines; of more rounds the first and the last ones are drawn."""

_MARKERS = "osD^vP"


def sizes(rounds: Sequence[tuple[str, Sequence[Numbers]]]) -> Figure:
    """Draw the mean pass rate over the size of targets, a line a round, and how many samples there are.

    Args:
        rounds: the name and ``groups.by_size`` of each round.
    """
    rounds = fewer(rounds)
    names = style.distinct_labels([name for name, _ in rounds])
    from matplotlib import colormaps

    figure = style.canvas(4.3)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    edges = {(line["area_from"], line["area_to"]) for _, lines in rounds for line in lines}
    bins = sorted(edges)
    shades = colormaps["viridis"]
    for number, (_, lines) in enumerate(rounds):
        shift = (number - (len(rounds) - 1) / 2) * min(0.7 / len(rounds), 0.14)
        colour = shades(0.08 + 0.77 * number / max(len(rounds) - 1, 1))
        held = [line for line in lines if line["samples"]]
        places = [bins.index((line["area_from"], line["area_to"])) + shift for line in held]
        rates = [line["accuracy"] for line in held]
        bars = [
            [max(rate - line["accuracy_low"], 0.0) for rate, line in zip(rates, held, strict=True)],
            [max(line["accuracy_high"] - rate, 0.0) for rate, line in zip(rates, held, strict=True)],
        ]
        above.errorbar(
            places, rates, yerr=bars, color=colour, marker=_MARKERS[number], markersize=5.5, linewidth=1.3,
            elinewidth=1.2, capsize=2.5, label=names[number], clip_on=False,
        )  # fmt: skip
    counts = [max((_samples(lines, edges) for _, lines in rounds)) for edges in bins]
    below.bar(range(len(bins)), counts, 0.7, color=style.COLOURS["mixed"], edgecolor="0.25", linewidth=0.5)
    for place, count in enumerate(counts):
        below.annotate(
            f"{count:,}", (place, count), (0, 2), textcoords="offset points", ha="center", fontsize=style.SMALL
        )
    for axes in (above, below):
        style.tidy_axes(axes)
    above.set_ylim(0.0, min(1.15 * max(line["accuracy_high"] for line in _held(rounds)), 1.03))
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


def _held(rounds: Sequence[tuple[str, Sequence[Numbers]]]) -> list[Numbers]:
    """Return the bins of all rounds that hold a sample."""
    return [line for _, lines in rounds for line in lines if line["samples"]]


def _samples(lines: Sequence[Numbers], edges: tuple[float, float]) -> int:
    return sum(line["samples"] for line in lines if (line["area_from"], line["area_to"]) == edges)
