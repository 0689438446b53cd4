"""What is compared: rollouts of one round, or statistics of samples, as commands name them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grounding_rewards.errors import PoolError

if TYPE_CHECKING:
    from grounding_rewards.pool.stats import SampleStats
    from grounding_rewards.tables.rollout_table import RolloutTable


class Side(NamedTuple):
    """One thing that is compared.

    Attributes:
        path: of rollouts or statistics.
        round: the only one that counts; None where none is named.
        temperature: that its rollouts were sampled at; None where it is not said.
    """

    path: Path
    round: int | None = None
    temperature: float | None = None


def read_side(word: str) -> Side:
    """``PATH`` or ``PATH@ROUND``; a path that is there as it stands names no round.

    >>> read_side("rollouts.parquet@2")
    Side(path=PosixPath('rollouts.parquet'), round=2, temperature=None)
    >>> read_side("a@b.parquet").path.name
    'a@b.parquet'
    """
    path, at, number = word.rpartition("@")
    if not at or not path or not (number.isascii() and number.isdigit()) or Path(word).exists():
        return Side(Path(word))
    return Side(Path(path), int(number))


def read_warm_side(word: str) -> Side:
    """The same behind ``TEMPERATURE=``.

    Raises:
        PoolError: the temperature is infinite, no number, or below 0.

    >>> read_warm_side("1.4=hot.jsonl@1")
    Side(path=PosixPath('hot.jsonl'), round=1, temperature=1.4)
    """
    number, equals, rest = word.partition("=")
    try:
        warm = _rounded(float(number)) if equals and not Path(word).exists() else None
    except ValueError:
        warm = None
    if warm is not None and not 0 <= warm < math.inf:
        raise PoolError(f"{word}: got temperature {number}; expected a number from 0, such as 1.2")
    return read_side(word) if warm is None else read_side(rest)._replace(temperature=warm)


def holds_statistics(path: Path) -> bool:
    """Whether a file has a row a sample, as ``pool stats --out`` writes them."""
    from grounding_rewards.pool.stats_table import is_stats

    return is_stats(path)


def stats_of_side(side: Side, by: str) -> SampleStats:
    """Statistics of the samples of one side, without clicks and targets.

    Raises:
        TableError: it cannot be read.
        PoolError: its rollouts are of several rounds and none is named, or of other temperatures than is said; or it
            holds statistics that cannot be parted by what was asked for.
    """
    from grounding_rewards.pool.aggregate import stats_of
    from grounding_rewards.tables.rollout_table import open_rollouts

    if holds_statistics(side.path):
        if by != "source":
            raise PoolError(
                f"{side.path}: holds statistics of samples, counted by source; --by {by} takes rollouts, or statistics "
                f"of `pool stats --by {by}` and no --by here"
            )
        return counted_side(side)
    table = open_rollouts([side.path])
    rounds = one_round(table, [side.path], side.round)
    columns = ("sample_id", "source", "round", "temperature")
    if side.temperature is None:
        return stats_of(table, rounds=rounds, by=by, columns=columns)
    return stats_at(side, table, rounds, by=by, columns=columns)


def counted_side(side: Side) -> SampleStats:
    """What a file of statistics holds.

    Raises:
        TableError: it cannot be read, or a round is asked for.
        PoolError: its temperature is another than is said.
    """
    from grounding_rewards.pool.stats_table import read_stats
    from grounding_rewards.pool.transitions.paired import temperatures

    stats = read_stats(side.path, rounds=None if side.round is None else [side.round])
    return stats if side.temperature is None else _warm(stats, one_temperature(side, temperatures(stats)))


def stats_at(side: Side, table: RolloutTable, rounds: Sequence[int] | None, **how: Any) -> SampleStats:
    """Statistics at the temperature that is said: it chooses among several, and names one that rollouts do not.

    Args:
        side: with its temperature.
        table: its rollouts.
        rounds: those that count.
        how: further arguments of ``stats_of``.

    Raises:
        PoolError: rollouts are of other temperatures.
    """
    from grounding_rewards.pool.aggregate import stats_of

    there = [each for each in warmths(table, rounds) if each is not None]
    if len(there) > 1 and side.temperature in there:
        return stats_of(table, rounds=rounds, temperature=side.temperature, **how)
    warm = one_temperature(side, there)
    return _warm(stats_of(table, rounds=rounds, **how), warm)


def _warm(stats: SampleStats, temperature: float) -> SampleStats:
    return replace(stats, temperature=np.full(len(stats), temperature))


def one_round(table: RolloutTable, paths: Sequence[Path], number: int | None) -> list[int] | None:
    """The round that counts; None where there are no rounds.

    Raises:
        PoolError: there are several, and none is named.
    """
    if number is not None:
        return [number]
    found = sorted(each for each in table.rounds() if each is not None)
    if len(found) > 1:
        shown = ", ".join(map(str, paths))
        raise PoolError(
            f"{shown}: holds rounds {', '.join(map(str, found))}; name the one that counts, as {paths[0]}@{found[-1]}"
        )
    return None


def warmths(table: RolloutTable, rounds: Sequence[int] | None) -> dict[float | None, int]:
    """How many rollouts of the round that counts were sampled at each temperature.

    Temperatures have six places: 0.7 of a column of 32 bits is that of one of 64.
    """
    found: dict[float | None, int] = {}
    for warm, rows in table.temperatures(rounds).items():
        key = None if warm is None else _rounded(warm)
        found[key] = found.get(key, 0) + rows
    return found


def one_temperature(side: Side, there: Sequence[float]) -> float:
    """The temperature of a file that has one.

    Raises:
        PoolError: it has none or several, or another than is said.
    """
    said = {_rounded(each) for each in (*there, *([] if side.temperature is None else [side.temperature]))}
    if len(said) != 1:
        shown = ", ".join(f"{each:g}" for each in sorted(set(there))) or "none"
        given = "" if side.temperature is None else f", and is given as {side.temperature:g}"
        raise PoolError(f"{side.path}: its temperature is {shown}{given}; expected one, as 1.4={side.path}")
    return said.pop()


def _rounded(temperature: float) -> float:
    return round(temperature, 6)
