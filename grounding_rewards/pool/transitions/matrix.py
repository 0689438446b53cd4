"""Transition matrix of two rounds over the same samples.

It counts samples by their right rollouts before and after. Beside it stand the moves of samples, up or down, and what
chance alone would show (the null).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.transitions.null import Chance, computed, measured
from grounding_rewards.pool.transitions.paired import (
    Difference,
    aligned_rows,
    common_rows,
    difference,
    in_common,
    name_key,
    plain,
    temperatures,
)
from grounding_rewards.pool.transitions.priors import prior_of
from grounding_rewards.pool.transitions.warnings import NULL, of_rounds
from grounding_rewards.stats.intervals import mcnemar, wilson


@dataclass(frozen=True)
class Moves:
    """Moves of some samples, all of them scored in both rounds: how many rose, fell, or were solved at last.

    Attributes:
        source: their source; None where unknown, and for all samples together.
        both: number of samples.
        never_solved: number without a right rollout before.
        escaped: number of these with one after.
        escape_share: escaped / never_solved; NaN where there is none.
        low: the lower end of its 95 % Wilson interval.
        high: the upper end.
        up: number with a higher pass rate after.
        same: number with the same pass rate after.
        down: number with a lower pass rate after.
        difference: difference of the mean pass rates, after less before.
    """

    source: str | None
    both: int
    never_solved: int
    escaped: int
    escape_share: float
    low: float
    high: float
    up: int
    same: int
    down: int
    difference: Difference


def moves_of(source: str | None, first: SampleStats, second: SampleStats) -> Moves:
    """Count the moves of samples of one source, or of all for None.

    Row i of both rounds is the same sample, with a scored rollout in each.
    """
    never = first.num_correct == 0
    escaped = int((second.num_correct[never] > 0).sum())
    low, high = wilson(escaped, int(never.sum()))
    rise = second.num_correct * first.n - first.num_correct * second.n  # pass rates without division: the sign is exact
    return Moves(
        source=source,
        both=len(first),
        never_solved=int(never.sum()),
        escaped=escaped,
        escape_share=escaped / int(never.sum()) if never.any() else np.nan,
        low=float(low),
        high=float(high),
        up=int((rise > 0).sum()),
        same=int((rise == 0).sum()),
        down=int((rise < 0).sum()),
        difference=difference(first.pass_rate, second.pass_rate),
    )


def by_source(first: SampleStats, second: SampleStats) -> tuple[Moves, ...]:
    """Count the moves of each source; samples without one come last.

    A sample's source is that of the round before, or that of the round after where it has none before.
    """
    rows: dict[Hashable, list[int]] = {}
    for row, (earlier, later) in enumerate(zip(first.source.tolist(), second.source.tolist(), strict=True)):
        rows.setdefault(later if earlier is None else earlier, []).append(row)
    names = [*sorted((name for name in rows if name is not None), key=name_key), *([None] if None in rows else [])]
    return tuple(
        moves_of(None if name is None else str(name), first.taken(rows[name]), second.taken(rows[name]))
        for name in names
    )


MOST = 1024
"""Largest number of scored rollouts of a sample: the matrix has a row and a column for each number of right ones."""


@dataclass(frozen=True)
class Discordant:
    """Discordant samples of two rounds with one rollout a sample: right in one round alone.

    Attributes:
        only_before: number of samples that are right only before.
        only_after: number of samples that are right only after.
        p_value: two-sided, of McNemar's exact test.
    """

    only_before: int
    only_after: int
    p_value: float


@dataclass(frozen=True, eq=False)
class Transitions:
    """Transitions of the samples that both rounds have scored.

    Attributes:
        counts: (B + 1, A + 1) samples by right rollouts before (rows) and after; B and A are the largest numbers of
            rollouts (A that of the measured null, where that is larger).
        n_before: the different numbers of scored rollouts that samples have before, ascending.
        n_after: the same after.
        net: right rollouts after less those before.
        moves: moves of all samples.
        by_source: moves by source, ordered; samples without one come last.
        discordant: for one rollout a sample before and after; else None.
        chance: what chance alone would show (the null).
        dropped: names of samples that are only before, ordered.
        new: names of samples that are only after.
        unscored: number of samples in both rounds without a scored rollout in one of them.
        temperatures_before: known sampling temperatures, ascending.
        temperatures_after: the same after.
        warnings: sentences for the reader.
    """

    counts: NDArray[np.int64]
    n_before: tuple[int, ...]
    n_after: tuple[int, ...]
    net: int
    moves: Moves
    by_source: tuple[Moves, ...]
    discordant: Discordant | None
    chance: Chance
    dropped: NDArray[np.object_]
    new: NDArray[np.object_]
    unscored: int
    temperatures_before: tuple[float, ...]
    temperatures_after: tuple[float, ...]
    warnings: tuple[str, ...]

    @property
    def both(self) -> int:
        """Return the number of samples that both rounds have scored."""
        return int(self.counts.sum())

    @property
    def before(self) -> NDArray[np.int64]:
        """Return the number of samples by right rollouts before, (B + 1,)."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def after(self) -> NDArray[np.int64]:
        """Return the number of samples by right rollouts after, (A + 1,)."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def row_shares(self) -> Floats:
        """Return counts over their row's sum, (B + 1, A + 1); NaN in rows without a sample."""
        totals = self.before[:, None]
        shares: Floats = np.divide(self.counts, totals, out=np.full(self.counts.shape, np.nan), where=totals > 0)
        return shares

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON: ``dropped`` and ``new`` as numbers of samples, and None for NaN.

        The values of ``moves`` stand beside the others, and ``chance`` is called ``null``.
        """
        further = {name: getattr(self, name) for name in ("row_shares", "before", "after")}
        numbers = {"dropped": len(self.dropped), "new": len(self.new), "null": self.chance.to_json()}
        values = {**vars(self.moves), **vars(self), **further, **numbers}
        return {name: plain(value) for name, value in values.items() if name not in ("source", "moves", "chance")}


def transitions(
    before: SampleStats,
    after: SampleStats,
    *,
    null: SampleStats | None = None,
    prior: str | tuple[float, float] = "fit",
) -> Transitions:
    """Count samples by right rollouts before and after, and compare with chance.

    A sample goes up where its pass rate rises: with as many rollouts before as after, where its number of right ones
    does.

    The computed null is as good as its prior. In trials with nothing learnt (200 or 2,000 samples, 8 rollouts in each
    round), p_value should be below .05 in 5 %. With "fit" it is in

    - 4 to 12 % where pass rates come from a Beta distribution,
    - 2 % where all samples have one pass rate,
    - 9 % where half have .02 and half .8,
    - 67 % with 200 samples, and in all with 2,000, where 40 % have exactly 0 and the others are uniform. In 56 % of
      these with 200 samples, and in all with 2,000, a warning says that num_correct before does not fit the prior (a
      chi-square test at 5 %).

    "jeffreys" is right for Beta(.5, .5) alone: 40 to 100 % elsewhere. A measured null makes no assumption on pass
    rates.

    Args:
        before: the earlier round.
        after: the later one.
        null: a second set of rollouts of the policy before, over the same samples; without it the null is computed.
        prior: prior of pass rates for the computed null: "fit" (to the whole round before), "jeffreys", "uniform" or
            two numbers above 0.

    Raises:
        PoolError: no sample is in both or in the null, none is scored in both, a sample has two rows or more than
            1,024 scored rollouts, or the prior is unknown.

    >>> from grounding_rewards.pool import sample_stats
    >>> before, after = sample_stats(["a", "a", "b", "b"], [0, 0, 0, 1]), sample_stats(["a", "a", "c"], [0, 1, 1])
    >>> moved = transitions(before, after)
    >>> moved.counts.tolist(), moved.moves.escaped, moved.dropped.tolist(), moved.new.tolist()
    ([[0, 1, 0], [0, 0, 0], [0, 0, 0]], 1, ['b'], ['c'])
    """
    rounds, round_names = [before, after], ["the round before", "the round after"]
    rows = aligned_rows(rounds, round_names)  # kept whole: ``dropped`` and ``new`` need the samples of one round alone
    first_rows, second_rows = common_rows(rows, rounds, round_names)
    scored = (before.n[first_rows] > 0) & (after.n[second_rows] > 0)
    if not scored.any():
        raise PoolError(f"no sample of both rounds has scored rollouts in both: {len(scored)} samples in both")
    first, second = before.taken(first_rows[scored]), after.taken(second_rows[scored])
    for name, stats in zip((*round_names, NULL), (first, second, null), strict=True):
        _check_size(name, stats)
    # The null may have more rollouts than the round after; both matrices have one shape.
    shape = (int(first.n.max()) + 1, int(max(second.n.max(), 0 if null is None else null.n.max(initial=0))) + 1)
    moves = moves_of(None, first, second)
    # Without use beside a measured null, but an unknown prior is an error there, too.
    chosen_prior = prior_of(prior, before.n, before.num_correct)  # fitted to the whole round, not to ``first``
    if null is None:
        chance = computed(first.num_correct, first.n, second.n, shape, moves.escaped, chosen_prior)
    else:
        chance = _measured(first, second, null, shape)
    return Transitions(
        counts=_matrix(first.num_correct, second.num_correct, shape),
        n_before=tuple(np.unique(first.n).tolist()),
        n_after=tuple(np.unique(second.n).tolist()),
        net=int(second.num_correct.sum() - first.num_correct.sum()),
        moves=moves,
        by_source=by_source(first, second),
        discordant=_discordant(first, second),
        chance=chance,
        dropped=before.sample_id[rows[0, rows[1] < 0]],
        new=after.sample_id[rows[1, rows[0] < 0]],
        unscored=int((~scored).sum()),
        temperatures_before=temperatures(before),
        temperatures_after=temperatures(after),
        warnings=(
            *of_rounds(first, second, before, after, null),
            *([chosen_prior.warning] if chance.prior and chosen_prior.warning else []),
        ),
    )


def _check_size(name: str, stats: SampleStats | None) -> None:
    """Check that no sample has more scored rollouts than ``MOST``, so that the matrix fits into memory."""
    if stats is not None and stats.n.max(initial=0) > MOST:
        row = int(stats.n.argmax())
        raise PoolError(
            f"{name}: {stats.named(row)} has {stats.n[row]:,} scored rollouts; expected {MOST:,} at most. Is "
            "sample_id the sample's name?"
        )


def _matrix(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Count samples by their row and column of a matrix."""
    return np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)


def _discordant(first: SampleStats, second: SampleStats) -> Discordant | None:
    """Compare two rounds with one rollout a sample; None for rounds with more."""
    if (first.n != 1).any() or (second.n != 1).any():
        return None
    only_before = int((first.num_correct > second.num_correct).sum())
    only_after = int((first.num_correct < second.num_correct).sum())
    return Discordant(only_before, only_after, mcnemar(only_before, only_after))


def _measured(first: SampleStats, second: SampleStats, null: SampleStats, shape: tuple[int, int]) -> Chance:
    """Estimate the null from rollouts, over all samples of both rounds that it has scored."""
    scored_null = null.taken(null.n > 0)  # a sample that the null never scored says nothing of chance
    rows = in_common([first, scored_null], ["both rounds", NULL])
    right, right_null = first.num_correct[rows[0]], scored_null.num_correct[rows[1]]
    never = right == 0
    before = np.bincount(first.num_correct, minlength=shape[0])
    solved_after = second.num_correct[rows[0]][never] > 0
    return measured(before, _matrix(right, right_null, shape), right_null[never] > 0, solved_after)
