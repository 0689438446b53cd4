"""Numbers of rounds as plain values: counts, histograms, signal, sources, target sizes, and all of a report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from grounding_rewards.arrays import Ints
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.aggregate import ALL, stats_of
from grounding_rewards.pool.inputs import (
    Input,
    grouped,
    mixed,
    one_round,
    only_temperature,
    read_input,
    stats_of_input,
    with_temperature,
)
from grounding_rewards.pool.stats import SampleStats, counts
from grounding_rewards.pool.stats import by_source as rows_of
from grounding_rewards.pool.stats_table import is_stats
from grounding_rewards.pool.temperature import sweep
from grounding_rewards.pool.transitions import ONE_ROUND, confounded, transitions
from grounding_rewards.scoring import Recipe
from grounding_rewards.settings.declared import is_number
from grounding_rewards.stats.intervals import exact_mean, wilson_of_samples
from grounding_rewards.tables.manifests import read_manifest
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts
from grounding_rewards.tables.rows import Note

Numbers = dict[str, Any]
"""Plain values, as in JSON; None for unknown ones."""

OUTCOMES = ("none_correct", "mixed", "all_correct")
COUNTED = ("samples", "rollouts", "unscored", "correct", *OUTCOMES)
"""Counts of a line of sources."""


@dataclass(frozen=True, eq=False)
class Round:
    """Statistics of one round of rollouts, or of one temperature of a sweep."""

    name: str  # its name on the page
    stats: SampleStats  # its samples
    temperatures: tuple[float, ...] = ()  # known sampling temperatures, in order
    swept: bool = False  # True for one temperature of a sweep, which is no step of training
    numbers: frozenset[int] = frozenset()  # numbers of the rounds that its rollouts name
    table: RolloutTable | None = None  # its rollouts; None for statistics
    rounds: tuple[int, ...] | None = None  # the table's rounds that count; None for all
    policies: frozenset[str] = frozenset()  # policies that its rollouts name
    warm: float | None = None  # the temperature named before its path


def summary(each: Round) -> Numbers:
    """Return one line of the table of rounds; the interval of ``accuracy``, the mean pass rate, is of ``mean_rate``."""
    stats = each.stats
    _, low, high = mean_rate(stats)
    return {
        "round": each.name,
        **counts(stats),
        "rollouts_per_sample": np.unique(stats.n[stats.n > 0]).tolist(),
        "correct": int(stats.num_correct.sum()),
        "accuracy_low": low,
        "accuracy_high": high,
        "temperatures": list(each.temperatures),
    }


def mean_rate(stats: SampleStats) -> tuple[float | None, float | None, float | None]:
    """Return the mean pass rate of m scored samples, and the ends of ``wilson_of_samples``; None without samples."""
    if not stats.n.any():
        return None, None, None
    return exact_mean(stats.pass_rate), *wilson_of_samples(stats.num_correct, stats.n)


def histogram(each: Round) -> Numbers:
    """Count samples by right rollouts, 0, 1, ..., and by outcome."""
    stats = each.stats
    right, length = stats.num_correct, int(stats.n.max(initial=0)) + 1
    counted = {name: np.bincount(right[getattr(stats, name)], minlength=length).tolist() for name in OUTCOMES}
    return {"round": each.name, **counted}


def signal(each: Round) -> Numbers:
    """Return the shares of a round's scored samples without signal; ``no_spread`` is that of groups of equal totals."""
    stats = each.stats.taken(each.stats.n > 0)
    spread = stats.spread[~np.isnan(stats.spread)]
    counted = counts(stats)
    shares = {name: counted[name] / len(stats) if len(stats) else None for name in OUTCOMES}
    return {"round": each.name, **shares, "no_spread": counted["zero_signal"] / len(spread) if len(spread) else None}


AREAS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1.0)
"""Edges of bins of target area over image area; each bin is about three times as large as the one before."""

UNKNOWN = "unknown"


def by_source(stats: SampleStats) -> list[Numbers]:
    """Count outcomes by source, the largest share of never-solved samples first; empty where no source is known."""
    scored = stats.taken(stats.n > 0)
    lines = [_line(UNKNOWN if name is None else str(name), scored.taken(rows)) for name, rows in rows_of(scored)]
    return sorted(lines, key=lambda line: (-line["zero_share"], line["source"]))  # names decide ties


def by_size(stats: SampleStats) -> list[Numbers]:
    """Return the mean pass rate by the target's share of the image; empty where no target's size is known."""
    known = stats.taken((stats.n > 0) & ~np.isnan(stats.target_area))
    place, lines = size_bins(known), []
    for number, (low, high) in enumerate(pairwise(AREAS)):
        inside = known.taken(place == number)
        counted = {key: value for key, value in _counted(inside).items() if key not in OUTCOMES}
        rates = dict(zip(("accuracy", "accuracy_low", "accuracy_high"), mean_rate(inside), strict=True))
        lines.append({"area_from": low, "area_to": high, **counted, **rates})
    held = [number for number, line in enumerate(lines) if line["samples"]]
    return lines[held[0] : held[-1] + 1] if held else []


def size_bins(stats: SampleStats) -> Ints:
    """Return the bin of ``AREAS`` of each target, (m,): it holds its lower edge, and the last one the whole screen."""
    return np.clip(np.searchsorted(AREAS, stats.target_area, side="right") - 1, 0, len(AREAS) - 2)


def _line(name: str, stats: SampleStats) -> Numbers:
    counted = _counted(stats)
    shares = {"zero_share": counted["none_correct"] / len(stats), "accuracy": mean_rate(stats)[0]}
    return {"source": name, **counted, **shares}


def _counted(stats: SampleStats) -> Numbers:
    every = {**counts(stats), "correct": int(stats.num_correct.sum())}
    return {key: every[key] for key in COUNTED}


NO_ROUND = "needs rollouts, or statistics of samples that `pool stats --out` wrote"
NO_SCORE = f"{NO_ROUND}, of which some are scored (column acc)"
NEEDS = {
    "rounds": NO_ROUND,
    "num_correct": NO_SCORE,
    "signal": NO_SCORE,
    "transitions": "needs two rounds or more: give a file of rollouts for each, or a column round",
    "sources": "needs a column source in the rollouts, or another column by --by",
    "sizes": "needs targets and image sizes in the rollouts (columns target and image_size), and the space of targets "
    "by --target-space where nothing else says it",
    "temperature": "needs rollouts of the same samples at two temperatures or more (column temperature)",
    "pools": "needs the manifests of pools: give the .manifest.json files that `pool next` writes",
    "hardest": "needs rollouts of which none is right for a sample",
    "suspects": "none: no never-solved sample has four or more clicks that agree on one place outside of its target "
    "(columns x_unit, y_unit and image_size)",
}
"""Text of each section that has nothing to show."""


def report(
    title: str,
    rounds: Sequence[Round],
    *,
    by_temperature: Mapping[float, SampleStats] | None = None,
    unswept: str = "",
    pools: Sequence[Numbers] = (),
    remarks: Sequence[str] = (),
    hardest: Sequence[Any] = (),
    suspects: Sequence[Any] = (),
    counted: Mapping[str, int] | None = None,
) -> Numbers:
    """Return all numbers of a page by section; ``missing`` has the missing input of the sections with nothing to show.

    ``by_temperature`` has statistics of the same samples at two temperatures or more, ``unswept`` the reason for none.
    """
    moved, apart = _transitions([part for part in rounds if not part.swept])  # temperatures are no steps of training
    swept, failed = None, ""
    if by_temperature and len(by_temperature) > 1:
        try:
            compared = sweep(by_temperature)
            swept, failed = (None if compared["confounded"] else compared), compared["confounded"]
        except PoolError as error:
            failed = str(error)  # one section fails, not the page
    sources = [{"round": part.name, "by_source": by_source(part.stats)} for part in rounds]
    sizes = [{"round": part.name, "by_size": by_size(part.stats)} for part in rounds]
    scored = [part for part in rounds if part.stats.n.any()]  # without a scored rollout there is nothing to divide by
    numbers: Numbers = {
        "title": title, "rounds": list(map(summary, rounds)), "num_correct": list(map(histogram, scored)),
        "transitions": moved, "sources": [each for each in sources if each["by_source"]],
        "sizes": [each for each in sizes if each["by_size"]], "signal": list(map(signal, scored)), "temperature": swept,
        "pools": list(pools), "hardest": list(hardest), "suspects": list(suspects), "counted": dict(counted or {}),
    }  # fmt: skip
    missing = {name: why for name, why in NEEDS.items() if not numbers[name]}
    if not moved and any(part.swept for part in rounds):
        missing["transitions"] = (
            "temperatures of one round are no steps of training; needs rollouts that name two rounds (column round)"
        )
    missing |= {"transitions": "; ".join(apart)} if apart and not moved else {}
    missing |= {"temperature": failed or unswept} if (failed or unswept) and not swept else {}
    return {**numbers, "missing": missing, "remarks": [*remarks, *(apart if moved else ())]}


def _transitions(rounds: Sequence[Round]) -> tuple[list[Numbers], list[str]]:
    """Return the transitions from each round to the next, and the reasons for missing ones."""
    compared, apart = list[Numbers](), list[str]()
    for before, after in pairwise(rounds):
        try:
            moved = transitions(before.stats, after.stats)
        except PoolError as error:
            apart.append(f"from {before.name} to {after.name}: {error}")
            continue
        mixtures = [f"{part.name}: {text}" for part in (before, after) if (text := mixed(part.temperatures))]
        named = {"from": before.name, "to": after.name}
        compared.append({**named, **moved, "warnings": [*moved["warnings"], *mixtures]})
    return compared, apart


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
    """Read the inputs of a report: the temperatures of one round as a sweep, and rounds in the order of training."""
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
    candidates = [part for part in parts if len(part.temperatures) == 1 and (part.warm is not None or not part.numbers)]
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
    """Add numbers to names that come again; no two names are equal then."""
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
    known = {field: manifest[field] for field in _OTHERS if is_number(manifest.get(field))}
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
