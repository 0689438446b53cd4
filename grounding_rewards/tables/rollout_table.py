r"""Rollouts from any files: Parquet, JSON lines, what adapters record and what trainers log, read as one table.

>>> import pathlib, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     file = pathlib.Path(folder, "rollouts.jsonl")
...     _ = file.write_text('{"sample_id": "b", "correct": true}\n{"sample_id": "a", "correct": null}\n')
...     open_rollouts([file]).read(["sample_id", "acc"]).to_pylist()
[{'sample_id': 'a', 'acc': None}, {'sample_id': 'b', 'acc': 1.0}]
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol
from uuid import uuid4

import duckdb
import pyarrow as pa

from grounding_rewards.errors import PoolError, TableError, near
from grounding_rewards.tables.base import NoRowsError
from grounding_rewards.tables.data_paths import not_there
from grounding_rewards.tables.files import PARQUET, open_table
from grounding_rewards.tables.interrupting import interruptible
from grounding_rewards.tables.manifests import check_finished, files_of_rows, fingerprint, refuse_stream
from grounding_rewards.tables.parquet import first_line
from grounding_rewards.tables.rollout_columns import COLUMNS, CORRECT, PLACES
from grounding_rewards.tables.rollout_parquet import GrowingRollouts, ParquetRollouts, last_parts, quoted
from grounding_rewards.tables.rollout_rows import JsonRollouts
from grounding_rewards.tables.trainer_logs import trainer_log

MEMORY = "512MB"
"""Bound on the memory of a query; the rest goes to files in the system's place for them."""

_ROWS = 1 << 16
_KEY = ("sample_id", "round", "rollout")


class Rows(Protocol):
    """Rollouts that come in batches: a file of JSON, or a trainer's log."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns."""
        ...

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns; null where a row lacks one."""
        ...


class RolloutTable:
    """Rollouts of one or more files, a row a rollout: those of Parquet, and rows of other files and logs.

    ``identity`` holds what manifests say of them beside their files.
    """

    identity: Mapping[str, Any] = MappingProxyType({})

    def __init__(
        self, paths: Sequence[Path], files: Sequence[Path], parquet: Sequence[ParquetRollouts], rows: Sequence[Rows]
    ) -> None:
        self.paths, self.files, self.parquet, self.rows = tuple(paths), tuple(files), tuple(parquet), tuple(rows)
        self._held: dict[str, None] | None = None
        self._lock = threading.Lock()  # one connection answers one query at a time

    @property
    def _each(self) -> tuple[Any, ...]:
        return (*self.parquet, *self.rows)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that any file has; ``acc`` also stands for a column ``correct``."""
        return tuple(dict.fromkeys("acc" if name == CORRECT else name for each in self._each for name in each.columns))

    def need(self, *names: str) -> None:
        """Check that every file has these columns.

        Raises:
            TableError: one lacks one; names the file, and the columns that it has.
        """
        for each in self._each:
            for name in names:
                taken = (name, CORRECT) if name == "acc" else (name,)
                if not set(taken) & set(each.columns):
                    raise self._lacks(each, name, each.columns)

    def _lacks(self, each: Any, name: str, known: Sequence[str]) -> TableError:
        hint = near(name, known) or (near(CORRECT, known) if name == "acc" else "") or "."
        fix = "; score them first: `grounding-rewards pool score`" if name == "acc" and "response" in known else ""
        return TableError(f"{each.path}: no column {name!r}{fix}{hint} It has: {', '.join(known) or 'none'}")

    def query(self, sql: str, columns: Sequence[str], parameters: Sequence[Any] = ()) -> pa.Table:
        """Return the result of a query of ``{rollouts}``, these rows with these columns.

        Raises:
            TableError: a file cannot be read.
        """
        with self._lock, self._readable():
            sql = sql.replace("{rollouts}", f"({self._relation(columns)})")
            return interruptible(self._connection, _table, self._connection, sql, list(parameters))

    def stream(self, sql: str, columns: Sequence[str]) -> Generator[pa.RecordBatch, None, None]:
        """The same in batches; other queries may be made meanwhile."""
        with self._lock:
            sql = sql.replace("{rollouts}", f"({self._relation(columns)})")
            own = self._connection.cursor()  # a result that is being read holds its connection
        with closing(own), self._readable():
            yield from _batches(own, sql)

    def read(
        self,
        columns: Sequence[str],
        *,
        samples: Collection[Any] | None = None,
        rounds: Collection[int] | None = None,
    ) -> pa.Table:
        """Some columns of all rows, or of those of some samples and rounds, by sample, round and rollout.

        Columns that no file has are null.
        """
        wanted = tuple(dict.fromkeys([*columns, *_KEY]))
        where, parameters = list[str](), list[Any]()
        if samples is not None:
            where.append("sample_id IN (SELECT unnest(?::VARCHAR[]))")
            parameters.append([str(sample) for sample in samples])
        if rounds is not None:
            where.append("round IN (SELECT unnest(?::BIGINT[]))")
            parameters.append(list(rounds))
        chosen = ", ".join(map(quoted, dict.fromkeys(columns)))
        order = ", ".join([*_KEY, *(quoted(name) for name in columns if name not in _KEY)])
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        return self.query(f"SELECT {chosen} FROM {{rollouts}}{condition} ORDER BY {order}", wanted, parameters)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows, file by file and in the order of each; null in those that a file lacks."""
        for parquet in self.parquet:
            with closing(_connected(ordered=True)) as connection, self._readable():
                yield from _batches(connection, parquet.sql(columns))
        for rows in self.rows:
            yield from rows.batches(columns)

    def rounds(self, rounds: Collection[int] | None = None) -> dict[int | None, int]:
        """Count the rows of each round, or of some rounds."""
        return self._counts("round", rounds)

    def temperatures(self, rounds: Collection[int] | None = None) -> dict[float | None, int]:
        """Count the rows, or those of some rounds, that were sampled at each temperature, to six decimal places."""
        return self._counts("temperature", rounds)

    def policies(self, rounds: Collection[int] | None = None) -> set[str]:
        """Return the policies that rows name, or those of some rounds."""
        return {policy for policy in self._counts("policy", rounds) if policy is not None}

    def inputs(self) -> list[dict[str, Any]]:
        """Return ``fingerprint`` of each path, for manifests."""
        return [
            fingerprint(path, [file for file in self.files if path in (file, *file.parents)]) for path in self.paths
        ]

    def check_names(self) -> None:
        """Check that the names of samples are texts in all files, or whole numbers in all.

        Raises:
            TableError: they are not.
        """
        numbers = {getattr(each, "names_are_numbers", False): each for each in self._each}
        if len(numbers) > 1:
            paths = {kind: each.path for kind, each in numbers.items()}
            raise TableError(
                f"sample_id is a whole number in {paths[True]} and a text in {paths[False]}; write all as texts, or "
                "two samples, such as 1 and '1', would be taken for one"
            )

    def check_once(self, where: str = "", names: Sequence[str] | None = None) -> None:
        """Check that no (sample, round, rollout) is there twice; rows without a number may be.

        ``where`` chooses rows, in SQL from WHERE on; ``names`` chooses samples.

        Raises:
            PoolError: one is.
        """
        key = f"sample_id, {'round' if 'round' in self.columns else 'NULL::BIGINT AS round'}, rollout"
        joined = f"{where} AND" if where else " WHERE"
        chosen = "IS NOT NULL" if names is None else "IN (SELECT unnest(?))"
        sql = (
            f"SELECT {key}, count(*) AS times FROM {{rollouts}}{joined} rollout IS NOT NULL AND sample_id {chosen} "
            "GROUP BY ALL HAVING count(*) > 1 ORDER BY 1, 2, 3 LIMIT 1"
        )
        needed = [name for name in ("sample_id", "round", "rollout", "temperature") if name in self.columns]
        twice = self.query(sql, needed, [] if names is None else [list(names)]).to_pylist()
        if twice:
            sample, number, rollout, count = twice[0].values()
            of_round = "" if number is None else f"round {number}, "
            paths = ", ".join(map(str, self.paths))
            raise PoolError(
                f"{paths}: sample {sample!r}, {of_round}rollout {rollout} is there {count} times; "
                "expected each rollout once: give each file once, and tell rounds apart by a column round"
            )

    def _counts(self, name: str, rounds: Collection[int] | None) -> dict[Any, int]:
        own = f"round(temperature, {PLACES})" if name == "temperature" else name
        key = own if name in self.columns else "NULL::BIGINT"
        # One at least: a query of the rows that are no Parquet selects columns by name.
        used = [each for each in (name, "round") if each in self.columns] or ["sample_id"]
        where = "" if rounds is None else " WHERE round IN (SELECT unnest(?::BIGINT[]))"
        sql = f"SELECT {key} AS key, count(*) AS rows FROM {{rollouts}}{where} GROUP BY 1 ORDER BY 1 NULLS FIRST"
        counts = self.query(sql, used, [] if rounds is None else [list(rounds)])
        return dict(zip(counts["key"].to_pylist(), counts["rows"].to_pylist(), strict=True))

    def _relation(self, columns: Sequence[str]) -> str:
        parts = [each.sql(columns) for each in self.parquet]
        if self.rows:
            self._hold(columns)
            parts.append(f"SELECT {', '.join(map(quoted, columns))} FROM held")
        return " UNION ALL ".join(parts)

    def _hold(self, columns: Sequence[str]) -> None:
        """Make a table ``held`` of the rows that are not Parquet, with at least these columns."""
        if self._held is not None and set(columns) <= set(self._held):
            return
        # All columns of rollouts at once, so that further queries need no further pass over the files.
        wanted = dict.fromkeys([*(self._held or ()), *(name for name in COLUMNS if name in self.columns), *columns])
        self._run("DROP TABLE IF EXISTS held")
        put = "CREATE TABLE held AS"
        for batches in (rows.batches(list(wanted)) for rows in self.rows):
            while some := _some(batches):
                self._connection.register("arriving", pa.Table.from_batches(some))
                self._run(f"{put} SELECT * FROM arriving")
                self._connection.unregister("arriving")
                put = "INSERT INTO held"
        self._held = wanted

    @cached_property
    def _connection(self) -> Any:
        return _connected(ordered=False)  # order takes memory; queries order their rows themselves

    def _run(self, sql: str) -> None:
        with self._readable():
            interruptible(self._connection, self._connection.execute, sql)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            raise TableError(f"{', '.join(map(str, self.paths))}: cannot be read ({first_line(error)})") from None


def open_rollouts(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> RolloutTable:
    """Open rollouts.

    Args:
        paths: files of rows as ``open_table`` reads them, directories of Parquet or JSON lines, such as adapters
            record, and trainers' logs.

    Raises:
        TableError: a path is not there, cannot be read, holds no rows, comes twice, or a run has yet to finish it.
    """
    places = [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if not places:
        raise TableError("no rollouts are given; expected files of them, or directories that adapters record")
    files, parquet, rows = list[Path](), list[ParquetRollouts](), list[Rows]()
    for path in places:
        _open(path, files, parquet, rows)
    _check_once(files)
    return RolloutTable(places, files, parquet, rows)


def _check_once(files: Sequence[Path]) -> None:
    firsts: dict[Path, Path] = {}
    for file in files:
        first = firsts.setdefault(Path(os.path.realpath(file)), file)
        if first is not file:
            both = f"{file}: is given twice" if file == first else f"{file} and {first} are one file"
            raise TableError(f"{both}; its rollouts would count twice")


def _open(path: Path, files: list[Path], parquet: list[ParquetRollouts], rows: list[Rows]) -> None:
    refuse_stream(path)
    if not path.exists():
        check_finished(path)
        name, _, number = str(path).rpartition("@")  # other commands take PATH@ROUND
        hint = (
            f"; for one round of {name} name it by --round {number}"
            if number.isdecimal() and Path(name).exists()
            else ""
        )
        raise TableError(f"{path}: {not_there(path)}{hint}")
    log = trainer_log(path)
    if log is not None:
        files.extend(log.files)
        rows.append(log)
        return
    paths = files_of_rows(path)
    before, growing = len(parquet) + len(rows), last_parts(paths)
    for file in paths:
        try:
            table = open_table(file)
        except NoRowsError:
            if len(paths) == 1:  # among others an empty file is none to stop at
                raise
            continue
        files.append(file)
        if file in growing:
            rows.append(GrowingRollouts(file))
        elif file.suffix.lower() in PARQUET:
            parquet.append(ParquetRollouts(file))
        else:
            rows.append(JsonRollouts(table))
    if len(parquet) + len(rows) == before:
        raise NoRowsError(f"{path}: no rollouts are there; expected files that end in .parquet or .jsonl")


def _connected(*, ordered: bool) -> Any:
    """Return a connection; rows of a file come in their order where it is ``ordered``."""
    scratch = os.path.join(tempfile.gettempdir(), f"grounding-rewards-{uuid4().hex}")  # made where memory is short
    config: dict[str, Any] = {"memory_limit": MEMORY, "temp_directory": scratch, "preserve_insertion_order": ordered}
    connection = duckdb.connect(config=config)
    # Parquet's statistics leave NaN out, and what DuckDB concludes from them is that no number of a file is NaN.
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    return connection


def _some(batches: Iterator[Any]) -> list[Any]:
    """The next batches of some 100,000 rows."""
    first, rows = [], 0
    for batch in batches:
        first.append(batch)
        rows += len(batch)
        if rows >= 2 * _ROWS:
            break
    return first


def _table(connection: Any, sql: str, parameters: list[Any]) -> Any:
    return connection.sql(sql, params=parameters).to_arrow_table()


def _batches(connection: Any, sql: str) -> Iterator[Any]:
    reader = interruptible(connection, _reader, connection, sql)
    while (batch := interruptible(connection, next, reader, None)) is not None:
        yield batch


def _reader(connection: Any, sql: str) -> Iterator[Any]:
    """The same in batches, by the name that this version of DuckDB has for it."""
    relation = connection.sql(sql)
    names = ("to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader")
    return iter(getattr(relation, next(name for name in names if hasattr(relation, name)))(_ROWS))
