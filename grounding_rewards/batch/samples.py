"""Samples that rows belong to: their names, right answers by sample, and rows that have no response."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.batch.score_rows import RecipeSlice
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.accuracy import SingleAnswers
from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.tables.columns import columns_read, has
from grounding_rewards.tables.json_lines import is_utf8
from grounding_rewards.tables.prompts import image_path
from grounding_rewards.tables.rollout_columns import FURTHER, IMAGE_HASH, NUMBER, number_of
from grounding_rewards.tables.rows import Batch, joined, value_at
from grounding_rewards.tables.sample_ids import CONTENT, PARTS, name_of, part_of, plain, sample_id
from grounding_rewards.targets.target import Target

if TYPE_CHECKING:
    from grounding_rewards.checks.paired import SampleScores

_PROBLEM = "problem"


class Problems:
    """Rows of one table with a ``problem`` and no response, which say nothing of the model and count in no rate."""

    def __init__(self, scorer: TableScorer) -> None:
        self.table, self.response, there = scorer.table, scorer.columns.response, {*scorer.table.columns}
        # Only tables with all columns of ``FURTHER`` have such rows: elsewhere ``problem`` is often the instruction.
        named = f"pred.{_PROBLEM}" if f"pred.{_PROBLEM}" in there else _PROBLEM  # beside that of annotations
        self.column = named if FURTHER.keys() <= there else ""
        self.count, self.rows, self.first = 0, 0, ""  # rows that were left out, all rows, and the first problem

    @property
    def reads(self) -> list[str]:
        """Columns that are read beside those of scoring."""
        return [self.column] if self.column else []

    def left_out(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield batches without these rows."""
        for batch in batches:
            kept = [row for row in range(len(batch)) if not self.column or not self._has(batch.rows[row])]
            self.rows, self.count = self.rows + len(batch), self.count + len(batch) - len(kept)
            if kept or not len(batch):
                yield batch if len(kept) == len(batch) else batch.take(kept)
        if self.rows and self.rows == self.count:
            raise TableError(f"{self.table.path}: no row has a response, the first for this: {self.first}")

    def _has(self, row: Mapping[str, Any]) -> bool:
        problem = row.get(self.column) if row.get(self.response) is None else None
        self.first = self.first or str(problem or "")
        return bool(problem)

    def left_out_words(self, file: str = "") -> list[str]:
        """Return the warning of the rows that were left out, if any; ``file`` names the table among several."""
        if not self.count:
            return []
        which = f"{self.count:,} of {self.rows:,} rows have" if self.count > 1 else f"1 of {self.rows:,} rows has"
        end = "they are left out" if self.count > 1 else "it is left out"
        cause = f"no response for a cause that is not the model's ({self.first!r:.200})"
        return [f"{file and f'{file}: '}{which} {cause}; {end}"]

    def to_dict(self) -> dict[str, int]:
        """Return the count, for JSON; nothing of a table that has no such rows."""
        return {"left_out": self.count} if self.column else {}


def names_of(
    scorer: TableScorer,
    batch: Batch,
    values: Sequence[Any],
    *,
    image: str = "",
    instruction: str = "",
    read: Sequence[Target | None] | None = None,
) -> list[str]:
    """Return the names of a batch's samples: as they came, else their target's id, else made of ``CONTENT``.

    ``read`` are the batch's targets where they have been read.
    """
    column, guessed = scorer.columns.id, "id" in scorer.guessed  # a target's id goes before a guess
    names = [name_of(name) for name in values]
    for row, (came, name) in enumerate(zip(values, names, strict=True)):
        if name is None and came is not None and came == came:
            raise TableError(
                f"{scorer.where(batch, row)}: {column}: got {came!r:.60}; expected the sample's name, "
                "a text or a whole number, or null"
            )
    unsure = [row for row, name in enumerate(names) if name is None or guessed]
    targets = scorer.targets(batch) if unsure else []
    if unsure and read is None:
        read = scorer.read_targets(targets).rows
    content = _Content(scorer, batch, image, instruction)
    for row in unsure:
        known = None if read is None else read[row]
        own = None if known is None or known.id is None else str(known.id)
        names[row] = own or names[row] or content.name(row, targets[row])
    made = list(map(str, names))
    for row, name in enumerate(made) if not is_utf8("".join(made)) else ():
        if not is_utf8(name):
            raise TableError(
                f"{scorer.where(batch, row)}: sample_id: got {name!r:.60}, which has half a surrogate pair; "
                "expected text that UTF-8 has: write it again, or name another column by --id-column"
            )
    return made


class _Content:
    """Names made of what the rows of a batch say; rows that say the same, as rollouts do, share the work."""

    def __init__(self, scorer: TableScorer, batch: Batch, image: str, instruction: str) -> None:
        self._scorer, self._batch, self._known = scorer, batch, dict[Any, str]()
        self._chosen, whole = {"image": image, "instruction": instruction}, batch.whole
        held = () if isinstance(whole, list) else CONTENT  # also of columns that scoring does not need
        self._columns = {name: whole.column(name) for name in held if name in whole.schema.names}

    def name(self, row: int, target: Any) -> str:
        """Return the name of a row without one."""
        whole = self._batch.whole
        cell: Callable[[str], Any] = whole[row].get if isinstance(whole, list) else partial(self._held, row)
        said = {part: self._chosen_part(row, part) or part_of(part, cell) for part in PARTS}
        said.update(index=cell("index"), split=cell("split"))
        try:
            same = json.dumps([said, target])
        except (TypeError, ValueError, RecursionError):  # values that JSON lacks, such as arrays
            same = None
        if same is None or same not in self._known:
            try:
                self._known[same] = sample_id(target=target, **said)
            except PoolError as error:
                where = self._scorer.where(self._batch, row)
                raise TableError(f"{where}: sample_id: got null; {error}") from None
        return self._known[same]

    def _held(self, row: int, name: str) -> Any:
        return self._columns[name][row].as_py() if name in self._columns else None

    def _chosen_part(self, row: int, part: str) -> Any:
        """Return a part of a row's content that a setting names the column of; None without."""
        chosen = self._chosen.get(part)
        return PARTS[part][1](value_at(self._batch.rows[row], chosen)) if chosen else None


class SampleTable:
    """Right answers by sample, from scored rows batch by batch."""

    def __init__(self, scorer: TableScorer, by: Sequence[str] = (), *, once: bool = False) -> None:
        self.scorer, self._once = scorer, once
        self._places: dict[str, int] = {}  # of samples, by name
        self._first: list[tuple[Any, str]] = []  # number and row of each sample's first rollout
        self._further: set[tuple[int, Any]] = set()  # sample and number of all others
        self._images: list[Hashable | None] = []
        self._fields: dict[str, list[Any]] = {name: [] for name in by}
        self._rows: list[tuple[list[int], Floats, Floats]] = []  # sample, acc and valid of each row
        self._targets: list[Floats] = []

    @property
    def reads(self) -> list[str]:
        """Columns that are read beside those of scoring."""
        return reads(self.scorer, [self.scorer.columns.image, IMAGE_HASH, *NUMBER])

    def add(self, batch: Batch, scored: RecipeSlice, names: Sequence[str]) -> None:
        """Add a batch that was scored, and the names of its samples."""
        from grounding_rewards.batch.consensus_answers import target_numbers

        numbers = list(zip(*(map(number_of, batch.numbers(name)) for name in NUMBER), strict=True))
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
        if _unnumbered(number, first) or number == first or (sample, number) in self._further:
            raise TableError(
                f"{self.scorer.where(batch, row)}: sample {name!r:.80} is in {place} already; expected one row a "
                "sample, or rollouts with numbers in a column rollout; --consensus makes one answer of several"
            )
        self._further.add((sample, number))

    def scores(self, file: str) -> SampleScores:
        """Return the scores of all samples; ``file`` is what they are called."""
        from grounding_rewards.batch.consensus_answers import WIDTH
        from grounding_rewards.checks.paired import SampleScores

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
        self, scorer: TableScorer, by: Sequence[str], *, paired: bool = False, consensus: bool = False
    ) -> None:
        if consensus:
            from grounding_rewards.batch.consensus_answers import check_votes

            check_votes(scorer.recipe)
        self.scorer, self.by, self.paired, self.consensus = scorer, by, paired, consensus
        self.samples, self.problems = SampleTable(scorer, by), Problems(scorer)

    def batches(self) -> Iterator[tuple[Batch, RecipeSlice]]:
        """Yield batches and their scores; rows with a problem are left out, and ``problems`` counts them."""
        scorer, names = self.scorer, list[str]()
        further = self.samples.reads if self.paired else reads(scorer, NUMBER) if self.consensus else []
        reading = [*self.by, *further, *self.problems.reads]
        batches = self.problems.left_out(scorer.batches(by=reading, whole=False))
        for batch in iter([joined(batches)]) if self.consensus else batches:
            scored = scorer.score(batch)
            if self.paired or self.consensus:
                read = scored.rollouts.targets.rows
                names = names_of(scorer, batch, batch.column(scorer.columns.id), read=read)
            if self.consensus:
                from grounding_rewards.batch.consensus_answers import consensus_answers

                merged = consensus_answers(scorer, batch, scored, names)
                batch, names, scored, self.singles = merged.batch, merged.names, merged.scored, merged.singles
            if self.paired:
                self.samples.add(batch, scored, names)
            yield batch, scored


def _unnumbered(*rollouts: Any) -> bool:
    """Return True where a rollout has no number."""
    return any(number is None for _, number in rollouts)


def reads(scorer: TableScorer, columns: Sequence[str]) -> list[str]:
    """Return the columns of a table to read for names of samples, and those of ``columns`` that are there."""
    named = has(scorer.table, scorer.columns.id)  # images may be bytes, and name samples only where nothing else does
    content = [name for name in CONTENT if not (named and name.startswith("image"))]
    return [name for name in columns_read([*columns, *content]) if name in scorer.table.columns]


def _image(value: Any) -> Hashable | None:
    """Return what tells an image from others: its path, or a digest of its bytes; None where there is none."""
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
