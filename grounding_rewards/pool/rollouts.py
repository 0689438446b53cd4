"""Rollouts of samples as columns of numbers in an order of their own, their groups, ranks, random keys and rewards."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints, changes, numbered, packed, ranges, read_only, stable_order
from grounding_rewards.errors import PoolError
from grounding_rewards.groups.blocks import by_size
from grounding_rewards.pool.aggregate import CLICKS, GRID, LARGEST_TOTAL, answered_by
from grounding_rewards.pool.draws import hashed
from grounding_rewards.pool.stats import fill, optional
from grounding_rewards.tables.rollout_table import RolloutTable

Reward = Literal["total", "acc"]

_WHOLE = ("round", "rollout", "train_step", "step")


@dataclass(frozen=True, eq=False)
class RolloutColumns:
    """Rollouts of m samples, (n,) each column, sorted by sample, round, rollout number and place in the table.

    Only the first three columns are required. An absent one is filled with the value for unknown: NaN or -1.
    """

    sample_id: NDArray[np.object_]  # (m,) names of the samples, sorted
    sample: Ints  # the sample of each rollout, an index into ``sample_id``
    acc: Floats  # 1 where it was right, 0 where it was not; NaN where it was not scored
    total: Floats = optional(np.nan)  # its total reward
    row: Ints = optional(-1)  # its row in the table
    round: Ints = optional(-1)
    rollout: Ints = optional(-1)  # its number
    train_step: Ints = optional(-1)  # the trainer's step
    token_length: Floats = optional(np.nan)  # tokens of its response
    entropy: Floats = optional(np.nan)  # mean entropy of its tokens, a column ``entropy``
    # The number of its answer among those of its sample: the cell of its click, or its ``answer_key``; -1 without one,
    # which is an answer like others.
    answer: Ints = optional(-1)
    trajectory: Ints = optional(-1)  # the number of its trajectory
    step: Ints = optional(-1)  # its place in the trajectory

    def __post_init__(self) -> None:
        if self.row is None:
            object.__setattr__(self, "row", np.arange(len(self.sample)))
        fill(self, len(self.sample), "columns of rollouts", 1)

    def __len__(self) -> int:
        return len(self.sample)

    def rows(self, rows: slice | Ints) -> RolloutColumns:
        """Return some of the rollouts, beside the names of all samples."""
        return RolloutColumns(self.sample_id, **{name: column[rows] for name, column in list(vars(self).items())[1:]})

    def samples(self, start: int, end: int) -> RolloutColumns:
        """Return the rollouts of some samples, from the row that begins the first to the one after the last."""
        part = self.rows(slice(start, end))
        first, last = (int(part.sample[place]) for place in (0, -1)) if len(part) else (0, -1)
        return replace(part, sample_id=self.sample_id[first : last + 1], sample=part.sample - first)

    def named(self, place: int) -> str:
        """Return the name of a rollout for errors."""
        number = "" if self.rollout[place] < 0 else f", rollout {self.rollout[place]}"
        return f"sample {self.sample_id[self.sample[place]]!r}{number}"


READ = ("acc", "total", "round", "rollout", "train_step", "token_length", "entropy", "trajectory", "step")
"""Columns that ``read_columns`` can read, beside ``answer``."""


def read_columns(
    table: RolloutTable, columns: Collection[str] = ("total",), *, rounds: Collection[int] | None = None
) -> RolloutColumns:
    """Read rollouts into columns of numbers.

    Args:
        table: rollouts; they need ``sample_id``, ``acc`` and each of ``columns``.
        columns: columns to read beside ``acc``, ``round``, ``rollout`` and ``train_step``: some of ``READ``, and
            ``answer``.
        rounds: the rounds that count; None for all.

    Raises:
        TableError: a file cannot be read, or lacks a column.
        PoolError: a rollout has no sample or comes twice, or its ``acc`` is neither 0, 1 nor null; no rollout is left.
    """
    table.need("sample_id", "acc", *(name for name in columns if name != "answer"), *(["round"] if rounds else ()))
    table.check_names()
    place = answered_by(table.columns) if "answer" in columns else []
    if "answer" in columns and not place:
        table.need(*CLICKS)
    numbers = [name for name in READ if name in {*columns, "acc"} or (name in _OFTEN and name in table.columns)]
    names, sample, kept = _joined(table, ["sample_id", *numbers, *place])
    if None in names:
        raise PoolError(f"{table}: some rollouts have no sample_id; expected the name of the sample in each")
    row = None
    if rounds is not None:
        row = np.flatnonzero(np.isin(kept["round"], list(rounds)))
        sample, kept = sample[row], {name: _taken(column, row) for name, column in kept.items()}
    if not len(sample):
        raise PoolError(f"{table}: no rollouts{'' if rounds is None else f' of round {list(rounds)}'}")
    acc = kept["acc"]
    for place in np.flatnonzero(~((acc == 0) | (acc == 1) | np.isnan(acc)))[:1]:
        named = RolloutColumns(names, sample, **kept).named(place)
        raise PoolError(f"{table}: acc of {named}: got {acc[place]:g}; expected 0 or 1")
    order = _order(sample, *(kept[name] for name in ("round", "rollout") if name in kept))
    for name in kept:  # one after the other, so that one column alone is held twice
        kept[name] = _taken(kept[name], order)
    rollouts = RolloutColumns(names, sample.take(order), row=order if row is None else row[order], **kept)
    there = np.bincount(rollouts.sample, minlength=len(names)) > 0
    if not there.all():  # the names of samples without a rollout go
        rollouts = replace(rollouts, sample_id=names[there], sample=(np.cumsum(there) - 1)[rollouts.sample])
    same = rollouts.rollout[1:] >= 0
    for column in (rollouts.sample, rollouts.round, rollouts.rollout):  # which they are sorted by
        same &= column[1:] == column[:-1]
    if same.any():
        table.check_once()
    read_only(*vars(rollouts).values())
    return rollouts


_OFTEN = ("round", "rollout", "train_step")


_Texts = tuple[pa.Array, Ints]
"""Texts, each stretch of equal ones once, and the lengths of the stretches."""


def _joined(table: RolloutTable, wanted: Sequence[str]) -> tuple[NDArray[np.object_], Ints, dict[str, Any]]:
    """Return the names of the samples, the sample of each row, and the other columns, in the order of the rows."""
    texts = dict[str, list[_Texts]]({name: [] for name in ("sample_id", "trajectory", "answer_key") if name in wanted})
    numbers = dict[str, list[Any]]({name: [] for name in wanted if name in READ and name not in texts})
    answers = list[Ints]()
    row = 0
    for batch in table.batches(wanted):  # numbers at once: the texts of a whole table take several times the memory
        for name, runs in texts.items():
            runs.append(_runs(batch[name]))
        for name, parts in numbers.items():
            parts.append(np.array(_numbers(name, batch[name], row)))  # a view would keep the batch in memory
        if "x_unit" in wanted:
            answers.append(_cells(*(batch[name] for name in CLICKS)))
        row += len(batch)
    names, sample = _codes(texts.pop("sample_id"))
    kept = {name: _whole_column(numbers.pop(name)) for name in list(numbers)}  # which frees the parts
    codes = {name: _codes(texts.pop(name))[1] for name in list(texts)}
    if "x_unit" in wanted:
        kept["answer"] = _whole_column(answers)
    if (key := codes.pop("answer_key", None)) is not None:  # numbers beyond those of cells
        kept["answer"] = np.where(key < 0, kept.get("answer", -1), key + GRID * GRID)
    return names, sample, kept | codes


def _whole_column(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join parts; whole numbers that are all equal, as rounds mostly are, become a view of one."""
    column = np.concatenate(parts)
    equal = column.dtype.kind == "i" and len(column) and column.min() == column.max()
    return np.broadcast_to(column[0].copy(), len(column)) if equal else column


def _runs(column: pa.Array) -> _Texts:
    runs = pc.run_end_encode(column.cast(pa.string()))  # a sample's rollouts lie side by side, mostly
    return runs.values, np.diff(runs.run_ends.to_numpy(), prepend=0)


def _codes(runs: Sequence[_Texts]) -> tuple[NDArray[np.object_], Ints]:
    """Number texts in their order; null is -1, and the last of the names."""
    coded = pa.chunked_array([texts for texts, _ in runs], pa.string()).dictionary_encode().combine_chunks()
    coded = coded if isinstance(coded, pa.DictionaryArray) else coded.chunk(0)  # chunks share one dictionary
    order = pc.array_sort_indices(coded.dictionary).to_numpy()  # UTF-8 sorts as texts do
    place = np.full(len(order) + 1, -1)
    place[order] = np.arange(len(order))
    codes = place.take(coded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False))
    names = [*coded.dictionary.take(pa.array(order)).to_pylist(), *([None] if coded.null_count else [])]
    return np.array(names, dtype=np.object_), np.repeat(codes, np.concatenate([lengths for _, lengths in runs]))


def _numbers(name: str, column: pa.Array, start: int) -> Any:
    if name in _WHOLE:
        return column.fill_null(-1).to_numpy()
    try:
        numbers: Floats = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as error:
        raise PoolError(f"column {name}: {error}; expected numbers, or null") from None
    largest = LARGEST_TOTAL if name == "total" else np.inf
    for row in np.flatnonzero(np.abs(numbers) >= largest)[:1]:
        expected = "a finite number" if np.isinf(largest) else f"a number of a size below {largest:g}"
        raise PoolError(f"{name} of row {start + row}: got {numbers[row]:g}; expected {expected}, or null")
    return numbers


def _cells(across: pa.Array, down: pa.Array) -> Ints:
    x, y = (each.to_numpy(zero_copy_only=False) for each in (across, down))
    # fmax makes 0 of NaN; numbers from 0 are rounded down to whole ones.
    cells = [np.fmin(np.fmax(each * GRID, 0), GRID - 1).astype(np.int64) for each in (x, y)]
    return np.where(np.isnan(x) | np.isnan(y), -1, cells[1] * GRID + cells[0])


def _order(sample: Ints, *keys: Ints) -> Ints:
    """Return the rows by sample, then by the keys, then as they are."""
    key, fresh = packed(*keys) if keys else np.broadcast_to(0, len(sample)), changes(sample)
    if (fresh[1:] | (key[1:] >= key[:-1])).all():
        start = np.flatnonzero(fresh)
        by_sample = np.argsort(sample[start])
        if changes(sample[start][by_sample]).all():  # each sample's rows lie side by side: their stretches are sorted
            return ranges(start[by_sample], np.diff(np.append(start, len(sample)))[by_sample])
    return stable_order(packed(sample, key))


def _taken(column: NDArray[Any], places: Ints) -> NDArray[Any]:
    return np.broadcast_to(column[:1], len(places)) if column.strides == (0,) else column.take(places)


def moments(rollouts: RolloutColumns) -> Ints:
    """Number the rounds and, within them, the trainer's steps, in their order; unknown ones come first."""
    return numbered(rollouts.round, rollouts.train_step)


def groups(rollouts: RolloutColumns) -> Ints:
    """Number the groups from 0: a sample's rollouts of one round and one step of the trainer."""
    return numbered(rollouts.sample, rollouts.round, rollouts.train_step)


def ranks(group: NDArray[Any], *keys: NDArray[Any]) -> Ints:
    """Return the place of each row among those of its group, from 0, by the first key, then the next, then the row."""
    starts = np.flatnonzero(changes(group))
    if not keys and len(np.unique(group[starts])) == len(starts):  # each group's rows lie side by side
        return np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))
    rank = np.empty(len(group), dtype=np.int64)
    for rows in by_size(group, np.arange(len(group))):
        if keys:
            order = np.lexsort([key[rows] for key in keys[::-1]], axis=-1)
            rows = np.take_along_axis(rows, order, axis=1)
        rank[rows] = np.arange(rows.shape[1])
    return rank


def random_keys(rollouts: RolloutColumns, seed: int, purpose: str) -> NDArray[np.uint64]:
    """Return 64 random bits a rollout, which its sample, round, number, the seed and the purpose alone decide."""
    names = hashed(rollouts.sample_id, seed, purpose)[rollouts.sample]
    number = rollouts.rollout
    if (number < 0).any():
        number = np.where(number < 0, -1 - ranks(rollouts.sample), number)
    return _mixed(_mixed(names ^ rollouts.round.astype(np.uint64)) ^ number.astype(np.uint64))


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix 64 bits with the finaliser of SplitMix64 (Steele, Lea and Flood, 2014); products wrap around."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return bits


def rewards_of(rollouts: RolloutColumns, of: Reward = "total") -> Floats:
    """Return the total, or ``acc``, of each rollout; NaN where it was not scored."""
    if of == "acc":
        return rollouts.acc
    for place in np.flatnonzero(np.isnan(rollouts.total) & ~np.isnan(rollouts.acc))[:1]:
        raise PoolError(f"total of {rollouts.named(int(place))}: got none; expected one for each scored rollout")
    return np.where(np.isnan(rollouts.acc), np.nan, rollouts.total)


def need(rollouts: RolloutColumns, name: str, places: NDArray[np.bool_] | None = None) -> None:
    """Check that rollouts, those at ``places``, have a value in a column."""
    column: NDArray[Any] = getattr(rollouts, name)
    unknown = np.isnan(column) if column.dtype.kind == "f" else column < 0
    for place in np.flatnonzero(unknown if places is None else unknown & places)[:1]:
        raise PoolError(f"{name} of {rollouts.named(int(place))}: got none; expected one for each rollout")
