"""Tables that break no word, lists, and texts, points and fields on the terminal; no text is read as markup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from grounding_rewards.cli.terminal import printable, results
from grounding_rewards.wording import number


def console() -> Console:
    """Return a console for results."""
    return Console(file=results(), highlight=False)


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
    heads: Sequence[str], whole: Sequence[str] = (), rows: Iterable[Iterable[str]] = (), *,
    figures: Sequence[str] = (), title: str | None = None, wide: bool = False,
) -> Table:  # fmt: skip
    """Return a table of rows; cells of ``whole`` columns are not broken, and ``figures`` stand on the right."""
    grid = WholeWords(
        title=title and text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=wide,
        collapse_padding=not wide,
    )  # fmt: skip
    for head in heads:
        right = head in figures
        # Without "fold" rich puts an ellipsis in place of the end of a long word, such as a path.
        kind: Any = {"justify": "right" if right else "left", "no_wrap": right or head in whole}
        grid.add_column(text(head), overflow="fold", **kind)
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
    """Return an interval of shares, in per cent."""
    return f"{100 * low:.1f} - {100 * high:.1f}"


_UNLIMITED = 1 << 16


class WholeWords(Table):
    """A table whose columns get their widths when it is printed, no word broken where it can be."""

    # Only a word of more than two thirds of the terminal's width, such as a path, is broken. Columns that do not fit
    # come in several blocks, each behind the first column.

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
            block.add_column(each.header, justify=each.justify, overflow=each.overflow, no_wrap=each.no_wrap)
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


def clipped(text: str | None, length: int) -> str:
    """Cut the middle out of a long text; where there is little room its end, behind a whole word if there is one."""
    text = text or ""
    if len(text) <= length:
        return text
    if length < 100:
        start = text[: length - 3]
        whole = start if text[length - 3].isspace() else start.rpartition(" ")[0]
        return f"{whole.rstrip() or start}..."
    half = length // 2
    return f"{text[:half]}... ({len(text) - 2 * half} more characters) ...{text[-half:]}"


def point_of(point: Iterable[float]) -> str:
    """Return a point in brackets."""
    return f"({listed(point)})"


def listed(numbers: Iterable[float]) -> str:
    """Return numbers with commas between them."""
    return ", ".join(map(number, numbers))


def action_of(action: Mapping[str, Any]) -> str:
    """Return an action's name and its arguments."""
    name, rest = action["name"], {key: value for key, value in action.items() if key != "name"}
    return f"{name} {fields_of(rest)}".rstrip()


def fields_of(fields: Mapping[str, Any]) -> str:
    """Return fields with their values as JSON."""
    return ", ".join(f"{name}={written(value)}" for name, value in fields.items())


def written(value: Any) -> str:
    """Return a value as JSON, whole numbers without a point."""
    return json.dumps(_whole(value), ensure_ascii=False)


def as_written(value: Any) -> str:
    """Return a text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def bounds_of(facts: Mapping[str, Any]) -> str:
    """Return the range of the scores of a recipe or a part."""
    return f"{facts['low']:.4g} to {facts['high']:.4g}"


def _whole(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
