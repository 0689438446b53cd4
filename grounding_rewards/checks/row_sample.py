"""Some rows of many, spread over all of them, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats
from grounding_rewards.rollouts import Reason

if TYPE_CHECKING:
    from grounding_rewards.batch.score_rows import RecipeSlice

SIZE = 512
"""Rows that are kept at most."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: its multiples spread evenly, and have no period


class Row(NamedTuple):
    """A row with its result.

    ``key`` decides which rows are kept, ``number`` counts rows from 0, and ``sizes`` are those of the image and of the
    image that the model saw, from outside of the target: (2, 2), NaN where unknown.
    """

    key: int
    number: int
    response: str | None
    target: Any
    sizes: Floats
    reason: Reason
    right: bool


@dataclass(eq=False)
class RowSample:
    """The rows with the smallest keys: the same ones however many batches they came in."""

    _rows: list[Row] = field(default_factory=list)
    _below: int = (1 << 64) - 1

    def add(self, scored: RecipeSlice, count: int, start: int) -> None:
        """Offer the first rows of a batch that begins at row number ``start``."""
        keys, chosen = _keys(count, start), self.kept(count, start)
        if not len(chosen):
            return
        unknown = np.full((len(scored.scores), 2), np.nan)
        sizes = np.stack([unknown if each is None else each for each in scored.sizes], axis=1)
        self._rows += [
            Row(
                int(keys[row]),
                start + row,
                scored.inputs.responses[row],
                scored.inputs.targets[row],
                sizes[row],
                Reason(int(scored.scores.reason[row])),
                bool(scored.scores.acc[row] > 0),
            )
            for row in chosen.tolist()
        ]
        if len(self._rows) > SIZE:
            self._rows = sorted(self._rows, key=lambda row: row.key)[:SIZE]
            self._below = self._rows[-1].key

    def kept(self, count: int, start: int) -> NDArray[np.int64]:
        """Return the places of those of the first ``count`` rows that are kept; as for ``add``."""
        keys = _keys(count, start)
        chosen = np.flatnonzero(keys < self._below)
        return chosen[np.argsort(keys[chosen])[:SIZE]]

    @property
    def rows(self) -> list[Row]:
        """The rows, in order."""
        return sorted(self._rows, key=lambda row: row.number)


def _keys(count: int, start: int) -> NDArray[np.uint64]:
    return np.arange(start + 1, start + count + 1, dtype=np.uint64) * _GOLDEN
