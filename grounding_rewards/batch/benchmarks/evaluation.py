"""Evaluate the rows of a benchmark: counts by its rule and groups, then its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grounding_rewards.batch.benchmarks.benchmark import Benchmark, name_of
from grounding_rewards.batch.benchmarks.figures import Figure, SampleCounts, figure
from grounding_rewards.batch.layouts import Row
from grounding_rewards.batch.problems import Problems
from grounding_rewards.batch.sample_scores import SampleTable
from grounding_rewards.batch.score_rows import RecipeSlice
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.accuracy import NONE, Evaluation, evaluate, merge
from grounding_rewards.errors import TableError, TargetError, short_repr
from grounding_rewards.rollouts import Reason, Scores
from grounding_rewards.tables.base import Batch, Table
from grounding_rewards.targets.read import PLACES

_OF_PLACES = frozenset((*PLACES, "target", "box_type", "box_coordinates"))
"""Fields of errors that speak of the place itself, not of a size or a space that settings say."""

CLICK = "click"
"""The recipe whose rule can be made the benchmark's."""


def options_of(benchmark: Benchmark | None, recipe: Any, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a recipe: of ``click`` the benchmark's, over which those that are ``chosen`` go."""
    own = benchmark.options if benchmark is not None and recipe == CLICK else {}
    return {**own, **chosen}


@dataclass(frozen=True)
class BenchmarkResult:
    """Counts of a benchmark's rows."""

    evaluation: Evaluation  # counts of all rows, and by group
    figures: tuple[Figure, ...]  # the benchmark's totals, the headline first
    refused: tuple[str, ...]  # errors of targets that could not be read, whose rows count as wrong, with their places
    problems: Problems  # rows that are left out, because they have no response for a cause that is not the model's


def evaluate_benchmark(
    benchmark: Benchmark,
    table: Table,
    scorer: TableScorer,
    *,
    by: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
    pairs: SampleTable | None = None,
    advance: Callable[[float], None] = lambda done: None,
) -> BenchmarkResult:
    """Evaluate the rows of a benchmark."""
    lenient = replace(scorer, bad_target="abstain")
    quiet = replace(lenient, diagnosis=None)  # what is counted are scores by the benchmark's rule
    further = [name for name in by if name not in benchmark.names]
    read = [name for name in (*benchmark.columns, *further) if name in table.columns or name in further]
    problems = Problems(lenient, table)
    read += [*([] if pairs is None else pairs.reads), *problems.reads]
    parts, refused, samples = list[Evaluation](), list[str](), SampleCounts(benchmark)
    for batch in problems.left_out(lenient.batches(table, by=list(dict.fromkeys(read)), whole=False)):
        scored = quiet.score(table, batch)
        scores = _by_the_rule(benchmark, scored)
        lenient.diagnose(table, batch, replace(scored, scores=scores))
        if scorer.bad_target == "raise" and scores.errors:
            scores = _counted(scorer, table, batch, scores)
            refused += [
                f"{batch.place(row)}: {error.field} {short_repr(error.came, 60)}"
                for row, error in scores.errors.items()
            ]
        refusals = scored.rollouts.targets.refusal
        labels = _labels(benchmark, batch.rows, scorer.columns.id, categories)
        fields = {**labels, **{name: batch.column(name) for name in further}}
        parts.append(evaluate(scores, refusals=refusals, by=fields))
        samples.add(batch.rows, scores, refusals)
        if pairs is not None:
            pairs.add(batch, replace(scored, scores=scores), _names(benchmark, table, batch))
        advance(batch.done)
    evaluation = merge(parts)
    if categories is not None and {*evaluation.by["category"]} == {NONE}:
        raise TableError(
            f"{table.path}: no {scorer.columns.id} of its rows is one of the categories' file (--categories)"
        )
    known = {name: cells for name, cells in evaluation.by.items() if name in by or {*cells} != {NONE}}
    evaluation = replace(evaluation, by=known)
    figures = tuple(figure(total, evaluation, samples) for total in benchmark.totals)
    return BenchmarkResult(evaluation, figures, tuple(refused), problems)


def _names(benchmark: Benchmark, table: Table, batch: Batch) -> list[str]:
    """Return the names of the samples of rows, by which those of two models are paired."""
    names = [benchmark.sample(row) for row in batch.rows]
    for place in (row for row, name in enumerate(names) if name is None):
        raise TableError(
            f"{table.path}, {batch.place(place)}: has no sample_id, nor all of {', '.join(benchmark.key)}; one of them "
            "has to say which rows of the two models are the same"
        )
    return [name for name in names if name is not None]


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
