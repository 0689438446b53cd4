"""Style of the figures of a report: colours, sizes, and labels that can be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

from grounding_rewards.explain.plot.figure import figures
from grounding_rewards.pool.report.samples import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 9.0
"""Width in inches; at 100 dots an inch a figure is as wide as the page."""

COLOURS = {"none_correct": "#440154", "mixed": "#21918c", "all_correct": "#fde725"}
"""Ends and middle of viridis, from never solved (dark) to always solved (light)."""

NAMES = {"none_correct": "none correct", "mixed": "some correct", "all_correct": "all correct"}
SMALL, NORMAL = 8.0, 9.0
EDGE: dict[str, Any] = {"edgecolor": "0.25", "linewidth": 0.5}
GREY = "0.82"


def canvas(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure without global state.

    Raises:
        PictureError: matplotlib is not installed.
    """
    return figures()(figsize=(width, round(height, 2)), dpi=100, facecolor="white", layout="constrained")


def tidy_axes(axes: Axes, grid: str = "y") -> None:
    """Remove the upper and right spines, and draw a pale grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(axis=grid, color="0.9", linewidth=0.8)  # type: ignore[arg-type]
    axes.tick_params(labelsize=SMALL, length=3, color="0.4")


def outcome_legend(figure: Figure, names: Sequence[str] = tuple(COLOURS), extra: Sequence[Any] = ()) -> None:
    """Draw the legend of outcomes above the figure."""
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=COLOURS[name], label=NAMES[name], **EDGE) for name in names]
    figure.legend(
        handles=[*handles, *extra], loc="outside upper left", ncol=len(handles) + len(extra), frameon=False,
        fontsize=NORMAL, handlelength=1.2, columnspacing=1.6, borderpad=0.1,
    )  # fmt: skip


def percent_axis(axes: Axes, axis: str = "y") -> None:
    """Format an axis of shares in per cent."""
    (axes.yaxis if axis == "y" else axes.xaxis).set_major_formatter(lambda value, place: f"{100 * value:g} %")


def legible(text: str, most: int = 34) -> str:
    r"""Return a label that can be drawn: one line, short, without formulas and letters that the font lacks.

    >>> print(legible("a$b$"), legible("x\ny"), legible("screens/very/long/names/of/applications", 20))
    a\$b\$ x y screens/ve…lications
    """
    line = shortened(" ".join(text.split()) or "(empty)", most)
    drawn = _drawn()
    return "".join(letter if letter.isprintable() and ord(letter) in drawn else "□" for letter in line).replace(
        "$", r"\$"
    )


def distinct_labels(texts: Sequence[str], most: int = 34) -> list[str]:
    """Return distinct labels: long ones without their common beginning or end, equal ones with a number.

    >>> distinct_labels(["round-one-of-the-first-day", "round-two-of-the-first-day", "b"], 13)
    ['…ound-one-of…', '…ound-two-of…', 'b']
    >>> distinct_labels(["round-one-of-the-first-day"] * 2, 13)
    ['round-…st-day (1)', 'round-…st-day (2)']
    """
    lines = [" ".join(text.split()) for text in texts]
    long = [line for line in lines if len(line) > most]
    shared = len(commonprefix(long)), len(commonprefix([line[::-1] for line in long]))  # noqa: RUF071
    short = [legible(_apart(line, *shared, most) if line in long else line, most) for line in lines]
    numbers = [short[: place + 1].count(text) for place, text in enumerate(short)]  # if equal still: numbered
    return [
        f"{text} ({number})" if short.count(text) > 1 else text for text, number in zip(short, numbers, strict=True)
    ]


def _apart(line: str, start: int, end: int, most: int) -> str:
    """Shorten a text by its common prefix and suffix, as far as needed."""
    if start + end >= len(line):
        return line
    room = max(most - 2 - (len(line) - start - end), 0)
    before = min(start, max(room * 2 // 3, room - end))  # two thirds before, where both ends are long enough
    after = min(end, room - before)
    kept = line[start - before : len(line) - end + after]
    return f"{'…' if before < start else ''}{kept}{'…' if after < end else ''}"


@cache
def _drawn() -> frozenset[int]:
    """Return the code points of the font."""
    figures()
    from matplotlib.font_manager import findfont  # slow to import, and an extra
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(findfont("DejaVu Sans")).get_charmap())
