"""The same rows as a file of each format."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Rows = Sequence[Mapping[str, Any]]


def _lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _array(rows: Rows) -> bytes:
    return json.dumps(rows, indent=1).encode()


def _object(rows: Rows) -> bytes:
    return json.dumps({"version": "1", "sizes": [1, 2], "data": rows}).encode()


def _csv(rows: Rows) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(names)
    for row in rows:
        values = [row.get(name) for name in names]
        cells = ["" if each is None else each if isinstance(each, str) else json.dumps(each) for each in values]
        writer.writerow(cells)
    return text.getvalue().encode()


def parquet(rows: Rows) -> bytes:
    """Rows as Parquet."""
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), file)
    return file.getvalue()


def zstd(content: bytes) -> bytes:
    """Content behind a compression."""
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    "parquet": parquet, "jsonl": _lines, "json": _array, "csv": _csv,
    "jsonl.gz": lambda rows: gzip.compress(_lines(rows)), "jsonl.zst": lambda rows: zstd(_lines(rows)),
    "json.gz": lambda rows: gzip.compress(_object(rows)), "csv.zst": lambda rows: zstd(_csv(rows)),
}  # fmt: skip
"""Contents by suffix."""


def write(folder: Path, suffix: str, rows: Rows) -> Path:
    """Write rows in a format."""
    path = folder / f"in.{suffix}"
    path.write_bytes(FORMATS[suffix](rows))
    return path
