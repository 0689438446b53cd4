"""Rows of texts: JSON lines, JSON files that hold an array of objects, and CSV; and rows in memory."""

from __future__ import annotations

import codecs
import csv
import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate, chain
from operator import length_hint
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from grounding_rewards.errors import TableError
from grounding_rewards.literals import unique_keys
from grounding_rewards.tables.columns import GUESSED
from grounding_rewards.tables.contents import Contents
from grounding_rewards.tables.image_files import looks_like_images
from grounding_rewards.tables.json_array import ArrayReader
from grounding_rewards.tables.json_lines import Lines
from grounding_rewards.tables.rows import BATCH_BYTES, BATCH_ROWS, Batch, NoRowsError


class Stretch(NamedTuple):
    """Rows that were read together; one that cannot be read is alone."""

    rows: Sequence[dict[str, Any]]
    lengths: Sequence[int]  # of each row in the file, about
    line: int | None = None  # where the first begins, counted from 1, and the others in the next lines; None: not known
    why: str = ""  # why the row cannot be read
    texts: Sequence[bytes] = ()  # the lines of JSON, where they are written as they stand


_ARRAY = "expected an array of objects, or an object that holds one such array; one object a line is a .jsonl file"
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
_RESPONSES = frozenset(GUESSED["response"])
"""Columns where an empty cell of CSV is an empty text. Elsewhere it is null: no size, no id, no verdict."""
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_SPACES = b" \t\r\n"
_DECODER, _ENCODER = msgspec.json.Decoder(), msgspec.json.Encoder()
_STEP = 1 << 20
_HELD = 1 << 25
"""Bytes of a JSON file that is held in memory; larger arrays are read again for each pass."""
_MARKS = {",": ("commas", "end its name in .csv"), "\t": ("tabs", "end its name in .tsv"), ";": ("semicolons", "")}
"""Signs between cells by their names, and the way to have a file read that has them."""
_LARGEST_CELL = (1 << 31) - 1
_TRIED = ("utf-16", "gbk", "cp1252")


class JsonLinesTable:
    """A file of JSON lines, opened again for each pass; where tolerant, lines that cannot be read are rows too."""

    schema = None
    texts = False  # True where all values are texts

    def __init__(self, path: Path, source: Contents | None = None, *, tolerant: bool = False) -> None:
        self.path, self.source, self.tolerant = path, source or Contents(path), tolerant

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Keys of the first batch's objects, in order of appearance."""
        first = next(self.batches())
        return tuple(dict.fromkeys(key for row in first.rows for key in row))

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """The rows in order; see ``Table``."""
        most, rows_before = size or BATCH_ROWS, 0
        total, begun = 0, 0  # bytes read, and those before the batch
        rows, texts, lines, unread = list[dict[str, Any]](), list[bytes](), list[int](), dict[int, str]()
        with self._reading() as (stretches, done):
            for read in stretches:
                if read.why and not self.tolerant:
                    place = f"row {rows_before + len(rows)}" if read.line is None else f"line {read.line}"
                    raise TableError(f"{self.path}, {place}: {read.why}")
                if read.why:
                    unread[len(rows)] = read.why
                ends, end = [*accumulate(read.lengths, initial=total)], 0
                total = ends[-1]
                while end < len(read.rows):
                    first = end
                    full = bisect_left(ends, begun + BATCH_BYTES, first + 1) if size is None else len(ends)
                    end = min(full, first + most - len(rows), len(read.rows))
                    rows += read.rows[first:end]
                    texts += read.texts[first:end] or [b""] * (end - first)
                    lines += () if read.line is None else range(read.line + first, read.line + end)
                    if len(rows) == most or end == full:
                        yield self._batch(rows_before, rows, texts, done(), lines, unread)
                        rows_before, begun = rows_before + len(rows), ends[end]
                        rows, texts, lines, unread = [], [], [], {}
        if rows:
            yield self._batch(rows_before, rows, texts, 1.0, lines, unread)
        elif not rows_before:
            raise NoRowsError(f"{self.path}: no rows")

    def _batch(
        self, start: int, rows: list[dict[str, Any]], texts: list[bytes], done: float, lines: list[int],
        unread: dict[int, str],
    ) -> Batch:  # fmt: skip
        whole = Lines(rows, texts) if any(texts) else rows
        return Batch(start, rows, whole, done, lines or None, unread=unread, texts=self.texts)

    @contextmanager
    def _reading(self) -> Iterator[tuple[Iterator[Stretch], Callable[[], float]]]:
        """Yield the rows, and a function that returns the share that has been read."""
        with self.source.opened() as (stream, done):
            yield self._rows(stream), done

    def _rows(self, stream: IO[bytes]) -> Iterator[Stretch]:
        read = 0
        while lines := stream.readlines(_STEP):  # in bytes only \n ends a line, and one not in UTF-8 spoils no other
            if not read:
                lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
            if rows := _objects(text := b"".join(lines), len(lines)):
                yield Stretch(rows, list(map(len, lines)), read + 1, texts=text.rstrip(_SPACES).split(b"\n"))
            else:
                yield from self._with_care(lines, read + 1)
            read += len(lines)

    def _with_care(self, lines: Sequence[bytes], first: int) -> Iterator[Stretch]:
        for number, raw in enumerate(lines, first):
            if rows := _objects(text := raw.strip(_SPACES), 1):
                yield Stretch(rows, [len(raw)], number, texts=[text])
            elif raw.strip():  # of further spaces, too
                value, _, why = self._value(raw, unique_keys)
                if not why and not isinstance(value, dict):
                    why = f"got {_kind(value)}; expected one JSON object a line"
                yield Stretch([{} if why else value], [len(raw)], number, why)

    def _value(
        self, raw: bytes, keyed: Callable[[list[tuple[str, Any]]], Any], *, lines: bool = False
    ) -> tuple[Any, int, str]:
        """Return the value of a text in JSON; else the line of it that is at fault, 0 for none, and the reason."""
        return self._tried(lambda: json.loads(raw.decode(), object_pairs_hook=keyed), raw, lines=lines)

    def _tried(self, read: Callable[[], Any], raw: bytes, *, lines: bool) -> tuple[Any, int, str]:
        try:
            return read(), 0, ""
        except UnicodeDecodeError as error:
            return (
                None,
                0,
                self._not_decoded(
                    raw or error.object, f"{error.reason} at byte {getattr(error, 'before', 0) + error.start + 1}"
                ),
            )
        except json.JSONDecodeError as error:
            character = error.colno if lines else error.pos + 1
            return None, error.lineno, f"not JSON ({error.msg.removesuffix(' at')} at character {character})"
        except ValueError as error:  # a key that comes twice, or a number of thousands of digits
            return None, 0, f"not JSON that can be read ({error})"
        except RecursionError:
            return None, 0, "nested too deeply"

    def _not_decoded(self, raw: bytes, why: str = "") -> str:
        """Return that bytes are in another encoding, and which one reads them."""
        known = self.source.encoding
        names = [] if known else [name for name in _TRIED if _decodes(raw, name)]
        hint = (
            f"; as {names[0]} it can be read: --encoding {names[0]}, or iconv -f {names[0]} -t utf-8" if names else ""
        )
        return f"not {known or 'UTF-8'}{f' ({why})' if why else ''}{hint}"


class JsonArrayTable(JsonLinesTable):
    """A JSON file, which is read once and held in memory, unless it is a large array; its rows are as of JSON lines."""

    @contextmanager
    def _reading(self) -> Iterator[tuple[Iterator[Stretch], Callable[[], float]]]:
        if self._is_large:
            with self.source.opened() as (stream, done):
                yield self._streamed(ArrayReader(stream).values()), done
            return
        rows = iter(self._held)
        yield rows, lambda: 1 - length_hint(rows) / len(self._held)

    @cached_property
    def _is_large(self) -> bool:
        if "_held" in vars(self):
            return False
        with self.source.opened() as (stream, _):
            head = stream.read(_HELD + 1)
        return len(head) > _HELD and head.removeprefix(codecs.BOM_UTF8).lstrip(_SPACES).startswith(b"[")

    def _streamed(self, values: Iterator[tuple[Any, str]]) -> Iterator[Stretch]:
        while True:
            found, line, why = self._tried(lambda: next(values, None), b"", lines=True)
            if why:
                raise self._unreadable(line, why)
            if found is None:
                return
            row, text = found
            if isinstance(row, dict):  # in which a key may come twice
                raw = text.encode()
                row, why = (rows[0], "") if (rows := _objects(raw, 1)) else self._value(raw, unique_keys)[::2]
            yield Stretch([{}], [len(text)], None, why) if why else _read(row, len(text), {})

    def _unreadable(self, line: int, why: str) -> TableError:
        lines = "; one object a line is a .jsonl file" if "(Extra data " in why else ""
        return TableError(f"{self.path}{f', line {line}' if line else ''}: {why}{lines}")

    @cached_property
    def _held(self) -> list[Stretch]:
        with self.source.opened() as (stream, _):
            content = stream.read()
        twice = list[tuple[dict[str, Any], str]]()

        def keyed(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            try:
                return unique_keys(pairs)
            except ValueError as error:  # kept, because only the whole tells in which row it is
                twice.append((dict(pairs), f"not JSON that can be read ({error})"))
                return twice[-1][0]

        value, line, why = self._value(content.removeprefix(codecs.BOM_UTF8), keyed, lines=True)
        reasons = {id(fields): why for fields, why in twice}
        if why := why or reasons.get(id(value), ""):
            raise self._unreadable(line, why)
        rows = self._array(value)
        size = len(content) // max(len(rows), 1)
        return [_read(row, size, reasons) for row in rows]

    def _array(self, value: Any) -> Sequence[Any]:
        """Return the rows of a file."""
        if isinstance(value, list):
            return value
        if not isinstance(value, dict):
            raise TableError(f"{self.path}: got {_kind(value)}; {_ARRAY}")
        lists = {name: rows for name, rows in value.items() if isinstance(rows, list)}
        arrays = [name for name, rows in lists.items() if any(type(row) is dict for row in rows)]
        pictured = any(isinstance(each, str) and looks_like_images(each) for each in value.values())
        if pictured and len(arrays) + [*lists.values()].count([]) != 1:
            return [value]  # a screenshot and the lists of what is on it
        if len(arrays) == 1:
            return list(value[arrays[0]])
        if not arrays:
            raise TableError(f"{self.path}: got an object without an array of objects; {_ARRAY}")
        raise TableError(
            f"{self.path}: holds several arrays of objects: {', '.join(f'{name!r:.60}' for name in arrays)}; expected "
            "one: write the one with the rows to a file of its own"
        )


class CsvTable(JsonLinesTable):
    """A CSV file with a header: commas (tabs in .tsv), quotes by doubling, line breaks within quotes.

    Cells are texts, so that a response of 512 and an id of 007 stay as they are. Python's reader is used, not Arrow's:
    it names lines, and a quote that is never closed is an error, not one long cell that takes in all further rows.
    """

    texts = True

    def _rows(self, stream: IO[bytes]) -> Iterator[Stretch]:
        decoded = (line.decode("utf-8", "surrogateescape") for line in stream)  # one not in UTF-8 spoils no other
        first = next(decoded, "").removeprefix("\ufeff")
        mark = "\t" if ".tsv" in map(str.lower, self.path.suffixes) else ","
        reader = csv.reader(chain([first], decoded), delimiter=mark, strict=True)
        names: list[str] | None = None
        while True:
            line, why = reader.line_num + 1, ""
            limit = csv.field_size_limit(_LARGEST_CELL)  # the process's own, 128 KiB, is less than a response may have
            try:
                cells = next(reader, None)
                if bad := [cell for cell in cells or () if _NOT_UTF8.search(cell)]:
                    why = self._not_decoded(bad[0].encode("utf-8", "surrogateescape"))
            except csv.Error as error:
                unclosed = str(error) == "unexpected end of data"
                cells, why = [""], f"not CSV ({'a quote is never closed' if unclosed else error})"
            finally:
                csv.field_size_limit(limit)
            if cells is None:
                return
            if names is None:
                names = self._names(cells, why, mark)
            elif cells:  # not an empty line
                if not why and len(cells) != len(names):
                    fix = _MARKS[mark][0] if len(cells) > len(names) else "line breaks, or the file is cut off"
                    why = f"got {len(cells)} cells; expected {len(names)}, as in the header; quote a cell with {fix}"
                pairs = () if why else zip(names, cells, strict=True)
                row = {name: cell if cell or name in _RESPONSES else None for name, cell in pairs}
                yield Stretch([row], [sum(map(len, cells))], line, why)

    def _names(self, names: list[str], why: str, mark: str) -> list[str]:
        """Check the names of columns in a header."""
        if why or not any(names):
            raise TableError(f"{self.path}, line 1: {why or 'is empty'}; expected the names of the columns")
        for other, (signs, fix) in _MARKS.items():
            if len(names) == 1 and other in names[0]:
                raise TableError(
                    f"{self.path}, line 1: got {signs} between the names of the columns; expected {_MARKS[mark][0]}: "
                    f"{fix or f'write the file again with {_MARKS[mark][0]}'}"
                )
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise TableError(f"{self.path}: has several columns {', '.join(twice)}; rename them first")
        return names


def _objects(text: bytes, count: int) -> list[dict[str, Any]] | None:
    """Read lines each of which surely is one object in which no key comes twice; None where care is needed."""
    if not text.startswith(b"{") or text.count(b"}\n{") != count - 1:  # so that no object goes on in the next line
        return None
    try:
        rows = _DECODER.decode_lines(text)
        quotes = _ENCODER.encode(rows).count(b'"')
    except (msgspec.DecodeError, OverflowError, UnicodeDecodeError, RecursionError):
        return None
    if len(rows) != count or {*map(type, rows)} != {dict}:
        return None
    # Of keys that come twice msgspec keeps the last, and then the rows have fewer quotes than their text.
    return rows if text.count(b'"') + text.count(b"\\u0022") == quotes else None


def _decodes(raw: bytes, encoding: str) -> bool:
    """Return True for bytes that are text in an encoding; UTF-16 has a mark at its beginning."""
    if encoding == "utf-16":
        return raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return raw.decode(encoding) != ""
    except UnicodeDecodeError:
        return False


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "a number")


def _read(row: Any, size: int, reasons: dict[int, str]) -> Stretch:
    """Return a row as it was read; ``reasons`` are those of objects that cannot be read, by their identity."""
    if not isinstance(row, dict):
        return Stretch([{}], [size], None, f"got {_kind(row)}; expected a JSON object")
    left = [row] if reasons else []
    while left:
        each = left.pop()
        if id(each) in reasons:
            return Stretch([{}], [size], None, reasons[id(each)])
        left += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
    return Stretch([row], [size])


class HeldTable(JsonArrayTable):
    """Rows in memory, which errors call ``rows``, or by the name of their files."""

    def __init__(self, rows: Any, name: str = "rows") -> None:
        super().__init__(Path(name))
        self._held = [_in_memory(number, each) for number, each in enumerate(_listed(rows))]


def _listed(rows: Any) -> Iterable[Any]:
    for name, arguments in (("to_pylist", ()), ("to_dicts", ()), ("to_dict", ("records",))):
        # A data set of `datasets` yields dicts by itself, and its to_dict takes something else.
        if hasattr(rows, name) and not hasattr(rows, "cast_column"):
            listed: Iterable[Any] = getattr(rows, name)(*arguments)
            return listed
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
        raise TableError(f"rows: got {type(rows).__name__}; expected a path, or a list with a dict for each row")
    return rows


def _in_memory(number: int, row: Any) -> Stretch:
    if not isinstance(row, Mapping):
        raise TableError(f"rows, row {number}: got {type(row).__name__} {row!r:.60}; expected a dict")
    # A data frame has NaN where a row has no value.
    nan = {name for name, value in row.items() if isinstance(value, float) and value != value}
    return Stretch([{str(name): None if name in nan else value for name, value in row.items()}], [0])
