"""The options ``--predictions`` and ``--id``: annotations in one file, the answers to them in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grounding_rewards.batch.columns import Columns, has
from grounding_rewards.cli import terminal
from grounding_rewards.errors import RecipeError
from grounding_rewards.tables import Table
from grounding_rewards.tables.base import require_column
from grounding_rewards.tables.columns import GUESSED, columns_read
from grounding_rewards.tables.contents import STDIN, is_stream
from grounding_rewards.tables.folders import ChainedTable, open_rows
from grounding_rewards.tables.launches import several_runs
from grounding_rewards.tables.manifests import refuse_stream
from grounding_rewards.tables.matched import PREDICTED, MatchedTable
from grounding_rewards.tables.rollout_source import LoggedTable
from grounding_rewards.tables.trainer_logs import trainer_log

if TYPE_CHECKING:
    from grounding_rewards.tables.rollout_table import RolloutTable

_DEFAULT = Columns()


@dataclass(frozen=True)
class Join:
    """Predictions to join to the rows of a file, and the columns that join them; None where nothing is named.

    ``every`` holds all predictions that were named, of which a command that takes one takes the last.
    """

    predictions: Path | None = None
    id: str | None = None
    every: tuple[Path, ...] = ()

    def check(self, files: Sequence[Path]) -> None:
        """Check that predictions are joined to the one file they belong to.

        Raises:
            RecipeError: there are several files, none, or no predictions, or both are standard input.
        """
        if self.predictions is None:
            if self.id is not None:
                raise RecipeError("--id: got it without --predictions, the answers that it joins to the annotations")
            return
        if len(files) != 1:
            raise RecipeError(f"--predictions: got it with {len(files)} files; expected one file, its annotations")
        if {str(self.predictions), str(files[0])} <= {*STDIN}:
            raise RecipeError("--predictions: both files are standard input; write one of them to a file")

    def inputs(self, files: list[Path], *, paired: bool = False) -> list[tuple[str, Path, Join]]:
        """Return what each file is called, the file, and what is joined to it; of a comparison two, maybe of one file.

        Raises:
            RecipeError: as of ``check``; or a comparison has not two files, nor one with two files of predictions.
        """
        if not paired:
            self.check(files)
            return [(str(file), file, self) for file in files]
        if (len(files), len(self.every)) not in ((2, 0), (1, 2)):
            answers = f" and {len(self.every)} --predictions" if self.every else ""
            raise RecipeError(
                f"--paired: got {len(files)} files{answers}; expected two files of answers to the same samples, or one "
                "file of annotations and --predictions twice"
            )
        opened = [*(files * (len(self.every) or 1)), *self.every]
        streams = ["-" if str(each) in STDIN else str(each) for each in opened if is_stream(each)]
        if len(streams) != len({*streams}):
            raise RecipeError(f"--paired: {streams[0]} is a stream, which is read once; write it to a file")
        joins = [(str(each), files[0], replace(self, predictions=each)) for each in self.every]
        self.check(files[:1])
        return joins or [(str(file), file, self) for file in files]

    def open(self, file: Path, split: str | None, columns: Columns) -> tuple[Table, Columns]:
        """Open a file of rows, with its predictions; return it, and the columns, with the sample's name from the id."""
        if self.predictions is None:
            return _rows(file, split, columns), columns
        table = _matched(self, self.predictions, file, split, columns)
        return table, _named(columns, table)

    def join(self, table: Table, columns: Columns, alike: Sequence[str]) -> tuple[Table, Columns]:
        """Join predictions, if any, to rows that are open, as ``MatchedTable`` does; return what ``open`` does."""
        if self.predictions is None:
            return table, columns
        joined = _joined(self, table, open_rows(self.predictions), columns, alike, unanswered=True)
        return joined, _named(columns, joined)


def _rows(file: Path, split: str | None, columns: Columns) -> Table:
    """Open a file of rows; a trainer's log as rollouts, unless columns of it are named."""
    named = split or columns.response or columns.target
    log = None if named or is_stream(file) else trainer_log(file)
    table = open_rows(file, split) if log is None else LoggedTable(log, verdicts=True)
    if isinstance(table, ChainedTable) and (text := several_runs(each.path for each in table.tables)):
        terminal.warn(text)
    return table


def rollouts(join: Join, paths: Sequence[Path], columns: Columns) -> tuple[RolloutTable | Sequence[Path], Columns]:
    """Return rollouts: the files of them, or the one file of annotations with its predictions; and the columns."""
    if join.predictions is None:
        return paths, columns
    from grounding_rewards.tables.matched_rollouts import MatchedRollouts  # duckdb, which other commands do without

    for path in (paths[0], join.predictions):
        refuse_stream(path)
    table = _matched(join, join.predictions, paths[0], None, columns, unanswered=False)
    written(table)
    return MatchedRollouts(table), _named(columns, table)


def written(table: Table) -> None:
    """Print which columns of joined rows are not written."""
    if isinstance(table, MatchedTable) and table.left_out:
        terminal.note(f"columns that hold bytes, such as images, are not written: {', '.join(table.left_out)}")


def repeated(table: Table) -> None:
    """Print how many predictions are further ones of a sample, as those of a run that was started twice."""
    if isinstance(table, MatchedTable) and table.counts.further:
        text = "second and later predictions of a sample, each of which counts as a row"
        terminal.note(f"{text}: {table.counts.further}")


def counts(table: Table) -> dict[str, Any]:
    """Return the counts of a join, for JSON; nothing for one file."""
    return {"joined": asdict(table.counts)} if isinstance(table, MatchedTable) else {}


def _matched(
    join: Join, answers: Path, file: Path, split: str | None, columns: Columns, *, unanswered: bool = True
) -> MatchedTable:
    # A split that the annotations, one file, cannot have is that of the predictions.
    theirs = split if answers.is_dir() and not file.is_dir() else None
    annotations, predictions = open_rows(file, None if theirs else split), open_rows(answers, theirs)
    return _joined(join, annotations, predictions, columns, unanswered=unanswered)


def _joined(
    join: Join, annotations: Table, predictions: Table, columns: Columns, alike: Sequence[str] = (), *, unanswered: bool
) -> MatchedTable:
    answers, file = predictions.path, annotations.path
    if not columns.response and not _has_responses(predictions) and _has_responses(annotations):
        raise RecipeError(
            f"--predictions: {answers} has no column of responses, and {file} has; name the annotations first, and the "
            "answers by --predictions"
        )
    if columns.response and not has(predictions, columns.response):
        require_column(predictions, columns.response, "--response-column")
    own = columns_read([columns.response, columns.model_image_size, columns.token_length])
    predicted = PREDICTED | {*own}
    called = f"{answers}: " if len(join.every) > 1 else ""
    return MatchedTable(
        annotations, predictions, join.id, predicted=predicted - {columns.target, columns.image_size},
        alike=alike, unanswered=unanswered, note=lambda text: terminal.note(called + text),
        warn=lambda text: terminal.warn(called + text),
    )  # fmt: skip


def _has_responses(table: Table) -> bool:
    return any(has(table, name) for name in GUESSED["response"])


def _named(columns: Columns, table: MatchedTable) -> Columns:
    return replace(columns, id=table.id) if columns.id == _DEFAULT.id else columns


_PANEL = "Answers in another file"


def _join(
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="ANSWERS",
            help="The model's answers, where FILE has annotations alone: a file or directory as FILE may be. A row for "
            "each answer, then one for each sample without any, which counts as wrong. Twice for `eval --paired`.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="The column of both that names the sample; A,B for several, A=B where the answers call A B, "
            "ROW where they name numbers of rows. Default: sample_id, else id, else an image and an instruction, else "
            "ROW where the answers' ids count all rows.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
) -> Join:
    return Join(predictions[-1] if predictions else None, id, tuple(predictions or ()))


Joining = Annotated[Join, _join]
"""Both options as one argument; see ``options.FileColumns``."""
