"""JSON lines: one object a line, keys and their order kept."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.base import BATCH_BYTES, BATCH_ROWS, Batch, NewColumns, NoRowsError, no_collision
from grounding_rewards.tables.contents import Contents
from grounding_rewards.targets.unique_keys import unique_keys

Read = tuple[dict[str, Any], int, int | None, str]
"""A row as it was read: its columns, its length in the file, the line where it begins, and why it cannot be read.

The length is about right; the line, counted from 1, is None where it is not known; the reason is empty, or the row.
"""


class JsonLinesTable:
    """A file of JSON lines, opened anew for each pass; where it is tolerant, lines that cannot be read are rows too.

    Other texts with a row of its own keys after the other are read by subclasses of this.
    """

    texts = False
    """True where all values are texts."""

    def __init__(self, path: Path, source: Contents | None = None, *, tolerant: bool = False) -> None:
        self.path, self.source, self.tolerant = path, source or Contents(path), tolerant

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Keys of the first batch's objects, in order of appearance."""
        first = next(self.batches())
        return tuple(dict.fromkeys(key for row in first.rows for key in row))

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The rows in order; see ``Table``."""
        start = 0
        rows, lines, unread, held = list[dict[str, Any]](), list[int](), dict[int, str](), 0
        with self._reading() as (all_rows, done):
            for row, length, line, why in all_rows:
                if why and not self.tolerant:
                    place = f"row {start + len(rows)}" if line is None else f"line {line}"
                    raise TableError(f"{self.path}, {place}: {why}")
                if why:
                    unread[len(rows)] = why
                if line is not None:
                    lines.append(line)
                rows.append(row)
                held += length
                if len(rows) == (size or BATCH_ROWS) or (size is None and held >= BATCH_BYTES):
                    yield Batch(start, rows, rows, done(), lines or None, unread=unread, texts=self.texts)
                    start += len(rows)
                    rows, lines, unread, held = [], [], {}, 0
        if rows:
            yield Batch(start, rows, rows, 1.0, lines or None, unread=unread, texts=self.texts)
        elif not start:
            raise NoRowsError(f"{self.path}: no rows")

    @contextmanager
    def _reading(self) -> Iterator[tuple[Iterator[Read], Callable[[], float]]]:
        """Yield the rows, and a function that returns the share that has been read."""
        with self.source.opened() as (stream, done):
            yield self._rows(stream), done

    def _rows(self, stream: IO[bytes]) -> Iterator[Read]:
        for number, raw in enumerate(stream, 1):  # in bytes only \n ends a line, and one not in UTF-8 spoils no other
            text = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
            if text and not text.isspace():
                row, why = _object(text)
                yield row, len(text), number, why


def _object(raw: bytes) -> tuple[dict[str, Any], str]:
    """Return a line's object; an empty one and the reason where it cannot be read."""
    try:
        row = json.loads(raw.decode(), object_pairs_hook=unique_keys)
    except UnicodeDecodeError as error:
        return {}, f"not UTF-8 ({error.reason} at byte {error.start + 1})"
    except json.JSONDecodeError as error:
        return {}, not_json(error, error.pos + 1)
    except ValueError as error:  # a key that comes twice, or a number of thousands of digits
        return {}, f"not JSON that can be read ({error})"
    except RecursionError:
        return {}, "nested too deeply"
    if not isinstance(row, dict):
        return {}, f"got {kind(row)}; expected one JSON object a line"
    return row, ""


class JsonLinesWriter:
    """Writes objects with the new keys appended; NaN and infinities become null."""

    def __init__(self, file: IO[bytes], path: Path, new: NewColumns) -> None:
        self.file, self.path, self.new = file, path, new

    def write(self, batch: Batch, new: Mapping[str, Sequence[Any]]) -> None:
        """Append a batch; see ``Writer``."""
        rows = batch.whole if isinstance(batch.whole, list) else self._listed(batch)
        no_collision(self.path, set().union(*rows), self.new)  # each row may bring keys of its own
        columns = [new[name] for name in self.new]
        for row, *added in zip(rows, *columns, strict=True):
            self.file.write(dumps({**row, **dict(zip(self.new, added, strict=True))}) + b"\n")

    def close(self) -> None:
        """Nothing is held."""

    def _listed(self, batch: Batch) -> list[dict[str, Any]]:
        try:
            return list(batch.whole.to_pylist())
        except ValueError as error:
            raise TableError(f"{self.path}: cannot be written as JSON lines ({error}); write Parquet") from None


def dumps(value: Any) -> bytes:
    r"""A value as one line of JSON in UTF-8; lone surrogates stay escaped, and NaN and infinities become null.

    >>> print(dumps({"a": [float("nan"), "é", "\ud800"]}).decode())
    {"a": [null, "é", "\ud800"]}
    """
    try:
        text = _ENCODER.encode(value)  # as it is, for most values are finite, and a copy of each takes time
    except ValueError:
        text = _ENCODER.encode(finite(value))
    # UTF-8 lacks nothing but lone surrogates, and Python's escape for them is JSON's.
    return text.encode("utf-8", "backslashreplace")


def finite(value: Any) -> Any:
    """The same value with None for NaN and infinities.

    >>> finite({"a": [1.5, float("nan")]})
    {'a': [1.5, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def _plain(value: Any) -> str:
    """Return as text what Parquet has and JSON has not: dates and times in ISO form, decimals and the like."""
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def not_json(error: json.JSONDecodeError, character: int) -> str:
    """Return why a text is not JSON, and at which character of it or of its line.

    >>> try:
    ...     json.loads('{"a')
    ... except json.JSONDecodeError as error:
    ...     not_json(error, error.colno)
    'not JSON (Unterminated string starting at character 2)'
    """
    return f"not JSON ({error.msg.removesuffix(' at')} at character {character})"


def kind(value: Any) -> str:
    """Return a kind of JSON value in words."""
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain)
