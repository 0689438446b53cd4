"""Batches of Arrow rows whose size in memory is bounded, however large single rows are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from grounding_rewards.tables.base import BATCH_BYTES, BATCH_ROWS

FEW_ROWS = 16
"""So many rows are read at once where rows hold bytes: what a file says of its size may count a repeated image once."""


def pieces(rows: Any) -> Iterator[Any]:
    """A record batch in parts, each of them within ``BATCH_BYTES`` and ``BATCH_ROWS``, or one row."""
    for start in range(0, len(rows), BATCH_ROWS):
        yield from _halved(rows.slice(start, BATCH_ROWS))


def gathered(batches: Iterable[Any]) -> Iterator[Any]:
    """Record batches cut and put together anew, each of them within ``BATCH_BYTES`` and ``BATCH_ROWS``, or one row."""
    held, count, size = list[Any](), 0, 0
    for batch in batches:
        for piece in pieces(batch):
            more = unpacked_bytes(piece)
            if held and (count + len(piece) > BATCH_ROWS or size + more > BATCH_BYTES):
                yield _one(held)
                held, count, size = [], 0, 0
            held, count, size = [*held, piece], count + len(piece), size + more
    if held:
        yield _one(held)


def unpacked_bytes(rows: Any) -> int:
    """The bytes of rows, where a value that many rows share counts once for each of them."""
    return sum(map(_bytes_of, rows.columns))


def _bytes_of(array: Any) -> int:
    kind = array.type
    if pa.types.is_dictionary(kind) and (pa.types.is_binary(kind.value_type) or pa.types.is_string(kind.value_type)):
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        return int(pc.sum(lengths).as_py() or 0) + int(array.indices.nbytes)
    if pa.types.is_struct(kind):
        return sum(_bytes_of(array.field(index)) for index in range(kind.num_fields))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _bytes_of(array.flatten()) + 4 * len(array)
    return int(array.nbytes)


def _halved(rows: Any) -> Iterator[Any]:
    if len(rows) < 2 or unpacked_bytes(rows) <= BATCH_BYTES:
        yield rows
        return
    middle = len(rows) // 2
    yield from _halved(rows.slice(0, middle))
    yield from _halved(rows.slice(middle))


def _one(batches: list[Any]) -> Any:
    if len(batches) == 1:
        return batches[0]
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch
