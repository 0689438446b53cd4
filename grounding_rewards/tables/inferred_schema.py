"""JSON lines into Parquet: a type for each column, found in a first pass over the file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from grounding_rewards.errors import TableError
from grounding_rewards.tables.base import Batch, NewColumns, Note
from grounding_rewards.tables.json_lines import encodable, finite
from grounding_rewards.tables.parquet import ParquetWriter, first_line, types_within

_UNFIT = (pa.ArrowException, OverflowError)  # OverflowError: whole numbers beyond 64 bits
"""Errors of Arrow where values share no type, or fit none."""


@dataclass(frozen=True)
class Inferred:
    """Columns of JSON objects as Parquet can hold them."""

    # the Arrow type of each; text where its values have no type in common, which are written as JSON then
    types: Mapping[str, Any]
    as_json: frozenset[str]  # these
    broken: frozenset[str]  # columns with lone surrogates, which are replaced
    rows: int  # how many rows there are

    @classmethod
    def of(cls, batches: Iterable[Sequence[Mapping[str, Any]]], note: Note, within: str = "") -> Inferred:
        """Infer from all rows, batch by batch; ``within`` stands before the names of columns in notes."""
        types, broken, rows = _types(batches)
        as_json = frozenset(name for name, kind in types.items() if kind is None)
        notes = {
            "written as JSON strings, for want of one Parquet type": as_json,
            "lone surrogates, which Parquet cannot hold, are written as U+FFFD": broken - as_json,
        }
        for text, names in notes.items():
            if names:
                note(f"{text}: {', '.join(f'{within}{name}' for name in sorted(names))}")
        named_types = {name: kind or pa.string() for name, kind in types.items()}
        return cls(named_types, as_json, frozenset(broken - as_json), rows)

    @property
    def encodable_types(self) -> dict[str, Any]:
        """The types by names that Parquet can hold."""
        return {self.name(name): kind for name, kind in self.types.items()}

    def name(self, name: str) -> str:
        """Return a column's name as Parquet can hold it."""
        return str(encodable(name))

    def fitted(self, name: str, value: Any) -> Any:
        """Return a value as its column's type holds it."""
        if name in self.as_json:
            return None if value is None else json.dumps(finite(value))  # JSON has no NaN
        return encodable(value) if name in self.broken else value

    def array(self, path: Path, batch: Batch, name: str, kind: Any) -> Any:
        """Return a column of a batch of a file as an Arrow array of a type."""
        try:
            return pa.array([self.fitted(name, value) for value in batch.column(name)], kind)
        except _UNFIT as error:
            raise TableError(f"{path}: column {self.name(name)} cannot be written ({first_line(error)})") from None


def inferring_writer(
    file: IO[bytes], path: Path, inferred: Inferred, new: NewColumns, metadata: Mapping[bytes, bytes] | None
) -> ParquetWriter:
    """Return a writer of JSON objects as Parquet; columns without one type become strings of JSON."""

    def columns(batch: Batch) -> list[Any]:
        return [inferred.array(path, batch, name, kind) for name, kind in inferred.types.items()]

    return ParquetWriter(file, path, pa.schema(list(inferred.encodable_types.items()), metadata), new, columns)


def _types(batches: Iterable[Sequence[Mapping[str, Any]]]) -> tuple[dict[str, Any], set[str], int]:
    """Return the type of each column, None where values share none; the columns with lone surrogates; and all rows."""
    types: dict[str, Any] = {}
    broken: set[str] = set()
    rows = 0
    for batch in batches:
        rows += len(batch)
        for name in dict.fromkeys(key for row in batch for key in row):
            values = [row.get(name) for row in batch]
            try:
                kind = _type(values)
            except UnicodeEncodeError:
                broken.add(name)
                kind = _type(encodable(values))
            types[name] = wider(types[name], kind) if name in types else kind
    return types, broken, rows


def _type(values: list[Any]) -> Any:
    # Arrow reads true as 1.0 in a column of floats.
    if {bool, float} <= set(map(type, values)):
        return None
    try:
        kind = pa.array(values).type
    except _UNFIT:
        return None
    # Parquet has no objects without keys.
    return None if any(pa.types.is_struct(each) and not each.num_fields for each in types_within(kind)) else kind


def wider(first: Any, second: Any) -> Any:
    """Return the type of Arrow that holds what either type holds; None where there is none, or one is None."""
    if first is None or second is None or first.equals(second):
        return first and second
    schemas = [pa.schema([("column", kind)]) for kind in (first, second)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None
