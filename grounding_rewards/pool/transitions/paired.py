"""Pair the samples of several sets of statistics, and compare their pass rates."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.stats.intervals import Bootstrap, exact_mean

_SHOWN = 3
_BOOTSTRAP = Bootstrap(2000, 0, 0.95)


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


def difference(before: Floats, after: Floats) -> Difference:
    """Return the mean of paired differences with its bootstrap interval over samples, as for temperatures.

    Samples are drawn with all their rollouts, which are alike. With few samples the interval is too narrow, and where
    all differ by the same it has no width.

    Args:
        before: (m,) pass rates.
        after: (m,) of the same samples.

    >>> gap = difference(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.5, 1.0]))
    >>> round(gap.mean, 4), round(gap.low, 4), round(gap.high, 4)
    (0.1667, 0.0, 0.5)
    """
    moved = after - before
    mean = exact_mean(moved)
    low, high = _BOOTSTRAP.interval(moved) if len(moved) > 1 else (math.nan, math.nan)  # one sample does not vary
    return Difference(exact_mean(before), exact_mean(after), mean, low, high)


def in_common(several: Sequence[SampleStats], called: Sequence[str]) -> list[NDArray[np.int64]]:
    """Return the rows, in each of several statistics, of the samples that all have, ordered by name.

    Raises:
        PoolError: a sample has two rows, or no sample is in all; shows names of each, ``called`` so.
    """
    return common_rows(aligned_rows(several, called), several, called)


def common_rows(
    rows: NDArray[np.int64], several: Sequence[SampleStats], called: Sequence[str]
) -> list[NDArray[np.int64]]:
    """Return the same from the result of ``aligned_rows``."""
    common = rows[:, (rows >= 0).all(axis=0)]
    if not common.size:
        names = "; ".join(f"{name} has {_some(stats)}" for stats, name in zip(several, called, strict=True))
        raise PoolError(f"no sample is in {' and '.join(called)}: {names}; expected the same names of samples")
    return list(common)


def aligned_rows(several: Sequence[SampleStats], called: Sequence[str]) -> NDArray[np.int64]:
    """Return the row in each of k statistics, (k, m), of the m samples that any has, ordered by name; -1 for none.

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
    new[1:] = in_order[1:] != in_order[:-1]  # sorted: equal names are neighbours
    of, row = of[order], row[order]
    for place in np.flatnonzero(~new[1:] & (of[1:] == of[:-1]))[:1]:
        which = int(of[place])  # ``sorted`` is stable: rows of one set of statistics and one name are neighbours.
        again = several[which].named(row[place])
        raise PoolError(f"{called[which]}: {again} has two rows; expected one a sample")
    aligned = np.full((len(several), int(new.sum())), -1, dtype=np.int64)
    aligned[of, np.cumsum(new) - 1] = row  # a number a name, counted where a new one begins
    return aligned


def _keys(names: list[Any]) -> list[Any]:
    """Return sort keys: the names where all are texts, else their texts and types; equal names have equal keys."""
    if all(type(name) is str for name in names):
        return names
    keys: dict[Hashable, tuple[str, str]] = {}
    return [keys.setdefault(name, name_key(name)) for name in names]


def name_key(name: Any) -> tuple[str, str]:
    """Return a key that sorts names of any type."""
    return str(name), type(name).__name__


def plain(value: Any) -> Any:
    """Return plain values, as for JSON: dataclasses by their fields, lists for arrays and tuples, None for NaN.

    >>> plain(Difference(0.5, 1.0, 0.5, math.nan, math.nan))
    {'before': 0.5, 'after': 1.0, 'mean': 0.5, 'low': None, 'high': None}
    """
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray | tuple | list):
        return [plain(each) for each in (value.tolist() if isinstance(value, np.ndarray) else value)]
    return None if value != value else value


def temperatures(stats: SampleStats) -> tuple[float, ...]:
    """Return the temperatures of samples, ascending, rounded to six places (32-bit columns are noisy)."""
    known = stats.temperature[~np.isnan(stats.temperature)]
    return tuple(np.unique(np.round(known, 6)).tolist())


def _some(stats: SampleStats) -> str:
    names = ", ".join(map(repr, stats.sample_id[:_SHOWN].tolist()))
    return f"{names}{f' and {len(stats) - _SHOWN} more' if len(stats) > _SHOWN else ''}" if len(stats) else "no sample"
