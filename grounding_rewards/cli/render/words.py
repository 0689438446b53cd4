"""Tables that break no word and no number: columns share the terminal's width, or come in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table

_UNLIMITED = 1 << 16


class WholeWords(Table):
    """A table whose columns get their widths when it is printed.

    A column is as wide as its longest word at least, and as its longest line where it is not to wrap. Only a word of
    more than two thirds of the terminal's width, such as a path, is broken. Columns that do not fit come in several
    blocks, each behind the first column.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, or its blocks."""
        rest, title = self.columns[1:], self.title
        while True:
            for count in range(len(rest), -1, -1):
                block = self._of([*self.columns[:1], *rest[:count]])
                whole = count > 1 and self.show_header
                if _fit(block, console, options, options.max_width * 2 // 3 if whole else 1) or not whole:
                    break
            block.title, title = title, None
            yield from Table.__rich_console__(block, console, options)
            rest = rest[count:]
            if not rest:
                return

    def _of(self, columns: Sequence[Column]) -> Table:
        """Return a table of some columns."""
        block = copy(self)
        block.columns, block.rows = [], []
        for each in columns:
            block.add_column(
                each.header,
                justify=each.justify,
                overflow=each.overflow,
                no_wrap=each.no_wrap,
            )
        for cells in zip(*(each.cells for each in columns), strict=True):
            block.add_row(*cells)
        return block


def _fit(table: Table, console: Console, options: ConsoleOptions, least: int) -> bool:
    """Give the columns their widths, with words broken from ``least`` on; return False where they do not fit."""
    free = options.update(max_width=_UNLIMITED)
    extents = [_extent(column, console, free) for column in table.columns]
    most = [each.maximum for each in extents]
    room = options.max_width - (Measurement.get(console, free, table).maximum - sum(most))
    if sum(most) <= room:
        return True
    widths = [each.minimum for each in extents]
    wraps = [place for place, column in enumerate(table.columns) if not column.no_wrap]
    while sum(widths) > room:
        widest = max(wraps, key=widths.__getitem__, default=None)
        if widest is None or widths[widest] <= least:
            return False
        widths[widest] -= 1
    spare = room - sum(widths)
    for left, place in enumerate(sorted(wraps, key=lambda place: most[place] - widths[place])):
        added = min(most[place] - widths[place], spare // (len(wraps) - left))
        widths[place], spare = widths[place] + added, spare - added
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
    return True


def _extent(column: Column, console: Console, free: ConsoleOptions) -> Measurement:
    """Return the widths of a column's longest word, and of its longest line."""
    extents = [Measurement.get(console, free, each) for each in (column.header, *column.cells)]
    longest = max(each.maximum for each in extents)
    return Measurement(longest if column.no_wrap else max(each.minimum for each in extents), longest)
