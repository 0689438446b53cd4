"""Inputs of a report: rounds of rollouts or statistics, temperatures of one round, and manifests of pools."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.aggregate import ALL, stats_of
from grounding_rewards.pool.inputs import (
    Input,
    grouped,
    one_round,
    only_temperature,
    read_input,
    stats_of_input,
    with_temperature,
)
from grounding_rewards.pool.report.rounds import Numbers, Round
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.stats_table import is_stats
from grounding_rewards.pool.transitions import ONE_ROUND, confounded
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.manifests import read_manifest
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts
from grounding_rewards.tables.rows import Note


@dataclass(frozen=True)
class Options:
    """Options of ``write_report`` for counting rollouts and reading their targets; ``warn`` takes warnings."""

    by: str = "source"
    target_space: str | None = None
    recipe: Recipe | None = None
    warn: Note = lambda text: None


@dataclass(frozen=True)
class Inputs:
    """All inputs of a report."""

    parts: tuple[Round, ...] = ()  # the temperatures of a sweep, then the rounds in the order of training
    # statistics by temperature, where one round has two or more
    by_temperature: dict[float, SampleStats] = field(default_factory=dict)
    unswept: str = ""  # the reason for none, where temperatures differ; else ""
    pools: tuple[Numbers, ...] = ()  # `funnel` of each manifest


def read_inputs(words: Sequence[str], options: Options) -> Inputs:
    """Read the inputs of a report.

    Files whose every rollout has a round are split by it; any other file is a round of its own. Where all rounds have a
    number, they are sorted by it, else they keep the order of the inputs. Files with a named temperature, or with one
    temperature and no round, form a sweep if their temperatures differ and their rounds and policies do not; they are
    then no rounds. Without such files the temperatures of the last round that has several are compared.
    """
    manifests = [Path(word) for word in words if word.endswith(".json")]  # rollouts end otherwise, as in .jsonl
    sources = [read_input(word) for word in words if not word.endswith(".json")]
    _check_once([*sources, *map(Input, manifests)])
    pools = [funnel(str(path), read_manifest(path, by_caller=True)) for path in manifests]
    tables = {source: open_rollouts([source.path]) for source in sources
              if source.temperature is None and not is_stats(source.path)}  # fmt: skip
    split = [source for source, table in tables.items() if source.round is None and None not in table.rounds()]
    others = [source for source in sources if source not in split]
    groups = grouped(others, lambda source: source.temperature is None or is_stats(source.path))
    parts = [_read(group, tables.get(group[0]), options) for group in groups]
    if split:  # as one table: a round may lie in several files
        paths = [source.path for source in split]
        table = tables[split[0]] if len(split) == 1 else open_rollouts(paths)
        numbers = [number for number in table.rounds() if number is not None]
        parts = [*(round_of(f"round {number}", table, (number,), options) for number in numbers), *parts]
    swept, why = _sweep_of_files(parts)
    rounds = [part for part in parts if part not in swept]
    if all(len(part.numbers) == 1 for part in rounds):  # one without a number has no place in the order
        rounds.sort(key=lambda part: min(part.numbers))
    by_temperature = {part.temperatures[0]: part.stats for part in swept}
    if not swept and not why:
        by_temperature, why = _sweep_of_a_round(rounds)  # a sweep of files comes first
    named = [replace(part, name=f"temperature {part.temperatures[0]:g}", swept=True) for part in swept]
    shown = [*named, *rounds]
    names = _unique([part.name for part in shown])
    pool_names = _unique([path.name.removesuffix(".json").removesuffix(".manifest") for path in manifests])
    return Inputs(
        tuple(replace(part, name=name) for part, name in zip(shown, names, strict=True)),
        by_temperature,
        why,
        tuple({**pool, "pool": name} for pool, name in zip(pools, pool_names, strict=True)),
    )


def _check_once(sources: Sequence[Input]) -> None:
    """Check that no file, or round of it, comes twice."""
    for place, source in enumerate(sources):
        for other in sources[:place]:
            same = os.path.realpath(source.path) == os.path.realpath(other.path)  # links
            if same and (source.round == other.round or None in (source.round, other.round)):
                raise PoolError(f"{source.path}: is given twice; give each file, or each round of it, once")


def _read(group: Sequence[Input], table: RolloutTable | None, options: Options) -> Round:
    """Read any other file, which may be open, or several of one temperature."""
    source, paths = group[0], [member.path for member in group]
    name = source.path.stem if source.round is None else f"{source.path.stem}, round {source.round}"
    if not is_stats(source.path):
        table = table or open_rollouts(paths)
        if source.temperature is not None:
            one_round(table, paths, source.round)  # an error where the files hold several
        part = round_of(name, table, None if source.round is None else (source.round,), options)
    else:
        stats = stats_of_input(source, options.by)
        numbers = frozenset(number for number in np.unique(stats.round).tolist() if number >= 0)
        part = Round(name, stats, stats.temperatures, numbers=numbers)
    if source.temperature is None:
        return part
    warm = only_temperature(source, part.temperatures)
    return replace(part, stats=with_temperature(part.stats, warm), temperatures=(warm,), warm=warm)


def round_of(name: str, table: RolloutTable, rounds: tuple[int, ...] | None, options: Options) -> Round:
    """Count the rollouts of a table, or of some of its rounds."""
    shown = set(ALL) - {"variance", "x_unit", "y_unit"}  # not on the page, and slow to compute
    stats = stats_of(
        table, rounds=rounds, by=options.by, target_space=options.target_space, recipe=options.recipe, columns=shown,
        warn=options.warn,
    )  # fmt: skip
    warm = tuple(value for value in table.temperatures(rounds) if value is not None)
    numbers = frozenset(value for value in table.rounds() if value is not None) if rounds is None else frozenset(rounds)
    return Round(name, stats, warm, False, numbers, table, rounds, frozenset(table.policies(rounds)))


def _sweep_of_files(parts: Sequence[Round]) -> tuple[list[Round], str]:
    """Return the files that are one round at several temperatures, ascending, or the reason for none."""
    candidates = [
        part for part in parts
        if len(part.temperatures) == 1 and (part.warm is not None or not part.numbers)
    ]  # fmt: skip
    candidates.sort(key=lambda part: part.temperatures[0])
    warm = [part.temperatures[0] for part in candidates]
    if len(set(warm)) < 2:
        return [], ""
    why = _confounded(candidates)
    twice = [value for value in warm if warm.count(value) > 1]
    if not why and twice:
        why = f"temperature {twice[0]:g} is that of several files that name no round; {ONE_ROUND}"
    return ([], why) if why else (candidates, "")


def _sweep_of_a_round(rounds: Sequence[Round]) -> tuple[dict[float, SampleStats], str]:
    """Return statistics by temperature of the last round that has several, or the reason for none."""
    several = [part for part in rounds if part.table is not None and len(part.temperatures) > 1]
    if not several:
        different = {value for part in rounds for value in part.temperatures}
        return {}, _confounded(rounds) if len(different) > 1 else ""
    part = several[-1]
    why = _confounded([part])
    if why or part.table is None:
        return {}, why
    return {warm: stats_of(part.table, rounds=part.rounds, temperature=warm) for warm in part.temperatures}, ""


def _confounded(parts: Sequence[Round]) -> str:
    return confounded(
        {value for part in parts for value in part.temperatures},
        {number for part in parts for number in part.numbers},
        {policy for part in parts for policy in part.policies},
    )


def _unique(names: Sequence[str]) -> list[str]:
    """Add numbers to names that come again; no two names are equal then.

    >>> _unique(["a", "a", "a (2)"])
    ['a', 'a (2)', 'a (2) (2)']
    """
    unique: dict[str, None] = {}
    for name in names:
        numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
        unique[next(each for each in numbered if each not in unique)] = None
    return list(unique)


_COUNTS = ("kept", "zero", "positive")
_OTHERS = ("dropped_all_correct", "shortfall", "seed", "zero_share", "zero_share_actual")


def funnel(name: str, manifest: Any) -> Numbers:
    """Return the funnel of one pool: samples measured, removed by each step, and kept."""
    if not isinstance(manifest, Mapping):
        raise PoolError(f"{name}: got {type(manifest).__name__}; expected the manifest of a pool, a JSON object")
    counts = {field: _count_of(name, manifest, field) for field in _COUNTS}
    listed = manifest.get("steps") or []
    if not isinstance(listed, list):
        raise PoolError(f"{name}, field 'steps': got {listed!r:.80}; expected a list of steps")
    steps = [_step(name, place, step) for place, step in enumerate(listed)]
    measured = steps[0]["kept"] + steps[0]["removed"] if steps else counts["kept"]
    known = {field: manifest[field] for field in _OTHERS if _is_number(manifest.get(field))}
    asked = known.pop("zero_share", None)
    return {
        "pool": name,
        "samples": measured,
        "steps": steps,
        **counts,
        **known,
        "zero_share_asked": asked,
        "zero_share": counts["zero"] / counts["kept"] if counts["kept"] else None,
    }


def _step(name: str, place: int, step: Any) -> Numbers:
    where = f"{name}, step {place}"
    if not isinstance(step, Mapping):
        raise PoolError(f"{where}: got {step!r:.80}; expected an object with a name and counts")
    return {
        "step": str(step.get("name", f"step {place + 1}")).replace("_", " "),
        "removed": _count_of(where, step, "removed"),
        "kept": _count_of(where, step, "kept"),
    }


def _count_of(where: str, fields: Mapping[str, Any], field: str) -> int:
    value = fields.get(field)
    if type(value) is not int or value < 0:  # true is no count
        shown = "nothing" if value is None else f"{value!r:.80}"
        raise PoolError(
            f"{where}, field {field!r}: got {shown}; expected a count, as `pool next` writes into manifests"
        )
    return value


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and value == value and abs(value) != float("inf")  # nor is true a number
