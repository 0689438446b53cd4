"""JSON lines: one object a line, keys and their order kept."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.base import BATCH_BYTES, BATCH_ROWS, Batch, NewColumns, NoRowsError, no_collision
from grounding_rewards.targets.unique_keys import unique_keys


class JsonLinesTable:
    """A file of JSON lines, opened anew for each pass; where it is tolerant, lines that cannot be read are rows too."""

    def __init__(self, path: Path, *, tolerant: bool = False) -> None:
        self.path, self.tolerant = path, tolerant

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Keys of the first batch's objects, in order of appearance."""
        first = next(self.batches())
        return tuple(dict.fromkeys(key for row in first.rows for key in row))

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The rows in order; see ``Table``."""
        length, read, start = max(self.path.stat().st_size, 1), 0, 0
        rows, lines, unread, held = list[dict[str, Any]](), list[int](), dict[int, str](), 0
        with self.path.open("rb") as file:  # in bytes only \n ends a line, and one that is not UTF-8 spoils no other
            for number, raw in enumerate(file, 1):
                read += len(raw)
                text = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                if not text or text.isspace():
                    continue
                try:
                    row = _object(text)
                except _UnreadableError as error:
                    if not self.tolerant:
                        raise TableError(f"{self.path}, line {number}: {error}") from None
                    row, unread[len(rows)] = {}, str(error)
                rows.append(row)
                lines.append(number)
                held += len(text)
                if len(rows) == (size or BATCH_ROWS) or (size is None and held >= BATCH_BYTES):
                    yield Batch(start, rows, rows, min(read / length, 1.0), lines, unread=unread)
                    start += len(rows)
                    rows, lines, unread, held = [], [], {}, 0
        if rows:
            yield Batch(start, rows, rows, 1.0, lines, unread=unread)
        elif not start:
            raise NoRowsError(f"{self.path}: no rows")


class _UnreadableError(ValueError):
    """A line is no JSON object; says why."""


def _object(raw: bytes) -> dict[str, Any]:
    try:
        row = json.loads(raw.decode(), object_pairs_hook=unique_keys)
    except UnicodeDecodeError as error:
        raise _UnreadableError(f"not UTF-8 ({error.reason} at byte {error.start + 1})") from None
    except json.JSONDecodeError as error:
        raise _UnreadableError(f"not JSON ({error.msg} at character {error.pos + 1})") from None
    except ValueError as error:  # a key that comes twice, or a number of thousands of digits
        raise _UnreadableError(f"not JSON that can be read ({error})") from None
    except RecursionError:
        raise _UnreadableError("nested too deeply") from None
    if not isinstance(row, dict):
        raise _UnreadableError(f"got {_kind(row)}; expected one JSON object a line")
    return row


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


def _kind(value: Any) -> str:
    kinds = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain)
