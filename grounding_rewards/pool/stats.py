"""Statistics of rollouts by sample: counts, pass rates, means and variances of totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints, plain, read_only
from grounding_rewards.errors import PoolError
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.stats.intervals import exact_mean, pass_at_k


def optional(unknown: Any) -> Any:
    """Declare a column that may be absent, and the value that then fills it."""
    return field(default=None, metadata={"unknown": unknown})  # a default needs no length; ``fill`` puts the column in


def fill(table: Any, rows: int, name: str, first: int = 0) -> None:
    """Fill the absent columns of a dataclass, and check that all from the ``first`` field on have as many rows."""
    lengths = {}
    for each in fields(table)[first:]:
        if getattr(table, each.name) is None:
            # A view of one value, for absent columns shall take no memory.
            object.__setattr__(table, each.name, np.broadcast_to(each.metadata["unknown"], rows))
        lengths[each.name] = len(getattr(table, each.name))
    if len(set(lengths.values())) > 1:
        raise PoolError(f"{name}: got {lengths} rows; expected as many of each")


@dataclass(frozen=True, eq=False)
class SampleStats:
    """Statistics of the rollouts of m samples, one row a sample; each column has the shape (m,).

    Only the first three columns are required. An absent one is filled with the value for unknown: NaN, -1 or None.
    Clicks are in shares of the image. The answers of scored rollouts are cells of a grid of 32 x 32 over the image, or
    values of a column ``answer_key``; rollouts without one are one answer more.

    Raises:
        PoolError: the columns differ in length.
    """

    sample_id: NDArray[np.object_]  # names of the samples
    n: NDArray[np.int64]  # number of scored rollouts
    num_correct: NDArray[np.int64]  # number of right ones among them
    mean: Floats = optional(np.nan)  # mean total of the scored rollouts
    variance: Floats = optional(np.nan)  # variance of their totals, divided by their number
    lowest: Floats = optional(np.nan)  # lowest of their totals
    highest: Floats = optional(np.nan)  # highest of them
    unscored: NDArray[np.int64] = optional(0)  # number of further rollouts, without ``acc``
    parse_rate: Floats = optional(np.nan)  # share of parsed answers among rollouts with a known ``Reason``
    clicks: NDArray[np.int64] = optional(0)  # number of rollouts with a point, scored or not
    x_unit: Floats = optional(np.nan)  # mean of these points
    y_unit: Floats = optional(np.nan)  # the same from top to bottom
    # Root mean square distance of the scored rollouts' points from their mean, in pixels of the image, over the
    # image's diagonal; NaN with fewer than two points, or without an image size.
    dispersion: Floats = optional(np.nan)
    target_area: Floats = optional(np.nan)  # area of the target's bounds over the image's
    target_diagonal: Floats = optional(np.nan)  # diagonal of the target's bounds over the image's
    distinct: NDArray[np.int64] = optional(-1)  # number of different responses of the scored rollouts
    cells: NDArray[np.int64] = optional(-1)  # number of their different answers
    cell_entropy: Floats = optional(np.nan)  # entropy of these answers in nats
    cell_rarity: Floats = optional(np.nan)  # mean of 1 / sqrt(N) over them, N of which have the same answer
    item_difficulty: Floats = optional(np.nan)  # from 0 to 100, such as `pool stats --item-response` fits
    source: NDArray[np.object_] = optional(None)  # the samples' source, or another column that they are counted by
    round: NDArray[np.int64] = optional(-1)  # latest round among its rollouts
    temperature: Floats = optional(np.nan)  # sampling temperature; NaN, too, where rollouts disagree
    history: NDArray[np.object_] = optional(None)  # (n, num_correct) of each round, the newest last; no file holds it

    def __post_init__(self) -> None:
        fill(self, len(self.n), "statistics of samples")

    def __len__(self) -> int:
        return len(self.n)

    def named(self, row: int) -> str:
        """Return the name of a sample for errors."""
        return f"sample {self.sample_id[row]!r}"

    def rounds(self, row: int) -> tuple[tuple[int, int], ...]:
        """Return n and num_correct of each round of a sample, the newest last; one for all where rounds are unknown."""
        if self.history[row] is not None:
            return tuple(self.history[row])
        return ((int(self.n[row]), int(self.num_correct[row])),) if self.n[row] else ()

    @property
    def pass_rate(self) -> Floats:
        """Return num_correct / n, (m,); NaN where no rollout was scored."""
        return _ratio(self.num_correct, self.n)

    @property
    def spread(self) -> Floats:
        """Return highest - lowest total, (m,); NaN where no rollout has one."""
        return self.highest - self.lowest

    @property
    def all_correct(self) -> NDArray[np.bool_]:
        """Mark samples, (m,), with one scored rollout or more, all of them right."""
        return np.asarray((self.n > 0) & (self.num_correct == self.n))

    @property
    def none_correct(self) -> NDArray[np.bool_]:
        """Mark samples, (m,), with one scored rollout or more, none of them right."""
        return np.asarray((self.n > 0) & (self.num_correct == 0))

    @property
    def mixed(self) -> NDArray[np.bool_]:
        """Mark samples, (m,), with right and wrong rollouts."""
        return np.asarray((self.num_correct > 0) & (self.num_correct < self.n))

    @property
    def temperatures(self) -> tuple[float, ...]:
        """Return the known temperatures, ascending, rounded to six places (32-bit columns are noisy)."""
        return tuple(np.unique(np.round(self.temperature[~np.isnan(self.temperature)], 6)).tolist())

    def known(self, column: str) -> NDArray[np.bool_]:
        """Mark samples, (m,), with a scored rollout and a value in a column."""
        values = getattr(self, column)
        return np.asarray((self.n > 0) & (values != -1) & ~np.isnan(values))

    def check_known(self, column: str, needed: str) -> None:
        """Check that a column is known of some sample, if rollouts were scored at all; ``needed`` ones make it."""
        for row in np.flatnonzero(self.n > 0)[:1]:
            if not self.known(column).any():
                raise PoolError(
                    f"{column} of {self.named(row)}, as of all samples: got none; expected statistics of rollouts that "
                    f"have {needed}"
                )

    def taken(self, rows: Sequence[int] | NDArray[Any]) -> SampleStats:
        """Return the samples of some rows, in this order, or those for which ``rows`` is true."""
        chosen = np.asarray(rows)
        chosen = chosen if chosen.dtype == np.bool_ else chosen.astype(np.int64)  # [] is float64: no index
        stats = SampleStats(**{name: column[chosen] for name, column in vars(self).items()})
        read_only(*vars(stats).values())
        return stats


def sample_stats(
    sample_ids: Sequence[Any] | NDArray[Any],
    acc: Sequence[float | None] | NDArray[Any],
    total: Sequence[float | None] | NDArray[Any] | None = None,
) -> SampleStats:
    """Compute statistics of samples from columns with a row a rollout.

    Args:
        sample_ids: (n,) the sample of each rollout.
        acc: (n,) 1 where it was right, 0 where it was not; None or NaN where it was not scored.
        total: (n,) its total reward; None or NaN where unknown. Unscored rollouts do not count.

    Returns:
        One row a sample, in the order in which they first appear. The columns cannot be written into.

    Raises:
        PoolError: lengths differ, a rollout has no sample, or a number is none; names the row.

    >>> stats = sample_stats(["a", "b", "a", "a"], [1, None, 0, 1], [0.5, None, 0.0, 1.0])
    >>> stats.sample_id.tolist(), stats.n.tolist(), stats.num_correct.tolist(), stats.mean.tolist()
    (['a', 'b'], [3, 0], [2, 0], [0.5, nan])
    """
    names, code = _codes(sample_ids)
    right = _numbers("acc", acc, len(code))
    totals = _numbers("total", [None] * len(code) if total is None else total, len(code))
    for row in np.flatnonzero(~np.isin(right, (0.0, 1.0)) & ~np.isnan(right))[:1]:
        raise PoolError(f"acc of row {row}: got {right[row]}; expected 0 or 1, or None where it was not scored")
    scored = ~np.isnan(right)
    summed = scored & ~np.isnan(totals)
    mean = _mean(code[summed], totals[summed], len(names))  # first: sums of squares less squared sums would cancel
    lowest, highest = np.full((2, len(names)), np.nan)  # fmin and fmax pass over NaN, and leave it where nothing comes
    np.fmin.at(lowest, code[summed], totals[summed])
    np.fmax.at(highest, code[summed], totals[summed])
    mean = np.where(lowest == highest, lowest, mean)  # which a rounded mean need not be, and then varies from
    stats = SampleStats(
        sample_id=names,
        n=np.bincount(code[scored], minlength=len(names)).astype(np.int64),
        num_correct=np.bincount(code[right == 1.0], minlength=len(names)).astype(np.int64),
        mean=mean,
        variance=_mean(code[summed], (totals[summed] - mean[code[summed]]) ** 2, len(names)),
        lowest=lowest,
        highest=highest,
        unscored=np.bincount(code[~scored], minlength=len(names)).astype(np.int64),
    )
    read_only(*vars(stats).values())  # a selector that wrote into them would change the input of the next one
    return stats


def _codes(sample_ids: Sequence[Any] | NDArray[Any]) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Return the samples in order of first appearance, and each row's index among them."""
    ids = sample_ids.tolist() if isinstance(sample_ids, np.ndarray) else list(sample_ids)
    try:
        places = {name: place for place, name in enumerate(dict.fromkeys(ids))}
    except TypeError as error:
        raise PoolError(f"sample_ids: {error}; expected texts or whole numbers") from None
    for name in places:
        if name is None or name != name:  # NaN equals nothing, so each would be a sample of its own
            raise PoolError(f"sample_id of row {ids.index(name)}: got {name}; expected the name of its sample")
    # ``np.array`` would make a dtype of fixed width of texts, and further axes of tuples.
    names = np.empty(len(places), dtype=np.object_)
    names[:] = list(places)
    return names, np.fromiter(map(places.__getitem__, ids), dtype=np.int64, count=len(ids))


def _numbers(name: str, values: Sequence[float | None] | NDArray[Any], rows: int) -> Floats:
    if len(values) != rows:
        raise PoolError(f"{name}: got {len(values)} rows; expected {rows}, one for each of sample_ids")
    try:
        numbers = np.array(values, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError):
        numbers = np.zeros(0)  # refused below
    if numbers.shape != (rows,):
        raise PoolError(f"{name}: got {values!r:.80}; expected a number for each row, or None")
    for row in np.flatnonzero(np.isinf(numbers))[:1]:
        raise PoolError(f"{name} of row {row}: got {numbers[row]}; expected a finite number, or None")
    return numbers


def _mean(code: NDArray[np.int64], values: Floats, samples: int) -> Floats:
    counts = np.bincount(code, minlength=samples)
    sums = np.bincount(code, weights=values, minlength=samples)
    return _ratio(sums, counts)


def _ratio(sums: NDArray[Any], counts: NDArray[np.int64]) -> Floats:
    """Divide sums by counts; NaN where a count is 0."""
    ratio: Floats = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    return ratio


PASS_RATES = ("never", "below 0.2", "0.2 to 0.4", "0.4 to 0.6", "0.6 to 0.8", "above 0.8", "always", "unmeasured")
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
    mean = exact_mean(pass_at_k(stats.n[enough], stats.num_correct[enough], k))
    return {"samples": int(enough.sum()), "mean": plain(mean)}


def pass_rate_bins(stats: SampleStats) -> Ints:
    """Return the place of each sample's pass rate in ``PASS_RATES``, (m,)."""
    fifths = 5 * stats.num_correct  # whole numbers: 3 / 5 is no float
    upper = [fifths < stats.n, fifths < 2 * stats.n, fifths <= 3 * stats.n, fifths <= 4 * stats.n]
    between = np.select(upper, [1, 2, 3, 4], 5)
    ends = [stats.n == 0, stats.none_correct, stats.all_correct]
    return np.select(ends, [7, 0, 6], between).astype(np.int64)
