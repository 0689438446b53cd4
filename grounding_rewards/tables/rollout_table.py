"""Rollouts from any files: Parquet, JSON lines, what adapters record and what trainers log, read as one table."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from grounding_rewards.errors import PoolError, TableError, near
from grounding_rewards.tables.arrow_rows import first_line
from grounding_rewards.tables.contents import PARQUET
from grounding_rewards.tables.data_paths import not_there
from grounding_rewards.tables.interrupting import interruptible
from grounding_rewards.tables.manifests import check_finished, files_of_rows, fingerprint, refuse_stream
from grounding_rewards.tables.object_stores import local
from grounding_rewards.tables.opening import open_table
from grounding_rewards.tables.rollout_columns import CORRECT, KEY, PLACES
from grounding_rewards.tables.rollout_sql import (
    FileRollouts,
    JsonRollouts,
    ParquetRollouts,
    connected,
    last_parts,
    quoted,
)
from grounding_rewards.tables.rows import NoRowsError
from grounding_rewards.tables.trainer_logs import trainer_log

if TYPE_CHECKING:
    from grounding_rewards.tables.matched import MatchedTable

_ROWS = 1 << 16
_FIXES = {  # columns that responses lack, and what writes them
    "acc": "; score them first: `grounding-rewards pool score`",
    "sample_id": "; make a rollout table of them: `grounding-rewards pool score`",
}


class RolloutTable:
    """Rollouts of one or more files, a row a rollout; ``identity`` is what manifests say beside the files."""

    identity: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, paths: Sequence[Path], files: Sequence[Path], each: Sequence[FileRollouts]) -> None:
        self.paths, self.files, self.each = tuple(paths), tuple(files), tuple(each)
        self._lock = threading.Lock()  # one connection answers one query at a time

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that any file has; ``acc`` also stands for a column ``correct``."""
        return tuple(dict.fromkeys("acc" if name == CORRECT else name for each in self.each for name in each.columns))

    def need(self, *names: str) -> None:
        """Check that every file has these columns."""
        for each in self.each:
            for name in names:
                taken = (name, CORRECT) if name == "acc" else (name,)
                known = each.columns
                if {*taken}.isdisjoint(known):
                    hint = near(name, known) or (near(CORRECT, known) if name == "acc" else "") or "."
                    fix = _FIXES.get(name, "") if "response" in known else ""
                    there = ", ".join(known) or "none"
                    raise TableError(f"{each.path}: no column {name!r}{fix}{hint} It has: {there}")

    def __str__(self) -> str:
        return ", ".join(map(str, self.paths))

    def query(self, sql: str, columns: Sequence[str], parameters: Sequence[Any] = ()) -> pa.Table:
        """Return the result of a query of ``{rollouts}``, these rows with these columns."""
        with self._lock, self._readable():
            asked, connection = self._filled(sql, columns), self._connection
            return interruptible(connection, lambda: connection.sql(asked, params=list(parameters)).to_arrow_table())

    def stream(self, sql: str, columns: Sequence[str]) -> Generator[pa.RecordBatch, None, None]:
        """The same in batches; other queries may be made meanwhile."""
        with self._lock:
            asked = self._filled(sql, columns)
            own = self._connection.cursor()  # a result that is being read holds its connection
        with closing(own), self._readable():
            yield from _batches(own, asked)

    def read(
        self, columns: Sequence[str], *, samples: Collection[Any] | None = None, rounds: Collection[int] | None = None
    ) -> pa.Table:
        """Some columns of all rows, or of some samples and rounds, by sample, round and rollout."""
        wanted = tuple(dict.fromkeys([*columns, *KEY]))
        where, parameters = list[str](), list[Any]()
        if samples is not None:
            where.append("sample_id IN (SELECT unnest(?::VARCHAR[]))")
            parameters.append([str(sample) for sample in samples])
        if rounds is not None:
            where.append("round IN (SELECT unnest(?::BIGINT[]))")
            parameters.append(list(rounds))
        chosen = ", ".join(map(quoted, dict.fromkeys(columns)))
        order = ", ".join([*KEY, *(quoted(name) for name in columns if name not in KEY)])
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        return self.query(f"SELECT {chosen} FROM {{rollouts}}{condition} ORDER BY {order}", wanted, parameters)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows, file by file and in the order of each; null in those that a file lacks."""
        for each in self.each:
            with closing(connected(ordered=True)) as connection, self._readable():
                yield from _batches(connection, each.sql(columns))

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
        """Check that the names of samples are texts in all files, or whole numbers in all."""
        numbers = {each.names_are_numbers: each for each in self.each}
        if len(numbers) > 1:
            paths = {kind: each.path for kind, each in numbers.items()}
            raise TableError(
                f"sample_id is a whole number in {paths[True]} and a text in {paths[False]}; write all as texts, or "
                "two samples, such as 1 and '1', would be taken for one"
            )

    def check_once(self, where: str = "", names: Sequence[str] | None = None) -> None:
        """Check that no (sample, round, rollout) is there twice among rows by SQL ``where``, or of some samples."""
        key = f"sample_id, {'round' if 'round' in self.columns else 'NULL::BIGINT AS round'}, rollout"
        joined = f"{where} AND" if where else " WHERE"
        chosen = "IS NOT NULL" if names is None else "IN (SELECT unnest(?))"
        sql = (
            f"SELECT {key}, count(*) AS times FROM {{rollouts}}{joined} rollout IS NOT NULL AND sample_id {chosen} "
            "GROUP BY ALL HAVING count(*) > 1 ORDER BY 1, 2, 3 LIMIT 1"
        )
        needed = [name for name in (*KEY, "temperature") if name in self.columns]
        twice = self.query(sql, needed, [] if names is None else [list(names)]).to_pylist()
        if twice:
            sample, number, rollout, count = twice[0].values()
            of_round = "" if number is None else f"round {number}, "
            raise PoolError(
                f"{self}: sample {sample!r}, {of_round}rollout {rollout} is there {count} times; "
                "expected each rollout once: give each file once, and tell rounds apart by a column round"
            )

    def _counts(self, name: str, rounds: Collection[int] | None) -> dict[Any, int]:
        own = f"round(temperature, {PLACES})" if name == "temperature" else name
        key = own if name in self.columns else "NULL::BIGINT"
        used = [each for each in (name, "round") if each in self.columns]
        where = "" if rounds is None else " WHERE round IN (SELECT unnest(?::BIGINT[]))"
        sql = f"SELECT {key} AS key, count(*) AS rows FROM {{rollouts}}{where} GROUP BY 1 ORDER BY 1 NULLS FIRST"
        counts = self.query(sql, used, [] if rounds is None else [list(rounds)])
        return dict(zip(counts["key"].to_pylist(), counts["rows"].to_pylist(), strict=True))

    def _filled(self, sql: str, columns: Sequence[str]) -> str:
        return sql.replace("{rollouts}", f"({' UNION ALL '.join(each.sql(columns) for each in self.each)})")

    @cached_property
    def _connection(self) -> Any:
        return connected(ordered=False)  # order takes memory; queries order their rows themselves

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            said = str(error).removeprefix("Invalid Input Error: ")
            if said.startswith(tuple(f"{each.path}, row " for each in self.each)):  # what its own query found
                raise TableError(said) from None
            raise TableError(f"{self}: cannot be read ({first_line(error)})") from None


class MatchedRollouts(RolloutTable):
    """Rollouts of a joined table; other columns of the id make other rollouts of the same files."""

    def __init__(self, table: MatchedTable) -> None:
        super().__init__(table.inputs, table.files, [JsonRollouts(table)])
        ids = {"annotations": list(table.ours), "predictions": list(table.theirs)}
        self.identity = {"id": ids, "joined": asdict(table.counts)}


def open_rollouts(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> RolloutTable:
    """Open rollouts: files of rows, directories of Parquet or JSON lines that adapters record, and trainers' logs."""
    places = [local(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if not places:
        raise TableError("no rollouts are given; expected files of them, or directories that adapters record")
    files, rollouts = list[Path](), list[FileRollouts]()
    for path in places:
        _open(path, files, rollouts)
    _check_once(files)
    return RolloutTable(places, files, rollouts)


def _check_once(files: Sequence[Path]) -> None:
    firsts: dict[Path, Path] = {}
    for file in files:
        first = firsts.setdefault(Path(os.path.realpath(file)), file)
        if first is not file:
            both = f"{file}: is given twice" if file == first else f"{file} and {first} are one file"
            raise TableError(f"{both}; its rollouts would count twice")


def _open(path: Path, files: list[Path], rollouts: list[FileRollouts]) -> None:
    refuse_stream(path)
    if not path.exists():
        check_finished(path)
        name, _, number = str(path).rpartition("@")  # other commands take PATH@ROUND
        of_round = number.isdecimal() and Path(name).exists()
        hint = f"; for one round of {name} name it by --round {number}" if of_round else ""
        raise TableError(f"{path}: {not_there(path)}{hint}")
    log = trainer_log(path)
    if log is not None:
        files.extend(log.files)
        rollouts.append(FileRollouts(log))
        return
    paths = files_of_rows(path)
    before, growing = len(rollouts), last_parts(paths)
    for file in paths:
        try:
            table = open_table(file)
        except NoRowsError:
            if len(paths) == 1:  # among others an empty file is none to stop at
                raise
            continue
        files.append(file)
        of_parquet = file.suffix.lower() in PARQUET
        rollouts.append(ParquetRollouts(file, held=file in growing) if of_parquet else JsonRollouts(table))
    if len(rollouts) == before:
        raise NoRowsError(f"{path}: no rollouts are there; expected files that end in .parquet or .jsonl")


def _batches(connection: Any, sql: str) -> Iterator[Any]:
    reader = interruptible(connection, _reader, connection, sql)
    while (batch := interruptible(connection, next, reader, None)) is not None:
        yield batch


def _reader(connection: Any, sql: str) -> Iterator[Any]:
    """The same in batches, by the name that this version of DuckDB has for it."""
    relation = connection.sql(sql)
    names = ("to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader")
    return iter(getattr(relation, next(name for name in names if hasattr(relation, name)))(_ROWS))
