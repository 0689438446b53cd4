"""Aggregate rollouts by sample: the statistics for selection, transitions and reports."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from grounding_rewards.actions import objects
from grounding_rewards.arrays import read_only
from grounding_rewards.catalogue import RecordedName, list_recipes
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import PoolError, TargetError, near
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.target_boxes import shares, target_boxes
from grounding_rewards.rollouts import PARSED, Reason
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.launches import several_runs
from grounding_rewards.tables.rollout_sql import quoted
from grounding_rewards.tables.rollout_table import RolloutTable
from grounding_rewards.tables.rows import Note

HISTORY = "history"
ALL = tuple(column.name for column in fields(SampleStats) if column.name != HISTORY)
"""Every column of statistics that files hold."""

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
    """Return statistics of the samples of a rollout table, sorted by name, the same to the bit in any order of rows.

    Without ``sample_id`` among the ``columns`` to compute, there are neither names nor an order.
    """
    _check_arguments(rounds, temperature, columns)
    chosen_by = {"round": rounds, "temperature": temperature, by: None if by == "source" else by}
    table.need("sample_id", "acc", *(name for name, value in chosen_by.items() if value is not None))
    if text := several_runs(table.files):
        warn(text)
    where = _where(rounds, temperature)
    wanted = {*columns, *(_READ if set(_TARGETS) & set(columns) else ())}
    largest = _largest_total(table, where) if wanted & _OF_TOTALS else 0.0
    table.check_names()  # 1 and '1' would be one sample in SQL
    answered, named = bool(wanted & set(_OF_CELLS)) and bool(answered_by(table.columns)), "sample_id" in wanted
    chosen = counts(table.columns, by if "source" in wanted else None, names=named)
    chosen |= {name: sql for name, sql in other_columns(table.columns, largest).items() if name in wanted}
    chosen |= {"key": HASH} if answered else {}
    # Sorting millions of names is slow, so only where it is needed.
    order = " ORDER BY sample_id" if answered or named else ""
    used = [name for name in dict.fromkeys((*_USED, by)) if name in table.columns]
    listed = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in chosen.items())
    sql = f"SELECT {listed} FROM {{rollouts}}{where} GROUP BY sample_id{order}"
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
        if name not in (*ALL, HISTORY) or name is columns:
            hint = "" if name in ALL else near(name, ALL)
            raise PoolError(f"columns: got {name!r:.80}{hint or ';'} expected a list of these: {', '.join(ALL)}")


def _where(rounds: Collection[int] | None, temperature: float | None) -> str:
    conditions = []
    if rounds is not None:
        conditions.append(f"round IN ({', '.join(str(int(number)) for number in rounds) or 'NULL'})")  # IN () is no SQL
    if temperature is not None:
        conditions.append(f"abs(temperature - {float(temperature)!r}) < 1e-6")  # 32-bit columns hold 0.7 inexactly
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _largest_total(table: RolloutTable, where: str) -> float:
    """Return the size of the largest total; 0.0 without one."""
    if "total" not in table.columns:
        return 0.0
    needed = [name for name in ("acc", "total", "round", "temperature") if name in table.columns]
    largest = table.query(f"SELECT max(abs({TOTAL})) FROM {{rollouts}}{where}", needed)[0][0].as_py() or 0.0
    if not largest < LARGEST_TOTAL:  # so written that NaN fails as well
        raise _wrong(
            table, where, "total", f"abs({TOTAL}) >= {LARGEST_TOTAL!r}", "a number of a size below 1e12, or null"
        )
    return float(largest)


def _wrong(table: RolloutTable, where: str, name: str, condition: str, expected: str) -> PoolError:
    joined = f"{where} AND" if where else " WHERE"
    needed = [name for name in _KEY if name in table.columns]
    sql = f"SELECT sample_id, {name} AS value FROM {{rollouts}}{joined} {condition} ORDER BY 1, 2 LIMIT 1"
    first = table.query(sql, needed).to_pylist()[0]
    return PoolError(
        f"{table}: {name} of a rollout of sample {first['sample_id']!r}: got {first['value']:g}; expected {expected}"
    )


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
        kept = (*ALL, HISTORY, "key")
        columns = {name: _array(name, grouped[name]) for name in grouped.column_names if name in kept}
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
        raise PoolError(f"{table}: some rollouts have no sample_id; expected the name of the sample in each")
    if any(row["wrong"] for row in suspicious):
        raise _wrong(table, where, "acc", "acc <> 0 AND acc <> 1", "0 or 1, or null where it was not scored")
    several = [row for row in suspicious if row.get("several") is not None]
    for row in sorted(several, key=itemgetter("several"))[:1]:  # the same sample in every order of rollouts
        raise PoolError(
            f"{table}: sample {row['several']!r} has several values of {by}, {row['source']!r} and "
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
    return "; ".join([f"{table}: no rollouts{asked}", *there])


def _known(values: Iterable[float | None]) -> str:
    return ", ".join(f"{value:g}" for value in values if value is not None) or "none"


def _array(name: str, column: pa.ChunkedArray) -> Any:
    if name == HISTORY:
        return objects(list(map(_by_round, column.to_pylist())))
    if name == "source":  # few texts for many samples: decode each once
        coded = column.combine_chunks().dictionary_encode()
        texts = np.array([*coded.dictionary.to_pylist(), None], dtype=np.object_)
        return texts[coded.indices.fill_null(len(texts) - 1).to_numpy()]
    if pa.types.is_string(column.type):
        return column.to_numpy(zero_copy_only=False).astype(np.object_, copy=False)
    if name in ("distinct", "cells", "round"):
        column = column.fill_null(-1)  # integers have no NaN
    return np.array(column.to_numpy(zero_copy_only=False))  # a copy, for a view would keep the whole batch in memory


def _by_round(counted: list[tuple[int, int]] | None) -> tuple[tuple[int, int], ...]:
    """Return n and num_correct of each round, of counts by 2 · round, and 1 more for right rollouts."""
    rounds: dict[int, list[int]] = {}
    for key, count in sorted(counted or ()):
        of = rounds.setdefault(key // 2, [0, 0])
        of[0] += count
        of[1] += count * (key % 2)
    return tuple((n, right) for n, right in rounds.values())


@dataclass
class _Reading:
    """Reader of a table's targets, batch by batch; collects recipes that are not installed."""

    target_space: CoordSpace | str | None
    recipe: Recipe | None
    warn: Note
    unknown: Counter[str] = field(default_factory=Counter)
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
        area, diagonal = shares(boxes, sizes)  # NaN where a target is not read
        unread = [name.text for name, size in zip(names, area.tolist(), strict=True) if name and size != size]
        installed = list_recipes()
        self.unknown.update(text for text in unread if text not in installed)
        return {"target_area": area, "target_diagonal": diagonal}

    def describe(self) -> None:
        """Warn of targets that cannot be read, and of recipes that are not installed and whose targets are not read."""
        if self.unreadable:
            self.warn(f"{self.unreadable} samples have a target that cannot be read, the first: {self.first}")
        # With a space, or a recipe of the caller's, targets of unknown recipes are read as well.
        if self.unknown and self.target_space is None and self.recipe is None:
            some = ", ".join(f"{name!r:.80}" for name in sorted(self.unknown)[:3])
            self.warn(
                f"{self.unknown.total()} samples have a target that is not read, because their recipe is neither "
                f"built in nor installed, and a name in a file is never loaded as code: {some}; totals and acc are the "
                "table's own; for the sizes of their targets give --recipe NAME or --target-space SPACE"
            )


LARGEST_TOTAL = 1e12
"""Totals of this size or beyond are errors: no reward is that large."""

_PARSED, _REASONS = (", ".join(f"'{reason.name}'" for reason in some) for some in (PARSED, Reason))
TOTAL = "CASE WHEN acc IS NOT NULL THEN total END"
"""Total of a scored rollout."""

_CLICK = "x_unit IS NOT NULL AND y_unit IS NOT NULL"
_SIDE = "image_size[{0}] > 0 AND isfinite(image_size[{0}])"
_SIZED = f"acc IS NOT NULL AND {_CLICK} AND {_SIDE.format(1)} AND {_SIDE.format(2)}"
_ACROSS = "sqrt(image_size[1] * image_size[1] + image_size[2] * image_size[2])"
_FAR, _FAR_BITS = 1000.0, 10
"""Points are clipped to so many image sizes, so that sums of integers do not overflow."""

CLICKS = ("x_unit", "y_unit")
"""Columns of the point of a rollout."""

GRID = 32
"""Cells along each side of an image, in which clicks count as the same answer."""


def counts(has: Collection[str], by: str | None, *, names: bool) -> dict[str, str]:
    """Return the SQL of columns that all statistics need; ``unclear`` and ``several`` name samples to be checked."""
    columns = {"sample_id": "sample_id"} if names else {}
    columns |= {"unnamed": "coalesce(sample_id, '') = ''"}  # null = '' is null in SQL
    columns |= {"n": "count(acc)", "num_correct": "coalesce(count_if(acc = 1), 0)::BIGINT"}
    columns |= {"unscored": "count(*) - count(acc)", "wrong": "coalesce(count_if(acc <> 0 AND acc <> 1), 0)::BIGINT"}
    if by is not None and by in has:
        one, other = (f"{end}({quoted(by)}::VARCHAR)" for end in ("min", "max"))
        columns |= {"source": one, "several": f"CASE WHEN {one} <> {other} THEN sample_id END"}
        columns["other"] = f"CASE WHEN {one} <> {other} THEN {other} END"
    if "rollout" in has:
        # Rounds number their rollouts alike: 31, which is odd, moves each round to other bits.
        number = "(rollout & 63) + 31 * (coalesce(round, 0) & 63)" if "round" in has else "rollout"
        # Fewer distinct numbers modulo 64 than rollouts may mean a repeated one. Nulls set no bit: samples with
        # rollouts without a number are unclear here, and pass the check.
        bits = f"bit_count(bit_or(1::UBIGINT << (({number}) & 63)))"
        columns["unclear"] = f"CASE WHEN {bits} <> count(*) THEN sample_id END"
    return columns


def other_columns(has: Collection[str], largest: float) -> dict[str, str]:
    """Return the SQL of all other columns that a table's columns allow, with totals up to the size of the largest."""
    columns: dict[str, str] = {}
    if "total" in has:
        bits = max(0, math.ceil(math.log2(largest))) if largest else 0
        equal = f"WHEN min({TOTAL}) = max({TOTAL}) THEN min({TOTAL})"  # which a rounded mean need not be
        columns |= {"mean": f"CASE {equal} ELSE {_mean(TOTAL, bits)} END", "variance": _variance(TOTAL, bits)}
        columns |= {"lowest": f"min({TOTAL})", "highest": f"max({TOTAL})"}
    if "reason" in has:
        # Reasons of other programs count in neither.
        columns["parse_rate"] = f"count_if(reason IN ({_PARSED})) / nullif(count_if(reason IN ({_REASONS})), 0)"
    if {"x_unit", "y_unit"} <= set(has):
        columns |= _clicks("image_size" in has)
    if "response" in has:
        columns["distinct"] = "nullif(count(DISTINCT response) FILTER (acc IS NOT NULL), 0)"
    if {"target", "image_size"} <= set(has):
        columns |= {"target": "min(target)", "image_size": "min(image_size)"}  # the same in any order
        columns["recipe"] = "min(recipe)" if "recipe" in has else "NULL::VARCHAR"
    if "round" in has:
        columns["round"] = "max(round)"
        columns[HISTORY] = "histogram(2 * coalesce(round, -1) + (acc = 1)::INTEGER) FILTER (acc IS NOT NULL)"
    if "temperature" in has:
        columns["temperature"] = "CASE WHEN min(temperature) = max(temperature) THEN min(temperature) END"
    return columns


def _clicks(sized: bool) -> dict[str, str]:
    columns = {"clicks": f"coalesce(count_if({_CLICK}), 0)::BIGINT"}
    columns |= {name: _mean(_near(name, _CLICK), _FAR_BITS) for name in ("x_unit", "y_unit")}
    if sized:
        # In pixels: a share of the width and one of the height are of different lengths.
        sides = (_near(f"{axis}_unit", _SIZED, f" * image_size[{side}] / {_ACROSS}") for axis, side in ("x1", "y2"))
        squares = " + ".join(_variance(side, _FAR_BITS) for side in sides)
        columns["dispersion"] = f"CASE WHEN count_if({_SIZED}) >= 2 THEN sqrt({squares}) END"
    return columns


def _near(name: str, condition: str, times: str = "") -> str:
    return f"CASE WHEN {condition} THEN greatest(-{_FAR}, least({_FAR}, {name})){times} END"


def _mean(value: str, bits: int) -> str:
    """Return the SQL of the mean of values below 2^bits, rounded to 2^(bits - 60): sums of integers have no order."""
    fine = f"{2.0 ** (60 - bits)!r}::DOUBLE"
    return f"sum((({value}) * {fine})::HUGEINT)::DOUBLE / count({value}) / {fine}"


def _variance(value: str, bits: int) -> str:
    """Return the SQL of the variance, rounded to 2^(bits - 40), likewise: (n Σx² - (Σx)²) / n²."""
    whole = f"(({value}) * {2.0 ** (40 - bits)!r}::DOUBLE)::HUGEINT"
    of_squares = f"count({value}) * sum({whole} * {whole}) - sum({whole}) * sum({whole})"
    return f"({of_squares})::DOUBLE / count({value}) / count({value}) / {2.0 ** (80 - 2 * bits)!r}"


def answer(has: Collection[str]) -> str:
    """Return the SQL of a rollout's answer: its ``answer_key``, else the number of its cell; null without one."""
    across, down = (f"greatest(0, least({GRID - 1}, floor({name} * {GRID})))" for name in ("x_unit", "y_unit"))
    cell = f"CASE WHEN {_CLICK} THEN ({down} * {GRID} + {across})::INTEGER END"
    if "answer_key" not in has:
        return cell
    # Rollouts of another file may have no key, and keys may be the numbers of cells.
    return f"coalesce('key ' || answer_key, ({cell})::VARCHAR)" if set(CLICKS) <= set(has) else "answer_key"


def answered_by(has: Collection[str]) -> list[str]:
    """Return the columns that say what was answered, of those that there are; none where there are too few."""
    return [*({"answer_key"} & set(has)), *(CLICKS if set(CLICKS) <= set(has) else ())]


HASH = "hash(sample_id)"
"""Number that mostly stands for one name alone. Grouping by it takes half the time of grouping by names."""


def cells_of(has: Collection[str], where: str, key: str) -> str:
    """Return the query for the columns of ``SampleStats`` that count answers, sorted by ``key``, SQL of a sample."""
    by_answer = f"SELECT {key} AS key, {answer(has)} AS answer, count(acc) AS k FROM {{rollouts}}{where} GROUP BY 1, 2"
    n = "nullif(sum(k), 0)::DOUBLE"
    # Of one answer the difference of logarithms is a rounding, which a square root makes large.
    mixed = f"greatest(0, ln({n}) - {_of_counts('k * ln(k)')} / {n})"
    entropy = f"CASE WHEN sum(k) > 0 THEN CASE WHEN count_if(k > 0) = 1 THEN 0.0 ELSE {mixed} END END"
    return (
        f"SELECT key, nullif(count_if(k > 0), 0)::BIGINT AS cells, {entropy} AS cell_entropy, "
        f"{_of_counts('sqrt(k)')} / {n} AS cell_rarity FROM ({by_answer}) GROUP BY key ORDER BY key"
    )


def _of_counts(value: str) -> str:
    return f"sum(CASE WHEN k > 0 THEN ({value} * {_FINE!r})::HUGEINT END)::DOUBLE / {_FINE!r}"


_FINE = 2.0**40
