"""CSV files: cells are texts, so that a response of 512 and an id of 007 stay as they are."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import IO, Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.columns import GUESSED
from grounding_rewards.tables.json_lines import JsonLinesTable, Read

_RESPONSES = frozenset(GUESSED["response"])
"""Columns where an empty cell is an empty text. Elsewhere it is null: no size, no id, no verdict."""
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_MARKS = {",": "commas", "\t": "tabs"}
_LARGEST = (1 << 31) - 1


class CsvTable(JsonLinesTable):
    """A CSV file with a header: commas (tabs in .tsv), quotes by doubling, line breaks within quotes.

    Python's reader is used, not Arrow's: it names lines, and a quote that is never closed is an error, not one long
    cell that takes in all further rows.
    """

    texts = True

    def _rows(self, stream: IO[bytes]) -> Iterator[Read]:
        decoded = (line.decode("utf-8", "surrogateescape") for line in stream)  # one not in UTF-8 spoils no other
        first = next(decoded, "").removeprefix("\ufeff")
        mark = "\t" if ".tsv" in map(str.lower, self.path.suffixes) else ","
        reader = csv.reader(chain([first], decoded), delimiter=mark, strict=True)
        columns: list[tuple[str, Callable[[str], Any]]] | None = None
        while True:
            line = reader.line_num + 1
            limit = csv.field_size_limit(_LARGEST)  # the process's own ends at 128 KiB, and responses may be longer
            try:
                cells = next(reader, None)
                why = "not UTF-8" if any(map(_NOT_UTF8.search, cells or ())) else ""
            except csv.Error as error:
                unclosed = str(error) == "unexpected end of data"
                cells, why = [""], f"not CSV ({'a quote is never closed' if unclosed else error})"
            finally:
                csv.field_size_limit(limit)
            if cells is None:
                return
            if columns is None:
                columns = self._columns(cells, why)
            elif cells:  # not an empty line
                if not why and len(cells) != len(columns):
                    fix = _MARKS[mark] if len(cells) > len(columns) else "line breaks, or the file is cut off"
                    why = f"got {len(cells)} cells; expected {len(columns)}, as in the header; quote a cell with {fix}"
                row = {} if why else {name: read(cell) for (name, read), cell in zip(columns, cells, strict=True)}
                yield row, sum(map(len, cells)), line, why

    def _columns(self, names: list[str], why: str) -> list[tuple[str, Callable[[str], Any]]]:
        """Return the columns of a header, each with what reads its cells."""
        if why or not any(names):
            raise TableError(f"{self.path}, line 1: {why or 'is empty'}; expected the names of the columns")
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise TableError(f"{self.path}: has several columns {', '.join(twice)}; rename them first")
        return [(name, str if name in _RESPONSES else _or_null) for name in names]


def _or_null(cell: str) -> str | None:
    return cell or None
