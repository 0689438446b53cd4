"""Moves of samples from one round to the next: escapes of the never-solved, and pass rates up and down."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.transitions.paired import Difference, difference, none_for_nan, sorted_names
from grounding_rewards.stats.intervals import wilson


@dataclass(frozen=True)
class Moves:
    """Moves of some samples.

    Attributes:
        source: their source; None where unknown, and for all samples together.
        both: number of samples.
        never_solved: number without a right rollout before.
        escaped: number of these with one after.
        escape_share: escaped / never_solved; NaN where there is none.
        low: the lower end of its 95 % Wilson interval.
        high: the upper end.
        up: number with a higher pass rate after.
        same: number with the same.
        down: number with a lower one.
        difference: difference of the mean pass rates.
    """

    source: str | None
    both: int
    never_solved: int
    escaped: int
    escape_share: float
    low: float
    high: float
    up: int
    same: int
    down: int
    difference: Difference

    def to_json(self) -> dict[str, Any]:
        """Return plain values; None for NaN."""
        shares = {name: none_for_nan(getattr(self, name)) for name in ("escape_share", "low", "high")}
        return {**vars(self), **shares, "difference": self.difference.to_json()}


def moves_of(source: str | None, first: SampleStats, second: SampleStats) -> Moves:
    """Count the moves of samples, aligned row by row.

    Args:
        source: their source.
        first: the samples before, each with a scored rollout.
        second: the same after, likewise.
    """
    never = first.num_correct == 0
    escaped = int((second.num_correct[never] > 0).sum())
    low, high = wilson(escaped, int(never.sum()))
    rise = second.num_correct * first.n - first.num_correct * second.n  # exact sign
    return Moves(
        source=source,
        both=len(first),
        never_solved=int(never.sum()),
        escaped=escaped,
        escape_share=escaped / int(never.sum()) if never.any() else np.nan,
        low=float(low),
        high=float(high),
        up=int((rise > 0).sum()),
        same=int((rise == 0).sum()),
        down=int((rise < 0).sum()),
        difference=difference(first.pass_rate, second.pass_rate),
    )


def by_source(first: SampleStats, second: SampleStats) -> tuple[Moves, ...]:
    """Count the moves by source, that of the round before, else of the round after; samples without one come last."""
    rows: dict[Hashable, list[int]] = {}
    for row, (source, later) in enumerate(zip(first.source.tolist(), second.source.tolist(), strict=True)):
        rows.setdefault(later if source is None else source, []).append(row)
    names = [*sorted_names({name for name in rows if name is not None}), *([None] if None in rows else [])]
    return tuple(
        moves_of(None if name is None else str(name), first.taken(rows[name]), second.taken(rows[name]))
        for name in names
    )
