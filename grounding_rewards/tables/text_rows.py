"""Rows of texts: JSON lines, JSON files that hold an array of objects, and CSV; and rows in memory."""

from __future__ import annotations

import codecs
import csv
import io
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
import numpy as np

from grounding_rewards.errors import TableError
from grounding_rewards.literals import unique_keys
from grounding_rewards.tables.columns import GUESSED
from grounding_rewards.tables.contents import Contents
from grounding_rewards.tables.image_files import looks_like_images
from grounding_rewards.tables.json_lines import Lines, is_utf8
from grounding_rewards.tables.rows import BATCH_BYTES, BATCH_ROWS, Batch, NoRowsError


class Stretch(NamedTuple):
    """Rows that were read together; one that cannot be read is alone."""

    rows: Sequence[dict[str, Any]]
    lengths: Sequence[int]  # of each row in the file, about
    lines: Sequence[int] = ()  # where each begins, counted from 1; none where that is not known
    why: str = ""  # why the row cannot be read
    texts: Sequence[bytes] = ()  # the lines of JSON, where they are written as they stand


_ARRAY = "expected an array of objects, or an object that holds one such array; one object a line is a .jsonl file"
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
_RESPONSES = frozenset(GUESSED["response"])
"""Columns where an empty cell of CSV is an empty text. Elsewhere it is null: no size, no id, no verdict."""
_SPACES = b" \t\r\n"
_DECODER, _ENCODER = msgspec.json.Decoder(), msgspec.json.Encoder()
_VALUES = json.JSONDecoder()
_WHITE = re.compile(r"[ \t\r\n]*")
_STEP = 1 << 20
_NEAR = 16
"""Characters before the end of a text in which a value may be cut off rather than wrong."""
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
    before = (0, 0)  # lines and rows before the first, of a part of a file

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
        most, rows_before = size or BATCH_ROWS, self.before[1]
        total, begun = 0, 0  # bytes read, and those before the batch
        rows, texts, lines, unread = list[dict[str, Any]](), list[bytes](), list[int](), dict[int, str]()
        with self._reading() as (stretches, done):
            for read in stretches:
                if read.why and not self.tolerant:
                    place = f"line {read.lines[0]}" if read.lines else f"row {rows_before + len(rows)}"
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
                    lines += read.lines[first:end]
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
        read = Lines(rows, texts) if any(texts) else rows
        return Batch(start, read, read, done, lines or None, unread=unread, texts=self.texts)

    @contextmanager
    def _reading(self) -> Iterator[tuple[Iterator[Stretch], Callable[[], float]]]:
        """Yield the rows, and a function that returns the share that has been read."""
        with self.source.opened() as (stream, done):
            yield self._rows(stream), done

    def parts(self) -> Iterator[Part]:
        """Yield parts of the file, whose rows are as of the whole."""
        lines = rows = 0
        with self.source.opened() as (stream, done):
            while text := stream.read(_STEP) + stream.readline():
                ends, objects = text.count(b"\n"), text.count(b"\n{") + text.startswith(b"{")
                # Where not all lines begin with an object, and end, some may be empty, and no rows.
                sure = objects == ends and text.endswith(b"\n")
                text = text if lines else text.removeprefix(codecs.BOM_UTF8)
                more = ends if sure else sum(map(bool, map(bytes.strip, text.split(b"\n"))))
                if more:
                    yield Part(self, text, (lines, rows), done())
                lines, rows = lines + ends, rows + more

    def _rows(self, stream: IO[bytes]) -> Iterator[Stretch]:
        read = self.before[0]
        while text := stream.read(_STEP) + stream.readline():  # in bytes only \n ends a line, as in JSON
            text = text if read else text.removeprefix(codecs.BOM_UTF8)
            lines = text.rstrip(_SPACES).split(b"\n")
            if rows := _objects(text, lines):
                numbers = range(read + 1, read + 1 + len(lines))
                yield Stretch(rows, [len(line) + 1 for line in lines], numbers, texts=lines)
            else:
                yield from self._with_care(io.BytesIO(text).readlines(), read + 1)  # one not in UTF-8 spoils no other
            read += text.count(b"\n")

    def _with_care(self, lines: Sequence[bytes], first: int) -> Iterator[Stretch]:
        for number, raw in enumerate(lines, first):
            if rows := _objects(text := raw.strip(_SPACES), [text]):
                yield Stretch(rows, [len(raw)], [number], texts=[text])
            elif raw.strip():  # of further spaces, too
                value, _, why = self._value(raw, unique_keys)
                if not why and not isinstance(value, dict):
                    why = f"got {_kind(value)}; expected one JSON object a line"
                yield Stretch([{} if why else value], [len(raw)], [number], why)

    def _value(
        self, raw: bytes, keyed: Callable[[list[tuple[str, Any]]], Any], *, lines: bool = False
    ) -> tuple[Any, int, str]:
        """Return the value of a text in JSON; else the line of it that is at fault, 0 for none, and the reason."""
        return self._tried(lambda: json.loads(raw.decode(), object_pairs_hook=keyed), raw, lines=lines)

    def _tried(self, read: Callable[[], Any], raw: bytes, *, lines: bool) -> tuple[Any, int, str]:
        try:
            return read(), 0, ""
        except UnicodeDecodeError as error:
            byte = getattr(error, "before", 0) + error.start + 1
            return None, 0, self._not_decoded(raw or error.object, f"{error.reason} at byte {byte}")
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
        hint = "".join(
            f"; as {name} it can be read: --encoding {name}, or iconv -f {name} -t utf-8" for name in names[:1]
        )
        return f"not {known or 'UTF-8'}{f' ({why})' if why else ''}{hint}"


class Part(JsonLinesTable):
    """Lines of a larger file, in memory."""

    def __init__(self, whole: JsonLinesTable, text: bytes, before: tuple[int, int], done: float) -> None:
        super().__init__(whole.path, whole.source, tolerant=whole.tolerant)
        self.columns, self.text, self.before, self.done = whole.columns, text, before, done

    @contextmanager
    def _reading(self) -> Iterator[tuple[Iterator[Stretch], Callable[[], float]]]:
        yield self._rows(io.BytesIO(self.text)), lambda: self.done


class JsonArrayTable(JsonLinesTable):
    """A JSON file, which is read once and held in memory, unless it is a large array; its rows are as of JSON lines."""

    @contextmanager
    def _reading(self) -> Iterator[tuple[Iterator[Stretch], Callable[[], float]]]:
        if self._is_large:
            with self.source.opened() as (stream, done):
                yield self._streamed(_ArrayReader(stream).values()), done
            return
        rows, every = iter(self._held), sum(len(each.rows) for each in self._held)
        yield rows, lambda: 1 - sum(len(each.rows) for each in self._held[-length_hint(rows) or every :]) / every

    @cached_property
    def _is_large(self) -> bool:
        if "_held" in vars(self):
            return False
        with self.source.opened() as (stream, _):
            head = stream.read(_HELD + 1)
        return len(head) > _HELD and head.removeprefix(codecs.BOM_UTF8).lstrip(_SPACES).startswith(b"[")

    def _streamed(self, values: Iterator[tuple[Any, str]]) -> Iterator[Stretch]:
        ended, why = False, ""
        while not ended:
            read, held = list[tuple[Any, str]](), 0
            while held < _STEP and not ended:
                found, line, why = self._tried(lambda: next(values, None), b"", lines=True)
                if found is None:
                    ended = True
                else:
                    read.append(found)
                    held += len(found[1])
            texts = [text for _, text in read]
            rows = _once(f"[{','.join(texts)}]".encode(), _DECODER.decode)
            if rows and {*map(type, rows)} == {dict}:
                yield Stretch(rows, list(map(len, texts)))
            else:
                yield from self._checked(read)
        if why:
            raise self._unreadable(line, why)

    def _checked(self, read: Sequence[tuple[Any, str]]) -> Iterator[Stretch]:
        for row, text in read:
            why = ""
            if isinstance(row, dict):  # in which a key may come twice
                row, _, why = self._value(text.encode(), unique_keys)
            yield Stretch([{}], [len(text)], why=why) if why else _read(row, len(text), {})

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

        content = content.removeprefix(codecs.BOM_UTF8)
        reasons = dict[int, str]()
        if (value := _once(content, _DECODER.decode)) is None:
            value, line, why = self._value(content, keyed, lines=True)
            reasons = {id(fields): why for fields, why in twice}
            if why := why or reasons.get(id(value), ""):
                raise self._unreadable(line, why)
        rows = self._array(value)
        return _stretches(rows, len(content) // max(len(rows), 1), reasons)

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
            lines, read, why = _records(reader, _STEP if names else 0)
            if not lines:
                return
            if names is None:
                names = self._names(read[0] if read else [""], why, mark)
                continue
            # Bytes that are not UTF-8 were read as halves of pairs.
            sure = {*map(len, read)} == {len(names)} and is_utf8("".join(chain.from_iterable(read)))
            some = zip(lines, read, strict=False)  # without the line that cannot be read
            for numbers, records in [(lines, read)] if sure else [([line], [cells]) for line, cells in some if cells]:
                fault = "" if sure else self._fault(records[0], names, _MARKS[mark][0])
                rows = [{}] if fault else [_row(names, cells) for cells in records]
                yield Stretch(rows, [sum(map(len, cells)) for cells in records], numbers, fault)
            if why:
                yield Stretch([{}], [0], lines[-1:], why)

    def _fault(self, cells: Sequence[str], names: Sequence[str], mark: str) -> str:
        """Return why a row cannot be read; "" for one that can."""
        for cell in cells:
            if not is_utf8(cell):
                return self._not_decoded(cell.encode("utf-8", "surrogateescape"))
        if len(cells) == len(names):
            return ""
        fix = mark if len(cells) > len(names) else "line breaks, or the file is cut off"
        return f"got {len(cells)} cells; expected {len(names)}, as in the header; quote a cell with {fix}"

    def _names(self, names: list[str], why: str, mark: str) -> list[str]:
        """Check the names of columns in a header."""
        why = why or self._fault(names, names, "")
        if why or not any(names):
            raise TableError(f"{self.path}, line 1: {why or 'is empty'}; expected the names of the columns")
        for other, (signs, fix) in _MARKS.items():
            if len(names) == 1 and other != mark and other in names[0]:
                raise TableError(
                    f"{self.path}, line 1: got {signs} between the names of the columns; expected {_MARKS[mark][0]}: "
                    f"{fix or f'write the file again with {_MARKS[mark][0]}'}"
                )
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise TableError(f"{self.path}: has several columns {', '.join(twice)}; rename them first")
        return names


def _records(reader: Any, size: int) -> tuple[list[int], list[list[str]], str]:
    """Read rows of CSV of so many characters; return their lines, their cells, and why one more cannot be read."""
    lines, read, held, why = list[int](), list[list[str]](), 0, ""
    limit = csv.field_size_limit(_LARGEST_CELL)  # the process's own, 128 KiB, is less than a response may have
    try:
        while not lines or held < size:
            lines.append(reader.line_num + 1)
            read.append(next(reader))
            held += sum(map(len, read[-1])) + 1
    except StopIteration:
        lines.pop()
    except csv.Error as error:
        unclosed = str(error) == "unexpected end of data"
        why = f"not CSV ({'a quote is never closed' if unclosed else error})"
    finally:
        csv.field_size_limit(limit)
    return lines, read, why


def _row(names: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(names, cells, strict=True))
    if "" in cells:
        row |= dict.fromkeys((name for name, cell in row.items() if not cell and name not in _RESPONSES))
    return row


def _objects(text: bytes, lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """Read lines each of which surely is one object in which no key comes twice; None where care is needed."""
    if text[:1] != b"{" or text.count(b"}\n{") != len(lines) - 1:  # so that no object goes on in the next line
        return None
    rows = _once(text, _DECODER.decode_lines)
    return rows if rows and len(rows) == len(lines) and {*map(type, rows)} == {dict} else None


def _once(text: bytes, decode: Callable[[bytes], Any]) -> Any:
    """Return the value of a text in which surely no key of an object comes twice; None where care is needed."""
    try:
        value = decode(text)
        quotes = _quotes(_ENCODER.encode(value))
    except (msgspec.DecodeError, OverflowError, UnicodeDecodeError, RecursionError):
        return None
    # Of keys that come twice msgspec keeps the last, and then the value has fewer quotes than its text.
    return value if _quotes(text) + text.count(b"\\u0022") == quotes else None


def _quotes(text: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord('"')))


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


def _stretches(rows: Sequence[Any], size: int, reasons: dict[int, str]) -> list[Stretch]:
    """Return rows as they were read; ``reasons`` are those of objects that cannot be read, by their identity."""
    if reasons or not {*map(type, rows)} <= {dict}:
        return [_read(row, size, reasons) for row in rows]
    some = (rows[first : first + BATCH_ROWS] for first in range(0, len(rows), BATCH_ROWS))
    return [Stretch(each, [size] * len(each)) for each in some]


def _read(row: Any, size: int, reasons: dict[int, str]) -> Stretch:
    if not isinstance(row, dict):
        return Stretch([{}], [size], why=f"got {_kind(row)}; expected a JSON object")
    left = [row] if reasons else []
    while left:
        each = left.pop()
        if id(each) in reasons:
            return Stretch([{}], [size], why=reasons[id(each)])
        left += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
    return Stretch([row], [size])


class HeldTable(JsonArrayTable):
    """Rows in memory, which errors call ``rows``, or by the name of their files."""

    def __init__(self, rows: Any, name: str = "rows") -> None:
        super().__init__(Path(name))
        self._held = _stretches([_in_memory(number, each) for number, each in enumerate(_listed(rows))], 0, {})


def _listed(rows: Any) -> Iterable[Any]:
    for name, arguments in (("to_pylist", ()), ("to_dicts", ()), ("to_dict", ("records",))):
        # A data set of `datasets` yields dicts by itself, and its to_dict takes something else.
        if hasattr(rows, name) and not hasattr(rows, "cast_column"):
            listed: Iterable[Any] = getattr(rows, name)(*arguments)
            return listed
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
        raise TableError(f"rows: got {type(rows).__name__}; expected a path, or a list with a dict for each row")
    return rows


def _in_memory(number: int, row: Any) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise TableError(f"rows, row {number}: got {type(row).__name__} {row!r:.60}; expected a dict")
    # A data frame has NaN where a row has no value.
    nan = {name for name, value in row.items() if isinstance(value, float) and value != value}
    return {str(name): None if name in nan else value for name, value in row.items()}


class _ArrayReader:
    """Reader of an array's values from a stream of bytes; it raises what ``json.loads`` would of the whole."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._decoder = stream, codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._at, self._ended = "", 0, False
        self._lines, self._column, self._bytes = 0, 0, 0  # of what went before the text

    def values(self) -> Iterator[tuple[Any, str]]:
        """Yield each value of the array, and its text."""
        self._take("[", "Expecting value")
        if self._next() == "]":
            self._at += 1
        else:
            while True:
                yield self._value()
                if self._next() == "]":
                    self._at += 1
                    break
                self._take(",", "Expecting ',' delimiter")
        if self._next():
            raise self._error("Extra data", self._at)

    def _take(self, mark: str, wrong: str) -> None:
        if self._next() != mark:
            raise self._error(wrong, self._at)
        self._at += 1

    def _next(self) -> str:
        """Return the next character that is no space; "" at the end."""
        while True:
            self._at = _WHITE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or not self._more(_STEP):
                return self._text[self._at : self._at + 1]

    def _value(self) -> tuple[Any, str]:
        self._next()
        step = _STEP
        while True:
            try:
                value, end = _VALUES.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _NEAR
                if not (cut and self._more(step)):
                    raise self._error(error.msg, error.pos) from None
            else:
                if end < len(self._text) or not self._more(step):  # else a number may go on
                    text, self._at = self._text[self._at : end], end
                    return value, text
            step *= 2  # so that a large value is read over a few times

    def _more(self, step: int) -> bool:
        """Read further, in place of what has been used; return False at the end."""
        if self._ended:
            return False
        used = self._text[: self._at]
        self._lines += (lines := used.count("\n"))
        self._column = len(used) - used.rfind("\n") - 1 if lines else self._column + len(used)
        data = self._stream.read(step)
        self._ended = not data
        try:
            text = self._decoder.decode(data, final=self._ended)
        except UnicodeDecodeError as error:
            error.before = self._bytes + len(data) - len(error.object)  # type: ignore[attr-defined]
            raise
        self._bytes += len(data)
        self._text, self._at = self._text[self._at :] + text, 0
        return True

    def _error(self, message: str, at: int) -> json.JSONDecodeError:
        error = json.JSONDecodeError(message, self._text, at)
        error.colno += self._column if error.lineno == 1 else 0
        error.lineno += self._lines
        return error
