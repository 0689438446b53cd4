"""Statistics of rollouts by sample: counts, pass rates, means and variances of totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, read_only
from grounding_rewards.errors import PoolError

_ABSENT: Any = None  # a default needs no length; __post_init__ puts the column in
_NAN, _NONE, _ZERO, _NO_NUMBER = ({"unknown": value} for value in (np.nan, None, 0, -1))
"""Values for absent columns."""


@dataclass(frozen=True, eq=False)
class SampleStats:
    """Statistics of the rollouts of m samples, one row a sample.

    Only the first three columns are required. An absent one is filled with the value for unknown: NaN, -1 or None.

    Attributes:
        sample_id: (m,) names of the samples.
        n: (m,) number of scored rollouts.
        num_correct: (m,) number of right ones among them.
        mean: (m,) the mean total of the scored rollouts; NaN where there is none.
        variance: (m,) the variance of their totals, divided by their number; NaN where there is none.
        lowest: (m,) the lowest of their totals; NaN where there is none.
        highest: (m,) the highest of them.
        unscored: (m,) number of further rollouts, without ``acc``.
        parse_rate: (m,) the share of parsed answers among rollouts with a known ``Reason``; NaN without one.
        clicks: (m,) number of rollouts with a point, scored or not.
        x_unit: (m,) the mean of these points, in shares of the image; NaN where there is none.
        y_unit: (m,) the same from top to bottom.
        dispersion: (m,) the root mean square distance of the scored rollouts' points from their mean, in pixels of the
            image, over the image's diagonal; NaN with fewer than two points, or without an image size.
        target_area: (m,) the area of the target's bounds over the image's; NaN where there is none.
        target_diagonal: (m,) the diagonal of the target's bounds over the image's diagonal; NaN likewise.
        distinct: (m,) number of different responses of the scored rollouts; -1 where none is known.
        cells: (m,) number of different answers of the scored rollouts: cells of a grid of 32 x 32 over the image, or
            values of a column ``answer_key``; rollouts without one are one answer more. -1 where unknown.
        cell_entropy: (m,) the entropy of these answers in nats; NaN where unknown.
        cell_rarity: (m,) the mean of 1 / sqrt(N) over the scored rollouts, N of which have the same answer; NaN
            likewise.
        item_difficulty: (m,) a difficulty from 0 to 100, such as `pool stats --item-response` fits; NaN without one.
        source: (m,) the samples' source, or another column that they are counted by; None where unknown.
        round: (m,) the latest round among its rollouts; -1 where unknown.
        temperature: (m,) the sampling temperature; NaN where unknown, or where rollouts disagree.

    Raises:
        PoolError: the columns differ in length.
    """

    sample_id: NDArray[np.object_]
    n: NDArray[np.int64]
    num_correct: NDArray[np.int64]
    mean: Floats = field(default=_ABSENT, metadata=_NAN)
    variance: Floats = field(default=_ABSENT, metadata=_NAN)
    lowest: Floats = field(default=_ABSENT, metadata=_NAN)
    highest: Floats = field(default=_ABSENT, metadata=_NAN)
    unscored: NDArray[np.int64] = field(default=_ABSENT, metadata=_ZERO)
    parse_rate: Floats = field(default=_ABSENT, metadata=_NAN)
    clicks: NDArray[np.int64] = field(default=_ABSENT, metadata=_ZERO)
    x_unit: Floats = field(default=_ABSENT, metadata=_NAN)
    y_unit: Floats = field(default=_ABSENT, metadata=_NAN)
    dispersion: Floats = field(default=_ABSENT, metadata=_NAN)
    target_area: Floats = field(default=_ABSENT, metadata=_NAN)
    target_diagonal: Floats = field(default=_ABSENT, metadata=_NAN)
    distinct: NDArray[np.int64] = field(default=_ABSENT, metadata=_NO_NUMBER)
    cells: NDArray[np.int64] = field(default=_ABSENT, metadata=_NO_NUMBER)
    cell_entropy: Floats = field(default=_ABSENT, metadata=_NAN)
    cell_rarity: Floats = field(default=_ABSENT, metadata=_NAN)
    item_difficulty: Floats = field(default=_ABSENT, metadata=_NAN)
    source: NDArray[np.object_] = field(default=_ABSENT, metadata=_NONE)
    round: NDArray[np.int64] = field(default=_ABSENT, metadata=_NO_NUMBER)
    temperature: Floats = field(default=_ABSENT, metadata=_NAN)

    def __post_init__(self) -> None:
        for column in fields(self):
            if getattr(self, column.name) is None:
                # A view of one value, for absent columns shall take no memory.
                object.__setattr__(self, column.name, np.broadcast_to(column.metadata["unknown"], len(self.n)))
        lengths = {column.name: len(getattr(self, column.name)) for column in fields(self)}
        if len(set(lengths.values())) > 1:
            raise PoolError(f"statistics of samples: got {lengths} rows; expected as many of each")

    def __len__(self) -> int:
        return len(self.n)

    def named(self, row: int) -> str:
        """Return the name of a sample for errors."""
        return f"sample {self.sample_id[row]!r}"

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
        """Check that a column is known of some sample, if rollouts were scored at all.

        Args:
            column: a column of numbers, or ``spread``.
            needed: the columns of rollouts that it comes from, for the error.

        Raises:
            PoolError: it is not.
        """
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
