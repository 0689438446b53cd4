"""Rollouts or statistics of samples as commands name them: ``PATH``, ``PATH@ROUND`` or ``TEMPERATURE=PATH``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.stats_table import is_stats, read_stats
from grounding_rewards.tables.rollout_columns import PLACES
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts
from grounding_rewards.tables.rows import Note


class Input(NamedTuple):
    """Rollouts or statistics to compare with others."""

    path: Path  # rollouts or statistics
    round: int | None = None  # the only round that counts; None where none is named
    temperature: float | None = None  # the sampling temperature; None where none is named


def read_input(text: str) -> Input:
    """Parse ``PATH``, ``PATH@ROUND`` or either behind ``TEMPERATURE=``; a path that exists as written names no more."""
    if Path(text).exists():  # file names may hold @ and =
        return Input(Path(text))
    number, equals, rest = text.partition("=")
    try:
        warm = round(float(number), PLACES) if equals else None
    except ValueError:  # an = that belongs to the path
        warm = None
    if warm is not None and not 0 <= warm < math.inf:
        raise PoolError(f"{text}: got temperature {number}; expected a number from 0, such as 1.2")
    word = text if warm is None else rest
    path, at, number = word.rpartition("@")
    # ``isdigit`` alone is true of superscripts, which ``int`` refuses.
    if not at or not path or not (number.isascii() and number.isdigit()) or Path(word).exists():
        return Input(Path(word), temperature=warm)
    return Input(Path(path), int(number), warm)


def stats_of_input(source: Input, by: str, warn: Note = lambda text: None) -> SampleStats:
    """Return statistics of an input, without clicks and targets; warn of mixed temperatures and runs."""
    if is_stats(source.path):
        if by != "source":
            raise PoolError(
                f"{source.path}: holds statistics of samples, counted by source; --by {by} takes rollouts, or "
                f"statistics of `pool stats --by {by}` and no --by here"
            )
        stats = _read_statistics(source)
        if text := mixed(stats.temperatures):
            warn(f"{source.path}: {text}")
        return stats
    table = open_rollouts([source.path])
    rounds = one_round(table, [source.path], source.round)
    columns = ("sample_id", "source", "round", "temperature")
    if source.temperature is None:
        if text := mixed(table.temperatures(rounds)):
            named = source.path if source.round is None else f"{source.path}@{source.round}"
            warn(f"{named}: {text}; a temperature before it, as 1.4={named}, takes those at one")
        return stats_of(table, rounds=rounds, by=by, columns=columns, warn=warn)
    return _stats_at(source, table, rounds, by=by, columns=columns, warn=warn)


def stats_by_temperature(inputs: Sequence[Input], warn: Note = lambda text: None) -> dict[float, SampleStats]:
    """Return statistics by temperature; files of one round with a temperature column are read as one table."""
    by_temperature: dict[float, SampleStats] = {}
    origin: dict[float, str] = {}
    for group in grouped(inputs, lambda source: is_stats(source.path)):
        paths = ", ".join(str(source.path) for source in group)
        for warm, stats in _temperatures_of(group, warn):
            if warm in by_temperature:
                raise PoolError(
                    f"temperature {warm:g} is in {origin[warm]} and in {paths}; give each temperature once, or "
                    "all of its files in the same way"
                )
            by_temperature[warm], origin[warm] = stats, paths
    return by_temperature


def policies_of(inputs: Sequence[Input]) -> set[str]:
    """Return the policies that the rollouts of several inputs name; statistics name none."""
    named = set[str]()
    for source in inputs:
        if not is_stats(source.path):
            named |= open_rollouts([source.path]).policies(None if source.round is None else [source.round])
    return named


def grouped(inputs: Sequence[Input], alone: Callable[[Input], bool]) -> list[list[Input]]:
    """Group inputs of the same named temperature and round, but for those that stand ``alone``."""
    groups: dict[tuple[object, ...], list[Input]] = {}
    for place, source in enumerate(inputs):
        # ``place`` makes a group of its own.
        groups.setdefault((source.temperature, source.round, place if alone(source) else None), []).append(source)
    return list(groups.values())


def mixed(temperatures: Iterable[float | None]) -> str:
    """Warn of rollouts at several known temperatures that count together; "" without."""
    known = sorted(value for value in temperatures if value is not None)
    shown = ", ".join(f"{value:g}" for value in known)
    return f"rollouts at temperatures {shown} count together, and pass rates mix them" if len(known) > 1 else ""


def one_round(table: RolloutTable, paths: Sequence[Path], number: int | None) -> list[int] | None:
    """Return the round that counts; None where rollouts have no rounds."""
    if number is not None:
        return [number]
    rounds = sorted(value for value in table.rounds() if value is not None)
    if len(rounds) > 1:
        raise PoolError(
            f"{_listed(paths)}: holds rounds {_listed(rounds)}; name the one that counts, as {paths[0]}@{rounds[-1]}"
        )
    return None


def only_temperature(source: Input, there: Sequence[float]) -> float:
    """Return the temperature of an input that has one."""
    known = {*there, *([] if source.temperature is None else [source.temperature])}
    if len(known) != 1:
        shown = ", ".join(f"{value:g}" for value in sorted(set(there))) or "none"
        named = "" if source.temperature is None else f", and is given as {source.temperature:g}"
        raise PoolError(f"{source.path}: its temperature is {shown}{named}; expected one, as 1.4={source.path}")
    return known.pop()


def _read_statistics(source: Input) -> SampleStats:
    stats = read_stats(source.path, rounds=None if source.round is None else [source.round])
    if source.temperature is None:
        return stats
    return with_temperature(stats, only_temperature(source, stats.temperatures))


def _stats_at(source: Input, table: RolloutTable, rounds: Sequence[int] | None, **options: Any) -> SampleStats:
    """Return statistics at the named temperature, which chooses among several, or is that of rollouts without one."""
    there = [value for value in table.temperatures(rounds) if value is not None]
    if len(there) > 1 and source.temperature in there:  # a single one must agree: checked below
        return stats_of(table, rounds=rounds, temperature=source.temperature, **options)
    warm = only_temperature(source, there)
    return with_temperature(stats_of(table, rounds=rounds, **options), warm)


def with_temperature(stats: SampleStats, temperature: float) -> SampleStats:
    """Return the same statistics, all at one temperature."""
    return replace(stats, temperature=np.full(len(stats), temperature))


def _temperatures_of(group: Sequence[Input], warn: Note) -> Iterator[tuple[float, SampleStats]]:
    source, paths = group[0], [member.path for member in group]
    if is_stats(source.path):
        stats = _read_statistics(source)
        yield only_temperature(source, stats.temperatures), stats
        return
    table = open_rollouts(paths)
    rounds = one_round(table, paths, source.round)
    if source.temperature is not None:
        yield source.temperature, _stats_at(source, table, rounds, warn=warn)
        return
    there = table.temperatures(rounds)
    if None in there:
        raise PoolError(
            f"{_listed(paths)}: {there[None]} rollouts name no temperature; expected it in a column temperature, or "
            f"before the path, as 1.4={source.path}"
        )
    for warm in there:
        if warm is not None:
            yield warm, stats_of(table, rounds=rounds, temperature=warm, warn=warn)


def _listed(values: Sequence[object]) -> str:
    return ", ".join(map(str, values))
