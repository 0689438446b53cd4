"""Funnel from all samples to those that are left, with the counts of each step by source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.pool.stats import SampleStats

NO_SOURCE = "(none)"
"""Label of samples without a source."""


@dataclass(frozen=True)
class Step:
    """Counts of one step.

    Attributes:
        name: its name.
        removed: number of removed samples.
        removed_zero: number of never-solved ones among them.
        kept: number of samples left.
        per_source: samples before and after, by source, in the order of names.
        params: its settings.
    """

    name: str
    removed: int
    removed_zero: int
    kept: int
    per_source: Mapping[str, tuple[int, int]]
    params: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**vars(self), "per_source": {source: list(counts) for source, counts in self.per_source.items()}}


class Funnel:
    """Samples that are left, and the steps that led there.

    Attributes:
        left: (m,) True for the samples that are left.
        steps: the steps so far.

    >>> from grounding_rewards.pool import sample_stats
    >>> funnel = Funnel(sample_stats(["a", "b", "c"], [1, 0, 1]))
    >>> funnel.remove("second", np.array([False, True, False])).tolist()
    [1]
    >>> funnel.describe()
    '3 samples; second removed 1'
    """

    def __init__(self, stats: SampleStats) -> None:
        self.left: NDArray[np.bool_] = np.ones(len(stats), dtype=np.bool_)
        self.steps: list[Step] = []
        self._zero = stats.none_correct
        names = [NO_SOURCE if source is None else str(source) for source in stats.source.tolist()]
        self._sources = sorted(set(names))
        places = {name: place for place, name in enumerate(self._sources)}
        self._source = np.fromiter(map(places.__getitem__, names), dtype=np.int64, count=len(names))

    def remove(self, name: str, unwanted: NDArray[np.bool_], **parameters: Any) -> NDArray[np.int64]:
        """Remove samples, record the step, and return the rows of those that were left before it."""
        before, after = self.left, self.left & ~unwanted
        counts = zip(self._counts(before), self._counts(after), strict=True)
        per_source = {source: pair for source, pair in zip(self._sources, counts, strict=True) if pair[0]}
        self.left = after
        removed = np.flatnonzero(before & ~after)
        zero = int(self._zero[removed].sum())
        self.steps.append(Step(name, len(removed), zero, int(after.sum()), per_source, parameters))
        return removed

    def describe(self) -> str:
        """Describe the removals of each step, for errors."""
        counts = [f"{step.name} removed {step.removed}" for step in self.steps if step.removed]
        return "; ".join([f"{len(self.left)} samples", *counts])

    def _counts(self, chosen: NDArray[np.bool_]) -> list[int]:
        return [int(count) for count in np.bincount(self._source[chosen], minlength=len(self._sources))]
