"""Places of a picture's panels, in inches from the left and the bottom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Place = tuple[float, float, float, float]
"""Left, bottom, width and height, as shares of the figure."""

WIDTH, TALLEST, NARROWEST = 9.0, 4.0, 2.3
"""The figure's width, a panel's height and a column's width at most and at least; 100 dots an inch are meant."""

LEFT, RIGHT, TOP, BOTTOM, GAP = 0.62, 1.0, 0.8, 0.82, 0.55
_BAR, _BAR_GAP, _BELOW, _LEAST = 0.16, 0.18, 0.2, 5.8


_FLATTEST = 5.0  # a panel's longer side over its shorter one: beyond that it is stretched, so that something shows


@dataclass(frozen=True)
class Layout:
    """Places of everything.

    Attributes:
        size: width and height of the figure.
        panels: the places of each row's panels, from the top; None where a row has none in that column.
        bar: the place of the colour bar.
    """

    size: tuple[float, float]
    panels: tuple[tuple[Place | None, ...], ...]
    bar: Place


def layout(aspects: Sequence[Sequence[float | None]], titled: Sequence[bool] = ()) -> Layout:
    """Lay out rows of panels, by width over height (None for no panel); ``titled`` rows have room for titles.

    >>> places = layout([[2.0]])
    >>> places.size, [round(share, 2) for share in places.panels[0][0]]
    ((9.0, 5.31), [0.07, 0.15, 0.82, 0.69])
    """
    drawn = [[aspect and shaped(aspect) for aspect in row] for row in aspects]
    widths, heights = _grid(drawn)
    gaps = [TOP, *(TOP + _BELOW if title else GAP for title in [*titled, *[False] * len(aspects)][1 : len(aspects)])]
    whole = max(LEFT + sum(widths) + GAP * (len(widths) - 1) + RIGHT, _LEAST)
    high = sum(heights) + sum(gaps) + BOTTOM
    panels = []
    for number, row in enumerate(drawn):
        top = high - sum(heights[:number]) - sum(gaps[: number + 1])
        places: list[Place | None] = []
        for column, aspect in enumerate(row):
            left = LEFT + sum(widths[:column]) + GAP * column
            size = _fit(aspect or 1.0, widths[column], heights[number])
            places.append(_shares(left, top, *size, whole, high) if aspect else None)
        panels.append(tuple(places))
    bar = LEFT + sum(widths) + GAP * (len(widths) - 1) + _BAR_GAP
    return Layout(
        (round(whole, 2), round(high, 2)), tuple(panels),
        _shares(bar, high - TOP, _BAR, min(high - TOP - BOTTOM, TALLEST), whole, high),
    )  # fmt: skip


def shaped(aspect: float) -> float:
    """Return the width over the height with which a panel is drawn.

    >>> shaped(1.6), shaped(500.0)
    (1.6, 5.0)
    """
    return min(max(aspect, 1 / _FLATTEST), _FLATTEST)


def _grid(aspects: Sequence[Sequence[float | None]]) -> tuple[list[float], list[float]]:
    """Return the widths of the columns and the heights of the rows."""
    columns = len(aspects[0])
    room = WIDTH - LEFT - RIGHT - GAP * (columns - 1)
    if len(aspects) == 1:  # one row: all panels of one height, as wide as they are
        wide = [aspect or 1.0 for aspect in aspects[0]]
        height = min(TALLEST, max(room, NARROWEST * columns) / sum(wide))
        return [aspect * height for aspect in wide], [height]
    width = max(room / columns, NARROWEST)
    heights = [min(TALLEST, max(width / aspect for aspect in row if aspect)) for row in aspects]
    return [width] * columns, heights


def _fit(aspect: float, width: float, height: float) -> tuple[float, float]:
    return (width, width / aspect) if width / aspect <= height + 1e-9 else (height * aspect, height)


def _shares(left: float, top: float, width: float, height: float, whole: float, high: float) -> Place:
    return left / whole, (top - height) / high, width / whole, height / high
