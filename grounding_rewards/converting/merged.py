"""Arrow types of converted rows, where the input's own fields stay among ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from grounding_rewards.converting.layouts import IMAGES, MESSAGES, Layout, over
from grounding_rewards.converting.prompts import further_fields
from grounding_rewards.converting.samples import Reading
from grounding_rewards.errors import ConvertError
from grounding_rewards.tables import Table
from grounding_rewards.tables.arrow_rows import Inferred, refuse_bytes
from grounding_rewards.tables.rows import Note, value_at

PROMPT = "prompt"
_ARROW = {str: pa.string(), int: pa.int64(), float: pa.float64(), bytes: pa.binary()}


@dataclass(frozen=True)
class MergedColumns:
    """Columns that are written again."""

    types: Mapping[str, Any]  # their Arrow types
    merged: Sequence[str] = ()  # those in which fields of the input stay
    found: Mapping[str, Any] = field(default_factory=dict)  # inferred types of their fields, where the input has none

    def merge(self, row: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
        """Merge our columns of a row over its own."""
        return {**ours, **{name: over(self._fitted(name, row.get(name)), ours[name]) for name in self.merged}}

    def _fitted(self, name: str, cell: Any) -> Any:
        inferred = self.found.get(name)
        if inferred is None or not isinstance(cell, Mapping):
            return cell
        return {inferred.name(key): inferred.fitted(key, value) for key, value in _filled(cell).items()}


def merged_columns(
    form: Layout, table: Table, reading: Reading, merged: Sequence[str], fields: bool, parquet: bool, note: Note
) -> MergedColumns:
    """Return the columns of a layout's rows, in which fields of the ``merged`` columns of the input stay.

    ``fields`` is True to write images with their bytes, ``parquet`` where the output needs types; ``note`` takes
    remarks on values that types could not keep as they were.
    """
    types = {name: arrow_type(kind) for name, kind in form.types.items()}
    if reading.columns.image:
        types[IMAGES] = arrow_type([{"bytes": bytes, "path": str}] if fields else [str])
    schema = table.schema
    if not parquet:
        if schema is not None and merged:
            refuse_bytes(table.path, [schema.field(name) for name in merged])
        return MergedColumns(types, merged)
    inferred = {} if schema is not None else {name: _inferred(table, name, note) for name in merged}
    for name in merged:
        theirs = _fields(schema.field(name).type) if schema is not None else inferred[name].encodable_types
        types[name] = pa.struct(over(theirs, _fields(types[name])))
    if PROMPT in types:
        further = _further_types(table, schema, reading.columns.instruction)
        types[PROMPT] = pa.list_(pa.struct({**_fields(arrow_type(MESSAGES[0])), **further}))
    return MergedColumns(types, merged, inferred)


def arrow_type(kind: Any) -> Any:
    """Return the Arrow type of a column, from its type in ``Layout.types``."""
    if isinstance(kind, list):
        return pa.list_(arrow_type(kind[0]))
    if isinstance(kind, dict):
        return pa.struct({name: arrow_type(each) for name, each in kind.items()})
    return _ARROW[kind]


def empty_row(schema: Any) -> dict[str, Any]:
    """Return a row that has every column of a schema, and every field of its structs, all None."""
    return {field.name: dict.fromkeys(_fields(field.type)) or None for field in schema}


def _inferred(table: Table, name: str, note: Note) -> Inferred:
    batches = table.batches([name], whole=False)
    filled = ([_filled(row[name]) for row in batch.rows if isinstance(row.get(name), Mapping)] for batch in batches)
    return Inferred.of(filled, note, f"{name}.")


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields without empty objects, for which Parquet has no type."""
    return {key: value for key, value in fields.items() if value != {}}


def _further_types(table: Table, schema: Any, column: str) -> dict[str, Any]:
    """Return the types of the fields of messages beside role and content."""
    if schema is not None:
        kind = _type_at(schema, column)
        one = getattr(kind, "value_type", None)
        return {name: each for name, each in _fields(one).items() if name not in ("role", "content")}

    def messages(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        content = value_at(row, column)
        return [each for each in content if isinstance(each, Mapping)] if isinstance(content, list) else []

    batches = table.batches([column.partition(".")[0], column], whole=False)  # a column may be called a.b itself
    further = ([further_fields(each) for row in batch.rows for each in messages(row)] for batch in batches)
    types = Inferred.of(further, lambda text: None)
    if types.as_json:
        raise ConvertError(
            f"instruction: {', '.join(sorted(types.as_json))} of its messages has no one Parquet type; write JSON lines"
        )
    return types.encodable_types


def _type_at(schema: Any, name: str) -> Any:
    if name in schema.names:
        return schema.field(name).type
    top, *rest = name.split(".")
    kind = schema.field(top).type if top in schema.names else None
    for each in rest:
        kind = _fields(kind).get(each)
    return kind


def _fields(kind: Any) -> dict[str, Any]:
    """Return the fields of a struct's type; none of another type's."""
    if kind is None or not pa.types.is_struct(kind):
        return {}
    return {kind.field(place).name: kind.field(place).type for place in range(kind.num_fields)}
