"""One Arrow schema for the files of a data set, where a column of one may hold nothing but nulls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from grounding_rewards.errors import TableError
from grounding_rewards.tables.base import Table
from grounding_rewards.tables.files import schema_of
from grounding_rewards.tables.without_columns import FEATURES, features_in


def unified(tables: Sequence[Table]) -> Any:
    """The schema of the first file, with types instead of nulls where another file has one.

    Raises:
        TableError: names, their order or types differ; says which file and column.
    """
    first: Any = schema_of(tables[0])
    found = first
    for table in tables[1:]:
        found = _both(found, schema_of(table), table, tables[0])
    changed = {field.name for field in found if not field.type.equals(first.field(field.name).type)}
    return found.with_metadata(_without(first.metadata, changed)) if changed else first


def _both(one: Any, other: Any, table: Table, first: Table) -> Any:
    if one.names != other.names:
        apart = sorted({*one.names} ^ {*other.names})
        what = f"in name: {', '.join(apart)}" if apart else "in order"
        raise TableError(f"{table.path}: its columns differ from those of {first.path.name} {what}")
    fields = []
    for mine, theirs in zip(one, other, strict=True):
        kind = _but_for_nulls(mine.type, theirs.type)
        if kind is None:
            raise TableError(
                f"{table.path}: its columns differ from those of {first.path.name} in type: {mine.name} is "
                f"{theirs.type} here and {mine.type} there"
            )
        fields.append(mine.with_type(kind).with_nullable(mine.nullable or theirs.nullable))
    return pa.schema(fields, one.metadata)


def _but_for_nulls(one: Any, other: Any) -> Any:
    """The one type that two are but for nulls; None where they differ otherwise."""
    if one.equals(other) or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if pa.types.is_struct(one) and pa.types.is_struct(other) and _names(one) == _names(other):
        kinds = [_but_for_nulls(one.field(place).type, other.field(place).type) for place in range(one.num_fields)]
        return None if None in kinds else pa.struct(list(zip(_names(one), kinds, strict=True)))
    if pa.types.is_list(one) and pa.types.is_list(other):
        kind = _but_for_nulls(one.value_type, other.value_type)
        return None if kind is None else pa.list_(one.value_field.with_type(kind))
    return None


def _names(kind: Any) -> list[str]:
    return [kind.field(place).name for place in range(kind.num_fields)]


def _without(metadata: Any, names: set[str]) -> dict[bytes, bytes]:
    """Metadata that say nothing of columns whose type is another now."""
    found = dict(metadata or {})
    features = {name: said for name, said in features_in(found.pop(FEATURES, None)).items() if name not in names}
    return {**found, FEATURES: json.dumps({"info": {"features": features}}).encode()} if features else found
