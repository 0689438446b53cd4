"""Pair the samples of several sets of statistics, and compare their pass rates."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.stats.intervals import Z

_SHOWN = 3


@dataclass(frozen=True)
class Difference:
    """Paired difference of mean pass rates.

    Attributes:
        before: the mean pass rate of the first.
        after: the mean pass rate of the second.
        mean: after - before, -1 to 1.
        low: the lower end of its 95 % interval; NaN for one sample.
        high: the upper end.
    """

    before: float
    after: float
    mean: float
    low: float
    high: float

    def to_json(self) -> dict[str, float | None]:
        """Return plain numbers; None for NaN."""
        return {name: none_for_nan(value) for name, value in vars(self).items()}


def difference(before: Floats, after: Floats, z: float = Z) -> Difference:
    """Return the mean of paired differences with its normal interval, mean ± z s / sqrt(m), s with m - 1.

    The variance is over samples, so it includes the correlation of a sample's rollouts. With few samples the interval
    is too narrow, and where all differ by the same it has no width.

    Args:
        before: (m,) pass rates.
        after: (m,) of the same samples.
        z: standard deviations on either side.

    >>> found = difference(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.5, 1.0]))
    >>> round(found.mean, 4), round(found.low, 4), round(found.high, 4)
    (0.1667, -0.16, 0.4933)
    """
    moved = after - before
    mean = exact_mean(moved)
    if len(moved) < 2:
        return Difference(exact_mean(before), exact_mean(after), mean, math.nan, math.nan)
    half = z * math.sqrt(math.fsum(((moved - mean) ** 2).tolist()) / (len(moved) - 1) / len(moved))
    return Difference(exact_mean(before), exact_mean(after), mean, max(-1.0, mean - half), min(1.0, mean + half))


def in_common(several: Sequence[SampleStats], called: Sequence[str]) -> list[NDArray[np.int64]]:
    """Return the rows, in each of several statistics, of the samples that all have, ordered by name.

    Args:
        several: statistics.
        called: their names in errors.

    Raises:
        PoolError: a sample has two rows, or no sample is in all; shows names of each.
    """
    return common_rows(aligned_rows(several, called), several, called)


def common_rows(
    rows: NDArray[np.int64], several: Sequence[SampleStats], called: Sequence[str]
) -> list[NDArray[np.int64]]:
    """Return the same from the result of ``aligned_rows``."""
    found = rows[:, (rows >= 0).all(axis=0)]
    if not found.size:
        names = "; ".join(f"{name} has {_some(stats)}" for stats, name in zip(several, called, strict=True))
        raise PoolError(f"no sample is in {' and '.join(called)}: {names}; expected the same names of samples")
    return list(found)


def aligned_rows(several: Sequence[SampleStats], called: Sequence[str]) -> NDArray[np.int64]:
    """Return the row of each sample in each of k statistics.

    Args:
        several: the statistics.
        called: their names in errors.

    Returns:
        (k, m) for the m samples that any has, ordered by name; -1 where one lacks a sample.

    Raises:
        PoolError: a sample has two rows.
    """
    names = [name for stats in several for name in stats.sample_id.tolist()]
    lengths = [len(stats) for stats in several]
    of, row = np.repeat(np.arange(len(several)), lengths), np.concatenate([np.arange(size) for size in lengths])
    keys = _keys(names)
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)  # linear for sorted inputs
    in_order = np.empty(len(keys), dtype=np.object_)
    in_order[:] = keys
    in_order = in_order[order]
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = in_order[1:] != in_order[:-1]
    of, row = of[order], row[order]
    for place in np.flatnonzero(~new[1:] & (of[1:] == of[:-1]))[:1]:
        which = int(of[place])
        again = several[which].named(row[place])
        raise PoolError(f"{called[which]}: {again} has two rows; expected one a sample")
    found = np.full((len(several), int(new.sum())), -1, dtype=np.int64)
    found[of, np.cumsum(new) - 1] = row
    return found


def _keys(names: list[Any]) -> list[Any]:
    """Return sort keys: the names where all are texts, else their texts and types; equal names have equal keys."""
    if all(type(name) is str for name in names):
        return names
    keys: dict[Hashable, tuple[str, str]] = {}
    return [keys.setdefault(name, _key(name)) for name in names]


def sorted_names(names: set[Any]) -> list[Any]:
    """Sort names of any type."""
    return sorted(names, key=_key)


def _key(name: Any) -> tuple[str, str]:
    return str(name), type(name).__name__


def none_for_nan(value: float) -> float | None:
    """Return the number; None for NaN, which JSON lacks.

    >>> none_for_nan(0.5), none_for_nan(float("nan"))
    (0.5, None)
    """
    return None if value != value else float(value)


def temperatures(stats: SampleStats) -> tuple[float, ...]:
    """Return the temperatures of samples, ascending, rounded to six places (32-bit columns are noisy)."""
    known = stats.temperature[~np.isnan(stats.temperature)]
    return tuple(np.unique(np.round(known, 6)).tolist())


def _some(stats: SampleStats) -> str:
    names = ", ".join(map(repr, stats.sample_id[:_SHOWN].tolist()))
    return f"{names}{f' and {len(stats) - _SHOWN} more' if len(stats) > _SHOWN else ''}" if len(stats) else "no sample"


def exact_mean(values: Floats | NDArray[np.int64]) -> float:
    """Return the exact sum over the number, the same in any order of rows; NaN of none."""
    return math.fsum(values.tolist()) / len(values) if len(values) else math.nan
