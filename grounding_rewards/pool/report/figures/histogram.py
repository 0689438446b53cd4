"""How many samples have 0, 1, ... right rollouts, a panel a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grounding_rewards.pool.report.figures.style import (
    COLOURS,
    EDGE,
    NORMAL,
    SMALL,
    calm,
    canvas,
    legible,
    outcome_legend,
)
from grounding_rewards.pool.report.rounds import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_IN_A_ROW, _TALL, _LEGEND = 3, 2.6, 0.4
_NAME = 22  # letters of a round above a panel
_LABELLED = 9  # so many bars of a panel bear their count


def num_correct(rounds: Sequence[Numbers]) -> Figure:
    """Draw the histograms.

    Args:
        rounds: of each round what ``rounds.histogram`` says.
    """
    wide = min(len(rounds), _IN_A_ROW)
    rows = -(-len(rounds) // wide)
    figure = canvas(_LEGEND + _TALL * rows + (0.6 if wide == 1 else 0.0))
    panels = figure.subplots(rows, wide, squeeze=False).ravel()
    for axes, each in zip(panels, rounds, strict=False):
        _panel(axes, each)
    for axes in panels[len(rounds) :]:
        axes.set_visible(False)
    for place in range(0, len(rounds), wide):
        panels[place].set_ylabel("samples", fontsize=NORMAL)
    for axes in panels[max(len(rounds) - wide, 0) : len(rounds)]:
        axes.set_xlabel("right rollouts of a sample", fontsize=NORMAL)
    outcome_legend(figure)
    return figure


def _panel(axes: Axes, each: Numbers) -> None:
    counts = {name: np.array(each[name]) for name in COLOURS}
    whole = sum(counts.values())
    places, below = np.arange(len(counts["mixed"])), np.zeros(len(counts["mixed"]))
    for name, colour in COLOURS.items():
        axes.bar(places, counts[name], 0.86, bottom=below, color=colour, **EDGE)
        below = below + counts[name]
    calm(axes)
    axes.set_title(f"{legible(each['round'], _NAME)}: {below.sum():,.0f} samples", fontsize=NORMAL, loc="left")
    axes.locator_params(axis="y", nbins=5, integer=True)
    axes.locator_params(axis="x", nbins=12, integer=True)
    axes.set_xlim(-0.6, max(len(places) - 0.4, 1.6))
    axes.set_ylim(0.0, 1.14 * max(float(np.max(whole)), 1.0))
    axes.yaxis.set_major_formatter(lambda value, place: f"{value:,.0f}")
    if len(places) <= _LABELLED:
        for place, count in zip(places.tolist(), np.asarray(whole).tolist(), strict=True):
            if count:
                axes.annotate(
                    f"{count:,}", (place, count), (0, 2), textcoords="offset points", ha="center", fontsize=SMALL - 1
                )
