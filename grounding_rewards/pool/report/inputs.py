"""What a report is made from: rounds of rollouts, statistics of samples, and manifests of pools, told apart."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.inputs import Side, holds_statistics, one_round, one_temperature, read_warm_side, warmths

if TYPE_CHECKING:
    from grounding_rewards.pool.report.rounds import Round
    from grounding_rewards.pool.stats import SampleStats
    from grounding_rewards.scoring import Recipe
    from grounding_rewards.tables.base import Note
    from grounding_rewards.tables.rollout_table import RolloutTable


@dataclass(frozen=True)
class Part:
    """A round, or one temperature of a sweep, and where its rollouts are.

    Attributes:
        round: its statistics.
        numbers: of the rounds that its rollouts name.
        table: its rollouts; None where only statistics are there.
        rounds: which of the table's rounds count; None for all.
        policies: that its rollouts name.
        warm: the temperature that was given before its path.
    """

    round: Round
    numbers: frozenset[int] = frozenset()
    table: RolloutTable | None = None
    rounds: tuple[int, ...] | None = None
    policies: frozenset[str] = frozenset()
    warm: float | None = None


def one_round_swept(parts: Sequence[Part]) -> tuple[list[Part], str]:
    """The parts that are one round at several temperatures, ascending, or why there are none."""
    found = [
        part for part in parts
        if len(part.round.temperatures) == 1 and (part.warm is not None or not part.numbers)
    ]  # fmt: skip
    found.sort(key=lambda part: part.round.temperatures[0])
    warm = [rounded(part.round.temperatures[0]) for part in found]
    if len(set(warm)) < 2:
        return [], ""
    why = _differ(found)
    twice = [each for each in warm if warm.count(each) > 1]
    if not why and twice:
        why = f"temperature {twice[0]:g} is that of several files that name no round; {_ONE}"
    return ([], why) if why else (found, "")


def within_a_round(rounds: Sequence[Part]) -> tuple[dict[float, SampleStats], str]:
    """Statistics at each temperature of the last round that has several, or why there are none."""
    from grounding_rewards.pool.aggregate import stats_of

    several = [part for part in rounds if part.table is not None and len(part.round.temperatures) > 1]
    if not several:
        different = {rounded(each) for part in rounds for each in part.round.temperatures}
        return {}, _differ(rounds) if len(different) > 1 else ""
    part = several[-1]
    why = _differ([part])
    if why or part.table is None:
        return {}, why
    return {
        rounded(warm): stats_of(part.table, rounds=part.rounds, temperature=warm) for warm in part.round.temperatures
    }, ""


def rounded(temperature: float) -> float:
    """A temperature without what single precision adds to it."""
    return round(temperature, 6)


_ONE = "needs rollouts of one round at two temperatures or more"


def _differ(parts: Sequence[Part]) -> str:
    """Whether something but the temperature differs, which would be taken for what the temperature does."""
    warm = sorted({each for part in parts for each in part.round.temperatures})
    rounds = sorted({each for part in parts for each in part.numbers})
    policies = sorted({each for part in parts for each in part.policies})
    for kind, values in (("rounds", rounds), ("policies", policies)):
        if len(values) > 1:
            shown = ", ".join(map(str, values[:3])) + (", ..." if len(values) > 3 else "")
            return f"temperatures {', '.join(f'{each:g}' for each in warm)} are of {kind} {shown}; {_ONE}"
    return ""


@dataclass(frozen=True)
class Options:
    """How rollouts are counted and their targets read.

    Attributes:
        by: the column that samples are counted by.
        target_space: the space of targets that name none.
        recipe: the recipe whose form targets have, where rollouts name none that is installed.
        warn: takes what the page should say of the rollouts.
    """

    by: str = "source"
    target_space: str | None = None
    recipe: Recipe | None = None
    warn: Note = lambda text: None


@dataclass(frozen=True)
class Inputs:
    """All that was given.

    Attributes:
        parts: the temperatures of a sweep, and then the rounds in the order of training.
        by_temperature: statistics at each temperature, where there are two or more of one round.
        unswept: why there are none though temperatures differ; else "".
        pools: of each manifest what ``funnel.funnel`` says.
    """

    parts: tuple[Part, ...] = ()
    by_temperature: dict[float, SampleStats] = field(default_factory=dict)
    unswept: str = ""
    pools: tuple[dict[str, Any], ...] = ()


def read_inputs(words: Sequence[str], options: Options) -> Inputs:
    """Read what a report is made from.

    Files whose every rollout has a round are parted by it; any other is a round of its own. Where all rounds have a
    number, they are shown in that order, else in the order given. Files that are given with a temperature, or that name
    one and no round, are a sweep where their temperatures differ, and neither rounds nor policies do: these are no
    rounds. Without such files temperatures are compared within the last round that has several.

    Raises:
        TableError: a file cannot be read.
        PoolError: rollouts are no statistics of samples, a file is given twice, or a manifest is none.
    """
    from grounding_rewards.pool.report.funnel import funnel
    from grounding_rewards.tables.manifests import read_manifest

    manifests = [Path(word) for word in words if word.endswith(".json")]
    sides = [read_warm_side(word) for word in words if not word.endswith(".json")]
    _check_once([*sides, *map(Side, manifests)])
    pools = [{**funnel(str(path), read_manifest(path, given=True)), "pool": _pool_name(path)} for path in manifests]
    parted = [side for side in sides if _by_round(side)]
    groups = _grouped([side for side in sides if side not in parted])
    parts = [*_numbered(parted, options), *(_other(group, options) for group in groups)]
    swept, why = one_round_swept(parts)
    rounds = [part for part in parts if part not in swept]
    if all(len(part.numbers) == 1 for part in rounds):
        rounds.sort(key=lambda part: min(part.numbers))
    named = [
        replace(part, round=replace(part.round, name=f"temperature {part.round.temperatures[0]:g}", swept=True))
        for part in swept
    ]
    shown = [*named, *rounds]
    by_temperature = {rounded(part.round.temperatures[0]): part.round.stats for part in swept}
    if not swept and not why:
        by_temperature, why = within_a_round(rounds)
    names = _numbers_behind([part.round.name for part in shown])
    return Inputs(
        tuple(replace(part, round=replace(part.round, name=name)) for part, name in zip(shown, names, strict=True)),
        by_temperature,
        why,
        tuple(
            {**pool, "pool": name}
            for pool, name in zip(pools, _numbers_behind([p["pool"] for p in pools]), strict=True)
        ),
    )


def _check_once(sides: Sequence[Side]) -> None:
    """Check that nothing is given twice.

    Raises:
        PoolError: something is.
    """
    for place, side in enumerate(sides):
        for other in sides[:place]:
            same = os.path.realpath(side.path) == os.path.realpath(other.path)
            if same and (side.round == other.round or None in (side.round, other.round)):
                raise PoolError(f"{side.path}: is given twice; give each file, or each round of it, once")


def _numbered(sides: Sequence[Side], options: Options) -> Iterator[Part]:
    """The rounds of files in which every rollout says its own; files of one round belong together."""
    if not sides:
        return
    from grounding_rewards.tables.rollout_table import open_rollouts

    table = open_rollouts([side.path for side in sides])
    for number in sorted(number for number in table.rounds() if number is not None):
        yield _part(f"round {number}", table, (number,), options)


def _grouped(sides: Sequence[Side]) -> list[list[Side]]:
    """Files of rollouts that are given with the same temperature and round belong together."""
    groups: dict[tuple[object, ...], list[Side]] = {}
    for place, side in enumerate(sides):
        apart = side.temperature is None or holds_statistics(side.path)
        groups.setdefault((side.temperature, side.round, place if apart else None), []).append(side)
    return list(groups.values())


def _other(group: Sequence[Side], options: Options) -> Part:
    """What any other file holds, or several that belong together."""
    from grounding_rewards.pool.report.rounds import Round
    from grounding_rewards.pool.stats_table import read_stats
    from grounding_rewards.tables.rollout_table import open_rollouts

    side, paths = group[0], [side.path for side in group]
    name = side.path.stem if side.round is None else f"{side.path.stem}, round {side.round}"
    if not holds_statistics(side.path):
        table = open_rollouts(paths)
        table.need("sample_id", "acc")
        if side.temperature is not None:
            one_round(table, paths, side.round)
        found = _part(name, table, None if side.round is None else (side.round,), options)
    elif options.by != "source":
        raise PoolError(
            f"{side.path}: holds statistics of samples, counted by source already; --by {options.by} takes rollouts"
        )
    else:
        stats = read_stats(side.path, rounds=None if side.round is None else [side.round])
        numbers = frozenset(each for each in np.unique(stats.round).tolist() if each >= 0)
        warm = np.unique(stats.temperature[~np.isnan(stats.temperature)])
        found = Part(Round(name, stats, tuple(warm.tolist())), numbers)
    if side.temperature is None:
        return found
    given = one_temperature(side, found.round.temperatures)
    stats = replace(found.round.stats, temperature=np.full(len(found.round.stats), given))
    return replace(found, round=replace(found.round, stats=stats, temperatures=(given,)), warm=given)


def _by_round(side: Side) -> bool:
    """Whether a file is parted by its column ``round``."""
    if side.round is not None or side.temperature is not None or holds_statistics(side.path):
        return False
    from grounding_rewards.tables.rollout_table import open_rollouts

    table = open_rollouts([side.path])
    table.need("sample_id", "acc")
    return None not in table.rounds()


def _part(name: str, table: RolloutTable, rounds: tuple[int, ...] | None, options: Options) -> Part:
    from grounding_rewards.pool.aggregate import ALL, stats_of
    from grounding_rewards.pool.report.rounds import Round

    shown = set(ALL) - {"variance", "x_unit", "y_unit"}  # these take their time
    stats = stats_of(
        table, rounds=rounds, by=options.by, target_space=options.target_space, recipe=options.recipe, columns=shown,
        warn=options.warn,
    )  # fmt: skip
    warm = tuple(sorted(each for each in warmths(table, rounds) if each is not None))
    numbers = frozenset(each for each in table.rounds() if each is not None) if rounds is None else frozenset(rounds)
    return Part(Round(name, stats, warm), numbers, table, rounds, _policies(table, rounds))


def _policies(table: RolloutTable, rounds: tuple[int, ...] | None) -> frozenset[str]:
    if "policy" not in table.columns:
        return frozenset()
    where = "" if rounds is None else " AND round IN (SELECT unnest(?::BIGINT[]))"
    sql = f"SELECT DISTINCT policy FROM {{rollouts}} WHERE policy IS NOT NULL{where}"
    columns = ["policy"] if rounds is None else ["policy", "round"]
    found = table.query(sql, columns, [] if rounds is None else [list(rounds)])
    return frozenset(map(str, found["policy"].to_pylist()))


def _numbers_behind(names: Sequence[str]) -> list[str]:
    """The same with a number behind names that come again.

    >>> _numbers_behind(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen = [names[: place + 1].count(name) for place, name in enumerate(names)]
    return [name if number == 1 else f"{name} ({number})" for name, number in zip(names, seen, strict=True)]


def _pool_name(path: Path) -> str:
    """What a manifest is of: its name without the ending.

    >>> _pool_name(Path("pools/round2.parquet.manifest.json"))
    'round2.parquet'
    """
    return path.name.removesuffix(".json").removesuffix(".manifest")
