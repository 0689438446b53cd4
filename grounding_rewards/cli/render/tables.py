"""Tables and lists on the terminal; their texts may come from anywhere, and are never read as markup."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grounding_rewards.cli.render.words import WholeWords
from grounding_rewards.cli.terminal import printable


def console() -> Console:
    """Return a console on stdout as it is now."""
    return Console(file=sys.stdout, highlight=False)


def text(lines: str, style: str = "") -> Text:
    """Return lines, with all other control characters escaped."""
    return Text("\n".join(map(printable, lines.split("\n"))), style=style)


def indented(thing: RenderableType) -> Padding:
    """Move a little to the right."""
    return Padding(thing, (0, 0, 0, 2), expand=False)


def section(on: Console, title: str, content: Table, *, indent: int = 2) -> None:
    """Print a table below an empty line and its title, if any; nothing where it has no rows."""
    if content.row_count:
        on.print()
        if title:
            on.print(text(title, "bold"))
        on.print(Padding(content, (0, 0, 0, indent), expand=False))


def table(
    heads: Sequence[str],
    whole: Sequence[str] = (),
    rows: Iterable[Iterable[str]] = (),
    *,
    figures: Sequence[str] = (),
    title: str | None = None,
    wide: bool = False,
) -> Table:
    """Return a table of rows.

    Args:
        heads: of the columns.
        whole: columns whose cells are never broken into lines.
        rows: the cells of each row.
        figures: columns of numbers, which stand on the right and are never broken.
        title: a heading.
        wide: leave room between the columns, and empty lines around the table.
    """
    grid = WholeWords(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=wide,
        collapse_padding=not wide,
    )  # fmt: skip
    for head in heads:
        right = head in figures
        grid.add_column(
            # Else rich puts an ellipsis in place of the end of a long word, such as a path.
            text(head),
            overflow="fold",
            no_wrap=right or head in whole,
            justify="right" if right else "left",
        )
    for cells in rows:
        row(grid, cells)
    return grid


def facts(rows: Iterable[Sequence[str]], *, columns: int = 2, gap: int = 2, apart: bool = False) -> Table:
    """Return names and their descriptions, ``gap`` columns between them; ``apart`` leaves lines between rows."""
    grid = WholeWords.grid(padding=(0, gap, 0, 0))
    for place in range(columns):
        grid.add_column(no_wrap=place == 0, overflow="fold")
    for index, cells in enumerate(rows):
        if apart and index:
            grid.add_row("", "")
        row(grid, cells)
    return grid


def lines(texts: Iterable[str]) -> Table:
    """Return lines one below the other."""
    grid = WholeWords.grid()
    grid.add_column(overflow="fold")
    for each in texts:
        row(grid, [each])
    return grid


def row(table: Table, cells: Iterable[str]) -> None:
    """Append a row."""
    table.add_row(*map(text, cells))


def interval(low: float, high: float) -> str:
    """Return an interval of shares, in per cent.

    >>> interval(0.0, 0.3244)
    '0.0 - 32.4'
    """
    return f"{100 * low:.1f} - {100 * high:.1f}"
