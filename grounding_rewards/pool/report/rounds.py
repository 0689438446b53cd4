"""Numbers of a round: counts, accuracy, histogram, and samples without signal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.summary import NO_SIGNAL, counts
from grounding_rewards.stats.intervals import wilson_of_rate

Numbers = dict[str, Any]
"""Plain values, as in JSON; None for unknown ones."""


@dataclass(frozen=True, eq=False)
class Round:
    """Statistics of one round of rollouts.

    Attributes:
        name: its name on the page.
        stats: its samples.
        temperatures: known sampling temperatures, in order.
        swept: True for one temperature of a sweep, which is no step of training.
    """

    name: str
    stats: SampleStats
    temperatures: tuple[float, ...] = ()
    swept: bool = False


def summary(each: Round) -> Numbers:
    """Return one line of the table of rounds.

    It includes ``summary.counts``. The interval of ``accuracy``, the mean pass rate, is that of ``mean_rate``.

    >>> from grounding_rewards.pool import sample_stats
    >>> found = summary(Round("1", sample_stats(["a", "a", "b", "b", "c", "c"], [1, 1, 0, 1, 0, 0])))
    >>> found["samples"], found["none_correct"], found["mixed"], found["all_correct"], found["accuracy"]
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


def outcomes(stats: SampleStats) -> dict[str, int]:
    """Count never-solved, partly solved and always solved samples."""
    return {
        "none_correct": int(stats.none_correct.sum()),
        "mixed": int(stats.mixed.sum()),
        "all_correct": int(stats.all_correct.sum()),
    }


def mean_rate(stats: SampleStats) -> tuple[float | None, float | None, float | None]:
    """Return the mean pass rate p of m scored samples, and Wilson's interval with every sample as one trial.

    Rates from 0 to 1 with a given mean vary at most as much as single trials, so the interval is conservative. Where
    every sample has one rollout, it is the interval of their share.

    Returns:
        The mean and both ends; None without samples.
    """
    rates = stats.pass_rate[stats.n > 0]
    if not len(rates):
        return None, None, None
    mean = rates.mean()
    low, high = wilson_of_rate(mean, np.array(len(rates)))
    return float(mean), float(low), float(high)


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
        **{name: _counts(stats, getattr(stats, name), most) for name in ("none_correct", "mixed", "all_correct")},
    }


def signal(each: Round) -> Numbers:
    """Return the shares of a round's scored samples without signal.

    ``no_spread`` is the share of groups whose totals lie within 1e-6 of each other, of those that have totals.
    """
    stats = each.stats.taken(each.stats.n > 0)
    spread = stats.spread[~np.isnan(stats.spread)]
    found = {name: _share(count, len(stats)) for name, count in outcomes(stats).items()}
    return {"round": each.name, **found, "no_spread": _share(int((spread <= NO_SIGNAL).sum()), len(spread))}


def _counts(stats: SampleStats, chosen: NDArray[np.bool_], most: int) -> list[int]:
    found: list[int] = np.bincount(stats.num_correct[chosen], minlength=most + 1).tolist()
    return found


def _share(count: int, of: int) -> float | None:
    return count / of if of else None
