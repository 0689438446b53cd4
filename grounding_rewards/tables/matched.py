"""Annotations in one file and predictions in another, joined by the id of samples into one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from grounding_rewards.tables.base import BATCH_ROWS, Batch, Note, Table
from grounding_rewards.tables.columns import GUESSED
from grounding_rewards.tables.join_ids import IdColumns, examples, id_columns, keys_of
from grounding_rewards.tables.join_survey import MADE, JoinSurvey, Sample, survey

PREDICTED = frozenset((
    *GUESSED["response"], "predictions", "model_image_size", "token_length", "round", "rollout", "recipe", "total",
    "acc", "correct", "reason", "x_unit", "y_unit", "temperature", "policy", "train_step",
))  # fmt: skip
"""Columns that say something of a prediction: where both tables have one, it is that of the predictions."""


@dataclass(frozen=True)
class JoinCounts:
    """Counts of a join.

    Attributes:
        annotations: samples; one that is there twice counts once.
        predictions: rows of predictions.
        without_prediction: samples that no prediction names.
        without_annotation: predictions that name no sample.
    """

    annotations: int
    predictions: int
    without_prediction: int
    without_annotation: int

    @property
    def further(self) -> int:
        """Number of predictions that are not the first of their sample."""
        return self.predictions - self.without_annotation - (self.annotations - self.without_prediction)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Matched(Batch):
    """Joined rows, with their annotations, and their places in a batch of predictions; None for no predictions."""

    samples: Sequence[Sample]
    predictions: tuple[Path, Batch, Sequence[int]] | None

    def place(self, index: int) -> str:
        """Return the places of a row's annotation and of its prediction, for errors."""
        if self.predictions is None:
            return f"{self.samples[index].place}, without a prediction"
        path, batch, kept = self.predictions
        return f"{self.samples[index].place}, with {path}, {batch.place(kept[index])}"


@dataclass(frozen=True, eq=False)
class MatchedTable:
    """Annotations and predictions as one table; see ``matched``.

    Attributes:
        ids: columns of the id.
        counts: counts of the join.
        unanswered: whether annotations without a prediction are rows.
    """

    annotations: Table
    predictions: Table
    ids: IdColumns
    counts: JoinCounts
    unanswered: bool
    _survey: JoinSurvey = field(repr=False)

    @property
    def path(self) -> Path:
        """The annotations' file, in whose folder relative paths of images start."""
        return self.annotations.path

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files or directories of both."""
        return self.annotations.path, self.predictions.path

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The files of both, also of those that are directories."""
        tables = (self.annotations, self.predictions)
        return tuple(each.path for table in tables for each in getattr(table, "tables", (table,)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: those of annotations, then those of predictions."""
        return self._survey.columns

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are not written, because they hold bytes, such as images."""
        return tuple(sorted(self._survey.bytes))

    @property
    def id(self) -> str:
        """The column that names the sample; for an id of several columns, it holds all of them as JSON."""
        return self.ids.annotations[0] if len(self.ids.annotations) == 1 else MADE

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """Yield the rows in order; see ``Table``."""
        start, names, turns = 0, self._survey.names, Counter[int]()
        wanted = None if columns is None or whole else [*self.ids.predictions, *_sources(names, columns)]
        for batch in self.predictions.batches(wanted, whole=False, size=size):
            keys = keys_of(self.predictions, batch, self.ids.predictions, texts=self._survey.texts)
            known = [
                (row, annotation)
                for row, key in enumerate(keys)
                if (sample := self._survey.sample(key)) is not None
                for annotation in self._answered(sample, turns)
            ]
            if known:
                rows = [{**sample.row, **_renamed(batch.rows[row], names)} for row, sample in known]
                predictions = (self.predictions.path, batch, [row for row, _ in known])
                yield self._batch(start, rows, [sample for _, sample in known], predictions, batch.done, whole)
                start += len(rows)
        samples = self._survey.samples.values()
        left = (each for sample in samples if self.unanswered and not sample.predicted for each in sample.every)
        nothing = dict.fromkeys(name for name in names.values() if name)
        while some := list(islice(left, size or BATCH_ROWS)):
            yield self._batch(start, [{**sample.row, **nothing} for sample in some], some, None, 1.0, whole)
            start += len(some)

    def _answered(self, sample: Sample, turns: Counter[int]) -> Sequence[Sample]:
        """Return the annotations that the next prediction of a sample answers: all, or the one whose turn it is."""
        if not sample.repeats or sample.predicted != len(sample.every) * self._survey.usual:
            return sample.every
        turns[id(sample)] += 1  # as many as if the annotations were asked one by one
        return (sample.every[(turns[id(sample)] - 1) % len(sample.every)],)

    def _batch(
        self, start: int, rows: list[dict[str, Any]], samples: Sequence[Sample],
        predictions: tuple[Path, Batch, Sequence[int]] | None, done: float, whole: bool,
    ) -> Batch:  # fmt: skip
        gone, written = self._survey.bytes, rows
        if whole and gone:
            written = [{name: value for name, value in row.items() if name not in gone} for row in rows]
        texts = self._survey.texts
        return _Matched(start, rows, written, done, texts=texts, samples=samples, predictions=predictions)


def matched(
    annotations: Table,
    predictions: Table,
    id: str | None = None,
    *,
    predicted: Collection[str] = PREDICTED,
    alike: Sequence[str] = (),
    unanswered: bool = True,
    note: Note = lambda text: None,
    warn: Note = lambda text: None,
) -> MatchedTable:
    """Join predictions to annotations.

    A row for each prediction, in their order, with the columns of both; then one for each annotation without any, whose
    response is null, so that it counts as wrong. Predictions that name no annotation are left out.

    A text and a whole number of the same digits are two ids, unless all ids of one table are numbers and none matches,
    or one of them is CSV, whose cells are texts.

    A column of both is one where values are equal. Where they differ, ``predicted`` are the predictions'; of all others
    the annotations' stays, and the predictions' is called ``pred.NAME``. ``response`` is never the annotations'.

    Args:
        annotations: rows with targets, one a sample. They are held in memory, of images the first bytes alone.
        predictions: rows with responses, any number a sample.
        id: the column that names the sample; several with commas; ``A=B`` where predictions call A B. Without it
            ``sample_id``, else ``id``, else an image and an instruction.
        predicted: names of columns that say something of a prediction.
        alike: columns by which annotations of one id are known as repeats, all of which count: each has a row for each
            prediction of their id, or for its share of them where these are as many as for so many samples. Without
            any, annotations that are equal in every column count once.
        unanswered: whether annotations without a prediction are rows.
        note: takes remarks on what became of columns.
        warn: takes the counts of rows that have no other half.

    Raises:
        TableError: a column of the id is not there, an annotation has no id or that of another one, which differs, or
            no prediction names an annotation.

    >>> import pathlib, tempfile
    >>> from grounding_rewards.tables import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     samples, answers = pathlib.Path(folder, "samples.jsonl"), pathlib.Path(folder, "answers.jsonl")
    ...     _ = samples.write_text('{"id": "a", "target": [1, 2, 3, 4]}')
    ...     _ = answers.write_text('{"id": "a", "response": "(1, 2)"}')
    ...     table = matched(open_table(samples), open_table(answers))
    ...     [row for batch in table.batches() for row in batch.rows]
    [{'id': 'a', 'target': [1, 2, 3, 4], 'response': '(1, 2)'}]
    """
    ids = id_columns(id, annotations, predictions, note)
    result = survey(annotations, predictions, ids, frozenset(predicted) - {*ids.annotations}, note, alike)
    missing = [key for key, sample in result.samples.items() if not sample.predicted]
    if missing:
        end = "they count as wrong" if unanswered else "they are left out"
        warn(f"{len(missing)} of {len(result.samples)} samples have no prediction, such as {examples(missing)}: {end}")
    if result.strays:
        warn(
            f"{len(result.strays)} of {result.predictions} predictions belong to no sample of {annotations.path}, such "
            f"as {examples(result.strays)}: they are left out"
        )
    counts = JoinCounts(len(result.samples), result.predictions, len(missing), len(result.strays))
    return MatchedTable(annotations, predictions, ids, counts, unanswered, result)


def _renamed(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return what a prediction adds to its annotation."""
    return {name: value for key, value in row.items() if (name := names.get(key, key))}


def _sources(names: Mapping[str, str], columns: Collection[str]) -> list[str]:
    return [key for key, name in names.items() if name in {*columns}]
