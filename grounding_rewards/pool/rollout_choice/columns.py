"""Rollouts of samples as columns of numbers, in an order that does not depend on that of the table's rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, Ints, read_only
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.sql import GRID
from grounding_rewards.tables.rollout_table import RolloutTable

_ABSENT: Any = None
_WHOLE = ("round", "rollout", "train_step", "step")


@dataclass(frozen=True, eq=False)
class RolloutColumns:
    """Rollouts of m samples, (n,) each column, sorted by sample, round, rollout number and place in the table.

    Only the first three columns are required. An absent one is filled with the value for unknown: NaN or -1.

    Attributes:
        sample_id: (m,) names of the samples, sorted.
        sample: (n,) the sample of each rollout, an index into ``sample_id``.
        acc: (n,) 1 where it was right, 0 where it was not; NaN where it was not scored.
        total: (n,) its total reward; NaN where unknown.
        row: (n,) its row in the table.
        round: (n,) its round; -1 where unknown.
        rollout: (n,) its number; -1 where unknown.
        train_step: (n,) the trainer's step; -1 where unknown.
        token_length: (n,) tokens of its response; NaN where unknown.
        entropy: (n,) the mean entropy of its tokens, a column ``entropy``; NaN where unknown.
        answer: (n,) the number of its answer among those of its sample: the cell of its click, or its ``answer_key``;
            -1 without one, which is an answer like others.
        trajectory: (n,) the number of its trajectory; -1 where unknown.
        step: (n,) its place in the trajectory; -1 where unknown.
    """

    sample_id: NDArray[np.object_]
    sample: Ints
    acc: Floats
    total: Floats = field(default=_ABSENT, metadata={"unknown": np.nan})
    row: Ints = field(default=_ABSENT, metadata={"unknown": -1})
    round: Ints = field(default=_ABSENT, metadata={"unknown": -1})
    rollout: Ints = field(default=_ABSENT, metadata={"unknown": -1})
    train_step: Ints = field(default=_ABSENT, metadata={"unknown": -1})
    token_length: Floats = field(default=_ABSENT, metadata={"unknown": np.nan})
    entropy: Floats = field(default=_ABSENT, metadata={"unknown": np.nan})
    answer: Ints = field(default=_ABSENT, metadata={"unknown": -1})
    trajectory: Ints = field(default=_ABSENT, metadata={"unknown": -1})
    step: Ints = field(default=_ABSENT, metadata={"unknown": -1})

    def __post_init__(self) -> None:
        if self.row is None:
            object.__setattr__(self, "row", np.arange(len(self.sample)))
        for column in fields(self)[1:]:
            if getattr(self, column.name) is None:
                # A view of one value, for absent columns shall take no memory.
                object.__setattr__(self, column.name, np.broadcast_to(column.metadata["unknown"], len(self.sample)))
        lengths = {column.name: len(getattr(self, column.name)) for column in fields(self)[1:]}
        if len(set(lengths.values())) > 1:
            raise PoolError(f"columns of rollouts: got {lengths} rows; expected as many of each")

    def __len__(self) -> int:
        return len(self.sample)

    def named(self, place: int) -> str:
        """Return the name of a rollout for errors."""
        number = "" if self.rollout[place] < 0 else f", rollout {self.rollout[place]}"
        return f"sample {self.sample_id[self.sample[place]]!r}{number}"

    def taken(self, places: NDArray[Any]) -> RolloutColumns:
        """Return some of the rollouts, in this order; samples keep their numbers."""
        return replace(self, **{column.name: getattr(self, column.name)[places] for column in fields(self)[1:]})


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
    place = ["answer_key"] if "answer_key" in table.columns else ["x_unit", "y_unit"]
    if "answer" in columns:
        table.need(*place)
    numbers = [name for name in READ if name in {*columns, "acc"} or (name in _OFTEN and name in table.columns)]
    wanted = ["sample_id", *numbers, *(place if "answer" in columns else ())]
    read = pa.Table.from_batches(list(table.batches(wanted)))
    names, sample = _codes(read["sample_id"])
    if None in names:
        raise PoolError(f"{_paths(table)}: some rollouts have no sample_id; expected the name of the sample in each")
    kept = {name: _column(name, read[name]) for name in numbers}
    if "answer" in columns:
        kept["answer"] = _answers(read, place)
    rollouts = RolloutColumns(names, sample, **kept)
    if rounds is not None:
        rollouts = rollouts.taken(np.isin(rollouts.round, list(rounds)))
    if not len(rollouts):
        raise PoolError(f"{_paths(table)}: no rollouts{'' if rounds is None else f' of round {list(rounds)}'}")
    for row in np.flatnonzero(~np.isin(rollouts.acc, (0.0, 1.0)) & ~np.isnan(rollouts.acc))[:1]:
        raise PoolError(f"{_paths(table)}: acc of {rollouts.named(row)}: got {rollouts.acc[row]:g}; expected 0 or 1")
    rollouts = rollouts.taken(np.lexsort((rollouts.row, rollouts.rollout, rollouts.round, rollouts.sample)))
    rollouts = _without_gaps(rollouts)
    if _twice(rollouts):
        table.check_once()
    read_only(*vars(rollouts).values())
    return rollouts


_OFTEN = ("round", "rollout", "train_step")


def _codes(column: pa.ChunkedArray) -> tuple[NDArray[np.object_], Ints]:
    """Number the names of samples in the order of the names."""
    coded = column.cast(pa.string()).dictionary_encode().combine_chunks()  # chunks share one dictionary
    coded = coded if isinstance(coded, pa.DictionaryArray) else coded.chunk(0)
    names = np.array(coded.dictionary.to_pylist(), dtype=np.object_)
    order = np.argsort(names, kind="stable")
    place = np.append(np.empty_like(order), len(names))  # null comes last
    place[order] = np.arange(len(names))
    last = [None] if coded.null_count else []
    codes = place[coded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)]
    return np.array([*names[order], *last], dtype=np.object_), codes


def _column(name: str, column: pa.ChunkedArray) -> Any:
    if name in _WHOLE:
        return column.fill_null(-1).to_numpy()
    if name == "trajectory":
        return np.where(column.is_null().to_numpy(), -1, _codes(column)[1])
    try:
        numbers: Floats = column.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise PoolError(f"column {name}: {error}; expected numbers, or null") from None
    for row in np.flatnonzero(np.isinf(numbers))[:1]:
        raise PoolError(f"{name} of row {row}: got {numbers[row]}; expected a finite number, or null")
    return numbers


def _answers(read: pa.Table, place: list[str]) -> Ints:
    if place == ["answer_key"]:
        return np.where(read["answer_key"].is_null().to_numpy(), -1, _codes(read["answer_key"])[1])
    x, y = (read[name].to_numpy() for name in place)
    clicked = ~(np.isnan(x) | np.isnan(y))
    cells = [np.clip(np.floor(np.where(clicked, each, 0.0) * GRID), 0, GRID - 1).astype(np.int64) for each in (x, y)]
    return np.where(clicked, cells[1] * GRID + cells[0], -1)


def _twice(rollouts: RolloutColumns) -> bool:
    """Return True where two rollouts, which are sorted, are of the same sample, round and number."""
    same = rollouts.rollout[1:] >= 0
    for column in (rollouts.sample, rollouts.round, rollouts.rollout):
        same &= column[1:] == column[:-1]
    return bool(same.any())


def _without_gaps(rollouts: RolloutColumns) -> RolloutColumns:
    """Drop the names of samples without a rollout."""
    there, sample = np.unique(rollouts.sample, return_inverse=True)
    return replace(rollouts, sample_id=rollouts.sample_id[there], sample=sample.astype(np.int64))


def _paths(table: RolloutTable) -> str:
    return ", ".join(map(str, table.paths))
