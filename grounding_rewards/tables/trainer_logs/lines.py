"""Lines of logs in JSON, of which the last one may have been cut short where a run was killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.rows import NoRowsError
from grounding_rewards.tables.text_rows import JsonLinesTable
from grounding_rewards.tables.trainer_logs.logged import TORN

Line = tuple[str, int, Mapping[str, Any]]
"""Place of a line, for errors, its number from 0, and what it holds."""

FIRST = 64
"""Lines of each file that say what columns there are."""


def first_lines(file: Path, most: int) -> Sequence[Mapping[str, Any]]:
    """Return what the first lines of a file hold, of ``most`` at most; none of a file without rows."""
    try:
        first = next(JsonLinesTable(file, tolerant=True).batches(size=most))
    except NoRowsError:
        return []
    return [row for place, row in enumerate(first.rows) if place not in first.unread]


def read_lines(file: Path, needed: Iterable[str], left_out: Counter[str]) -> Iterator[Line]:
    """Yield the lines of a file, which must have all the keys ``needed``; a torn last one is counted."""
    for batch in JsonLinesTable(file, tolerant=True).batches():
        for place, row in enumerate(batch.rows):
            if place not in batch.unread:
                if lacks := [key for key in needed if key not in row]:
                    raise TableError(f"{file}, {batch.place(place)}: lacks {', '.join(lacks)}, unlike the lines before")
                yield batch.place(place), batch.start + place, row
            elif batch.done == 1.0 and place == len(batch) - 1 and not _ends(file):
                left_out[TORN] += 1
            else:
                raise TableError(f"{file}, {batch.place(place)}: {batch.unread[place]}")


def _ends(file: Path) -> bool:
    """Return True where the last line of a file was written to its end."""
    with file.open("rb") as opened:
        opened.seek(-1, 2)
        return opened.read(1) == b"\n"
