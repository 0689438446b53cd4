"""Numbers of a round: counts, accuracy, histogram, samples without signal, and the same by source and target size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from grounding_rewards.arrays import Ints
from grounding_rewards.pool import summary as summaries
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.summary import counts
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
    """Return one line of the table of rounds.

    It includes ``summary.counts``. The interval of ``accuracy``, the mean pass rate, is that of ``mean_rate``.

    >>> from grounding_rewards.pool import sample_stats
    >>> numbers = summary(Round("1", sample_stats(["a", "a", "b", "b", "c", "c"], [1, 1, 0, 1, 0, 0])))
    >>> numbers["samples"], numbers["none_correct"], numbers["mixed"], numbers["all_correct"], numbers["accuracy"]
    (3, 1, 1, 1, 0.5)
    """
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
    """Count samples by right rollouts, 0, 1, ..., and by outcome.

    >>> from grounding_rewards.pool import sample_stats
    >>> histogram(Round("1", sample_stats(["a", "a", "b", "c", "c"], [1, 0, 1, 0, 0])))
    {'round': '1', 'none_correct': [1, 0, 0], 'mixed': [0, 1, 0], 'all_correct': [0, 1, 0]}
    """
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

    >>> from dataclasses import replace
    >>> from grounding_rewards.pool import sample_stats
    >>> stats = replace(sample_stats(["a", "b", "c"], [1, 0, 1]), source=np.array(["web", "web", "pdf"], dtype=object))
    >>> [(each["source"], each["samples"], each["correct"], each["zero_share"]) for each in by_source(stats)]
    [('web', 2, 1, 0.5), ('pdf', 1, 1, 0.0)]
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
