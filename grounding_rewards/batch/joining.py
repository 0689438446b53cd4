"""Rows to score: of a file, or annotations joined to the predictions of another file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grounding_rewards.errors import RecipeError
from grounding_rewards.tables.columns import GUESSED, NONE, Columns, columns_read, has
from grounding_rewards.tables.contents import STDIN, is_stream
from grounding_rewards.tables.launches import several_runs
from grounding_rewards.tables.manifests import refuse_stream
from grounding_rewards.tables.opening import ChainedTable, open_rows
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.tables.rows import Note, Table, require_column
from grounding_rewards.tables.trainer_logs import trainer_log
from grounding_rewards.tables.training_sets import BY_FIELDS, Shape

if TYPE_CHECKING:
    from grounding_rewards.tables.matched import MatchedTable
    from grounding_rewards.tables.rollout_table import RolloutTable


@dataclass(frozen=True)
class Join:
    """Predictions to join to the rows of a file, and the columns that join them; None where nothing is named."""

    predictions: Path | None = None
    id: str | None = None
    every: tuple[Path, ...] = ()  # all predictions that were named, of which a command that takes one takes the last
    reporting: Reporting = field(default=SILENT, repr=False, compare=False)
    encoding: str | None = None  # of all files
    shape: Shape = BY_FIELDS  # how rows of training sets are read

    def check(self, files: Sequence[Path]) -> None:
        """Check that predictions are joined to the one file they belong to."""
        if self.predictions is None:
            if self.id is not None:
                raise RecipeError("--id: got it without --predictions, the answers that it joins to the annotations")
            return
        if len(files) != 1:
            raise RecipeError(f"--predictions: got it with {len(files)} files; expected one file, its annotations")
        if {str(self.predictions), str(files[0])} <= {*STDIN}:
            raise RecipeError("--predictions: both files are standard input; write one of them to a file")

    def inputs(
        self, files: Sequence[Path], *, paired: bool = False, whole: bool = False
    ) -> list[tuple[str, Sequence[Path], Join]]:
        """Return name, files and join of what is evaluated, two of a comparison; ``whole`` files are one evaluation."""
        if not paired:
            self.check(files[:1] if whole else files)
            return [("", files, self)] if whole else [(str(file), [file], self) for file in files]
        twice = len(self.every) == 2 and (whole or len(files) == 1)
        if not twice and (len(files) != 2 or self.every):
            if whole:
                raise RecipeError(
                    f"--paired: got {len(files)} files and {len(self.every)} --predictions; expected two files or "
                    "folders, each with all answers of a model, or the benchmark's files and --predictions twice"
                )
            answers = f" and {len(self.every)} --predictions" if self.every else ""
            raise RecipeError(
                f"--paired: got {len(files)} files{answers}; expected two files of answers to the same samples, one "
                "table of `rollout --zoom`, or one file of annotations and --predictions twice"
            )
        opened = [*files, *(files if twice else ()), *self.every]
        streams = ["-" if str(each) in STDIN else str(each) for each in opened if is_stream(each)]
        if len(streams) != len({*streams}):
            raise RecipeError(f"--paired: {streams[0]} is a stream, which is read once; write it to a file")
        self.check(files[:1])
        if twice:
            return [(str(each), files, replace(self, predictions=each)) for each in self.every]
        return [(str(file), [file], self) for file in files]

    def open(self, file: Path, split: str | None, columns: Columns) -> Table:
        """Open a file of rows, with its predictions."""
        return self._rows(file, split, columns) if self.predictions is None else self._matched(file, split, columns)

    def join(self, table: Table, columns: Columns, alike: Sequence[str] = ()) -> Table:
        """Join predictions, if any, to rows that are open, as ``MatchedTable`` does."""
        if self.predictions is None:
            return table
        return self._joined(table, open_rows(self.predictions, encoding=self.encoding), columns, alike)

    def rollouts(self, paths: Sequence[Path], columns: Columns) -> RolloutTable | Sequence[Path]:
        """Return rollouts: the files of them, or the file of annotations with its predictions."""
        if self.predictions is None:
            return paths
        from grounding_rewards.tables.rollout_table import MatchedRollouts  # duckdb, which other commands do without

        for path in (paths[0], self.predictions):
            refuse_stream(path)
        table = self._matched(paths[0], None, columns, unanswered=False)
        written(table, self.reporting.note)
        return MatchedRollouts(table)

    def _rows(self, file: Path, split: str | None, columns: Columns) -> Table:
        """Open a file of rows; a trainer's log as rollouts, unless columns of it are named."""
        named = split or columns.response or columns.target or self.encoding
        log = None if named or is_stream(file) else trainer_log(file)
        if log is not None:
            return log
        responses = [columns.response.lower()] if columns.response else GUESSED["response"]
        shape = self._shape(columns)
        table = open_rows(
            file, split, encoding=self.encoding, responses=responses, note=self.reporting.note, shape=shape
        )
        if isinstance(table, ChainedTable) and (text := several_runs(each.path for each in table.tables)):
            self.reporting.warn(text)
        return table

    def _shape(self, columns: Columns) -> Shape:
        return replace(self.shape, layout=NONE) if columns.target and not self.shape.layout else self.shape

    def _matched(self, file: Path, split: str | None, columns: Columns, *, unanswered: bool = True) -> MatchedTable:
        assert self.predictions is not None  # the caller has asked
        # A split that the annotations, one file, cannot have is that of the predictions.
        theirs = split if self.predictions.is_dir() and not file.is_dir() else None
        annotations = open_rows(
            file, None if theirs else split, encoding=self.encoding, note=self.reporting.note,
            shape=self._shape(columns),
        )  # fmt: skip
        predictions = open_rows(self.predictions, theirs, encoding=self.encoding)
        return self._joined(annotations, predictions, columns, unanswered=unanswered)

    def _joined(
        self, annotations: Table, predictions: Table, columns: Columns, alike: Sequence[str] = (), *,
        unanswered: bool = True,
    ) -> MatchedTable:  # fmt: skip
        from grounding_rewards.tables.matched import PREDICTED, MatchedTable  # which one file does without

        answers, file = predictions.path, annotations.path
        there, here = (any(has(each, name) for name in GUESSED["response"]) for each in (predictions, annotations))
        if not columns.response and here and not there:
            raise RecipeError(
                f"--predictions: {answers} has no column of responses, and {file} has; name the annotations first, and "
                "the answers by --predictions"
            )
        if columns.response and not has(predictions, columns.response):
            require_column(predictions, columns.response, "--response-column")
        own = columns_read([columns.response, columns.model_image_size, columns.token_length])
        predicted = PREDICTED | {*own}
        called = f"{answers}: " if len(self.every) > 1 else ""
        return MatchedTable(
            annotations, predictions, self.id, predicted=predicted - {columns.target, columns.image_size},
            alike=alike, unanswered=unanswered, note=lambda text: self.reporting.note(called + text),
            warn=lambda text: self.reporting.warn(called + text),
        )  # fmt: skip


def written(table: Table, note: Note) -> None:
    """Say which columns of joined rows are not written."""
    if left_out := getattr(table, "left_out", ()):
        note(f"columns that hold bytes, such as images, are not written: {', '.join(left_out)}")


def repeated(table: Table) -> list[str]:
    """Return the remark on predictions that are further ones of a sample, as those of a run that was started twice."""
    further = getattr(getattr(table, "counts", None), "further", 0)
    return [f"second and later predictions of a sample, each of which counts as a row: {further}"] if further else []


def counts(table: Table) -> dict[str, Any]:
    """Return the counts of a join, for JSON; nothing for one file."""
    joined = getattr(table, "counts", None)
    return {"joined": asdict(joined)} if joined else {}
