"""Directories of rows: data sets that ``datasets`` saved, and folders of Parquet or JSON lines in shards."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from grounding_rewards.errors import TableError, near
from grounding_rewards.tables.base import Batch, Table
from grounding_rewards.tables.files import JSON_LINES, PARQUET, open_table, schema_of

_SHARD = re.compile(r"[-_.]?\d+(-of-\d+)?$")
_STATE, _SPLITS = "state.json", "dataset_dict.json"


def open_rows(path: str | os.PathLike[str], split: str | None = None) -> Table:
    """Open a file of rows, or a directory of them.

    Args:
        path: a file as ``open_table`` reads it; a directory that ``save_to_disk`` of ``datasets`` wrote; or a folder of
            Parquet or of JSON lines, whose files' names tell splits apart, such as data/train-00000-of-00002.parquet.
        split: which split; None where there is but one.

    Returns:
        The table; its columns are known, its rows are read batch by batch.

    Raises:
        TableError: there is nothing that can be read, the split is not there, or there are several and none is named.
    """
    path = Path(path)
    if not path.is_dir():
        if split is not None and path.exists():
            raise TableError(f"{path}: is one file, which has no splits; leave --split {split} out")
        return open_table(path)
    if (path / _SPLITS).is_file():
        names = [str(name) for name in _read_json(path / _SPLITS, "splits")]
        return open_rows(path / _chosen(path, names, split))
    if (path / _STATE).is_file():
        if split not in (None, path.name):
            raise TableError(f"{path}: holds one split; leave --split {split} out")
        return _saved(path)
    found = _by_split(path)
    return _chained(path, [open_table(file) for file in found[_chosen(path, list(found), split)]])


class ChainedTable:
    """Files of one kind, one after the other."""

    def __init__(self, path: Path, tables: Sequence[Table]) -> None:
        self.path, self.tables = path, tables

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: those of the first file."""
        return self.tables[0].columns

    @property
    def schema(self) -> Any:
        """The Arrow schema of all files; None for JSON lines."""
        return schema_of(self.tables[0])

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The rows in order; see ``Table``."""
        start = 0
        for index, table in enumerate(self.tables):
            for batch in table.batches(columns, whole=whole, size=size):
                done = (index + batch.done) / len(self.tables)
                yield replace(batch, start=start, done=done, file=table.path.name)
                start += len(batch)


def _saved(path: Path) -> Table:
    """The Arrow files that ``state.json`` lists."""
    from grounding_rewards.tables.arrow_files import ArrowTable

    files = _read_json(path / _STATE, "_data_files")
    names = [file.get("filename") for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise TableError(f"{path / _STATE}: names no files; save the data set anew, with save_to_disk of datasets")
    missing = [name for name in names if not (path / str(name)).is_file()]
    if missing:
        raise TableError(f"{path}: {_STATE} names {missing[0]}, which is not there")
    return _chained(path, [ArrowTable(path / str(name)) for name in names])


def _chained(path: Path, tables: Sequence[Table]) -> Table:
    first: Any = schema_of(tables[0])
    for table in tables[1:] if first is not None else ():
        if not first.equals(schema_of(table)):
            raise TableError(f"{table.path}: its columns differ from those of {tables[0].path.name} in name or type")
    found = ChainedTable(path, tables)
    _ = found.columns
    return found


def _by_split(path: Path) -> dict[str, list[Path]]:
    """The files of a folder, by the split that their names tell."""
    hidden = (".", "_")
    files = [file for file in sorted(path.rglob("*")) if not file.name.startswith(hidden) and file.is_file()]
    files = [file for file in files if not any(part.startswith(hidden) for part in file.relative_to(path).parts)]
    for suffixes in (PARQUET, JSON_LINES):
        mine = [file for file in files if file.suffix.lower() in suffixes]
        if mine:
            found: dict[str, list[Path]] = {}
            for file in mine:
                found.setdefault(split_of(file.relative_to(path)), []).append(file)
            return found
    raise TableError(
        f"{path}: no rows in it; expected files that end in {', '.join((*PARQUET, *JSON_LINES))}, or what save_to_disk "
        f"of datasets writes ({_STATE} or {_SPLITS})"
    )


def split_of(file: Path) -> str:
    """The split that a file's name tells, or its folder's where the file has but a number; "" where neither does.

    >>> split_of(Path("data/train-00000-of-00002.parquet")), split_of(Path("default/test/0000.parquet"))
    ('train', 'test')
    """
    name = _SHARD.sub("", file.stem)
    return name or (file.parent.name if file.parent.name != "data" else "")


def _chosen(path: Path, names: Sequence[str], split: str | None) -> str:
    if split is None and len(names) == 1:
        return names[0]
    if split is None:
        raise TableError(f"{path}: holds several splits; name one: --split {' or '.join(names)}")
    if split not in names:
        raise TableError(f"{path}: no split {split!r}{near(split, names) or '.'} It has: {', '.join(names)}")
    return split


def _read_json(path: Path, key: str) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))[key]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise TableError(f"{path}: cannot be read; expected JSON with {key!r}") from None
