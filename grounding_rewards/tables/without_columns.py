"""A table without some of its columns and rows, as it is written out with new ones."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from grounding_rewards.tables.base import Batch, Table
from grounding_rewards.tables.files import schema_of

_FEATURES = b"huggingface"
_FRAME = b"pandas"
IMAGES_FEATURE = [{"_type": "Image"}]
"""Feature of a column of lists of images, in the form that every version of ``datasets`` reads."""


class KeptColumns:
    """A table without the columns ``dropped``; its schema names the ``features`` of new columns, for ``datasets``."""

    def __init__(self, table: Table, dropped: Collection[str], features: Mapping[str, Any]) -> None:
        self.table, self.dropped, self.features = table, frozenset(dropped), dict(features)
        self.path, self.columns = table.path, tuple(name for name in table.columns if name not in self.dropped)

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of what stays; None where the table has none."""
        schema = schema_of(self.table)
        if schema is None:
            return None
        import pyarrow as pa

        fields = [field for field in schema if field.name not in self.dropped]
        return pa.schema(fields, metadata=self.metadata)

    @cached_property
    def metadata(self) -> dict[bytes, bytes]:
        """The schema's metadata, with the features of the columns that stay and of the new ones."""
        schema = schema_of(self.table)
        metadata = with_features(schema.metadata if schema is not None else None, self.columns, self.features)
        metadata.pop(_FRAME, None)  # it counts columns that are gone
        return metadata

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The rows in order; see ``Table``."""
        for batch in self.table.batches(columns, size=size):
            yield self.cut(batch)

    def cut(self, batch: Batch, rows: Sequence[int] | None = None) -> Batch:
        """A batch of the table without the columns that go, and with the ``rows`` that stay; None for all."""
        if isinstance(batch.whole, list):
            picked = [batch.whole[row] for row in (range(len(batch)) if rows is None else rows)]
            listed = [{name: value for name, value in row.items() if name not in self.dropped} for row in picked]
            return replace(batch, rows=listed, whole=listed)
        arrow = batch.whole.select([name for name in batch.whole.schema.names if name not in self.dropped])
        if rows is not None:
            arrow = arrow.take(list(rows)) if arrow.num_columns else arrow.slice(0, len(rows))
        return replace(batch, rows=[{}] * len(batch if rows is None else rows), whole=arrow)


def with_features(
    metadata: Mapping[bytes, bytes] | None, columns: Collection[str], new: Mapping[str, Any]
) -> dict[bytes, bytes]:
    """Return a schema's metadata with what ``datasets`` says of these columns, and of new ones."""
    entries = dict(metadata or {})
    features = {name: feature for name, feature in _features(entries.pop(_FEATURES, None)).items() if name in columns}
    features |= new
    return {**entries, _FEATURES: json.dumps({"info": {"features": features}}).encode()} if features else entries


def _features(written: bytes | None) -> dict[str, Any]:
    """Return what ``datasets`` says of columns in a schema's metadata; nothing where it says nothing."""
    try:
        features = json.loads(written or b"{}")["info"]["features"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return features if isinstance(features, dict) else {}
