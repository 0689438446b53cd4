"""Tables and lists on the terminal, of texts that may come from anywhere: shown, never read as markup."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grounding_rewards.cli.terminal import printable


def console() -> Console:
    """Stdout as it is now."""
    return Console(file=sys.stdout, highlight=False)


def text(line: str, style: str = "") -> Text:
    """One line, with control characters escaped."""
    return Text(printable(line), style=style)


def indented(thing: RenderableType) -> Padding:
    """The same, a little to the right."""
    return Padding(thing, (0, 0, 0, 2), expand=False)


def table(heads: Sequence[str], whole: Sequence[str]) -> Table:
    """An empty table; cells below the heads in ``whole`` are never broken into lines."""
    found = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for head in heads:
        found.add_column(head, overflow="fold", no_wrap=head in whole)
    return found


def facts(rows: Iterable[tuple[str, str]], *, gap: int = 2, apart: bool = False) -> Table:
    """Names and what there is to say of each, ``gap`` columns between them; ``apart`` leaves lines between rows."""
    found = Table.grid(padding=(0, gap, 0, 0))
    found.add_column(no_wrap=True)
    found.add_column(overflow="fold")
    for index, cells in enumerate(rows):
        if apart and index:
            found.add_row("", "")
        row(found, cells)
    return found


def lines(texts: Iterable[str]) -> Table:
    """Lines one below the other."""
    found = Table.grid()
    found.add_column(overflow="fold")
    for each in texts:
        row(found, [each])
    return found


def row(table: Table, cells: Iterable[str]) -> None:
    """Append a row."""
    table.add_row(*(Text("\n".join(map(printable, cell.split("\n")))) for cell in cells))
