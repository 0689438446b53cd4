"""Methods on the same rollouts, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.errors import GroundingRewardsError, PoolError
from grounding_rewards.pool.command import figures
from grounding_rewards.pool.methods import ALLOCATION, CHOICE
from grounding_rewards.pool.methods.protocol import allocate, choose, select
from grounding_rewards.pool.plan.candidates import REFERENCE, Candidate
from grounding_rewards.pool.plan.measures import PASS_RATES, Measures, measures, overlaps
from grounding_rewards.pool.rollouts import RolloutColumns
from grounding_rewards.pool.selection import next_pool
from grounding_rewards.pool.selection.filters import plain
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.tables.reporting import Advance


@dataclass(frozen=True)
class Row:
    """Method that ran."""

    method: Candidate
    measures: Measures  # the measures of its weights
    # number of rollouts that a choice keeps, or of further ones that an allocation asks for; None of selectors
    rollouts: int | None = None


@dataclass(frozen=True, eq=False)
class Plan:
    """Comparison of methods."""

    samples: int  # number of samples
    measured: int  # number of samples with a scored rollout
    rollouts: int  # number of rollouts, unscored ones included
    rows: tuple[Row, ...]  # methods that ran
    left_out: tuple[Candidate, ...]  # methods that did not, with the arguments that they need, or a reason
    overlap: Floats = field(repr=False)  # (k, k) overlap of the rows' methods with each other
    sample_id: NDArray[np.object_] = field(repr=False)  # (m,) names of the samples
    weights: tuple[Floats, ...] = field(repr=False)  # (m,) weights of the samples by each of the rows' methods

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "samples": self.samples,
            "measured": self.measured,
            "rollouts": self.rollouts,
            "pass_rates": list(PASS_RATES),
            "methods": [
                {**_identity(row.method), "rollouts": row.rollouts, **row.measures.to_json(), "overlap": shared}
                for row, shared in zip(self.rows, self.overlap.tolist(), strict=True)
            ],
            "left_out": [
                {**_identity(each), "needs": list(each.needs), "reason": each.reason or None} for each in self.left_out
            ],
        }


def compare(
    stats: SampleStats,
    methods: Sequence[Candidate],
    rollouts: RolloutColumns | None = None,
    *,
    advance: Advance = lambda done: None,
) -> Plan:
    """Compare methods by the weights that they give to samples.

    The weight of a sample is a selector's, the number of further rollouts of an allocation, or the number of its
    rollouts that a choice keeps, whose mean pass rate and share without signal are those of these rollouts. Two
    references come first: ``control`` is every measured sample, ``next`` the pool
    that ``next_pool`` draws without options. A method that raises is left out, with its error as the reason.

    >>> from grounding_rewards.pool import sample_stats
    >>> from grounding_rewards.pool.plan import candidates
    >>> stats = sample_stats(["a", "a", "b", "b", "c", "c"], [0, 0, 0, 1, 1, 1])
    >>> made = compare(stats, candidates(["unsolved", "learnability", "min_rollouts"]))
    >>> [(row.method.name, row.measures.kept, row.measures.mean_p) for row in made.rows]
    [('control', 3, 0.5), ('next', 1, 0.5), ('unsolved', 2, 0.25), ('learnability', 1, 0.5)]
    >>> made.overlap[2].round(3).tolist(), made.left_out[0].needs
    ([0.667, 0.5, 1.0, 0.5], ('n',))
    """
    if not stats.n.any():
        raise PoolError("no sample has a scored rollout; expected one or more to compare methods")
    place = None if rollouts is None else _places(stats, rollouts)
    every = [*_references(), *methods]
    rows, weights, left_out = list[Row](), list[Floats](), list[Candidate]()
    for done, method in enumerate(every):
        advance(done / len(every))
        if not (method.needs or method.reason):
            try:
                weighed, number, kept = _weighed(stats, method, rollouts, place)
            except (Exception, SystemExit) as error:  # one method is anybody's code, and must not end the others
                method = replace(method, reason=_reason(error))
        if method.needs or method.reason:
            left_out.append(method)
        else:
            shown = measures(stats, weighed)
            if kept is not None:
                shown = replace(shown, mean_p=kept["mean_p"], zero_signal_share=kept["no_signal"])
            rows.append(Row(method, shown, number))
            weights.append(weighed)
    counts = len(stats), int((stats.n > 0).sum()), int((stats.n + stats.unscored).sum())
    return Plan(*counts, tuple(rows), tuple(left_out), overlaps(weights), stats.sample_id, tuple(weights))


def _references() -> list[Candidate]:
    pools = {
        "control": lambda stats: np.where(stats.n > 0, 1.0, 0.0),
        "next": lambda stats: np.bincount(next_pool(stats, seed=0).kept, minlength=len(stats)).astype(np.float64),
    }
    return [Candidate(name, REFERENCE, built=pool) for name, pool in pools.items()]


def _weighed(
    stats: SampleStats, method: Candidate, rollouts: RolloutColumns | None, place: Ints | None
) -> tuple[Floats, int | None, dict[str, Any] | None]:
    """Return the weights of the samples, (m,), and the number of rollouts that a method keeps or asks for.

    The third are the figures of the rollouts that a choice keeps.
    """
    weights: Floats
    number, after = None, None
    if method.kind == CHOICE:
        if rollouts is None or place is None:
            raise PoolError("needs rollouts; these are statistics of samples")
        kept = choose(rollouts, method.built).kept
        number, weights = len(kept), np.bincount(place[rollouts.sample[kept]], minlength=len(stats)).astype(np.float64)
        after = figures(rollouts, kept)
    elif method.kind == ALLOCATION:
        further = allocate(stats, method.built)
        number, weights = int(further.sum()), further.astype(np.float64)
    else:
        weights = method.built(stats) if method.kind == REFERENCE else select(stats, method.built)
    for row in np.flatnonzero(weights < 0)[:1]:
        raise PoolError(
            f"keeps nothing: {stats.named(row)} has the weight {weights[row]:g}, and a pool is drawn by weights from 0"
        )
    if not weights.any():
        raise PoolError("keeps nothing: all weights are 0")
    return weights, number, after


def _reason(error: BaseException) -> str:
    """Return the message in one line; of a selector's own error without what ``select`` puts before it."""
    own = error.__cause__ if isinstance(error.__cause__, GroundingRewardsError) else error
    return " ".join(f"{own}".split()) or type(own).__name__


def _places(stats: SampleStats, rollouts: RolloutColumns) -> Ints:
    """Return the row of each of the rollouts' samples, by their names."""
    rows = {str(name): row for row, name in enumerate(stats.sample_id.tolist())}
    names = map(str, rollouts.sample_id.tolist())
    try:
        return np.fromiter(map(rows.__getitem__, names), dtype=np.int64, count=len(rollouts.sample_id))
    except KeyError as error:
        raise PoolError(
            f"rollouts of sample {error}, of which there are no statistics; expected the same samples"
        ) from None


def _identity(method: Candidate) -> dict[str, Any]:
    return {"name": method.name, "kind": method.kind, "arguments": plain(method.arguments)}
