"""The options ``--predictions`` and ``--id``: annotations in one file, the answers to them in another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grounding_rewards.batch.joining import Join
from grounding_rewards.cli import options
from grounding_rewards.cli.terminal import REPORTING

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
    encoding: options.Encoding = None,
) -> Join:
    return Join(predictions[-1] if predictions else None, id, tuple(predictions or ()), REPORTING, encoding)


Joining = Annotated[Join, _join]
"""Both options as one argument; see ``options.FileColumns``."""
