"""Parquet files as rollouts, each column in the type of a rollout table.

The last shard of each recording process is read into memory at once: a longer file may replace it at any moment.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from grounding_rewards.errors import TableError
from grounding_rewards.tables.launches import PREFIX
from grounding_rewards.tables.parquet import ParquetTable, plain_type
from grounding_rewards.tables.rollout_columns import COLUMNS, CORRECT, ENTROPY, PLACES
from grounding_rewards.tables.rollout_rows import AGREE, NO_TOTAL

_ROW = "file_row_number"
"""Name of DuckDB's own column with the number of each row. A file may have a column of this name itself."""

_PART = re.compile(rf"({PREFIX}(?:run-\d+-)?[0-9a-f]{{8}})-(\d{{6}})\.parquet")

_SQL = {"string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE", "list<item: double>": "DOUBLE[]"}
_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


class ParquetRollouts:
    """One Parquet file, read as rollouts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.table = ParquetTable(path)
        self.kinds = {field.name: plain_type(field.type) for field in self.table.schema}
        self.columns = tuple(self.kinds)

    @property
    def names_are_numbers(self) -> bool:
        """True where the names of samples are whole numbers."""
        return "sample_id" in self.kinds and pa.types.is_integer(self.kinds["sample_id"])

    def sql(self, columns: Sequence[str]) -> str:
        """Return an SQL query for these columns; columns that the file lacks are null.

        Raises:
            TableError: a column is not of a type that can be read as what it should hold.
        """
        chosen = ", ".join(f"{self._expression(name)} AS {quoted(name)}" for name in columns)
        rows = "" if _ROW in self.kinds else f", {_ROW} = true"
        # A query without any column selects 1, so that it still has one result for each row.
        # Folders called name=value are folders, and no columns.
        return f"SELECT {chosen or '1'} FROM read_parquet([{literal(self._source)}], hive_partitioning = false{rows})"

    @cached_property
    def _source(self) -> str:
        """Path to the file for a query; where it is not UTF-8, as SQL is, that of its file descriptor."""
        with suppress(UnicodeEncodeError):
            return _escaped(str(self.path).encode().decode())
        handle = os.open(self.path, os.O_RDONLY)
        weakref.finalize(self, os.close, handle)  # queries open it by its number until then
        return f"/proc/self/fd/{handle}"

    def _expression(self, name: str) -> str:
        """Return the SQL of one column in its type; it fails on verdicts that disagree, and on NaN beside a verdict."""
        kind = COLUMNS.get(name)
        # A column that no recorder writes is read as texts; one of numbers need not take that way.
        further = "DOUBLE" if name == ENTROPY and self.kinds.get(name) == pa.float64() else "VARCHAR"
        wanted = further if kind is None else _SQL[str(kind)]
        casts = [
            self._cast(each, wanted) for each in ((name, CORRECT) if name == "acc" else (name,)) if each in self.kinds
        ]
        if not casts:
            return f"NULL::{wanted}"
        if name == "total" and pa.types.is_floating(self.kinds[name]) and {"acc", CORRECT} & self.kinds.keys():
            no_total = f"isnan({quoted(name)}) AND ({self._expression('acc')}) IS NOT NULL"
            return f"CASE WHEN {no_total} THEN {self._error(literal(NO_TOTAL))} ELSE {casts[0]} END"
        if len(casts) == 1:
            return casts[0]
        one, other = casts
        both = f"'acc is ' || ({one}) || ' and {CORRECT} is ' || ({other}) || {literal(f'; {AGREE}')}"
        return f"CASE WHEN ({one}) <> ({other}) THEN {self._error(both)} ELSE coalesce({one}, {other}) END"

    def _error(self, message: str) -> str:
        """Return SQL that raises an error with the file, the row and the sample; ``message`` is SQL itself."""
        sample = f"coalesce({quoted('sample_id')}::VARCHAR, 'null')" if "sample_id" in self.kinds else "'null'"
        row = "'?'" if _ROW in self.kinds else f"{_ROW}::VARCHAR"
        return f"error({literal(f'{self.path}, row ')} || {row} || ', sample ' || {sample} || ': ' || {message})"

    def _cast(self, name: str, wanted: str) -> str:
        """Return the SQL that reads one column of the file as the SQL type ``wanted``; raise where nothing does."""
        kind, column = self.kinds[name], quoted(name)
        # DuckDB ignores the case of column names.
        alike = [each for each in self.kinds if each != name and each.casefold() == name.casefold()]
        if alike:
            raise TableError(f"{self.path}: columns {name} and {alike[0]} differ only in case; rename one")
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
            # A size that cannot be read costs no row: it is null.
            return f"TRY_CAST({column} AS DOUBLE[])" if any(test(kind) for test in _LISTS) else "NULL::DOUBLE[]"
        if wanted == "BIGINT":
            return self._whole(name, kind, column)
        if not any(test(kind) for test in _NUMBERS):
            raise self._wrong(name, kind, "numbers")
        number = column if kind == pa.float64() else f"{column}::DOUBLE"
        number = f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END" if pa.types.is_floating(kind) else number
        return f"round({number}, {PLACES})" if name == "temperature" else number

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


def last_parts(files: Sequence[Path]) -> set[Path]:
    """Return those of the files that are the last shard of a recording process.

    >>> parts = last_parts([Path(f"rollouts-0000000{shard}-00000{part}.parquet") for shard, part in ("a1", "a2", "b1")])
    >>> sorted(str(each) for each in parts)
    ['rollouts-0000000a-000002.parquet', 'rollouts-0000000b-000001.parquet']
    """
    last: dict[tuple[Path, str], Path] = {}
    for file in sorted(files):  # by name, in which the number of the shard has six digits
        named = _PART.fullmatch(file.name)
        if named:
            last[file.parent, named[1]] = file
    return set(last.values())


class GrowingRollouts:
    """The last shard of a recording process, read into memory when it is opened: some thousand rows."""

    def __init__(self, path: Path) -> None:
        self.path, self.table = path, ParquetTable(path)
        batches = [batch.whole for batch in self.table.batches()]
        self.held = pa.Table.from_batches(batches).replace_schema_metadata(None)
        self.columns = tuple(self.held.column_names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows with these columns; columns that the file lacks are null.

        Raises:
            TableError: a column is not of the type that recorders write.
        """
        arrays = []
        for name in columns:
            kind = COLUMNS.get(name, self.held.schema.field(name).type if name in self.columns else pa.string())
            try:
                column = self.held[name].cast(kind) if name in self.columns else pa.nulls(len(self.held), kind)
            except pa.ArrowException:
                wrong = f"column {name} holds {self.held[name].type}; expected {kind}, as recorders write it"
                raise TableError(f"{self.path}: {wrong}") from None
            arrays.append(column)
        yield from pa.table(dict(zip(columns, arrays, strict=True))).to_batches()


def quoted(name: str) -> str:
    """Return a column's name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def _escaped(path: str) -> str:
    """Return a path in which DuckDB finds no pattern for several files."""
    return "".join(f"[{each}]" if each in "[*?" else each for each in path)
