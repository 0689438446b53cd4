"""Aggregate rollouts by sample: the statistics for selection, transitions and reports."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from grounding_rewards.arrays import read_only
from grounding_rewards.catalogue import RecordedName
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import PoolError, TargetError, near
from grounding_rewards.pool.sql import (
    HASH,
    LARGEST_TOTAL,
    TOTAL,
    answered_by,
    cells_of,
    counts,
    other_columns,
)
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.target_boxes import not_installed, shares, target_boxes
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.base import Note
from grounding_rewards.tables.launches import several_runs
from grounding_rewards.tables.rollout_sql import quoted
from grounding_rewards.tables.rollout_table import RolloutTable

ALL = tuple(column.name for column in fields(SampleStats))
"""Every column of statistics."""

_TARGETS = ("target_area", "target_diagonal")
_CHECKED = ("wrong", "source", "unnamed", "several", "other", "unclear")
_OF_TOTALS = {"mean", "variance", "lowest", "highest"}
_OF_CELLS = ("cells", "cell_entropy", "cell_rarity")
_READ = ("target", "image_size", "recipe")
_KEY = ("sample_id", "acc", "total", "round", "rollout", "temperature")
_OUTSIDE = 2.0  # images away from the corner, where clicks of an honest miss do not lie
_USED = (*_KEY, "reason", "x_unit", "y_unit", "response", *_READ)


def stats_of(
    table: RolloutTable,
    *,
    rounds: Collection[int] | None = None,
    temperature: float | None = None,
    by: str = "source",
    columns: Collection[str] = ALL,
    target_space: CoordSpace | str | None = None,
    recipe: Recipe | None = None,
    warn: Note = lambda text: None,
) -> SampleStats:
    r"""Return statistics of the samples of a rollout table, one row a sample, sorted by name.

    Rollouts of all rounds count together, unless ``rounds`` chooses some. Results do not depend on the order of
    rollouts, to the last bit: means and variances are exact sums of totals rounded to 2^-60 and 2^-40 of the largest,
    of 1 at least.

    Args:
        table: rollouts; they need ``sample_id`` and ``acc``.
        rounds: the rounds that count; None for all.
        temperature: the sampling temperature that counts; None for all.
        by: the column that becomes ``source``, any of the table.
        columns: the columns to compute beside ``n``, ``num_correct`` and ``unscored``; fewer are faster. Without
            ``sample_id`` there are neither names nor an order.
        target_space: the space of targets that name none; None for their recipe's.
        recipe: the recipe whose form and space targets have, where rollouts name none that is built in or installed.
            A name in the table is only looked up; it never loads code.
        warn: takes warnings: on directories that several launches recorded into, and on recipes that are not
            installed, whose targets are not read.

    Raises:
        TableError: a file cannot be read, or lacks a column.
        PoolError: a rollout comes twice, has no sample, or its ``acc`` is neither 0, 1 nor null; no rollout is left.

    >>> import pathlib, tempfile
    >>> from grounding_rewards.tables.rollout_table import open_rollouts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "rollouts.jsonl")
    ...     _ = file.write_text('{"sample_id": "b", "acc": 1}\n{"sample_id": "a", "acc": null}\n')
    ...     stats = stats_of(open_rollouts([file]))
    >>> stats.sample_id.tolist(), stats.n.tolist(), stats.num_correct.tolist()
    (['a', 'b'], [0, 1], [0, 1])
    """
    _check_arguments(rounds, temperature, columns)
    chosen_by = {"round": rounds, "temperature": temperature, by: None if by == "source" else by}
    table.need("sample_id", "acc", *(name for name, value in chosen_by.items() if value is not None))
    if text := several_runs(table.files):
        warn(text)
    where = _where(rounds, temperature)
    wanted = {*columns, *(_READ if set(_TARGETS) & set(columns) else ())}
    largest, rounds_differ = _extent(table, where, totals=bool(wanted & _OF_TOTALS))
    table.check_names()  # 1 and '1' would be one sample in SQL
    answered, named = bool(wanted & set(_OF_CELLS)) and bool(answered_by(table.columns)), "sample_id" in wanted
    chosen = counts(table.columns, by if "source" in wanted else None, names=named, rounds=rounds_differ)
    chosen |= {name: sql for name, sql in other_columns(table.columns, largest).items() if name in wanted}
    chosen |= {"key": HASH} if answered else {}
    # Sorting millions of names is slow, so only where it is needed.
    order = " ORDER BY sample_id" if answered or named else ""
    used = [name for name in dict.fromkeys((*_USED, by)) if name in table.columns]
    sql = f"SELECT {_listed(chosen)} FROM {{rollouts}}{where} GROUP BY sample_id{order}"
    # Closed before the checks below, for a table answers nothing else while it streams.
    with closing(table.stream(sql, used)) as batches:
        parts, suspicious = _gathered(batches, _Reading(target_space, recipe, warn))
    if not parts:
        raise PoolError(_none_left(table, rounds, temperature))
    _check(table, where, suspicious, by)
    if answered:
        keys = np.concatenate(parts.pop("key"))
        parts |= _cells(table, where, [name for name in _OF_CELLS if name in wanted], keys)
    # ``pop`` frees a column's batches once they are joined, so that only one column is held twice.
    stats = SampleStats(**{name: np.concatenate(parts.pop(name)) for name in list(parts)})
    read_only(*vars(stats).values())
    if text := _far(stats):
        warn(text)
    return stats


def _far(stats: SampleStats) -> str:
    """Return a warning of clicks that are no shares of the image; "" where most are."""
    places = np.maximum(np.abs(stats.x_unit), np.abs(stats.y_unit))
    known = int((~np.isnan(places)).sum())
    far = int((places > _OUTSIDE).sum())
    if 2 * far <= known or not known:
        return ""
    return (
        f"{far} of {known} samples have clicks beyond {_OUTSIDE:g} in x_unit or y_unit; expected shares of the image, "
        "0 to 1: divide pixels by the image's sides and thousandths by 1000, or suspects and answers are miscounted"
    )


def _check_arguments(rounds: Collection[Any] | None, temperature: Any, columns: Collection[str]) -> None:
    for number in rounds or ():
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise PoolError(f"rounds: got {number!r:.80}; expected whole numbers")
    if temperature is not None and not math.isfinite(temperature):
        raise PoolError(f"temperature: got {temperature}; expected a finite number")
    for name in [columns] if isinstance(columns, str) else columns:  # a text is a collection too: of letters
        if name not in ALL or name is columns:
            hint = "" if name in ALL else near(name, ALL)
            raise PoolError(f"columns: got {name!r:.80}{hint or ';'} expected a list of these: {', '.join(ALL)}")


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {quoted(name)}" for name, sql in columns.items())


def _where(rounds: Collection[int] | None, temperature: float | None) -> str:
    conditions = []
    if rounds is not None:
        conditions.append(f"round IN ({', '.join(str(int(number)) for number in rounds) or 'NULL'})")  # IN () is no SQL
    if temperature is not None:
        conditions.append(f"abs(temperature - {float(temperature)!r}) < 1e-6")  # 32-bit columns hold 0.7 inexactly
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _extent(table: RolloutTable, where: str, *, totals: bool) -> tuple[float, bool]:
    """Return the size of the largest total, if totals are needed, and True for rollouts of several rounds."""
    needed = [name for name in ("acc", "round", "temperature", *(["total"] if totals else ())) if name in table.columns]
    largest = f"max(abs({TOTAL}))" if "total" in needed else "0.0"
    number = "coalesce(round, -1)" if "round" in needed else "0"  # nulls are a round too; min and max pass them over
    sql = f"SELECT {largest} AS largest, min({number}) <> max({number}) AS rounds FROM {{rollouts}}{where}"
    extent = table.query(sql, needed).to_pylist()[0]
    if extent["largest"] and not extent["largest"] < LARGEST_TOTAL:  # so written that NaN fails as well
        raise _wrong(
            table, where, "total", f"abs({TOTAL}) >= {LARGEST_TOTAL!r}", "a number of a size below 1e12, or null"
        )
    return float(extent["largest"] or 0.0), bool(extent["rounds"])


def _wrong(table: RolloutTable, where: str, name: str, condition: str, expected: str) -> PoolError:
    joined = f"{where} AND" if where else " WHERE"
    needed = [name for name in _KEY if name in table.columns]
    sql = f"SELECT sample_id, {name} AS value FROM {{rollouts}}{joined} {condition} ORDER BY 1, 2 LIMIT 1"
    first = table.query(sql, needed).to_pylist()[0]
    return PoolError(
        f"{_paths(table)}: {name} of a rollout of sample {first['sample_id']!r}: got {first['value']:g}; "
        f"expected {expected}"
    )


def _paths(table: RolloutTable) -> str:
    return ", ".join(map(str, table.paths))


def _gathered(
    batches: Iterable[pa.RecordBatch], reading: _Reading
) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
    """Gather columns of statistics batch by batch (whole tables are large), and the rows that need a check."""
    parts: dict[str, list[Any]] = {}
    suspicious: list[dict[str, Any]] = []
    for batch in batches:
        grouped = pa.Table.from_batches([batch])
        suspicious += (
            grouped.filter(_suspicious(grouped))
            .select([name for name in _CHECKED if name in grouped.column_names])
            .to_pylist()
        )
        columns = {name: _array(name, grouped[name]) for name in grouped.column_names if name in (*ALL, "key")}
        columns.setdefault("sample_id", np.broadcast_to(np.array(None, dtype=np.object_), len(grouped)))
        if "target" in grouped.column_names:
            columns |= reading.targets(grouped)
        for name, column in columns.items():
            parts.setdefault(name, []).append(column)
    reading.describe()
    return parts, suspicious


def _cells(table: RolloutTable, where: str, wanted: Sequence[str], keys: NDArray[np.uint64]) -> dict[str, list[Any]]:
    """Return statistics of answers, in the order of the other columns, whose samples have these keys."""
    place = answered_by(table.columns)
    needed = [name for name in ("sample_id", "acc", "round", "temperature", *place) if name in table.columns]
    answers = table.query(cells_of(table.columns, where, HASH), needed)
    order = np.argsort(keys)
    if not np.array_equal(answers["key"].to_numpy(), keys[order]):  # two names have one hash
        answers, order = table.query(cells_of(table.columns, where, "sample_id"), needed), np.arange(len(keys))
    rows = np.empty_like(order)
    rows[order] = np.arange(len(order))
    return {name: [_array(name, answers[name])[rows]] for name in wanted}


def _suspicious(grouped: pa.Table) -> pa.ChunkedArray:
    """Mark samples without a name, with an ``acc`` neither 0 nor 1, with several sources, or with repeated rollouts."""
    suspicious = pc.or_(grouped["unnamed"], pc.greater(grouped["wrong"], 0))
    for name in ("several", "unclear"):
        suspicious = pc.or_(suspicious, grouped[name].is_valid()) if name in grouped.column_names else suspicious
    return suspicious


def _check(table: RolloutTable, where: str, suspicious: list[dict[str, Any]], by: str) -> None:
    """Check that every rollout has a sample, is right or not, and is there once, and each sample one source."""
    if any(row["unnamed"] for row in suspicious):
        raise PoolError(f"{_paths(table)}: some rollouts have no sample_id; expected the name of the sample in each")
    if any(row["wrong"] for row in suspicious):
        raise _wrong(table, where, "acc", "acc <> 0 AND acc <> 1", "0 or 1, or null where it was not scored")
    several = [row for row in suspicious if row.get("several") is not None]
    for row in sorted(several, key=itemgetter("several"))[:1]:  # the same sample in every order of rollouts
        raise PoolError(
            f"{_paths(table)}: sample {row['several']!r} has several values of {by}, {row['source']!r} and "
            f"{row['other']!r}; expected one: samples of one name count as one, so tell them apart by their names"
        )
    unclear = [row["unclear"] for row in suspicious if row.get("unclear") is not None]
    if unclear:
        table.check_once(where, unclear)  # numbers that are equal modulo 64 need not be equal


def _none_left(table: RolloutTable, rounds: Collection[int] | None, temperature: float | None) -> str:
    asked, there = "", list[str]()
    if rounds is not None:
        asked += f" of round {', '.join(map(str, rounds)) or '(none)'}"
        there.append(f"rounds that are there: {_known(table.rounds())}")
    if temperature is not None:
        asked += f" at temperature {temperature:g}"
        of_these = "" if rounds is None else " in these rounds"
        there.append(f"temperatures that are there{of_these}: {_known(table.temperatures(rounds))}")
    return "; ".join([f"{_paths(table)}: no rollouts{asked}", *there])


def _known(values: Iterable[float | None]) -> str:
    return ", ".join(f"{value:g}" for value in values if value is not None) or "none"


def _array(name: str, column: pa.ChunkedArray) -> Any:
    if name == "source":  # few texts for many samples: decode each once
        coded = column.combine_chunks().dictionary_encode()
        texts = np.array([*coded.dictionary.to_pylist(), None], dtype=np.object_)
        return texts[coded.indices.fill_null(len(texts) - 1).to_numpy()]
    if pa.types.is_string(column.type):
        return column.to_numpy(zero_copy_only=False).astype(np.object_, copy=False)
    if name in ("distinct", "cells", "round"):
        column = column.fill_null(-1)  # integers have no NaN
    return np.array(column.to_numpy(zero_copy_only=False))  # a copy, for a view would keep the whole batch in memory


@dataclass
class _Reading:
    """Reader of a table's targets, batch by batch; collects recipes that are not installed."""

    target_space: CoordSpace | str | None
    recipe: Recipe | None
    warn: Note
    unknown: dict[str, int] = field(default_factory=dict)
    unreadable: int = 0
    first: str = ""

    def targets(self, known: pa.Table) -> dict[str, Any]:
        """Return sizes of targets, NaN where they cannot be read."""
        # NaN stands for the size that the target itself names.
        sizes = np.array([size or (np.nan, np.nan) for size in known["image_size"].to_pylist()], dtype=np.float64)
        names = [None if text is None else RecordedName(text) for text in known["recipe"].to_pylist()]
        errors: dict[int, TargetError] = {}
        boxes = target_boxes(known["target"].to_pylist(), sizes, names, self.target_space, self.recipe, errors)
        if errors and not self.unreadable:  # only the first one is shown
            row, error = min(errors.items())
            sample = known["sample_id"][row].as_py() if "sample_id" in known.column_names else row
            self.first = str(error.named(sample))
        self.unreadable += len(errors)
        area, diagonal = shares(boxes, sizes)
        unread = [name for name, size in zip(names, area.tolist(), strict=True) if size != size]  # NaN: not read
        for text in not_installed(unread):
            self.unknown[text] = self.unknown.get(text, 0) + unread.count(RecordedName(text))
        return {"target_area": area, "target_diagonal": diagonal}

    def describe(self) -> None:
        """Warn of targets that cannot be read, and of recipes that are not installed and whose targets are not read."""
        if self.unreadable:
            self.warn(f"{self.unreadable} samples have a target that cannot be read, the first: {self.first}")
        # With a space, or a recipe of the caller's, targets of unknown recipes are read as well.
        if self.unknown and self.target_space is None and self.recipe is None:
            some = ", ".join(f"{name!r:.80}" for name in sorted(self.unknown)[:3])
            self.warn(
                f"{sum(self.unknown.values())} samples have a target that is not read, because their recipe is neither "
                f"built in nor installed, and a name in a file is never loaded as code: {some}; totals and acc are the "
                "table's own; for the sizes of their targets give --recipe NAME or --target-space SPACE"
            )
