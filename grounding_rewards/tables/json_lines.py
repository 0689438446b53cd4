"""JSON lines as they are written: one object a line, keys and their order kept."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np

from grounding_rewards.errors import TableError
from grounding_rewards.tables.rows import Batch, NewColumns, no_collision


class JsonLinesWriter:
    """Writes objects with the new keys appended; NaN and infinities become null."""

    def __init__(self, file: IO[bytes], path: Path, new: NewColumns) -> None:
        self.file, self.path, self.new = file, path, new

    def write(self, batch: Batch, new: Mapping[str, Sequence[Any]]) -> None:
        """Append a batch, of whose lines those without ``new`` have their new keys already; see ``Writer``."""
        rows = batch.whole if isinstance(batch.whole, list) else self._listed(batch)
        # each row may bring keys of its own
        no_collision(self.path, rows.names if isinstance(rows, Lines) else set().union(*rows), self.new)
        lines = rows.lines() if isinstance(rows, Lines) else dumped(rows)
        if not new:
            self.file.writelines(line + b"\n" for line in lines)
            return
        begun, members = [line[:-1] for line in lines], list[bytes]()
        columns: list[Any] = [begun]
        for name in self.new:
            key, texts = dumps(name) + b": ", _texts(new[name])
            members.append(key.replace(b"%", b"%%") + (texts.replace(b"%", b"%%") if type(texts) is bytes else b"%b"))
            columns += [] if type(texts) is bytes else [texts]
        form = b"%b, " + b", ".join(members) + b"}\n"
        made = list(map(form.__mod__, zip(*columns, strict=True)))
        if not all(rows):  # nothing is before the first key of an object without keys
            made = [
                text if row else start + text[len(start) + 2 :]
                for text, row, start in zip(made, rows, begun, strict=True)
            ]
        self.file.write(b"".join(made))

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

    @cached_property
    def names(self) -> set[str]:
        """Keys that any row has."""
        return set[str]().union(*self)

    def column(self, name: str) -> list[Any]:
        """Return a key's values; None in all rows where none has it."""
        return [row.get(name) for row in self] if name in self.names else [None] * len(self)

    def lines(self) -> list[bytes]:
        """Return the line of each row."""
        if all(self.texts):
            return list(self.texts)
        made = iter(dumped([row for row, text in zip(self, self.texts, strict=True) if not text]))
        return [text or next(made) for text in self.texts]


def _texts(values: Any) -> bytes | list[bytes]:
    """Return the JSON of each value of a new column, a list or an array of numbers; of equal ones, mostly, it once."""
    listed = values.tolist() if hasattr(values, "tolist") else values
    kinds = {float} if getattr(values, "dtype", None) == np.float64 else {*map(type, listed)}
    if float in kinds and kinds <= {float, type(None)} and listed:
        numbers = np.asarray(values if kinds == {float} else listed, np.float64) + 0.0  # without -0.0
        if (numbers == numbers[0]).all():
            return _number(numbers[0])
        texts = _NUMBERS.encode(numbers.tolist())[1:-1].split(b",")
        size = np.abs(numbers)
        for row in np.flatnonzero(((size < 1e-4) & (size > 0)) | (size >= 1e16)).tolist():
            texts[row] = _number(numbers[row])  # of these Python writes exponents in another form
        return texts
    if kinds <= {str, type(None)}:
        known = {each: dumps(each) for each in {*listed}}
        return next(iter(known.values())) if len(known) == 1 else list(map(known.__getitem__, listed))
    return [dumps(each) for each in listed]


def _number(value: Any) -> bytes:
    return repr(float(value)).encode() if np.isfinite(value) else b"null"


def dumped(rows: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """Return each of some objects as ``dumps`` does, mostly all at once."""
    with suppress(ValueError):  # NaN
        text = _ENCODER.encode(rows).encode("utf-8", "backslashreplace")
        bodies = text[2:-2].split(b"}, {")
        if len(bodies) == len(rows):  # so that no such signs are within one
            return [b"{%b}" % body for body in bodies]
    return [dumps(row) for row in rows]


def dumps(value: Any) -> bytes:
    """A value as one line of JSON in UTF-8; lone surrogates stay escaped, and NaN and infinities become null."""
    try:
        text = _ENCODER.encode(value)  # as it is, for most values are finite, and a copy of each takes time
    except ValueError:
        text = _ENCODER.encode(finite(value))
    # UTF-8 lacks nothing but lone surrogates, and Python's escape for them is JSON's.
    return text.encode("utf-8", "backslashreplace")


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


_NUMBERS = msgspec.json.Encoder()  # null for NaN and infinities
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain)


def is_utf8(text: str) -> bool:
    """Return False for a text with half a surrogate pair, which UTF-8 lacks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def encodable(value: Any) -> Any:
    """Return texts, at any depth, with U+FFFD for lone surrogates, which UTF-8 lacks."""
    if isinstance(value, str):
        # In UTF-16 two halves that stand side by side become the one character that they are.
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [encodable(item) for item in value]
    return {encodable(key): encodable(item) for key, item in value.items()} if isinstance(value, dict) else value
