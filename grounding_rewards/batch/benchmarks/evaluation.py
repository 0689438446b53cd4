"""Evaluate a benchmark: its files as one table, counts by its rule and groups, figures over the rows that are there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from grounding_rewards.arrays import Ints
from grounding_rewards.batch.benchmarks import Benchmark, Total, name_of
from grounding_rewards.batch.samples import Problems, SampleTable
from grounding_rewards.batch.score_rows import RecipeSlice
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.accuracy import NONE, Evaluation, evaluate, merge
from grounding_rewards.errors import TableError, short_repr
from grounding_rewards.rollouts import Reason, Scores
from grounding_rewards.stats.intervals import wilson, wilson_of_samples
from grounding_rewards.tables.contents import stem_of
from grounding_rewards.tables.layouts import Row
from grounding_rewards.tables.opening import ChainedTable, open_rows, splits_of
from grounding_rewards.tables.rows import Batch, ChangedTable, Note, Table
from grounding_rewards.targets.read import PLACES


class Figure(Struct, frozen=True):
    """A total of a benchmark over the rows that are there."""

    name: str  # the total's name
    correct: int  # right rows
    rows: int
    of: int  # rows that the benchmark has
    share: float | None  # correct / rows, or the plain mean of the shares of ``cells``; None where there is no row
    # the 95 % Wilson interval of a share of rows, clustered by sample where samples have several; None of a mean of
    # cells, and where there is no row
    interval: tuple[float, float] | None
    # right rows and rows of each cell that there is; empty for a share of rows
    cells: Mapping[str, tuple[int, int]] = {}
    missing: str = ""  # what is missing of the benchmark's rows; "" where all are there
    once: int = 0  # how many rows of the benchmark, which repeat others, are left out: each sample counts once

    @property
    def accuracy(self) -> float | None:
        """Return the share as the benchmark's figure; None where rows are missing."""
        return None if self.missing else self.share

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; ``cells`` only for a mean of cells."""
        cells = {label: {"correct": correct, "rows": n} for label, (correct, n) in self.cells.items()}
        return {
            "name": self.name, "correct": self.correct, "rows": self.rows, "of": self.of, "accuracy": self.accuracy,
            "share": self.share, "interval": None if self.interval is None else list(self.interval),
            "missing": self.missing, **({"cells": cells} if cells else {}),
        }  # fmt: skip


class SampleCounts:
    """Rows and right answers by sample; apart for samples that are to be refused."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark
        self.rows, self.unnamed = 0, False
        self._counts: tuple[dict[str | int, list[int]], dict[str | int, list[int]]] = {}, {}

    def add(self, rows: Sequence[Row], scores: Scores, refusals: NDArray[np.bool_]) -> None:
        """Add scored rows; ``refusals`` says which of them are to be refused."""
        valid, correct = scores.valid > 0, scores.acc * scores.valid > 0
        for row, refusal, right, counts in zip(rows, refusals, correct, valid, strict=True):
            self.rows += 1
            name = self.benchmark.sample(row)
            self.unnamed |= name is None  # nothing says that two of such rows are the same
            sample = self._counts[bool(refusal)].setdefault(self.rows if name is None else name, [0, 0, 0])
            for place, each in enumerate((True, counts, right)):
                sample[place] += int(each)

    def of(self, total: Total) -> Ints:
        """Return the rows, valid rows and right answers of each of a total's samples: (m, 3)."""
        parts = self._counts if total.refusals else self._counts[:1]
        return np.array([each for part in parts for each in part.values()], dtype=np.int64).reshape(-1, 3)

    def uneven(self, total: Total, times: int) -> str:
        """Return a sample whose rows are no multiple of ``times``, with their number; "" without one."""
        parts = self._counts if total.refusals else self._counts[:1]
        every = ((name, count) for part in parts for name, (count, *_) in part.items() if count % times)
        name, count = next(every, ("", 0))
        return "" if self.unnamed or not count else f"sample {name:.80} has {count} row{'s' if count > 1 else ''}"


def figure(total: Total, evaluation: Evaluation, samples: SampleCounts) -> Figure:
    """Return a total over the rows that are there."""
    correct, n = _of_total(total, evaluation)
    there = evaluation.by.get(total.group, {})
    cells = {label: _of_total(total, there[label]) for label in total.cells if label in there}
    once = _once(total, n, samples)
    missing = _missing(total, n, {label: count for label, (_, count) in cells.items()}, samples, once)
    once = 0 if missing else once
    if not total.cells:
        interval = _interval(correct, n, samples.of(total), samples.benchmark) if n else None
        return Figure(
            total.name, correct, n, total.rows, correct / n if n else None, interval, missing=missing, once=once
        )
    shares = [right / count for right, count in cells.values() if count]
    mean = sum(shares) / len(shares) if shares else None
    return Figure(total.name, correct, n, total.rows, mean, None, cells, missing, once)


def _of_total(total: Total, evaluation: Evaluation) -> tuple[int, int]:
    """Return the right rows and the rows that belong to a total."""
    refusals = evaluation.refusals
    if total.refusals or refusals is None:
        return evaluation.correct, evaluation.valid
    return evaluation.correct - refusals.correct, evaluation.valid - refusals.targets


def _interval(correct: int, n: int, samples: Ints, benchmark: Benchmark) -> tuple[float, float]:
    """Return the interval of a share; the benchmark's own repeats are rows, and several rollouts are of one sample."""
    if benchmark.repeated == 0 or np.median(samples[:, 0]) > 1:
        return wilson_of_samples(samples[:, 2], samples[:, 1])
    low, high = wilson(correct, n)
    return float(low), float(high)


def _once(total: Total, n: int, samples: SampleCounts) -> int:
    """Return how many rows repeat others if these are not there, as in rollouts, which ask each sample once; else 0."""
    repeated = samples.benchmark.repeated or 0
    counts, different = samples.of(total)[:, 0], total.rows - repeated
    alike = len(counts) == different and bool((counts == counts[0]).all())
    return repeated if alike and n == counts.sum() else 0


def _missing(total: Total, n: int, cells: Mapping[str, int], samples: SampleCounts, once: int) -> str:
    """Return what is missing of a total's rows; "" where all are there, each of them as often."""
    rows, repeated = total.rows - once, samples.benchmark.repeated
    if n < rows:
        return f"{total.rows - n} of {total.rows} rows are missing"
    if n % rows:
        return f"{n} rows, which are not the benchmark's {total.rows}, each as often"
    times, different = n // rows, len(samples.of(total))
    if repeated is not None and (lost := total.rows - repeated - different) > 0:
        return f"{lost} of {total.rows} rows are missing, and others come more than once"
    if sample := samples.uneven(total, times):
        return f"{sample}, where {n} rows are {times} of each"
    if total.cells and not cells:
        return f"no row says its {total.group}"
    for label, count in total.cells.items():
        if not times * (count - once) <= cells.get(label, 0) <= times * count:
            return f"{cells.get(label, 0)} rows of {total.group} {label}, which has {times * count}"
    if total.cells and (rest := n - sum(cells.values())):
        return f"{rest} of {n} rows are in none of the cells of {total.group}"
    return ""


_OF_PLACES = frozenset((*PLACES, "target", "box_type", "box_coordinates"))
"""Fields of errors that speak of the place itself, not of a size or a space that settings say."""

CLICK = "click"  # the recipe whose rule can be made the benchmark's


def options_of(benchmark: Benchmark | None, recipe: Any, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a recipe: of ``click`` the benchmark's, over which those that are ``chosen`` go."""
    own = benchmark.options if benchmark is not None and recipe == CLICK else {}
    return {**own, **chosen}


def evaluate_benchmark(
    benchmark: Benchmark,
    scorer: TableScorer,
    *,
    by: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
    pairs: SampleTable | None = None,
    advance: Callable[[float], None] = lambda done: None,
) -> tuple[Evaluation, tuple[Figure, ...], list[str], Problems]:
    """Return counts of a benchmark's rows, its totals, targets that cannot be read and rows that are left out."""
    lenient = replace(scorer, bad_target="abstain")
    quiet = replace(lenient, diagnosis=None)  # what is counted are scores by the benchmark's rule
    table, further = scorer.table, [name for name in by if name not in benchmark.names]
    read = [name for name in (*benchmark.columns, *further) if name in table.columns or name in further]
    problems = Problems(lenient)
    read += [*([] if pairs is None else pairs.reads), *problems.reads]
    parts, refused, samples = list[Evaluation](), list[str](), SampleCounts(benchmark)
    for batch in problems.left_out(lenient.batches(by=list(dict.fromkeys(read)), whole=False)):
        scored = quiet.score(batch)
        scores = by_the_rule(benchmark, scored)
        lenient.diagnose(batch, replace(scored, scores=scores))
        if scorer.bad_target == "raise" and scores.errors:
            scores = _counted(scorer, batch, scores)
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
            pairs.add(batch, replace(scored, scores=scores), _names(benchmark, scorer, batch))
        advance(batch.done)
    evaluation = merge(parts)
    if categories is not None and {*evaluation.by["category"]} == {NONE}:
        raise TableError(
            f"{table.path}: no {scorer.columns.id} of its rows is one of the categories' file (--categories)"
        )
    known = {name: cells for name, cells in evaluation.by.items() if name in by or {*cells} != {NONE}}
    evaluation = replace(evaluation, by=known)
    figures = tuple(figure(total, evaluation, samples) for total in benchmark.totals)
    return evaluation, figures, refused, problems


def _names(benchmark: Benchmark, scorer: TableScorer, batch: Batch) -> list[str]:
    """Return the names of the samples of rows, by which those of two models are paired."""
    names = [benchmark.sample(row) for row in batch.rows]
    for place in (row for row, name in enumerate(names) if name is None):
        raise TableError(
            f"{scorer.where(batch, place)}: has no sample_id, nor all of {', '.join(benchmark.key)}; one of them has "
            "to say which rows of the two models are the same"
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


def by_the_rule(benchmark: Benchmark, scored: RecipeSlice) -> Scores:
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


def _counted(scorer: TableScorer, batch: Batch, scores: Scores) -> Scores:
    """Return scores in which places that cannot be read count as wrong; raise other errors, and those of all rows."""
    errors, other = scores.errors, "judges nothing else"
    rows = [row for row, each in errors.items() if each.field not in _OF_PLACES or each.expected.endswith(other)]
    if not rows and len(errors) == len(batch):  # settings that are wrong, rather than the benchmark
        rows = list(errors)
    for row in rows[:1]:
        raise scorer.bad_target_error(batch, row, errors[row])
    return replace(scores, valid=np.ones_like(scores.valid))


_CATEGORIES = '{"classified": {"category": [{"id": "..."}]}}'


def open_benchmark(
    benchmark: Benchmark, paths: Sequence[Path], split: str | None = None, note: Note = lambda text: None
) -> Table:
    """Open the files of a benchmark as one table."""
    tables = [table for path in paths for table in _tables(benchmark, path, split, note)]
    if len(tables) == 1:
        return tables[0]
    if len(paths) == 1:
        return ChainedTable(paths[0], tables)
    return ChainedTable(Path(os.path.commonpath([path.parent.absolute() for path in paths])), tables)


def _tables(benchmark: Benchmark, path: Path, split: str | None, note: Note) -> Iterator[Table]:
    there = [] if split is not None else splits_of(path)
    own = [each for each in there if re.fullmatch(benchmark.files, each.rpartition("/")[2], re.IGNORECASE)]
    if own and (others := [each for each in there if each not in own]):
        note(f"{path}: left out, for {benchmark.title} has no files of these names: {', '.join(others)}")
    chosen: list[str | None] = [*own] or [split]
    for name in chosen:
        table = open_rows(path, name)
        labels = _labels_of(benchmark, name or stem_of(path))
        for part in table.tables if isinstance(table, ChainedTable) else [table]:
            yield _labelled(part, labels) if labels else part


def _labelled(table: Table, labels: Mapping[str, str]) -> Table:
    """Return a table with further columns, ``labels``, whose values are the same in all rows."""
    return ChangedTable(
        table, lambda batch: replace(batch, rows=[{**row, **labels} for row in batch.rows]), [*table.columns, *labels]
    )


def _labels_of(benchmark: Benchmark, stem: str) -> dict[str, str]:
    """Return the fields that a file's name says: where it holds that of one of the benchmark's files, this one's."""
    if not benchmark.named:
        return {}
    own = re.search(f"(?<![a-z])(?:{benchmark.files})(?![a-z])", stem, re.IGNORECASE)
    matches = re.finditer(benchmark.named, own.group() if own else stem, re.IGNORECASE)
    labels = [{name: value.lower() for name, value in match.groupdict().items()} for match in matches]
    for each in labels:
        if each != labels[0]:
            words, name = [" and ".join(label[key] for label in (labels[0], each)) for key in each], " and ".join(each)
            raise TableError(
                f"{stem}: its name says {', '.join(words)}; expected one {name}, as in names of {benchmark.title}: "
                "rename the file"
            )
    return labels[0] if labels else {}


def read_categories(path: Path) -> dict[str, list[str]]:
    """Return the categories of each id, several of one, from a file as OSWorld-G's classification_result.json."""
    try:
        classified = json.loads(path.read_text("utf-8"))["classified"]
        pairs = [(str(each["id"]), name) for name, samples in classified.items() for each in samples]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise TableError(
            f"{path}: is no file of categories ({type(error).__name__}: {error!s:.80}); expected {_CATEGORIES}"
        ) from None
    categories = dict[str, list[str]]()
    for sample, name in pairs:
        categories.setdefault(sample, []).append(name)
    return categories
