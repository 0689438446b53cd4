"""Warnings on comparisons of rounds and of temperatures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.transitions.paired import in_common, temperatures

NULL = "the null"
FEW = 30
"""Number of samples below which bootstrap intervals are too narrow."""


def of_rounds(
    first: SampleStats, second: SampleStats, before: SampleStats, after: SampleStats, null: SampleStats | None
) -> list[str]:
    """Return the warnings on the samples of both rounds, on the whole rounds, and on the null's rollouts."""
    warnings: list[str] = []
    warm = temperatures(before), temperatures(after)
    if warm[0] != warm[1] and all(warm):  # unknown temperatures are no difference
        warnings.append(
            f"temperatures differ, {_list(warm[0])} before and {_list(warm[1])} after: the matrix mixes what the "
            "policy learnt with what the temperature does"
        )
    sizes = np.unique(first.n).tolist(), np.unique(second.n).tolist()
    if len(sizes[0]) > 1 or sizes[0] != sizes[1]:
        warnings.append(
            f"samples have {_list(sizes[0])} scored rollouts before and {_list(sizes[1])} after: equal numbers of "
            "right ones are not equal pass rates; up and down compare pass rates"
        )
    rounds = [set(np.unique(stats.round[stats.round >= 0]).tolist()) for stats in (before, after)]
    if rounds[0] and rounds[0] == rounds[1]:
        warnings.append(f"both are of round {_list(rounds[0])}")
    elif rounds[0] and rounds[1] and max(rounds[1]) < min(rounds[0]):
        warnings.append(f"round {_list(rounds[0])} stands before round {_list(rounds[1])}: swapped?")
    if len(first) >= FEW and (first.n == second.n).all() and (first.num_correct == second.num_correct).all():
        warnings.append("both rounds show the same in all samples: are these the same rollouts twice?")
    if null is not None:
        warnings += _null_warnings(first, second, null)
    return warnings


def of_temperatures(common: Sequence[SampleStats]) -> list[str]:
    """Return the warnings on the same samples at several temperatures."""
    warnings: list[str] = []
    if len(common[0]) < FEW:
        warnings.append(f"{len(common[0])} samples are few: bootstrap intervals of differences are too narrow")
    sizes = [set(stats.n.tolist()) for stats in common]
    if any(size != sizes[0] for size in sizes):
        warnings.append(
            "numbers of scored rollouts a sample differ between temperatures: more rollouts make more groups mixed"
        )
    return warnings


ONE_ROUND = "needs rollouts of one round at two temperatures or more"


def mixed(temperatures: Iterable[float | None]) -> str:
    """Warn of rollouts at several known temperatures that count together; "" without.

    >>> mixed([1.4, None, 1.1]), mixed([1.1, None])
    ('rollouts at temperatures 1.1, 1.4 count together, and pass rates mix them', '')
    """
    known = sorted(value for value in temperatures if value is not None)
    shown = ", ".join(f"{value:g}" for value in known)
    return f"rollouts at temperatures {shown} count together, and pass rates mix them" if len(known) > 1 else ""


def confounded(temperatures: Collection[float], rounds: Collection[int], policies: Collection[str]) -> str:
    """Name another difference between temperatures, whose effect would pass for theirs; "" without one.

    >>> confounded([1.4, 1.1], {2, 1}, set())
    'temperatures 1.1, 1.4 are of rounds 1, 2; needs rollouts of one round at two temperatures or more'
    """
    for kind, values in (("rounds", sorted(rounds)), ("policies", sorted(policies))):
        if len(values) > 1:
            shown = ", ".join(map(str, values[:3])) + (", ..." if len(values) > 3 else "")
            warm = ", ".join(f"{value:g}" for value in sorted(temperatures))
            return f"temperatures {warm} are of {kind} {shown}; {ONE_ROUND}"
    return ""


def _null_warnings(first: SampleStats, second: SampleStats, null: SampleStats) -> list[str]:
    warnings: list[str] = []
    sizes = np.unique(null.n[null.n > 0]).tolist()
    if sizes != np.unique(second.n).tolist():
        warnings.append(
            f"{NULL} has {_list(sizes)} scored rollouts a sample, the round after {_list(np.unique(second.n).tolist())}"
            ": more rollouts find more right ones by chance"
        )
    again = null.taken(null.n > 0)
    rows, rows_again = in_common([first, again], ["both rounds", NULL])
    if len(rows) < len(first):
        warnings.append(f"{NULL} lacks {len(first) - len(rows):,} of the {len(first):,} samples of both rounds")
    same = (first.n[rows] == again.n[rows_again]) & (first.num_correct[rows] == again.num_correct[rows_again])
    if len(rows) >= FEW and same.all():
        warnings.append(f"{NULL} shows the same in all samples as the round before: are these its rollouts once more?")
    return warnings


def _list(values: Any) -> str:
    """List some numbers; of many the ends.

    >>> _list([1.1]), _list([7, 8]), _list(range(1, 9))
    ('1.1', '7 and 8', '1 to 8')
    """
    shown = [f"{value:g}" for value in sorted(values)]
    return f"{shown[0]} to {shown[-1]}" if len(shown) > 3 else " and ".join(shown)
