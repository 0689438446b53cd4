"""Files as rollouts: SQL that reads each column in the type of a rollout table, of Parquet, JSON lines and other rows.

DuckDB reads Parquet as it is, and makes a copy in Parquet of JSON lines once. Other rows, and JSON lines that DuckDB
cannot read, such as half a surrogate pair, are written as JSON lines first.
"""

from __future__ import annotations

import os
import re
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from grounding_rewards.errors import TableError
from grounding_rewards.tables.arrow_rows import LISTS, ParquetTable, first_line, plain_type
from grounding_rewards.tables.contents import Contents
from grounding_rewards.tables.interrupting import interruptible
from grounding_rewards.tables.json_lines import dumps, encodable, is_utf8
from grounding_rewards.tables.launches import PREFIX
from grounding_rewards.tables.rollout_columns import COLUMNS, CORRECT, ENTROPY, PLACES
from grounding_rewards.tables.rows import Batch, Table, number
from grounding_rewards.tables.text_rows import JsonLinesTable

MEMORY = "512MB"
"""Bound on the memory of a query; the rest goes to files in the system's place for them."""

_ROW = "file_row_number"
"""Name of DuckDB's own column with the number of each row. A file may have a column of this name itself."""

_PART = re.compile(rf"({PREFIX}(?:run-\d+-)?[0-9a-f]{{8}})-(\d{{6}})\.parquet")

_AGREE = "expected the same of both: leave out the column that is wrong"
_NO_TOTAL = "total is NaN beside an acc; expected a finite number, or null in both where the rollout was not scored"

_SQL = {"string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE", "list<item: double>": "DOUBLE[]"}
_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)

_SIZES = ("image_size", "model_image_size")
_JSON = "format = 'newline_delimited', maximum_object_size = 33554432"
_LARGE = 10**300  # float() raises where a whole number is beyond about 1.8e308
_WHOLE = "a whole number"
_STRICT = {
    "acc": "0 or 1, true or false", CORRECT: "0 or 1, true or false", "total": "a number", "temperature": "a number",
    "round": _WHOLE, "rollout": _WHOLE,
}  # fmt: skip
"""Columns in which a value that does not fit is an error; in others it is null."""


class FileRollouts:
    """Rollouts of one table whose batches are Arrow's, such as a trainer's log; a query reads a copy in Parquet."""

    def __init__(self, table: Any) -> None:
        self.table, self.path = table, table.path

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of all rows."""
        return tuple(self.table.columns)

    @property
    def names_are_numbers(self) -> bool:
        """True where the names of samples are whole numbers."""
        return False

    def sql(self, columns: Sequence[str]) -> str:
        """Return an SQL query for these columns; columns that the file lacks are null."""
        return self._copied.sql(columns)

    @cached_property
    def _copied(self) -> ParquetRollouts:
        copy = _temporary(self, ".parquet")
        with pq.ParquetWriter(copy, self.table.schema) as writer:
            for batch in self.table.batches():
                writer.write_batch(batch.whole)
        return ParquetRollouts(copy)

    def _alone(self, name: str) -> None:
        """Check that no other column has this name in other letters: DuckDB ignores their case."""
        alike = [each for each in self.columns if each != name and each.casefold() == name.casefold()]
        if alike and name in self.columns:
            raise TableError(f"{self.path}: columns {name} and {alike[0]} differ only in case; rename one")


class ParquetRollouts(FileRollouts):
    """One Parquet file, read as rollouts; one that is ``held`` open stays as it is, though another takes its place."""

    def __init__(self, path: Path, *, held: bool = False) -> None:
        source = Contents(path)
        if held or not is_utf8(str(path)):  # as SQL is
            handle = os.open(path, os.O_RDONLY)
            source = Contents(path, Path(f"/dev/fd/{handle}"))
            weakref.finalize(source, os.close, handle)
        super().__init__(ParquetTable(path, source))

    @cached_property
    def kinds(self) -> dict[str, Any]:
        """The types of the columns."""
        return {field.name: plain_type(field.type) for field in self.table.schema}

    @property
    def names_are_numbers(self) -> bool:
        """True where the names of samples are whole numbers."""
        return "sample_id" in self.kinds and pa.types.is_integer(self.kinds["sample_id"])

    def sql(self, columns: Sequence[str]) -> str:
        """Return an SQL query for these columns; see ``FileRollouts``."""
        chosen = ", ".join(f"{self._expression(name)} AS {quoted(name)}" for name in columns)
        rows = "" if _ROW in self.kinds else f", {_ROW} = true"
        # A query without any column selects 1, so that it still has one result for each row.
        # Folders called name=value are folders, and no columns.
        source = f"read_parquet({_listed(self.table.source.file)}, hive_partitioning = false{rows})"
        return f"SELECT {chosen or '1'} FROM {source}"

    def _expression(self, name: str) -> str:
        """Return the SQL of one column in its type; it fails on verdicts that disagree, and on NaN beside a verdict."""
        kind = COLUMNS.get(name)
        # A column that no recorder writes is read as texts; one of numbers need not take that way.
        further = "DOUBLE" if name == ENTROPY and self.kinds.get(name) == pa.float64() else "VARCHAR"
        wanted = further if kind is None else _SQL[kind]
        casts = [
            self._cast(each, wanted) for each in ((name, CORRECT) if name == "acc" else (name,)) if each in self.kinds
        ]
        if not casts:
            return f"NULL::{wanted}"
        if name == "total" and pa.types.is_floating(self.kinds[name]) and {"acc", CORRECT} & self.kinds.keys():
            no_total = f"isnan({quoted(name)}) AND ({self._expression('acc')}) IS NOT NULL"
            return f"CASE WHEN {no_total} THEN {self._error(literal(_NO_TOTAL))} ELSE {casts[0]} END"
        if len(casts) == 1:
            return casts[0]
        one, other = casts
        both = f"'acc is ' || ({one}) || ' and {CORRECT} is ' || ({other}) || {literal(f'; {_AGREE}')}"
        return f"CASE WHEN ({one}) <> ({other}) THEN {self._error(both)} ELSE coalesce({one}, {other}) END"

    def _error(self, message: str) -> str:
        """Return SQL that raises an error with the file, the row and the sample; ``message`` is SQL itself."""
        sample = f"coalesce({quoted('sample_id')}::VARCHAR, 'null')" if "sample_id" in self.kinds else "'null'"
        row = "'?'" if _ROW in self.kinds else f"{_ROW}::VARCHAR"
        return f"error({literal(f'{self.path}, row ')} || {row} || ', sample ' || {sample} || ': ' || {message})"

    def _cast(self, name: str, wanted: str) -> str:
        """Return the SQL that reads one column of the file as the SQL type ``wanted``; raise where nothing does."""
        kind, column = self.kinds[name], quoted(name)
        self._alone(name)
        if pa.types.is_null(kind):
            return f"NULL::{wanted}"
        if wanted == "VARCHAR":
            if any(test(kind) for test in _TEXTS):
                return column
            if name == "sample_id" and not pa.types.is_integer(kind):
                raise self._wrong(name, kind, "texts or whole numbers")
            if pa.types.is_nested(kind):
                return f"to_json({column})::VARCHAR"
            return f"{column}::VARCHAR"
        if wanted == "DOUBLE[]":
            if any(test(kind) for test in _TEXTS):
                column = _listed_sides(column)
            elif not any(test(kind) for test in LISTS):
                return "NULL::DOUBLE[]"
            # A size that cannot be read, or is no pair, costs no row: it is null.
            pair = f"TRY_CAST({column} AS DOUBLE[])"
            return f"CASE WHEN len({pair}) = 2 THEN {pair} END"
        if wanted == "BIGINT":
            return self._whole(name, kind, column)
        if not any(test(kind) for test in _NUMBERS):
            raise self._wrong(name, kind, "numbers")
        number = column if kind == pa.float64() else f"{column}::DOUBLE"
        number = f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END" if pa.types.is_floating(kind) else number
        if name != "temperature":
            return number
        return f"CASE WHEN isfinite({number}) THEN round({number}, {PLACES}) END"  # manifests hold no infinity

    def _whole(self, name: str, kind: Any, column: str) -> str:
        """Return the SQL that reads a column as whole numbers; the query fails on any other number."""
        if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):  # beyond BIGINT
            return column if kind == pa.int64() else f"{column}::BIGINT"
        if not any(test(kind) for test in _NUMBERS) or pa.types.is_boolean(kind):
            raise self._wrong(name, kind, "whole numbers")
        # Whole numbers beside nulls are floats with NaN where pandas wrote them.
        number, message = f"{column}::DOUBLE", literal(f"column {name} holds a number that is not whole, or too large")
        # 9.2e18 lies just below 2**63, where BIGINT ends.
        return (
            f"CASE WHEN {column} IS NULL OR isnan({number}) THEN NULL "
            f"WHEN {number} <> trunc({number}) OR abs({number}) >= 9.2e18 THEN error({message}) "
            f"ELSE {column}::BIGINT END"
        )

    def _wrong(self, name: str, kind: Any, expected: str) -> TableError:
        """Return the error of a column that has the wrong type."""
        return TableError(f"{self.path}: column {name} holds {kind}; expected {expected}")


class JsonRollouts(FileRollouts):
    """Rows of JSON, read as rollouts: names, rounds and verdicts strictly, all else as far as it goes.

    A query reads a copy in Parquet. Where it asks for a column with a value that does not fit, the row is looked for in
    the file, since DuckDB does not know its line.
    """

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of all rows."""
        return self._found[1]

    @property
    def names_are_numbers(self) -> bool:
        """True where the names of samples are whole numbers."""
        return "sample_id" in self.columns and not self._misfits["texts"]

    def sql(self, columns: Sequence[str]) -> str:
        """Return an SQL query for these columns; see ``FileRollouts``."""
        for name in columns:
            self._alone(name)
        if wrong := [name for name in columns if self._misfits.get(name)]:
            self._raise(wrong)
        return super().sql(columns)

    def _raise(self, columns: Sequence[str]) -> None:
        """Raise the error of the first row with a value that one of these columns cannot hold."""
        first: tuple[str, str] | None = None
        for batch in self.table.batches():
            for at, row in enumerate(batch.rows):
                place = f"{self.path}, {batch.place(at)}"
                if "sample_id" in columns:
                    first = _check_name(self.path, batch, at, first)
                values = {name: _value(batch, name, row.get(name)) for name in _STRICT}
                for name in (*columns, *([CORRECT] if "acc" in columns else [])):
                    _check_value(place, name, values.get(name))
                place += f", sample {row.get('sample_id')!r:.60}"
                verdicts = [values[each] for each in ("acc", CORRECT) if _there(values[each])]
                if "acc" in columns and len(verdicts) > 1 and verdicts[0] != verdicts[1]:
                    raise TableError(f"{place}: acc is {verdicts[0]} and {CORRECT} is {verdicts[1]}; {_AGREE}")
                if "total" in columns and verdicts and values["total"] != values["total"]:
                    raise TableError(f"{place}: {_NO_TOTAL}")

    @cached_property
    def _found(self) -> tuple[str, tuple[str, ...]]:
        """Return SQL of the file, or of a copy that DuckDB can read, and the columns of all rows."""
        table = self.table
        if type(table) is JsonLinesTable and is_utf8(str(table.source.file)):
            compression = table.source.compression or "uncompressed"
            source = f"{_listed(table.source.file)}, {_JSON}, compression = '{compression}'"
            with suppress(duckdb.Error):
                keys = _keys(source)
                # A row that is no object has no keys, as one that is empty.
                if keys and all(each and len({*each}) == len(each) for each in keys):
                    return source, tuple(dict.fromkeys(key for each in keys for key in each))
        copy = _temporary(self, ".jsonl")
        _copy(table, copy)  # or raise an error that says where the file is broken
        source = f"{_listed(copy)}, {_JSON}"
        try:
            return source, tuple(dict.fromkeys(key for each in _keys(source) for key in each))
        except duckdb.Error as error:
            raise TableError(f"{self.path}: cannot be read ({first_line(error)})") from None

    @cached_property
    def _copied(self) -> ParquetRollouts:
        names = dict[str, str]()  # one of those that differ only in case, and columns of rollouts before others
        for name in sorted(filter(None, self.columns), key=lambda each: each not in (*COLUMNS, CORRECT)):
            names.setdefault(name.casefold(), name)
        chosen = {name: f"{self._read(name)} AS {quoted(name)}" for name in names.values() if name != CORRECT}
        if CORRECT in self.columns:
            chosen["acc"] = f"{self._read('acc')} AS acc"
        misfits = [f"{sql} AS {quoted(self._mark + name)}" for name, sql in self._tests.items()]
        # A column of texts has a text as it is, and all else as JSON.
        texts = [name for name in names.values() if name != "sample_id" and _is_text(name)]
        declared = ", ".join(f"{literal(each)}: '{'VARCHAR' if each in texts else 'JSON'}'" for each in names.values())
        columns = ", ".join([*chosen.values(), *misfits])
        sql = f"SELECT {columns} FROM read_json({self._found[0]}, columns = {{{declared}}})"
        copy, connection = _temporary(self, ".parquet"), connected(ordered=True)
        try:
            interruptible(connection, connection.execute, f"COPY ({sql}) TO {literal(str(copy))} (FORMAT parquet)")
        except duckdb.Error as error:
            if number := _ERRNO.search(str(error)):  # the copy cannot be written: DuckDB reads nothing by this number
                raise OSError(int(number[1]), os.strerror(int(number[1])), str(copy)) from None
            raise TableError(f"{self.path}: cannot be read ({first_line(error)})") from None
        return ParquetRollouts(copy)

    @cached_property
    def _misfits(self) -> dict[str, bool]:
        """Return True for columns of which a row has what does not fit; ``texts`` says that of names of samples."""
        tests = [*self._tests]
        if not tests:
            return {}
        marked = ", ".join(f"coalesce(bool_or({quoted(self._mark + name)}), false)" for name in tests)
        source = f"read_parquet({_listed(self._copied.path)}, hive_partitioning = false)"
        (row,) = connected(ordered=False).sql(f"SELECT {marked} FROM {source}").fetchall()
        found = dict(zip(tests, row, strict=True))
        if found.get("texts") and found.get("numbers"):
            found["sample_id"] = True
        return found

    @cached_property
    def _mark(self) -> str:
        """Return how names of columns that say what does not fit begin; no column of the file does."""
        mark = "misfit "
        while any(name.casefold().startswith(mark) for name in self.columns):
            mark = f"_{mark}"
        return mark

    @cached_property
    def _tests(self) -> dict[str, str]:
        """Return SQL that is true where a row's value does not fit a column, by its name."""
        tests = dict[str, str]()
        for name in (each for each in _STRICT if each in self.columns and each != CORRECT):
            tests[name] = _misfit(name)
        if CORRECT in self.columns:
            own = [tests["acc"], f"{_json('acc')} <> {_json(CORRECT)}"] if "acc" in tests else []
            tests["acc"] = " OR ".join(f"coalesce({each}, false)" for each in [*own, _misfit(CORRECT)])
        if "total" in tests and "acc" in tests:
            no_total = f"isnan({_figure('total')}) AND ({self._read('acc')}) IS NOT NULL"
            tests["total"] = f"coalesce({tests['total']}, false) OR coalesce({no_total}, false)"
        if "sample_id" in self.columns:
            kind, text = "json_type(sample_id)", "sample_id ->> '$'"
            tests["texts"], tests["numbers"] = f"{kind} = 'VARCHAR'", f"{kind} IN ('UBIGINT', 'BIGINT')"
            tests["sample_id"] = f"NOT coalesce({tests['numbers']} OR {tests['texts']} AND ({text}) <> '', false)"
        return tests

    def _read(self, name: str) -> str:
        """Return SQL of a column's value in its type, null where it does not fit."""
        if name == "acc" and CORRECT in self.columns:
            return f"coalesce({', '.join(_json(each) for each in ('acc', CORRECT) if each in self.columns)})"
        return _json(name)


def last_parts(files: Sequence[Path]) -> set[Path]:
    """Return those of the files that are the last shard of a recording process."""
    last: dict[tuple[Path, str], Path] = {}
    for file in sorted(files):  # by name, in which the number of the shard has six digits
        named = _PART.fullmatch(file.name)
        if named:
            last[file.parent, named[1]] = file
    return set(last.values())


def connected(*, ordered: bool) -> Any:
    """Return a connection; rows of a file come in their order where it is ``ordered``."""
    scratch = os.path.join(tempfile.gettempdir(), f"grounding-rewards-{uuid4().hex}")  # made where memory is short
    config: dict[str, Any] = {"memory_limit": MEMORY, "temp_directory": scratch, "preserve_insertion_order": ordered}
    connection = duckdb.connect(config=config)
    # Parquet's statistics leave NaN out, and what DuckDB concludes from them is that no number of a file is NaN.
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    return connection


def _keys(source: str) -> list[list[str]]:
    """Return the keys that rows of JSON lines have, the longest list first."""
    connection = connected(ordered=False)
    sql = f"SELECT DISTINCT json_keys(json) FROM read_json_objects({source})"
    found: list[list[str]] = [keys for (keys,) in interruptible(connection, lambda: connection.sql(sql).fetchall())]
    return sorted(found, key=lambda keys: (-len(keys), keys))


def _is_text(name: str) -> bool:
    """Return True for columns of texts, and those that no recorder writes but ``correct``."""
    return name != CORRECT and COLUMNS.get(name, "string") == "string"


def _listed_sides(text: str) -> str:
    """Return SQL of a text in which two sides, as in 640x480, are written as a list."""
    return rf"regexp_replace({text}, '^\s*[\[(]?\s*([0-9.]+)\s*[xX×*,\s]\s*([0-9.]+)\s*[\])]?\s*$', '[\1, \2]')"


def _figure(name: str) -> str:
    return f"TRY_CAST({quoted(name)} AS DOUBLE)"


def _json(name: str) -> str:
    """Return SQL of a column of JSON in the type of a rollout table; null where a value does not fit."""
    column, kind, figure = quoted(name), f"json_type({quoted(name)})", _figure(name)
    if name == "sample_id":
        return f"({column} ->> '$')"
    if name in _SIZES:
        sides = f"[{column} ->> '$.width', {column} ->> '$.height']::VARCHAR"
        text = _listed_sides(f"({column} ->> '$')")
        return f"TRY_CAST(CASE WHEN {kind} = 'OBJECT' THEN {sides} ELSE {text} END AS DOUBLE[])"
    if _is_text(name):
        return column
    if COLUMNS.get(name) == "int64":
        fits = f"{kind} IN ('DOUBLE', 'UBIGINT', 'BIGINT') AND {figure} = trunc({figure})"
        return f"CASE WHEN {fits} THEN TRY_CAST({column} AS BIGINT) END"
    number = f"round({figure}, {PLACES})" if name == "temperature" else figure
    # NaN stays in totals, where it is an error beside a verdict.
    return number if name == "total" else f"CASE WHEN NOT isnan({figure}) THEN {number} END"


def _misfit(name: str) -> str:
    """Return SQL that is true where a column of JSON has what is an error."""
    column, kind, figure = quoted(name), f"json_type({quoted(name)})", _figure(name)
    # A whole number of hundreds of digits has no place; `Infinity` has.
    has_place = f"(abs({figure}) < 1e300 OR contains({column}::VARCHAR, 'Inf'))"
    fits = f"{kind} IN ('DOUBLE', 'UBIGINT', 'BIGINT', 'BOOLEAN') AND {has_place}"
    if _STRICT[name] == _WHOLE:
        fits = f"({_json(name)}) IS NOT NULL"
    return f"{column} IS NOT NULL AND NOT coalesce(isnan({figure}), false) AND NOT coalesce({fits}, false)"


def _copy(table: Table, copy: Path) -> None:
    """Write the rows of a table as JSON lines; in texts half a surrogate pair is replaced."""
    with copy.open("wb") as file:
        for batch in table.batches():
            for at, row in enumerate(batch.rows):
                if _broken(row.get("sample_id")):
                    _check_name(table.path, batch, at, None)
                values = {str(name): _value(batch, name, value) for name, value in row.items()}
                file.write(dumps(encodable(values)) + b"\n")


_ERRNO = re.compile(r'Could not write file .*"errno":"(\d+)"', re.DOTALL)


def _temporary(owner: Any, suffix: str) -> Path:
    """Return a new temporary file, which goes when its owner does; TMPDIR names another folder for it."""
    handle, name = tempfile.mkstemp(suffix, prefix="grounding-rewards-")
    os.close(handle)
    weakref.finalize(owner, os.unlink, name)
    return Path(name)


def _value(batch: Batch, name: str, value: Any) -> Any:
    """Return a cell; of CSV, whose cells are texts, the number in it, but in columns of texts."""
    return number(value) if batch.texts and not _is_text(name) else value


def _check_name(path: Path, batch: Batch, at: int, first: tuple[str, str] | None) -> tuple[str, str]:
    """Raise the error of a sample's name that is none, or of another kind than the ``first`` one; return that one."""
    name, place = batch.rows[at].get("sample_id"), batch.place(at)
    if not isinstance(name, str | int) or isinstance(name, bool) or name == "" or _broken(name):
        raise TableError(
            f"{path}, {place}: sample_id is {name!r:.60}; expected the name of the sample, a text that UTF-8 can hold, "
            "or a whole number"
        )
    kind = "a text" if isinstance(name, str) else "a number"
    if first is not None and first[0] != kind:
        raise TableError(
            f"{path}: sample_id is {first[0]} in {first[1]} and {kind} ({name!r:.60}) in {place}; write all as texts"
        )
    return first or (kind, place)


def _check_value(place: str, name: str, value: Any) -> None:
    """Raise the error of a value that its column cannot hold."""
    if not _there(value) or name not in _STRICT:
        return
    fits = isinstance(value, float) or (isinstance(value, int) and abs(value) < _LARGE)
    if _STRICT[name] == _WHOLE:
        fits = fits and not isinstance(value, bool) and -(2**63) <= value < 2**63 and value == int(value)
    if not fits:
        raise TableError(f"{place}: {name} is {value!r:.60}; expected {_STRICT[name]}, or null")


def _there(value: Any) -> bool:
    """Return True where there is a value; NaN is none."""
    return value is not None and bool(value == value)


def _broken(value: Any) -> bool:
    """Return True for a text with halves of surrogate pairs: written again, all of these are alike."""
    return isinstance(value, str) and not is_utf8(value)


def quoted(name: str) -> str:
    """Return a column's name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def _listed(path: Path) -> str:
    """Return a path for a query, in which DuckDB finds no pattern for several files."""
    return "[" + literal("".join(f"[{each}]" if each in "[*?" else each for each in str(path))) + "]"
