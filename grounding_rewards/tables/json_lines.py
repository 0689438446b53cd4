"""JSON lines as they are written: one object a line, keys and their order kept."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import IO, Any

from grounding_rewards.errors import TableError
from grounding_rewards.tables.rows import Batch, NewColumns, no_collision


class JsonLinesWriter:
    """Writes objects with the new keys appended; NaN and infinities become null."""

    def __init__(self, file: IO[bytes], path: Path, new: NewColumns) -> None:
        self.file, self.path, self.new = file, path, new

    def write(self, batch: Batch, new: Mapping[str, Sequence[Any]]) -> None:
        """Append a batch; see ``Writer``."""
        rows = batch.whole if isinstance(batch.whole, list) else self._listed(batch)
        no_collision(self.path, set().union(*rows), self.new)  # each row may bring keys of its own
        texts = rows.texts if isinstance(rows, Lines) else [b""] * len(rows)
        lines = [text or dumps(row) for text, row in zip(texts, rows, strict=True)]
        if not self.new:
            self.file.writelines(line + b"\n" for line in lines)
            return
        first, *others = (_members(name, new[name]) for name in self.new)
        if not all(rows):  # nothing is before the first key of an object without keys
            first = [member if row else member.removeprefix(b", ") for row, member in zip(rows, first, strict=True)]
        pieces = zip([line[:-1] for line in lines], first, *others, repeat(b"}\n", len(rows)), strict=True)
        self.file.write(b"".join(chain.from_iterable(pieces)))

    def close(self) -> None:
        """Nothing is held."""

    def _listed(self, batch: Batch) -> list[dict[str, Any]]:
        try:
            return list(batch.whole.to_pylist())
        except ValueError as error:
            raise TableError(f"{self.path}: cannot be written as JSON lines ({error}); write Parquet") from None


class Lines(list[dict[str, Any]]):
    """Rows with the line of each, as it is written again; one of b"" is made of its row."""

    def __init__(self, rows: Sequence[dict[str, Any]], texts: Sequence[bytes]) -> None:
        super().__init__(rows)
        self.texts = texts


def _members(name: str, values: Any) -> list[bytes]:
    """Return the text that each value of a new column, a list or an array of numbers, adds to its object."""
    begun, kinds = b", " + dumps(name) + b": ", set[type]()
    if hasattr(values, "tolist"):
        kinds, values = {float} if values.dtype.kind == "f" else kinds, values.tolist()
    kinds = kinds or {*map(type, values)}
    if kinds <= {float, type(None)}:
        # NaN and infinities alone do not leave 0; -0.0, which is one key with 0.0, becomes it
        known = {each: repr(each + 0.0) if each is not None and each - each == 0 else "null" for each in {*values}}
        texts = {each: begun + text.encode() for each, text in known.items()}
    elif kinds <= {str, type(None)}:
        texts = {each: begun + dumps(each) for each in {*values}}
    else:
        return [begun + dumps(each) for each in values]
    return [*texts.values()] * len(values) if len(texts) == 1 else list(map(texts.__getitem__, values))


def dumps(value: Any) -> bytes:
    """A value as one line of JSON in UTF-8; lone surrogates stay escaped, and NaN and infinities become null."""
    # UTF-8 lacks nothing but lone surrogates, and Python's escape for them is JSON's.
    return _encoded(value).encode("utf-8", "backslashreplace")


def _encoded(value: Any) -> str:
    try:
        return _ENCODER.encode(value)  # as it is, for most values are finite, and a copy of each takes time
    except ValueError:
        return _ENCODER.encode(finite(value))


def finite(value: Any) -> Any:
    """The same value with None for NaN and infinities."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def _plain(value: Any) -> str:
    """Return as text what Parquet has and JSON has not: dates and times in ISO form, decimals and the like."""
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain)


def encodable(value: Any) -> Any:
    """Return texts, at any depth, with U+FFFD for lone surrogates, which UTF-8 lacks."""
    if isinstance(value, str):
        # In UTF-16 two halves that stand side by side become the one character that they are.
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [encodable(item) for item in value]
    return {encodable(key): encodable(item) for key, item in value.items()} if isinstance(value, dict) else value
