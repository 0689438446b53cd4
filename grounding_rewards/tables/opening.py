"""Open rows: files of one format, data sets that ``datasets`` saved, and folders of files in shards."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

from grounding_rewards.errors import DataPathError, TableError, near
from grounding_rewards.tables.contents import (
    COMPRESSIONS,
    CSV,
    JSON,
    JSON_LINES,
    PARQUET,
    TEXTS,
    Contents,
    copied,
    is_stream,
    stem_of,
    suffix_of,
)
from grounding_rewards.tables.data_paths import inside, inside_file, not_there, regular_files
from grounding_rewards.tables.manifests import check_finished
from grounding_rewards.tables.object_stores import local
from grounding_rewards.tables.rows import BATCH_ROWS, Batch, NoRowsError, Note, Table, joined
from grounding_rewards.tables.text_rows import CsvTable, JsonArrayTable, JsonLinesTable
from grounding_rewards.tables.training_sets import BY_FIELDS, Shape, ShapedTable
from grounding_rewards.tables.writing import with_features

_MAGIC = b"PAR1"
"""The first bytes of a Parquet file."""

# -00000-of-00002, _3 or .0, and the 16 hexadecimal digits of older files of the Hugging Face hub
_SHARD = re.compile(r"(?:^|[-_.])\d+(?:-of-\d+)?(?:-[0-9a-f]{16})?$")
_STATE, _SPLITS = "state.json", "dataset_dict.json"
_FORMATS = (PARQUET, JSON_LINES, CSV, JSON)
"""Formats of a folder's files: those of the first that any file has are its rows. JSON files may be about them."""


def open_table(path: str | os.PathLike[str], *, tolerant: bool = False, encoding: str | None = None) -> Table:
    """Open a file of rows, also a compressed one or a stream: Parquet, or else JSON lines.

    ``tolerant``: lines that cannot be read are rows, in ``Batch.unread``, and no error. ``encoding`` is that of texts.
    """
    path = local(path)
    if is_stream(path):
        source = copied(path)
        suffix = PARQUET[0] if source.begins(_MAGIC) else JSON_LINES[0]
    else:
        suffix, compression = _format(path)
        if path.is_dir():
            raise TableError(f"{path}: is a directory; expected a file")
        if not path.exists():
            raise TableError(f"{path}: {not_there(path)}")
        if not path.is_file():
            raise TableError(
                f"{path}: is no regular file, and rows are read more than once; write them to a file first"
            )
        source = Contents(path, compression=compression)
    source = replace(source, encoding=encoding) if encoding and suffix not in PARQUET else source
    if suffix not in PARQUET and not source.file.stat().st_size:  # Parquet without rows has a footer
        raise NoRowsError(f"{path}: is empty")
    if suffix in PARQUET:
        from grounding_rewards.tables.arrow_rows import ParquetTable  # pyarrow, which JSON does without

        table: Table = ParquetTable(path, source)
    else:
        kind = CsvTable if suffix in CSV else JsonArrayTable if suffix in JSON else JsonLinesTable
        table = kind(path, source, tolerant=tolerant)
    # Asking for the columns reads the first rows, so that an unreadable file is an error here.
    _ = table.columns
    return table


def _format(path: Path) -> tuple[str, str | None]:
    """Return the format of a file, by its suffix, and its compression."""
    suffix, compression = suffix_of(path), COMPRESSIONS.get(path.suffix.lower())
    if suffix in (*PARQUET, *TEXTS):
        return suffix, compression
    if compression and Path(suffix).stem in PARQUET:
        raise TableError(
            f"{path}: is Parquet within {compression}, where its parts cannot be read one by one; unpack it first: "
            "Parquet is compressed by itself"
        )
    raise TableError(
        f"{path}: a file of rows ends in {', '.join(TEXTS[:-1])} or {TEXTS[-1]}, also with "
        f"{' or '.join(COMPRESSIONS)}, or in {', '.join(PARQUET)}"
    )


def open_rows(
    path: str | os.PathLike[str],
    split: str | None = None,
    *,
    tolerant: bool = False,
    encoding: str | None = None,
    responses: Collection[str] = (),  # names of columns, of which a folder's files have one if they are to be read
    note: Note = lambda text: None,  # takes which files are read then, and the layout of their rows
    shape: Shape | None = None,  # brings rows of published training sets into the usual form; None leaves them
) -> Table:
    """Open a file of rows, as ``open_table`` does, or a directory of them.

    That is what ``save_to_disk`` of ``datasets`` wrote, or a folder of Parquet, JSON lines, CSV or JSON, whose files'
    names tell splits apart, such as data/train-00000-of-00002.parquet. A split is named with its folder before it where
    several have one of that name; None is for one split alone, and for all files of rollouts, whose names tell
    processes apart.
    """
    path = local(path)
    table = _open_rows(path, split, tolerant, encoding, responses, note)
    if shape is None:
        return table
    # Images lie in the folder that is named: each of several splits that datasets saved has one of its own in it.
    return replace(shape, images=shape.images.of(path)).of(table, tolerant=tolerant, note=note)


def _open_rows(
    path: Path, split: str | None, tolerant: bool, encoding: str | None, responses: Collection[str], note: Note
) -> Table:
    if not path.is_dir():
        check_finished(path)
        if split is not None and (is_stream(path) or path.exists()):
            raise TableError(f"{path}: is one file, which has no splits; leave --split {split} out")
        return open_table(path, tolerant=tolerant, encoding=encoding)
    if (path / _SPLITS).is_file():
        names = [str(name) for name in _read_json(path / _SPLITS, "splits")]
        chosen = _chosen(path, names, split)
        return _saved(_named(path, _SPLITS, chosen, inside), chosen)
    if (path / _STATE).is_file():
        if split not in (None, path.name):
            raise TableError(f"{path}: holds one split; leave --split {split} out")
        return _saved(path, split)
    opened: Callable[[Path], Table] = partial(open_table, tolerant=tolerant, encoding=encoding)
    splits = _of_responses(path, responses, opened, note) if split is None and responses else _by_format(path)[0]
    every = list(chain(*splits.values()))
    if split is None and len(splits) > 1 and suffix_of(every[0]) in JSON and (screens := _screens(path, every, opened)):
        return screens
    if split is None and len(splits) > 1:
        chained = ChainedTable(path, *_opened(every, opened))
        if chained.of_rollouts:
            return chained
    chosen = _chosen(path, list(splits), split)
    return _chained(path, splits[chosen], opened, chosen)


def splits_of(path: Path) -> list[str]:
    """Return the names of a directory's splits, as ``open_rows`` takes them; none of a file or a single saved split."""
    if not path.is_dir() or (path / _STATE).is_file():
        return []
    if (path / _SPLITS).is_file():
        return [str(name) for name in _read_json(path / _SPLITS, "splits")]
    return list(_by_format(path)[0])


def files_of_table(table: Table) -> tuple[Path, ...]:
    """Return the files that hold a table's rows: of a folder there are several."""
    return tuple(each.path for each in getattr(table, "tables", (table,)))


class ChainedTable:
    """Files of one kind in a directory, one after the other; ``skipped`` names those without rows."""

    def __init__(
        self, path: Path, tables: Sequence[Table], skipped: Sequence[str] = (), split: str | None = None
    ) -> None:
        self.path, self.tables, self.split, self.skipped = path, tables, split, skipped
        self.of_rollouts = bool(tables) and all({"sample_id", "rollout"} <= {*each.columns} for each in tables)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: those of all files, as far as each knows them."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table.columns))

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of the first file, with types for nulls where another has one; None for JSON lines."""
        first = self.tables[0].schema
        if first is None:
            return None
        schema = first
        for table in self.tables[1:]:
            schema = _both(schema, table.schema, table, self.tables[0], fill=self.of_rollouts)
        # What `datasets` says of a column whose type was widened here would contradict it.
        same = [field.name for field in first if field.type.equals(schema.field(field.name).type)]
        return first if same == schema.names else schema.with_metadata(with_features(first.metadata, same, {}))

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The rows in order; see ``Table``."""
        start = 0
        for index, table in enumerate(self.tables):
            for batch in table.batches(columns, whole=whole, size=size):
                done = (index + batch.done) / len(self.tables)
                yield replace(batch, start=start, whole=self._cast(batch.whole, whole), done=done, file=table.path.name)
                start += len(batch)

    def _cast(self, rows: Any, whole: bool) -> Any:
        """Arrow rows in the types that all files share; where they are whole, with nulls in columns that they lack."""
        if self.schema is None or rows.schema.equals(self.schema):
            return rows
        import pyarrow as pa

        there = {*rows.schema.names}
        fields = [field for field in self.schema if whole or field.name in there]
        columns = [
            rows.column(each.name).cast(each.type) if each.name in there else pa.nulls(len(rows), each.type)
            for each in fields
        ]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, self.schema.metadata))


class ScreensTable:
    """A folder with a JSON file a screenshot, whose rows also have its name, ``file``, without folder and suffix."""

    schema = None

    def __init__(self, path: Path, files: Sequence[Path], opened: Callable[[Path], Table]) -> None:
        self.path, self.files, self.opened = path, files, opened

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the first file."""
        return (*self.opened(self.files[0]).columns, "file")

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """Yield the rows in order; see ``Table``."""
        start, held, unread = 0, list[Batch](), dict[int, str]()
        for number, file in enumerate(self.files, 1):
            with suppress(NoRowsError):
                for batch in self.opened(file).batches():
                    rows = [{**row, "file": stem_of(file)} for row in batch.rows]
                    unread |= {sum(map(len, held)) + row: why for row, why in batch.unread.items()}
                    held.append(replace(batch, rows=rows, whole=rows, file=str(file.relative_to(self.path))))
            if held and (sum(map(len, held)) >= (size or BATCH_ROWS) or number == len(self.files)):
                every = joined(held)
                yield replace(every, start=start, done=number / len(self.files), unread=unread)
                start, held, unread = start + len(every), [], {}


def _screens(path: Path, files: Sequence[Path], opened: Callable[[Path], Table]) -> ScreensTable | None:
    """Return the files of a folder as one table where each, as the first one, surely is a screenshot of a layout."""
    table = ScreensTable(path, files, opened)
    with suppress(TableError):
        shaped = BY_FIELDS.of(table)
        return table if isinstance(shaped, ShapedTable) and shaped.layout.screens else None
    return None


def _both(one: Any, other: Any, table: Table, first: Table, *, fill: bool) -> Any:
    """Return the schema of two files; columns that one lacks are an error, unless they ``fill`` with nulls."""
    if one.names != other.names and not fill:
        apart = sorted({*one.names} ^ {*other.names})
        what = f"in name: {', '.join(apart)}" if apart else "in order"
        raise TableError(f"{table.path}: its columns differ from those of {first.path.name} {what}")
    import pyarrow as pa

    fields = []
    for name in dict.fromkeys([*one.names, *other.names]):
        pair = [each.field(name) if name in each.names else pa.field(name, pa.null()) for each in (one, other)]
        try:
            fields.append(pa.unify_schemas([pa.schema([each]) for each in pair]).field(0))
        except pa.ArrowException:
            raise TableError(
                f"{table.path}: its columns differ from those of {first.path.name} in type: {name} is "
                f"{pair[1].type} here and {pair[0].type} there"
            ) from None
    return pa.schema(fields, one.metadata)


def _saved(path: Path, split: str | None) -> Table:
    """The Arrow files that ``state.json`` lists."""
    from grounding_rewards.tables.arrow_rows import ArrowTable

    files = _read_json(path / _STATE, "_data_files")
    names = [file.get("filename") for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise TableError(f"{path / _STATE}: names no files; save the data set again, with save_to_disk of datasets")
    for name in names:
        _named(path, _STATE, str(name), inside_file)
    return _chained(path, [path / str(name) for name in names], ArrowTable, split)


def _named(path: Path, listing: str, name: str, find: Callable[[Path, str], Path]) -> Path:
    """Return the place of what a listing in a directory names, which must lie inside that directory."""
    try:
        find(path, name)
    except DataPathError as error:
        raise TableError(f"{path}: {listing} names {name!r:.200} ({error}); save the data set again") from None
    return path / name


def _chained(path: Path, files: Sequence[Path], opened: Callable[[Path], Table], split: str | None) -> Table:
    tables, skipped = _opened(files, opened)
    if not tables:
        raise NoRowsError(f"{path}: no rows in any file of it: {', '.join(skipped)}")
    chained = ChainedTable(path, tables, skipped, split or None)
    _ = chained.schema  # files that do not fit are an error now, not in the middle of the work
    return chained


def _opened(files: Sequence[Path], opened: Callable[[Path], Table]) -> tuple[list[Table], list[str]]:
    """Open files; return those that have rows, and the names of the others."""
    tables, skipped = list[Table](), list[str]()
    for file in files:
        try:
            table = opened(file)
            _ = table.columns
            tables.append(table)
        except NoRowsError:
            skipped.append(file.name)
    return tables, skipped


def _by_format(path: Path) -> list[dict[str, list[Path]]]:
    """Return the files of a folder by format and split, with a split's folder where several have one so named."""
    check_finished(path)
    files = sorted((file.relative_to(path) for file in path.rglob("*") if not file.is_dir()), key=_by_number)
    # Readers of Parquet pass over such names, too.
    files = [file for file in files if not any(part.startswith((".", "_")) for part in file.parts)]
    formats = list[dict[str, list[Path]]]()
    for suffixes in _FORMATS:
        splits: dict[tuple[str, str], list[Path]] = {}
        for file in files:
            if suffix_of(file) in suffixes:
                splits.setdefault(split_of(file), []).append(path / file)
        if splits:
            names = [name for _, name in splits]
            formats.append({
                name if names.count(name) == 1 else f"{folder}/{name}".rstrip("/"): files
                for (folder, name), files in splits.items()
            })  # fmt: skip
    if not formats:
        raise TableError(
            f"{path}: no rows in it; expected files that end in {', '.join(sum(_FORMATS, ()))}, or what save_to_disk "
            f"of datasets writes ({_STATE} or {_SPLITS})"
        )
    for each in formats[0].values():
        regular_files(each)
    return formats


def split_of(file: Path) -> tuple[str, str]:
    """The folder of a split and its name, as a file's name tells it; where that is but a number, the folder's name."""
    name = _SHARD.sub("", stem_of(file))
    if name or file.parent.name in ("", "data"):  # the hub's own folder, the same for all splits
        return str(file.parent), name
    return str(file.parent.parent), file.parent.name


def _of_responses(
    path: Path, names: Collection[str], opened: Callable[[Path], Table], note: Note
) -> dict[str, list[Path]]:
    """Return the splits of a folder, of whatever format, that have a column of responses; else of the first format."""
    formats = _by_format(path)
    own = dict[str, list[Path]]()
    for name, files in [pair for splits in formats for pair in splits.items()] if len({*chain(*formats)}) > 1 else ():
        try:
            regular_files(files)
            if not {*names}.isdisjoint(map(str.lower, opened(files[0]).columns)):
                own.setdefault(name, files)
        except TableError:  # whatever it is, it holds no rows to score
            continue
    if own and own != formats[0]:
        note(f"{path}: only {', '.join(own)} is read, for no other file has a column of responses")
    return own or formats[0]


def _by_number(file: Path) -> list[tuple[int, str]]:
    """Return a key that sorts train-2 before train-10."""
    # -1 stands before every number, so that no text is ever compared with one
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", str(file))]


def _chosen(path: Path, names: Sequence[str], split: str | None) -> str:
    if split is None and len(names) == 1:
        return names[0]
    if split is None:
        raise TableError(f"{path}: holds several splits; name one: --split {' or '.join(names)}")
    if split in names:
        return split
    alike = [name for name in names if name.endswith(f"/{split}")]
    if alike:
        raise TableError(
            f"{path}: several folders in it hold a split {split}; name one of them: --split {' or '.join(alike)}, or "
            "convert one folder at a time"
        )
    raise TableError(f"{path}: no split {split!r}{near(split, names) or '.'} It has: {', '.join(names)}")


def _read_json(path: Path, key: str) -> Any:
    if path.exists():
        regular_files([path])
    try:
        return json.loads(path.read_text("utf-8"))[key]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise TableError(f"{path}: cannot be read; expected JSON with {key!r}") from None
