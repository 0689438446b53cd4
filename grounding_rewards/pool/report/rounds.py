"""Numbers of rounds as plain values: counts, histograms, signal, sources, target sizes, and all of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from grounding_rewards.arrays import Ints
from grounding_rewards.errors import PoolError
from grounding_rewards.pool import summary as summaries
from grounding_rewards.pool.inputs import mixed
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.summary import counts
from grounding_rewards.pool.temperature import sweep
from grounding_rewards.pool.transitions import transitions
from grounding_rewards.stats.intervals import exact_mean, wilson_of_samples
from grounding_rewards.tables.rollout_table import RolloutTable

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
    most = int(stats.n.max(initial=0))
    return {
        "round": each.name,
        **{
            name: np.bincount(stats.num_correct[getattr(stats, name)], minlength=most + 1).tolist() for name in OUTCOMES
        },
    }


def signal(each: Round) -> Numbers:
    """Return the shares of a round's scored samples without signal.

    ``no_spread`` is the share of groups whose totals lie within 1e-6 of each other, of those that have totals.
    """
    stats = each.stats.taken(each.stats.n > 0)
    spread = stats.spread[~np.isnan(stats.spread)]
    counted = counts(stats)
    shares = {name: counted[name] / len(stats) if len(stats) else None for name in OUTCOMES}
    return {"round": each.name, **shares, "no_spread": counted["zero_signal"] / len(spread) if len(spread) else None}


AREAS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1.0)
"""Edges of bins of target area over image area; each bin is about three times as large as the one before."""

UNKNOWN = "unknown"


def by_source(stats: SampleStats) -> list[Numbers]:
    """Count outcomes by source, the largest share of never-solved samples first; empty where no source is known.

    Samples without a scored rollout are left out; ``rollouts`` counts all of the others.
    """
    scored = stats.taken(stats.n > 0)
    rows_of = summaries.by_source(scored)
    lines = [_line(UNKNOWN if name is None else str(name), scored.taken(rows)) for name, rows in rows_of]
    return sorted(lines, key=lambda line: (-line["zero_share"], line["source"]))  # names decide ties


def merged_sources(name: str, lines: list[Numbers]) -> Numbers:
    """Merge several sources into one line."""
    summed = {key: sum(line[key] for line in lines) for key in COUNTED}
    rates = sum(line["accuracy"] * line["samples"] for line in lines)  # every sample weighs alike
    return {
        "source": name,
        **summed,
        "zero_share": summed["none_correct"] / summed["samples"],  # again, for shares do not add up
        "accuracy": rates / summed["samples"],
    }


def by_size(stats: SampleStats) -> list[Numbers]:
    """Return the mean pass rate by the target's share of the image; empty where no target's size is known.

    Intervals are those of ``mean_rate``. Empty bins at both ends are left out.
    """
    known = stats.taken((stats.n > 0) & ~np.isnan(stats.target_area))
    place, lines = size_bins(known), []
    for number, (low, high) in enumerate(pairwise(AREAS)):
        inside = known.taken(place == number)
        accuracy, least, most = mean_rate(inside)
        lines.append(
            {
                "area_from": low, "area_to": high, "samples": len(inside),
                "rollouts": int((inside.n + inside.unscored).sum()), "unscored": int(inside.unscored.sum()),
                "correct": int(inside.num_correct.sum()), "accuracy": accuracy, "accuracy_low": least,
                "accuracy_high": most,
            }
        )  # fmt: skip
    held = [number for number, line in enumerate(lines) if line["samples"]]
    return lines[held[0] : held[-1] + 1] if held else []


def size_bins(stats: SampleStats) -> Ints:
    """Return the bin of ``AREAS`` of each target, (m,): it holds its lower edge, and the last one the whole screen."""
    return np.clip(np.searchsorted(AREAS, stats.target_area, side="right") - 1, 0, len(AREAS) - 2)


def _line(name: str, stats: SampleStats) -> Numbers:
    counted = {**counts(stats), "correct": int(stats.num_correct.sum())}
    return {
        "source": name,
        **{key: counted[key] for key in COUNTED},
        "zero_share": counted["none_correct"] / len(stats),
        "accuracy": mean_rate(stats)[0],
    }


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

    Rounds are in the order of training; transitions pass over those that are temperatures of a sweep.
    ``by_temperature`` has statistics of the same samples at two temperatures or more, ``unswept`` the reason for none;
    ``hardest`` and ``suspects`` are samples that the page shows, some of as many as ``counted`` says.
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
