"""Scored rows of a table to right answers by sample, for comparisons of two models over the same samples."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.batch.columns import has
from grounding_rewards.batch.consensus_answers import NUMBER, check_votes, consensus_answers
from grounding_rewards.batch.problems import Problems
from grounding_rewards.batch.sample_names import CONTENT, names_of
from grounding_rewards.batch.score_rows import RecipeSlice
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.batch.target_numbers import WIDTH, target_numbers
from grounding_rewards.checks.accuracy import SingleAnswers
from grounding_rewards.checks.paired import SampleScores
from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.tables import Batch, Table
from grounding_rewards.tables.base import joined
from grounding_rewards.tables.columns import columns_read
from grounding_rewards.tables.prompts import image_path
from grounding_rewards.tables.rollout_columns import IMAGE_HASH
from grounding_rewards.tables.sample_ids import plain


class SampleTable:
    """Right answers by sample, from scored rows batch by batch."""

    def __init__(self, scorer: TableScorer, table: Table, by: Sequence[str] = (), *, once: bool = False) -> None:
        self.scorer, self.table, self._once = scorer, table, once
        self._places: dict[str, int] = {}  # of samples, by name
        self._first: list[tuple[Any, str]] = []  # number and row of each sample's first rollout
        self._further: set[tuple[int, str]] = set()  # sample and number of all others
        self._images: list[Hashable | None] = []
        self._fields: dict[str, list[Any]] = {name: [] for name in by}
        self._rows: list[tuple[list[int], Floats, Floats]] = []  # sample, acc and valid of each row
        self._targets: list[Floats] = []

    @property
    def reads(self) -> list[str]:
        """Columns that are read beside those of scoring."""
        return reads(self.scorer, self.table, [self.scorer.columns.image, IMAGE_HASH, *NUMBER])

    def add(self, batch: Batch, scored: RecipeSlice, names: Sequence[str]) -> None:
        """Add a batch that was scored, and the names of its samples."""
        numbers = list(zip(*(batch.numbers(name) for name in NUMBER), strict=True))
        images, hashes = batch.column(self.scorer.columns.image), batch.column(IMAGE_HASH)
        samples, rows, new = list[int](), list[int](), list[int]()
        for row, name in enumerate(names):
            sample = self._places.setdefault(name, len(self._places))
            if self._once and sample < len(self._first) and _unnumbered(numbers[row], self._first[sample][0]):
                continue
            samples.append(sample)
            rows.append(row)
            if sample == len(self._first):
                new.append(row)
                self._first.append((numbers[row], batch.place(row)))
                self._images.append(_image(images[row]) or _image(hashes[row]))
            else:
                self._check(batch, row, name, sample, numbers[row])
        for name, values in self._fields.items():
            column = batch.column(name)
            values += [column[row] for row in new]
        self._rows.append((samples, scored.scores.acc[rows], scored.scores.valid[rows]))
        self._targets.append(target_numbers(scored.rollouts.targets, scored.recipe.space)[new])

    def _check(self, batch: Batch, row: int, name: str, sample: int, number: Any) -> None:
        first, place = self._first[sample]
        if _unnumbered(number, first) or number == first or (sample, repr(number)) in self._further:
            raise TableError(
                f"{self.table.path}, {batch.place(row)}: sample {name!r:.80} is in {place} already; expected one row a "
                "sample, or rollouts with numbers in a column rollout; --consensus makes one answer of several"
            )
        self._further.add((sample, repr(number)))

    def scores(self, file: str) -> SampleScores:
        """Return the scores of all samples; ``file`` is what they are called."""
        samples = np.fromiter(chain.from_iterable(rows for rows, _, _ in self._rows), np.int64)
        acc, valid = (np.concatenate([np.zeros(0), *(each[at] for each in self._rows)]) for at in (1, 2))
        count = len(self._places)
        return SampleScores(
            file=file,
            names=list(self._places),
            correct=np.bincount(samples, acc * valid, count).astype(np.int64),
            n=np.bincount(samples, valid, count).astype(np.int64),
            images=self._images,
            targets=np.concatenate([nowhere(0, WIDTH), *self._targets]),
            by=self._fields,
        )


class Answers:
    """Scored batches of a table: its rows as they are, or one answer a sample; and right answers by sample."""

    singles: SingleAnswers | None = None

    def __init__(
        self, scorer: TableScorer, table: Table, by: Sequence[str], *, paired: bool = False, consensus: bool = False
    ) -> None:
        if consensus:
            check_votes(scorer.recipe)
        self.scorer, self.table, self.by, self.paired, self.consensus = scorer, table, by, paired, consensus
        self.samples, self.problems = SampleTable(scorer, table, by), Problems(scorer, table)

    def batches(self) -> Iterator[tuple[Batch, RecipeSlice]]:
        """Yield batches and their scores; rows with a problem are left out, and ``problems`` counts them."""
        scorer, table, names = self.scorer, self.table, list[str]()
        further = self.samples.reads if self.paired else reads(scorer, table, NUMBER) if self.consensus else []
        reading = [*self.by, *further, *self.problems.reads]
        batches = self.problems.left_out(scorer.batches(table, by=reading, whole=False))
        for batch in iter([joined(batches)]) if self.consensus else batches:
            scored = scorer.score(table, batch)
            if self.paired or self.consensus:
                names = names_of(scorer, table, batch, batch.column(scorer.columns.id))
            if self.consensus:
                merged = consensus_answers(scorer, table, batch, scored, names)
                batch, names, scored, self.singles = merged.batch, merged.names, merged.scored, merged.singles
            if self.paired:
                self.samples.add(batch, scored, names)
            yield batch, scored


def _unnumbered(*rollouts: Any) -> bool:
    """Return True where a rollout has no number."""
    return any(number is None or number != number for _, number in rollouts)


def reads(scorer: TableScorer, table: Table, columns: Sequence[str]) -> list[str]:
    """Return the columns of a table to read for names of samples, and further ones, those of them that are there.

    Images may be bytes, and name samples only where nothing else does.
    """
    named = has(table, scorer.columns.id)
    content = [name for name in CONTENT if not (named and name.startswith("image"))]
    return [name for name in columns_read([*columns, *content]) if name in table.columns]


def _image(value: Any) -> Hashable | None:
    """Return what tells an image from others: its path, or a digest of its bytes; None where there is none.

    >>> _image(["a.png"]) == _image({"path": "a.png", "bytes": b"..."}) == "a.png", _image([])
    (True, None)
    """
    if isinstance(value, list | tuple) and len(value) == 1:
        return _image(value[0])
    path: Hashable | None = image_path(value)
    if path is not None or value is None:
        return path
    try:
        content = plain(value)
    except PoolError:  # an object that is no image of a file
        return None
    return json.dumps(content, sort_keys=True) if content else None
