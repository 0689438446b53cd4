"""What is scored piece by piece: rows each by itself here, rows that are compared in ``grouped_rows``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from grounding_rewards.batch.row_scorer import RowScorer
from grounding_rewards.tables.base import Batch
from grounding_rewards.tables.rollout_source import Source


class Work(Protocol):
    """What is scored, piece by piece."""

    @property
    def count(self) -> int:
        """How many pieces there are."""
        ...

    def prepare(self, folder: Path, missing: Sequence[int]) -> None:
        """What is to be done before."""
        ...

    def rows(self, folder: Path, missing: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Rows of some pieces, in order, each with its piece's number."""
        ...

    def scored(self, rows: Any) -> Any:
        """These rows with their scores."""
        ...


@dataclass(frozen=True)
class Straight:
    """Rows that are scored each by itself: pieces are rows of a file that follow each other.

    Attributes:
        scorer: how rows are scored.
        sources: the files.
        columns: what scoring needs as Python has it.
    """

    scorer: RowScorer
    sources: Sequence[Source]
    columns: frozenset[str]

    @property
    def _firsts(self) -> list[int]:
        """The number of each file's first piece, and that behind the last."""
        counts = [-(-source.rows // source.piece_rows) for source in self.sources]
        return [0, *np.cumsum(counts).tolist()]

    @property
    def count(self) -> int:
        """How many pieces there are."""
        return self._firsts[-1]

    def prepare(self, folder: Path, missing: Sequence[int]) -> None:
        """Nothing is to be done before."""

    def rows(self, folder: Path, missing: Sequence[int]) -> Iterator[tuple[int, tuple[int, Batch]]]:
        """Rows of some pieces, in order, each batch with its piece's number, and its file's."""
        firsts = self._firsts
        for place, source in enumerate(self.sources):
            spans = {number - firsts[place] for number in missing if firsts[place] <= number < firsts[place + 1]}
            for span, batch in source.batches(self.columns, spans) if spans else ():
                yield firsts[place] + span, (place, batch)

    def scored(self, rows: tuple[int, Batch]) -> Any:
        """A batch with its scores."""
        place, batch = rows
        source = self.sources[place]
        return self.scorer.scored(source.table, batch, self.scorer.unscored(source, place, batch))
