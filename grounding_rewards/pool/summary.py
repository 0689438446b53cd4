"""Summary of statistics of samples: counts, accuracy, and the share of samples without signal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grounding_rewards.arrays import Ints, plain
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.stats.intervals import exact_mean, pass_at_k

PASS_RATES = (
    "never", "below 0.2", "0.2 to 0.4", "0.4 to 0.6", "0.6 to 0.8", "above 0.8", "always", "unmeasured",
)  # fmt: skip
"""Ranges of pass rates, symmetric about a half: 0.4 and 0.6 are in the middle one, 0.2 and 0.8 in those beside it."""

SUMMED = ("source", "mean", "lowest", "highest", "parse_rate", "dispersion")
"""Columns of statistics that a summary needs, beside the counts."""


def summary(stats: SampleStats, ks: Sequence[int] = ()) -> dict[str, Any]:
    """Return counts and means over m samples as plain values.

    ``accuracy`` is the mean of the samples' pass rates, whatever their n; ``parse_rate`` and ``dispersion`` are means
    over the samples for which they are known, None where that is none. A sample is ``zero_signal`` where its highest
    and its lowest total differ by no more than 1e-6. ``pass_at_k`` counts samples with at least k scored rollouts.
    """
    return {
        **counts(stats),
        "num_correct": _histogram(stats),
        "by_source": [{"source": source, **counts(stats.taken(rows))} for source, rows in by_source(stats)],
        **({"pass_at_k": {str(k): _pass_at(stats, k) for k in ks}} if ks else {}),
    }


def counts(stats: SampleStats) -> dict[str, Any]:
    """Count samples and rollouts by outcome."""
    scored, spread = stats.n > 0, stats.spread[~np.isnan(stats.spread)]
    return {
        "samples": len(stats),
        "rollouts": int((stats.n + stats.unscored).sum()),
        "unscored": int(stats.unscored.sum()),
        "unscored_samples": int((~scored).sum()),
        "all_correct": int(stats.all_correct.sum()),
        "none_correct": int(stats.none_correct.sum()),
        "mixed": int(stats.mixed.sum()),
        "zero_signal": int((spread <= NO_SIGNAL).sum()) if len(spread) else None,  # unknown, and not 0
        "accuracy": plain(exact_mean(stats.pass_rate)),
        "mean_total": plain(exact_mean(stats.mean)),
        "parse_rate": plain(exact_mean(stats.parse_rate)),
        "dispersion": plain(exact_mean(stats.dispersion)),
    }


def by_source(stats: SampleStats) -> list[tuple[str | None, np.ndarray[Any, Any]]]:
    """Return the rows of each source, by name; nothing where no source is known."""
    names = [name for name in dict.fromkeys(stats.source.tolist()) if name is not None]
    if not names:
        return []
    ordered = [*sorted(names, key=str), *([None] if any(name is None for name in stats.source.tolist()) else [])]
    places = {name: place for place, name in enumerate(ordered)}
    codes = np.array([places[name] for name in stats.source.tolist()], dtype=np.int64)
    return [(name, np.flatnonzero(codes == place)) for name, place in places.items()]


def _histogram(stats: SampleStats) -> list[dict[str, int]]:
    """Count the samples with num_correct of n, for each n and num_correct that occurs."""
    scored = stats.n > 0
    step = int(stats.num_correct.max(initial=0)) + 1  # a pair as one number: faster to count
    codes, samples = np.unique(stats.n[scored] * step + stats.num_correct[scored], return_counts=True)
    return [
        {"n": code // step, "num_correct": code % step, "samples": count}
        for code, count in zip(codes.tolist(), samples.tolist(), strict=True)
    ]


def _pass_at(stats: SampleStats, k: int) -> dict[str, Any]:
    enough = stats.n >= k  # pass@k of fewer than k rollouts is undefined
    return {
        "samples": int(enough.sum()),
        "mean": plain(exact_mean(pass_at_k(stats.n[enough], stats.num_correct[enough], k))),
    }


def pass_rate_bins(stats: SampleStats) -> Ints:
    """Return the place of each sample's pass rate in ``PASS_RATES``, (m,)."""
    fifths = 5 * stats.num_correct  # whole numbers: 3 / 5 is no float
    upper = [fifths < stats.n, fifths < 2 * stats.n, fifths <= 3 * stats.n, fifths <= 4 * stats.n]
    between = np.select(upper, [1, 2, 3, 4], 5)
    ends = [stats.n == 0, stats.none_correct, stats.all_correct]
    return np.select(ends, [7, 0, 6], between).astype(np.int64)
