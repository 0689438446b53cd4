"""Figures of a benchmark: shares and means over its rows, as far as all of them are there, each as often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Ints
from grounding_rewards.batch.benchmarks.benchmark import Benchmark, Total
from grounding_rewards.batch.layouts import Row
from grounding_rewards.checks.accuracy import Evaluation
from grounding_rewards.rollouts import Scores
from grounding_rewards.stats.intervals import wilson, wilson_of_samples


@dataclass(frozen=True)
class Figure:
    """A total of a benchmark over the rows that are there."""

    name: str  # the total's name
    correct: int  # right rows
    n: int  # rows
    rows: int  # rows that the benchmark has
    share: float | None  # correct / n, or the plain mean of the shares of ``cells``; None where there is no row
    # the 95 % Wilson interval of a share of rows, clustered by sample where samples have several; None of a mean of
    # cells, and where there is no row
    interval: tuple[float, float] | None
    # right rows and rows of each cell that there is; empty for a share of rows
    cells: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    missing: str = ""  # what is missing of the benchmark's rows; "" where all are there
    once: int = 0  # how many rows of the benchmark, which repeat others, are left out: each sample counts once

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
    correct, n = _counted(total, evaluation)
    there = evaluation.by.get(total.group, {})
    cells = {label: _counted(total, there[label]) for label in total.cells if label in there}
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


def _counted(total: Total, evaluation: Evaluation) -> tuple[int, int]:
    """Return the right rows and the rows that belong to a total."""
    refusals = evaluation.refusals
    if total.refusals or refusals is None:
        return evaluation.correct, evaluation.n
    return evaluation.correct - refusals.correct, evaluation.n - refusals.targets


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
