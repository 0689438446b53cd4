"""Transitions between two files of rollouts or statistics."""

from __future__ import annotations

import os
from dataclasses import replace

from grounding_rewards.pool.inputs import read_input, stats_of_input
from grounding_rewards.pool.transitions.matrix import Transitions, transitions
from grounding_rewards.pool.transitions.warnings import FEW
from grounding_rewards.tables.reporting import SILENT, Reporting


def compare_files(
    before: str,
    after: str,
    *,
    null: str | None = None,
    prior: str | tuple[float, float] = "fit",
    by: str = "source",
    reporting: Reporting = SILENT,
) -> Transitions:
    """Compare two rounds from files, as ``grounding-rewards pool transitions`` does.

    Args:
        before: rollouts or statistics of the earlier round, as ``pool.inputs.read_input`` reads them.
        after: the same of the later round.
        null: a second set of rollouts of the policy before; None computes the null from ``prior``.
        prior: see ``transitions``.
        by: the column that samples are counted by.
        reporting: takes progress.

    Raises:
        TableError: an input cannot be read.
        PoolError: an input does not fit, or as of ``transitions``.
    """
    mixed = list[str]()
    with reporting.progress("comparing rounds") as advance:
        sources = read_input(before), read_input(after)
        first = stats_of_input(sources[0], by, mixed.append)
        advance(0.4)
        second = stats_of_input(sources[1], by, mixed.append)
        advance(0.8)
        # The null's sources do not matter.
        again = None if null is None else stats_of_input(read_input(null), "source", mixed.append)
        compared = transitions(first, second, null=again, prior=prior)
        compared = replace(compared, warnings=(*compared.warnings, *mixed))
    one, other = sources
    same = os.path.realpath(one.path) == os.path.realpath(other.path) and one[1:] == other[1:]
    if compared.both < FEW and same:  # with more samples, equal counts tell (pool.transitions.warnings)
        return replace(compared, warnings=(*compared.warnings, "BEFORE and AFTER are the same rollouts"))
    return compared
