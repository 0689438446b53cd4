"""Numbers of one round by source, and by target size."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from grounding_rewards.pool import summary
from grounding_rewards.pool.report.rounds import Numbers, mean_rate, outcomes
from grounding_rewards.pool.stats import SampleStats

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
    rows_of = summary.by_source(scored)
    found = [_line(UNKNOWN if name is None else str(name), scored.taken(rows)) for name, rows in rows_of]
    return sorted(found, key=lambda line: (-line["zero_share"], line["source"]))


def merged_sources(name: str, lines: list[Numbers]) -> Numbers:
    """Merge several sources into one line."""
    summed = {key: sum(line[key] for line in lines) for key in _SUMMED}
    rates = sum(line["accuracy"] * line["samples"] for line in lines)
    return {
        "source": name,
        **summed,
        "zero_share": summed["none_correct"] / summed["samples"],
        "accuracy": rates / summed["samples"],
    }


def by_size(stats: SampleStats) -> list[Numbers]:
    """Return the mean pass rate by the target's share of the image; empty where no target's size is known.

    The Wilson interval takes every sample as one trial. Empty bins at both ends are left out.
    """
    known = stats.taken((stats.n > 0) & ~np.isnan(stats.target_area))
    place = np.searchsorted(AREAS, known.target_area, side="right") - 1
    place = np.clip(place, 0, len(AREAS) - 2)
    lines = []
    for number, (low, high) in enumerate(pairwise(AREAS)):
        inside = known.taken(place == number)
        accuracy, least, most = mean_rate(inside)
        lines.append(
            {
                "area_from": low, "area_to": high, "samples": len(inside), **_rollouts(inside),
                "correct": int(inside.num_correct.sum()), "accuracy": accuracy, "accuracy_low": least,
                "accuracy_high": most,
            }
        )  # fmt: skip
    held = [number for number, line in enumerate(lines) if line["samples"]]
    return lines[held[0] : held[-1] + 1] if held else []


_SUMMED = ("samples", "rollouts", "unscored", "correct", "none_correct", "mixed", "all_correct")


def _line(name: str, stats: SampleStats) -> Numbers:
    found = outcomes(stats)
    return {
        "source": name,
        "samples": len(stats),
        **_rollouts(stats),
        "correct": int(stats.num_correct.sum()),
        **found,
        "zero_share": found["none_correct"] / len(stats),
        "accuracy": mean_rate(stats)[0],
    }


def _rollouts(stats: SampleStats) -> dict[str, int]:
    return {"rollouts": int((stats.n + stats.unscored).sum()), "unscored": int(stats.unscored.sum())}
