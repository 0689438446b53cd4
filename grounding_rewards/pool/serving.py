"""Orders in which a trainer that reads rows by position serves them: stage by stage, or partly by weight."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.draws import check_whole
from grounding_rewards.tables.opening import open_table
from grounding_rewards.tables.rows import require_column
from grounding_rewards.tables.sample_ids import name_of
from grounding_rewards.verifiers.options import is_number


def stage_order(sizes: Sequence[int], epochs: Sequence[int], seed: int) -> Ints:
    """Return the rows of stages in the order of training: each for its epochs, each epoch in an order of its own."""
    check_whole("seed", seed, 0)
    if not len(sizes) or len(sizes) != len(epochs):
        raise PoolError(f"epochs: got {len(epochs)} for {len(sizes)} stages; expected one for each of one or more")
    orders, first = [], 0
    for stage, (size, passes) in enumerate(zip(sizes, epochs, strict=True)):
        check_whole(f"sizes[{stage}]", size, 1)
        check_whole(f"epochs[{stage}]", passes, 1)
        orders.append(first + _passes(size, passes, [seed, stage]))
        first += size
    return np.concatenate(orders)


def weighted_order(weights: ArrayLike, *, length: int, batch_size: int, weighted_share: float, seed: int) -> Ints:
    """Return rows in batches, a share of each batch drawn by weight and the others uniformly.

    Of each batch of B rows the first ⌊share · B⌋ are drawn with replacement, with probability w_i / Σw. The others walk
    through the rows in an order drawn by the seed, and in a new one after each pass. Where all weights are 0, all rows
    weigh the same. The order depends on the arguments alone, and begins with that of a smaller ``length``.

    Source: MMR1, arXiv 2509.21268, section 3 (its text and code).
    """
    for name, value, least in (("length", length, 0), ("batch_size", batch_size, 1), ("seed", seed, 0)):
        check_whole(name, value, least)
    if not is_number(weighted_share) or not 0 <= weighted_share <= 1:
        raise PoolError(f"weighted_share: got {weighted_share!r:.80}; expected a number from 0 to 1")
    checked = check_weights(weights)
    by_weight = int(Fraction(str(weighted_share)) * batch_size)  # as it is written: 0.29 * 100 < 29 in floats
    batches = -(-length // batch_size)
    order = np.empty((batches, batch_size), dtype=np.int64)
    order[:, :by_weight] = _drawn(checked, batches * by_weight, seed).reshape(batches, by_weight)
    walked = batches * (batch_size - by_weight)
    walk = _passes(len(checked), -(-walked // len(checked)), [seed, 1])[:walked]
    order[:, by_weight:] = walk.reshape(batches, batch_size - by_weight)
    return order.ravel()[:length]


def check_weights(weights: ArrayLike, names: Sequence[object] | None = None) -> Floats:
    """Return weights as (m,) floats."""
    try:
        column = np.asarray(weights, dtype=np.float64)  # None becomes NaN
    except (OverflowError, TypeError, ValueError) as error:
        raise PoolError(f"weights: {error}; expected one finite number a row") from None
    if column.ndim != 1 or not len(column):
        raise PoolError(f"weights: got the shape {column.shape}; expected one number for each of one row or more")
    wrong = np.flatnonzero(~(np.isfinite(column) & (column >= 0)))
    if len(wrong):
        name = f"row {wrong[0]}" if names is None else repr(names[wrong[0]])
        raise PoolError(f"weights, {name}: got {column[wrong[0]]:g}; expected a finite number from 0")
    return column


def read_weights(path: str | os.PathLike[str], of: str | None = None) -> dict[str, float]:
    """Read weights by the name of their sample, ``of`` a method or a stage where a table has those of several."""
    table = open_table(path)
    for name in ("sample_id", "weight"):
        require_column(table, name, "of weights")
    kind = "method" if "method" in table.columns else "stage"
    columns = ["sample_id", "weight", *({kind} & set(table.columns))]
    rows = [
        (name_of(row["sample_id"]), weight, row.get(kind))
        for batch in table.batches(columns, whole=False)
        for row, weight in zip(batch.rows, batch.numbers("weight"), strict=True)
    ]
    there = list(dict.fromkeys(str(each) for _, _, each in rows if each is not None))
    if (of is None and len(there) > 1) or of not in (None, *there):
        raise PoolError(f"{path}: got the {kind} {of!r:.80}; expected one of {', '.join(there) or 'none at all'}")
    rows = [row for row in rows if of is None or str(row[2]) == of]
    names = [name for name, _, _ in rows]
    wrong = [name for name, count in Counter(names).items() if name is None or count > 1]
    if wrong:
        raise PoolError(f"{path}: got the sample {wrong[0]!r:.80}; expected names, and each of them once")
    try:
        weights = check_weights([weight for _, weight, _ in rows], names).tolist()
    except PoolError as error:
        raise PoolError(f"{path}, {error}") from None
    return {str(name): weight for name, weight in zip(names, weights, strict=True)}


def _passes(rows: int, passes: int, seed: Sequence[int]) -> Ints:
    """Return several passes over the numbers below ``rows``, each in an order of its own."""
    return np.random.default_rng(seed).permuted(np.tile(np.arange(rows), (passes, 1)), axis=1).ravel()


def _drawn(weights: Floats, count: int, seed: int) -> Ints:
    """Draw rows with replacement in proportion to their weights."""
    # By the largest, so that the sum of large weights is finite.
    shares = weights / weights.max() if weights.any() else np.ones(len(weights))
    ends = np.cumsum(shares)
    # "right" passes over rows of weight 0, whose end is that of the row before.
    rows: Ints = np.searchsorted(ends, np.random.default_rng([seed, 0]).random(count) * ends[-1], side="right")
    return rows
