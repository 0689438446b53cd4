"""Shares of samples without signal, a bar a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grounding_rewards.pool.report.figures.style import (
    COLOURS,
    EDGE,
    NORMAL,
    SMALL,
    canvas,
    distinct_labels,
    outcome_legend,
    percent_axis,
    tidy_axes,
)
from grounding_rewards.pool.report.rounds import Numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WRITTEN = 0.065  # smallest share with room for its text in the bar
_INK = {"none_correct": "white", "mixed": "white", "all_correct": "black"}


def signals(rounds: Sequence[Numbers]) -> Figure:
    """Draw a bar a round: never solved, partly, always; and a mark where groups without spread end.

    Args:
        rounds: ``rounds.signal`` of each round; rounds without a scored sample are left out.
    """
    from matplotlib.lines import Line2D

    shown = [each for each in rounds if each["mixed"] is not None]
    figure = canvas(0.95 + 0.42 * len(shown))
    axes = figure.subplots()
    left = [0.0] * len(shown)
    for outcome in ("none_correct", "all_correct", "mixed"):
        shares = [each[outcome] for each in shown]
        axes.barh(range(len(shown)), shares, 0.7, left=left, color=COLOURS[outcome], **EDGE)
        for place, (share, start) in enumerate(zip(shares, left, strict=True)):
            if share >= _WRITTEN:
                axes.text(
                    start + share / 2, place, f"{100 * share:.1f} %", ha="center", va="center", color=_INK[outcome],
                    fontsize=SMALL,
                )  # fmt: skip
        left = [start + share for start, share in zip(left, shares, strict=True)]
    style: dict[str, Any] = {
        "color": "white",
        "marker": "v",
        "markersize": 8,
        "markeredgecolor": "black",
        "markeredgewidth": 1.2,
    }
    marked = [(each["no_spread"], place) for place, each in enumerate(shown) if each["no_spread"] is not None]
    extra = [Line2D([], [], linestyle="none", label="share of groups whose totals do not differ", **style)]
    for share, place in marked:
        axes.add_line(Line2D([share], [place - 0.38], clip_on=False, zorder=5, **style))
    tidy_axes(axes, "x")
    axes.set_yticks(range(len(shown)), labels=distinct_labels([each["round"] for each in shown]), fontsize=NORMAL)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(shown) - 0.45, -0.55)
    axes.set_xlim(0.0, 1.0)
    percent_axis(axes, "x")
    axes.set_xlabel("share of the round's samples", fontsize=NORMAL)
    outcome_legend(figure, ("none_correct", "all_correct", "mixed"), extra if marked else ())
    return figure
