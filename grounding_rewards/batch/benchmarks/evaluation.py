"""Evaluate the rows of a benchmark: counts by its rule and groups, then its figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.batch.benchmarks.benchmark import Benchmark, Total, name_of
from grounding_rewards.batch.layouts import Row
from grounding_rewards.batch.problems import Problems
from grounding_rewards.batch.score_rows import RecipeSlice
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.accuracy import NONE, Evaluation, evaluate, merge
from grounding_rewards.errors import TableError, TargetError, short_repr
from grounding_rewards.rollouts import Reason, Scores
from grounding_rewards.stats.intervals import wilson
from grounding_rewards.tables.base import Batch, Table
from grounding_rewards.targets.read import PLACES

_OF_PLACES = frozenset((*PLACES, "target", "box_type", "box_coordinates"))
"""Fields of errors that speak of the place itself, not of a size or a space that settings say."""

CLICK = "click"
"""The recipe whose rule can be made the benchmark's."""


@dataclass(frozen=True)
class Figure:
    """A total of a benchmark over the rows that are there.

    Attributes:
        name: the total's name.
        correct: right rows.
        n: rows.
        rows: rows that the benchmark has.
        share: correct / n, or the plain mean of the shares of ``cells``; None where there is no row.
        interval: the 95 % Wilson interval of a share of rows; None of a mean of cells, and where there is no row.
        cells: right rows and rows of each cell that there is; empty for a share of rows.
        missing: what is missing of the benchmark's rows; "" where all are there.
    """

    name: str
    correct: int
    n: int
    rows: int
    share: float | None
    interval: tuple[float, float] | None
    cells: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    missing: str = ""

    @property
    def accuracy(self) -> float | None:
        """Return the share as the benchmark's figure; None where rows are missing."""
        return None if self.missing else self.share

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; ``cells`` only for a mean of cells."""
        cells = {label: {"correct": correct, "n": n} for label, (correct, n) in self.cells.items()}
        plain = {name: getattr(self, name) for name in ("name", "correct", "n", "rows", "accuracy", "share")}
        interval = None if self.interval is None else list(self.interval)
        return {**plain, "interval": interval, "missing": self.missing, **({"cells": cells} if cells else {})}


@dataclass(frozen=True)
class BenchmarkResult:
    """Counts of a benchmark's rows.

    Attributes:
        evaluation: counts of all rows, and by group.
        figures: the benchmark's totals, the headline first.
        refused: errors of targets that could not be read, whose rows count as wrong, with their places.
        problems: rows that are left out, because they have no response for a cause that is not the model's.
    """

    evaluation: Evaluation
    figures: tuple[Figure, ...]
    refused: tuple[str, ...]
    problems: Problems


def evaluate_benchmark(
    benchmark: Benchmark,
    table: Table,
    scorer: TableScorer,
    *,
    by: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
    advance: Callable[[float], None] = lambda done: None,
) -> BenchmarkResult:
    """Evaluate the rows of a benchmark.

    Args:
        benchmark: its rule, groups and totals.
        table: its rows with responses.
        scorer: the scorer of that table; under ``bad_target="raise"`` a place that cannot be read counts as wrong, and
            every other error of a target raises.
        by: further columns to break down by.
        categories: the categories of each id, where the benchmark has some.
        advance: takes the share of the table that is done.

    Raises:
        TableError: a row cannot be read, or its target cannot be used for another reason than its place, or no target
            of the first rows can.
    """
    lenient = replace(scorer, bad_target="abstain")
    read = [name for name in (*benchmark.columns, *by) if name in table.columns or name in by]
    parts, refused, seen = list[Evaluation](), list[str](), _Seen(benchmark)
    problems = Problems(lenient, table)
    reading = list(dict.fromkeys([*read, *problems.reads]))
    for batch in problems.left_out(lenient.batches(table, by=reading, whole=False)):
        scored = lenient.score(table, batch)
        scores = _by_the_rule(benchmark, scored)
        if scorer.bad_target == "raise" and scores.errors:
            scores = _counted(scorer, table, batch, scores)
            refused += [
                f"{batch.place(row)}: {error.field} {short_repr(error.came, 60)}"
                for row, error in scores.errors.items()
            ]
        refusals = scored.rollouts.targets.refusal
        labels = _labels(benchmark, batch.rows, scorer.columns.id, categories)
        fields = {**labels, **{name: batch.column(name) for name in by}}
        parts.append(evaluate(scores, refusals=refusals, by=fields))
        seen.add(batch.rows, refusals)
        advance(batch.done)
    evaluation = merge(parts)
    if categories is not None and {*evaluation.by["category"]} == {NONE}:
        raise TableError(
            f"{table.path}: no {scorer.columns.id} of its rows is one of the categories' file (--categories)"
        )
    known = {name: cells for name, cells in evaluation.by.items() if name in by or {*cells} != {NONE}}
    evaluation = replace(evaluation, by=known)
    figures = tuple(_figure(total, evaluation, seen.repeated(total)) for total in benchmark.totals)
    return BenchmarkResult(evaluation, figures, tuple(refused), problems)


def _labels(
    benchmark: Benchmark, rows: Sequence[Row], id: str, categories: Mapping[str, Sequence[str]] | None
) -> dict[str, list[Any]]:
    """Return the labels of rows by group."""
    labels = {name_of(group): [benchmark.label(row, group) for row in rows] for group in benchmark.groups}
    if categories is not None:
        labels["category"] = [categories.get(str(row.get(id))) for row in rows]
    return labels


def _by_the_rule(benchmark: Benchmark, scored: RecipeSlice) -> Scores:
    """Return the scores, where the benchmark says so with points left of and above the image as refusals."""
    scores = scored.scores
    if not benchmark.negative_refuses or scored.recipe.name != CLICK:
        return scores
    refused = (scores.predictions.xy < 0).all(axis=1) & (scores.valid > 0)
    return replace(
        scores,
        acc=np.where(refused & scored.rollouts.targets.refusal, 1.0, scores.acc),
        reason=np.where(refused, np.int8(Reason.REFUSED), scores.reason),
    )


def _counted(scorer: TableScorer, table: Table, batch: Batch, scores: Scores) -> Scores:
    """Return scores in which places that cannot be read count as wrong; raise other errors, and those of all rows."""
    row, error = next(((row, each) for row, each in scores.errors.items() if not _of_place(each)), (-1, None))
    if error is None and len(scores.errors) == len(batch):  # settings that are wrong, rather than the benchmark
        row, error = next(iter(scores.errors.items()))
    if error is not None:
        raise scorer.bad_target_error(table, batch, row, error)
    return replace(scores, valid=np.ones_like(scores.valid))


def _of_place(error: TargetError) -> bool:
    return error.field in _OF_PLACES and not error.expected.endswith("judges nothing else")


class _Seen:
    """Counts of rows, and of different samples among them; apart for those that are to be refused."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark
        self.keys: tuple[set[str | int], set[str | int]] = set(), set()
        self.rows = 0

    def add(self, rows: Sequence[Row], refusals: NDArray[np.bool_]) -> None:
        for row, refusal in zip(rows, refusals, strict=True):
            key = [row["sample_id"]] if row.get("sample_id") is not None else [row.get(k) for k in self.benchmark.key]
            unknown = None in key  # nothing says that two of such rows are the same
            self.rows += 1
            self.keys[bool(refusal)].add(self.rows if unknown else json.dumps(key, default=str))

    def repeated(self, total: Total) -> int:
        """Return how many of a total's rows are missing although as many are there, since others come twice."""
        if self.benchmark.repeated is None:
            return 0
        known = len(self.keys[0]) + (len(self.keys[1]) if total.refusals else 0)
        return max(0, total.rows - self.benchmark.repeated - known)


def _figure(total: Total, evaluation: Evaluation, repeated: int) -> Figure:
    refusals = evaluation.refusals
    correct, n = evaluation.correct, evaluation.n
    if not total.refusals and refusals is not None:
        correct, n = correct - refusals.correct, n - refusals.targets
    there = evaluation.by.get(total.group, {})
    cells = {label: (there[label].correct, there[label].n) for label in total.cells if label in there}
    missing = _missing(total, n, {label: count for label, (_, count) in cells.items()}, repeated)
    if not total.cells:
        low, high = wilson(correct, n)
        interval = (float(low), float(high)) if n else None
        return Figure(total.name, correct, n, total.rows, correct / n if n else None, interval, missing=missing)
    shares = [right / count for right, count in cells.values() if count]
    mean = sum(shares) / len(shares) if shares else None
    return Figure(total.name, correct, n, total.rows, mean, None, cells, missing)


def _missing(total: Total, n: int, cells: Mapping[str, int], repeated: int) -> str:
    """Return what is missing of a total's rows; "" where all are there, each of them as often."""
    if n < total.rows:
        return f"{total.rows - n} of {total.rows} rows are missing"
    if n % total.rows:
        return f"{n} rows, which are not the benchmark's {total.rows}, each as often"
    if repeated:
        return f"{repeated} of {total.rows} rows are missing, and others come more than once"
    if total.cells and not cells:
        return f"no row says its {total.group}"
    times = n // total.rows
    for label, count in total.cells.items():
        if cells.get(label, 0) != times * count:
            return f"{cells.get(label, 0)} rows of {total.group} {label}, which has {times * count}"
    return ""
