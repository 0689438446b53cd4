"""Histogram of samples by right rollouts, a panel a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.pool.report.figures import style
from grounding_rewards.pool.report.rounds import Numbers
from grounding_rewards.pool.report.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_IN_A_ROW, _TALL, _LEGEND = 3, 2.6, 0.4
_NAME = 22  # characters of a round's name above a panel
_LABELLED = 9  # largest number of bars with counts


def num_correct(rounds: Sequence[Numbers]) -> Figure:
    """Draw the histograms, all on the same axes: shares of a round's samples, from no right rollout to all.

    Args:
        rounds: ``rounds.histogram`` of each round.
    """
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
        axes.tick_params(labelbottom=True)
    style.outcome_legend(figure)
    return figure


def _shares(each: Numbers) -> Floats:
    """Return shares of a round's scored samples, (3, n + 1), by outcome and number of right rollouts."""
    counts = np.array([each[name] for name in style.COLOURS], dtype=np.float64)
    return np.asarray(counts / max(counts.sum(), 1.0))


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
