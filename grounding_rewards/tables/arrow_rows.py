"""Rows of Arrow: Parquet and Arrow files in batches of bounded memory, with their types and metadata; types of JSON.

Arrow files, streams and not, are what ``datasets`` writes when it saves a data set to a directory.
"""

from __future__ import annotations

import json
from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, groupby, pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from grounding_rewards.errors import TableError
from grounding_rewards.tables.contents import Contents
from grounding_rewards.tables.json_lines import encodable, finite
from grounding_rewards.tables.rows import BATCH_BYTES, BATCH_ROWS, Batch, NewColumns, NoRowsError, Note, no_collision

# Without a buffer size Arrow reads a whole column of a row group at once: in many files, all of the images.
_READ_BYTES = 1 << 20
ARROW_ROWS = 1 << 15
"""Rows that are held at once; more than of JSON, since columns need no object for each value."""
FEW_ROWS = 16
"""Rows that are read at once from a file with bytes, such as images.

The size that such a file states is no guide: it may count an image that many rows repeat once.
"""
_MAGIC = b"ARROW1"
_UNFIT = (pa.ArrowException, OverflowError)  # OverflowError: whole numbers beyond 64 bits
"""Errors of Arrow where values share no type, or fit none."""

_TYPES = {float: pa.float64(), str: pa.string()}
"""Arrow types of new columns that are declared by a Python type; others are declared by an Arrow type."""

LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


class ParquetTable:
    """A Parquet file."""

    def __init__(self, path: Path, source: Contents | None = None) -> None:
        self.path, self.source = path, source or Contents(path)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        if not self.rows:
            raise NoRowsError(f"{self.path}: no rows")
        twice = [name for name, count in Counter(self.schema.names).items() if count > 1]
        if twice:
            raise TableError(f"{self.path}: has several columns {', '.join(twice)}; rename them first")
        return tuple(self.schema.names)

    @property
    def rows(self) -> int:
        """The number of rows."""
        with self._reading() as file:
            return int(file.metadata.num_rows)

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema, metadata included."""
        with self._reading() as file:
            return _schema_without_views(file.schema_arrow)

    @property
    def firsts(self) -> list[int]:
        """The number of the first row of each row group, and that of all rows."""
        with self._reading() as file:
            groups = range(file.metadata.num_row_groups)
            return [0, *accumulate(file.metadata.row_group(index).num_rows for index in groups)]

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """Yield the rows in order; see ``Table``."""
        wanted = [name for name in self.columns if columns is None or name in columns]
        with self._reading() as file:
            start, rows = 0, file.metadata.num_rows
            batches = map(
                _without_views, file.iter_batches(size or self._rows_at_once(file), columns=None if whole else wanted)
            )
            # A size that the caller asks for is kept, whatever memory it takes.
            for arrow in batches if size else gathered(batches):
                yield Batch(start, ArrowRows(arrow.select(wanted)), arrow, (start + len(arrow)) / rows)
                start += len(arrow)

    def parts(self, ends: Sequence[int], step: int = 1) -> Iterator[tuple[int, ...]]:
        """Yield the ends of batches in parts of whole ``step`` batches: those that begin in one row group."""
        firsts = self.firsts
        for _, each in groupby(range(0, len(ends) - 1, step), key=lambda place: bisect(firsts, ends[place])):
            first, *_, last = [*each] * 2
            yield tuple(ends[first : last + step + 1])

    def between(
        self, ends: Sequence[int], columns: Sequence[str] | None = None, *, whole: bool = True
    ) -> Iterator[Batch]:
        """Yield the rows from the first of ``ends`` on in batches that end at the others; see ``batches``."""
        wanted = [name for name in self.columns if columns is None or name in columns]
        firsts = self.firsts
        with self._reading() as file:
            groups = range(bisect(firsts, ends[0]) - 1, bisect_left(firsts, ends[-1]))
            read = file.iter_batches(self._rows_at_once(file), [*groups], None if whole else wanted)
            lengths = [ends[0] - firsts[groups.start], *(end - start for start, end in pairwise(ends))]
            cut = _cut(map(_without_views, read), lengths)
            next(cut)
            for start, arrow in zip(ends, cut, strict=False):
                yield Batch(start, ArrowRows(arrow.select(wanted)), arrow, (start + len(arrow)) / firsts[-1])

    def _rows_at_once(self, file: Any) -> int:
        """Return how many rows to read at once: few of a file with bytes, else about BATCH_BYTES by the mean row.

        A text that rows repeat is in the file once, and comes once for each of them: so there is a bound of rows, too.
        """
        if any(holds_bytes(field.type) for field in self.schema):
            return FEW_ROWS
        meta = file.metadata
        size = sum(meta.row_group(index).total_byte_size for index in range(meta.num_row_groups))
        return int(min(BATCH_ROWS, max(1, BATCH_BYTES * meta.num_rows // max(size, 1))))

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        """Open the file; turn every error of reading it into a ``TableError``."""
        with self.source.file.open("rb") as source:
            try:
                # `pre_buffer` would read ahead, whatever the buffer's size.
                yield pq.ParquetFile(source, pre_buffer=False, buffer_size=_READ_BYTES)
            except (pa.ArrowException, OSError, ValueError) as error:
                raise TableError(f"{self.path}: cannot be read as Parquet ({first_line(error)})") from None


class ArrowTable:
    """An Arrow file, opened again for each pass."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        with self._reading() as source:
            # A stream does not state its number of rows; the first chunk that has any settles it.
            if not any(map(len, _chunks(_reader(source)))):
                raise NoRowsError(f"{self.path}: no rows")
        return tuple(self.schema.names)

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema, metadata included."""
        with self._reading() as source:
            return _schema_without_views(_reader(source).schema)

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The rows in order; see ``Table``."""
        wanted = [name for name in self.columns if columns is None or name in columns]
        length, start = max(self.path.stat().st_size, 1), 0
        with self._reading() as source:
            for chunk in _chunks(_reader(source)):
                # `or 1`, because the range is made at once, also where size is None.
                slices = (chunk.slice(at, size) for at in range(0, len(chunk), size or 1))
                for arrow in pieces(chunk) if size is None else slices:
                    picked = arrow.select(wanted)
                    yield Batch(start, ArrowRows(picked), arrow if whole else picked, min(source.tell() / length, 1.0))
                    start += len(arrow)

    @contextmanager
    def _reading(self) -> Iterator[IO[bytes]]:
        """The file in memory as far as it is looked at; whatever Arrow cannot read in it becomes one error."""
        try:
            with self.path.open("rb") as file, pa.BufferReader(mmap(file.fileno(), 0, access=ACCESS_READ)) as source:
                yield source
        except (pa.ArrowException, OSError, ValueError) as error:
            if isinstance(error, TableError):  # a ValueError, too
                raise
            raise TableError(f"{self.path}: cannot be read as an Arrow file ({first_line(error)})") from None


def _reader(source: IO[bytes]) -> Any:
    is_file = source.read(len(_MAGIC)) == _MAGIC
    source.seek(0)
    return pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)


def _chunks(reader: Any) -> Iterator[Any]:
    """The record batches, one at a time."""
    if hasattr(reader, "num_record_batches"):  # a file; a stream can only be read on
        return (_without_views(reader.get_batch(index)) for index in range(reader.num_record_batches))
    return map(_without_views, reader)


class ArrowRows(Sequence[Mapping[str, Any]]):
    """Rows of a record batch, which become dicts when one is looked at; columns do without."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch

    def __len__(self) -> int:
        return len(self.batch)

    def __getitem__(self, row: Any) -> Any:
        return self._dicts[row]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._dicts)

    @cached_property
    def _dicts(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.batch.to_pylist()
        return listed if self.batch.num_columns else [{} for _ in range(len(self))]

    def take(self, rows: Sequence[int], taken: Any = None) -> ArrowRows:
        """Return some of the rows; ``taken`` are these already, in a batch with more columns."""
        wide = self.batch.take(pa.array(rows, pa.int64())) if taken is None else taken
        return ArrowRows(wide.select(self.batch.schema.names))

    def fields(self, name: str) -> tuple[Sequence[Mapping[str, Any]], int]:
        """Return a column of objects as rows without what all lack, and how many fields these have."""
        cells = self.batch.column(name) if name in self.batch.schema.names else None
        if cells is None or not pa.types.is_struct(cells.type) or cells.null_count:
            return [], 0
        inner = pa.RecordBatch.from_struct_array(cells)
        inner = inner.select([each for each in inner.schema.names if inner.column(each).null_count < len(inner)])
        return ArrowRows(inner), len(inner) * inner.num_columns

    def numbers(self, name: str, width: int) -> Any:
        """Return a column of lists, each of ``width`` numbers, as an array; None for any other column."""
        lists = self.batch.column(name) if name in self.batch.schema.names else None
        if lists is None or not any(test(lists.type) for test in LISTS) or lists.null_count:
            return None
        values, lengths = lists.flatten(), pc.list_value_length(lists)
        numbers = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
        if not numbers or values.null_count or pc.any(pc.not_equal(lengths, width)).as_py():
            return None
        return values.to_numpy(zero_copy_only=False).astype(np.float64).reshape(-1, width)

    def text_array(self, name: str) -> Any:
        """Return a column of texts as an arrow array; None for any other column, or one with nulls."""
        cells = self.batch.column(name) if name in self.batch.schema.names else None
        if cells is None or cells.type not in (pa.string(), pa.large_string()) or cells.null_count:
            return None
        return cells.cast(pa.large_string())

    def column(self, name: str) -> list[Any]:
        """Return a column's values; None in all rows where there is none of that name."""
        return self.batch.column(name).to_pylist() if name in self.batch.schema.names else [None] * len(self)


class ParquetWriter:
    """Writer of batches to a Parquet file; ``columns`` returns those of a batch, in the order of ``schema``."""

    def __init__(
        self,
        file: IO[bytes],
        path: Path,
        schema: Any,
        new: NewColumns,
        columns: Callable[[Batch], Sequence[Any]] = lambda batch: batch.whole.columns,
    ) -> None:
        no_collision(path, schema.names, new)
        self.columns = columns
        self.new = [pa.field(name, _TYPES.get(kind, kind)) for name, kind in new.items()]
        self.schema = pa.schema([*schema, *self.new], metadata=schema.metadata)
        self._held, self._rows, self._bytes = list[Any](), 0, 0  # few rows make poor pieces of a file
        try:
            self.writer = pq.ParquetWriter(file, self.schema)
        except (pa.ArrowException, UnicodeError) as error:
            raise TableError(f"{path}: cannot be written as Parquet ({first_line(error)})") from None

    def write(self, batch: Batch, new: Mapping[str, Sequence[Any]]) -> None:
        """Append a batch; see ``Writer``."""
        added = [_array(new[field.name], field.type) for field in self.new]
        arrow = pa.RecordBatch.from_arrays([*self.columns(batch), *added], schema=self.schema)
        size = unpacked_bytes(arrow)
        if self._rows + len(arrow) > ARROW_ROWS or self._bytes + size > BATCH_BYTES:
            self._flush()
        self._held.append(arrow)
        self._rows, self._bytes = self._rows + len(arrow), self._bytes + size

    def _flush(self) -> None:
        for arrow in gathered(self._held):
            self.writer.write_batch(arrow)
        self._held, self._rows, self._bytes = [], 0, 0

    def close(self) -> None:
        """Write what is held, and the footer."""
        try:
            self._flush()
        finally:
            self.writer.close()


def _array(values: Any, kind: Any) -> Any:
    """Return new values as Arrow; of an array of numbers what is not finite is null."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return pa.array(values, kind, mask=~np.isfinite(values))
    return pa.array(list(values), kind)


def first_line(error: BaseException) -> str:
    """Return the first line of an Arrow error, because a trace follows it; its type where there is no message."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def refuse_bytes(path: Path, schema: Any) -> None:
    """Check that every column can be written as JSON."""
    names = [field.name for field in schema if holds_bytes(field.type)]
    if names:
        raise TableError(
            f"{path}: JSON lines cannot hold the bytes in column {', '.join(names)}; "
            "write Parquet (a name that ends in .parquet)"
        )


_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def _without_views(batch: Any) -> Any:
    """Return a record batch with texts and bytes in place of views of these, for Arrow cannot take rows of a view."""
    schema = _schema_without_views(batch.schema)
    return batch if schema.equals(batch.schema) else batch.cast(schema)


def _schema_without_views(schema: Any) -> Any:
    return pa.schema([each.with_type(_type_without_views(each.type)) for each in schema], schema.metadata)


def _type_without_views(kind: Any) -> Any:
    if pa.types.is_struct(kind):
        inner = [kind.field(place) for place in range(kind.num_fields)]
        return pa.struct([each.with_type(_type_without_views(each.type)) for each in inner])
    if any(is_one(kind) for is_one in LISTS):
        inner = kind.value_field.with_type(_type_without_views(kind.value_type))
        if pa.types.is_large_list(kind):
            return pa.large_list(inner)
        return pa.list_(inner, kind.list_size if pa.types.is_fixed_size_list(kind) else -1)
    if pa.types.is_map(kind):
        key, item = (each.with_type(_type_without_views(each.type)) for each in (kind.key_field, kind.item_field))
        return pa.map_(key, item, kind.keys_sorted)
    return _VIEWS.get(kind, kind)


def holds_bytes(kind: Any) -> bool:
    """Return True where values of an Arrow type have bytes in them, at any depth."""
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    return any(test(each) for each in types_within(kind) for test in tests)


def types_within(kind: Any) -> Iterator[Any]:
    """Yield an Arrow type and those of all its fields, at any depth."""
    kind = plain_type(kind)
    yield kind
    for index in range(kind.num_fields):
        yield from types_within(kind.field(index).type)


def plain_type(kind: Any) -> Any:
    """Return the type that a dictionary or an extension holds."""
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    return plain_type(kind.value_type) if pa.types.is_dictionary(kind) else kind


def pieces(rows: Any) -> Iterator[Any]:
    """Yield a record batch in parts, each of them within ``BATCH_BYTES`` and ``ARROW_ROWS``, or one row."""
    for start in range(0, len(rows), ARROW_ROWS):
        yield from _halved(rows.slice(start, ARROW_ROWS))


def gathered(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the same rows in other record batches, each within ``BATCH_BYTES`` and ``ARROW_ROWS``, or one row."""
    held, count, size = list[Any](), 0, 0
    for batch in batches:
        for piece in pieces(batch):
            more = unpacked_bytes(piece)
            if held and (count + len(piece) > ARROW_ROWS or size + more > BATCH_BYTES):
                yield _one(held)
                held, count, size = [], 0, 0
            held, count, size = [*held, piece], count + len(piece), size + more
    if held:
        yield _one(held)


def _cut(batches: Iterator[Any], lengths: Sequence[int]) -> Iterator[Any]:
    """Yield the same rows in record batches of these lengths; one of no rows is of a batch that has some."""
    held, count = [next(batches)], 0
    for length in lengths:
        while (count := sum(map(len, held))) < length:
            held.append(next(batches))
        *whole, last = held
        rest = count - length
        yield _one([*whole, last.slice(0, len(last) - rest)]) if rest < len(last) else last.slice(0, 0)
        held = [last.slice(len(last) - rest)]


def unpacked_bytes(rows: Any) -> int:
    """Return the size of rows in bytes; a value that many rows share counts once for each of them."""
    return sum(map(_bytes_of, rows.columns))


def _bytes_of(array: Any) -> int:
    """Return the size of an array in bytes, as ``unpacked_bytes`` counts it."""
    kind = array.type
    if pa.types.is_dictionary(kind) and (pa.types.is_binary(kind.value_type) or pa.types.is_string(kind.value_type)):
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        return int(pc.sum(lengths).as_py() or 0) + int(array.indices.nbytes)
    if pa.types.is_struct(kind):
        return sum(_bytes_of(array.field(index)) for index in range(kind.num_fields))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _bytes_of(array.flatten()) + 4 * len(array)  # the offsets
    return int(array.nbytes)


def _halved(rows: Any) -> Iterator[Any]:
    """Yield a record batch in halves, halved again until each is within ``BATCH_BYTES``, or one row."""
    if len(rows) < 2 or unpacked_bytes(rows) <= BATCH_BYTES:
        yield rows
        return
    middle = len(rows) // 2
    yield from _halved(rows.slice(0, middle))
    yield from _halved(rows.slice(middle))


def _one(batches: list[Any]) -> Any:
    """Join record batches into one."""
    if len(batches) == 1:
        return batches[0]
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch


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

    def schema(self, metadata: Mapping[bytes, bytes] | None = None) -> Any:
        """Return the schema of the columns."""
        return pa.schema(list(self.encodable_types.items()), metadata)

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

    def columns(self, path: Path, batch: Batch) -> list[Any]:
        """Return the columns of a batch of a file as Arrow arrays."""
        return [self.array(path, batch, name, kind) for name, kind in self.types.items()]

    def array(self, path: Path, batch: Batch, name: str, kind: Any) -> Any:
        """Return a column of a batch of a file as an Arrow array of a type."""
        try:
            return pa.array([self.fitted(name, value) for value in batch.column(name)], kind)
        except _UNFIT as error:
            raise TableError(f"{path}: column {self.name(name)} cannot be written ({first_line(error)})") from None


def _types(batches: Iterable[Sequence[Mapping[str, Any]]]) -> tuple[dict[str, Any], set[str], int]:
    """Return the type of each column, None where values share none; the columns with lone surrogates; and all rows."""
    types: dict[str, Any] = {}
    broken: set[str] = set()
    rows = 0
    for batch in batches:
        rows += len(batch)
        for name in dict.fromkeys(chain.from_iterable(batch)):
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
