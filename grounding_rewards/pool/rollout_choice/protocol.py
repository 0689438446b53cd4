"""Protocol of choices of rollouts, and the call that checks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import begins
from grounding_rewards.errors import PoolError, short_repr
from grounding_rewards.pool.rollout_choice.columns import RolloutColumns


@dataclass(frozen=True, eq=False)
class Choice:
    """Rollouts to keep, and further columns of them.

    Attributes:
        kept: (k,) places in ``RolloutColumns``, ascending, each once.
        columns: further columns by name, (k,) each: floats without NaN, whole numbers or texts.
    """

    kept: NDArray[np.int64]
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class RolloutChoice(Protocol):
    """Map from n rollouts to those of them that are kept.

    A choice with ``samples_apart = True`` chooses a sample's rollouts by these alone. It gets some samples at a time,
    for small arrays take less time than those of millions of rollouts.
    """

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that a table must have, beside ``sample_id`` and ``acc``."""
        ...

    def __call__(self, rollouts: RolloutColumns) -> Choice:
        """Return the rollouts to keep."""
        ...


def choose(rollouts: RolloutColumns, choice: RolloutChoice) -> Choice:
    """Return the choice, checked.

    Args:
        rollouts: n rollouts.
        choice: chooses; build one with ``pool.methods.method("pods", ROLLOUT_CHOICES)``.

    Raises:
        PoolError: what it returned is no choice of these rollouts; names it.
    """
    apart = getattr(choice, "samples_apart", False)
    chosen, label = _joined(rollouts, choice) if apart else choice(rollouts), short_repr(choice)
    kept = np.asarray(chosen.kept, dtype=np.int64)
    if len(kept) and (kept[0] < 0 or kept[-1] >= len(rollouts) or (np.diff(kept) <= 0).any()):
        raise PoolError(f"{label} returned places {short_repr(kept)}; expected ascending ones below {len(rollouts)}")
    for name, column in chosen.columns.items():
        if len(column) != len(kept):
            raise PoolError(f"{label} returned {len(column)} values of {name}; expected {len(kept)}")
        if column.dtype.kind == "f" and not np.isfinite(column).all():
            raise PoolError(f"{label} returned a {name} that is not finite; expected finite numbers")
    return chosen


def _joined(rollouts: RolloutColumns, choice: RolloutChoice) -> Choice:
    """Choose of some samples at a time."""
    starts = begins(rollouts.sample)
    parts = [
        choice(rollouts.samples(start, end)) for start, end in zip(starts, [*starts[1:], len(rollouts)], strict=True)
    ]
    kept = np.concatenate([start + part.kept for start, part in zip(starts, parts, strict=True)])
    return Choice(kept, {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns})
