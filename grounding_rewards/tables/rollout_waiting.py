"""Rows of a rollout table that no file has yet, and when one is due."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any

from grounding_rewards.tables import rollout_shards as shards

SECONDS = 10.0
"""A row waits no longer for others to be written with."""

PAUSE = 1.0
"""Nor longer than this for the next one."""

MOST_ROWS, MOST_CHARACTERS = 1 << 16, 1 << 28
"""While files cannot be written, rows are kept up to these; later ones are not recorded."""


class Waiting:
    """Rows as columns.

    Attributes:
        rows: how many there are.
        characters: in their responses and targets.
        hurried: whether they are to be written at once.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in names}
        self.rows = self.characters = 0
        self.hurried = False
        self._first = self._last = 0.0

    def extend(self, columns: dict[str, list[Any]], rows: int, characters: int) -> None:
        """Add rows; columns that are not given are None in them."""
        self._last = monotonic()
        self._first = self._first if self.rows else self._last
        nothing = [None] * rows
        for name, column in self.columns.items():
            column.extend(columns.get(name, nothing))
        self.rows += rows
        self.characters += characters

    @property
    def full(self) -> bool:
        """Whether they are a file's worth."""
        return self._beyond(shards.PART_ROWS, shards.PART_BYTES)

    @property
    def overflowing(self) -> bool:
        """Whether no more can be kept."""
        return self._beyond(MOST_ROWS, MOST_CHARACTERS)

    @property
    def due(self) -> float:
        """When they are to be written, as ``monotonic`` tells the time; 0.0 for at once."""
        return 0.0 if self.hurried or self.full else min(self._last + PAUSE, self._first + SECONDS)

    def _beyond(self, rows: int, characters: int) -> bool:
        return self.rows >= rows or self.characters >= characters
