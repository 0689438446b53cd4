"""What a report is made from: rounds of rollouts, statistics of samples, and manifests of pools, told apart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding_rewards.cli.pool.files.sides import Side, holds_statistics, read_warm_side, warmths
from grounding_rewards.errors import PoolError, TableError

if TYPE_CHECKING:
    from grounding_rewards.pool.report.rounds import Round
    from grounding_rewards.pool.stats import SampleStats
    from grounding_rewards.tables.rollout_table import RolloutTable


@dataclass(frozen=True)
class Options:
    """How rollouts are counted: by which column, and in which space targets are that name none."""

    by: str = "source"
    target_space: str | None = None


@dataclass(frozen=True)
class Part:
    """A round and where its rollouts are.

    Attributes:
        round: its statistics.
        number: the round's; None where nobody says.
        table: its rollouts; None where only statistics are there.
        rounds: which of the table's rounds count; None for all.
    """

    round: Round
    number: int | None = None
    table: RolloutTable | None = None
    rounds: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Inputs:
    """All that was given.

    Attributes:
        parts: the rounds, in the order of training.
        by_temperature: statistics at each temperature, where there are two or more.
        manifests: of pools, by name.
    """

    parts: tuple[Part, ...] = ()
    by_temperature: dict[float, SampleStats] = field(default_factory=dict)
    manifests: tuple[tuple[str, Any], ...] = ()


def read_inputs(words: Sequence[str], options: Options) -> Inputs:
    """Read what a report is made from.

    Files whose every rollout has a round are parted by it; any other is a round of its own. Where all rounds have a
    number, they are shown in that order, else in the order given. Temperatures are compared within the last round that
    has several, else between rounds.

    Raises:
        TableError: a file cannot be read.
        PoolError: rollouts are no statistics of samples.
    """
    manifests = [Path(word) for word in words if word.endswith(".json")]
    sides = [read_warm_side(word) for word in words if not word.endswith(".json")]
    parted = [side for side in sides if _by_round(side)]
    parts = [*_numbered(parted, options), *(_other(side, options) for side in sides if side not in parted)]
    order = {part.round.name: place for place, part in enumerate(parts)}
    if all(part.number is not None for part in parts):
        parts.sort(key=lambda part: (part.number or 0, order[part.round.name]))
    return Inputs(
        tuple(_told_apart(parts)),
        _by_temperature(parts, options),
        tuple((_pool_name(path), _manifest(path)) for path in manifests),
    )


def _numbered(sides: Sequence[Side], options: Options) -> Iterator[Part]:
    """The rounds of files in which every rollout says its own; files of one round belong together."""
    if not sides:
        return
    from grounding_rewards.tables.rollout_table import open_rollouts

    table = open_rollouts([side.path for side in sides])
    for number in sorted(number for number in table.rounds() if number is not None):
        yield _part(f"round {number}", number, table, (number,), options)


def _other(side: Side, options: Options) -> Part:
    """The round of any other file."""
    from grounding_rewards.pool.report.rounds import Round
    from grounding_rewards.pool.stats_table import read_stats
    from grounding_rewards.tables.rollout_table import open_rollouts

    name = side.path.stem if side.round is None else f"{side.path.stem}, round {side.round}"
    if not holds_statistics(side.path):
        rounds = None if side.round is None else (side.round,)
        found = _part(name, side.round, open_rollouts([side.path]), rounds, options)
    elif options.by != "source":
        raise PoolError(
            f"{side.path}: holds statistics of samples, counted by source already; --by {options.by} takes rollouts"
        )
    else:
        stats = read_stats(side.path, rounds=None if side.round is None else [side.round])
        numbers = np.unique(stats.round)
        number = int(numbers[0]) if len(numbers) == 1 and numbers[0] >= 0 else None
        warm = np.unique(stats.temperature[~np.isnan(stats.temperature)])
        found = Part(Round(name, stats, tuple(warm.tolist())), number)
    if side.temperature is not None:
        warm_stats = replace(found.round.stats, temperature=np.full(len(found.round.stats), side.temperature))
        found = replace(found, round=replace(found.round, stats=warm_stats, temperatures=(side.temperature,)))
    return found


def _by_round(side: Side) -> bool:
    """Whether a file is parted by its column ``round``."""
    if side.round is not None or side.temperature is not None or holds_statistics(side.path):
        return False
    from grounding_rewards.tables.rollout_table import open_rollouts

    table = open_rollouts([side.path])
    table.need("sample_id", "acc")
    return None not in table.rounds()


def _part(name: str, number: int | None, table: RolloutTable, rounds: tuple[int, ...] | None, options: Options) -> Part:
    from grounding_rewards.pool.grouped import stats_of
    from grounding_rewards.pool.report.rounds import Round

    stats = stats_of(table, rounds=rounds, by=options.by, target_space=options.target_space)
    warm = tuple(sorted(each for each in warmths(table, rounds) if each is not None))
    return Part(Round(name, stats, warm), number, table, rounds)


def _by_temperature(parts: Sequence[Part], options: Options) -> dict[float, SampleStats]:
    """Statistics at each temperature: of the last round that has several, else of the last round at each."""
    from grounding_rewards.pool.grouped import stats_of

    several = [part for part in parts if part.table is not None and len(part.round.temperatures) > 1]
    if several:
        part = several[-1]
        assert part.table is not None
        return {
            each: stats_of(part.table, rounds=part.rounds, temperature=each, target_space=options.target_space)
            for each in part.round.temperatures
        }
    found = {part.round.temperatures[0]: part.round.stats for part in parts if len(part.round.temperatures) == 1}
    return found if len(found) > 1 else {}


def _told_apart(parts: Sequence[Part]) -> Iterator[Part]:
    """The same with a number behind names that come twice."""
    seen = dict[str, int]()
    for part in parts:
        name = part.round.name
        seen[name] = seen.get(name, 0) + 1
        yield part if seen[name] == 1 else replace(part, round=replace(part.round, name=f"{name} ({seen[name]})"))


def _manifest(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise TableError(f"{path}: no such file") from None
    except (ValueError, RecursionError) as error:
        raise PoolError(
            f"{path}: cannot be read as a manifest ({error}); expected JSON that `pool next` wrote"
        ) from None


def _pool_name(path: Path) -> str:
    """What a manifest is of: its name without the ending.

    >>> _pool_name(Path("pools/round2.parquet.manifest.json"))
    'round2.parquet'
    """
    return path.name.removesuffix(".json").removesuffix(".manifest")
