"""``grounding-rewards mix``: several training sets to the rows of one trainer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.converting import layout_of
from grounding_rewards.converting.mixture import read_mixture


def mix(
    file: Annotated[Path, typer.Argument(metavar="MIX", help="The data sets: .yaml or .json.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write: .parquet or .jsonl.")],
    *,
    trainer: Annotated[
        options.Trainer | None, typer.Option("--for", help="Trainer to convert for. Default: rows for `rollout`.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of draws.")] = 0,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out rows that cannot be converted.")] = False,
    template: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Prompt, with {instruction} for the instruction.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Mix training sets into one file, with what each of them gave and lost in a manifest beside it.

    MIX has `datasets`, a list with for each `path` (or `json_path`), and as needed `images` (`images_folder`), `take`
    (`sampling_strategy`: all, first:N, end:N, random:N or random:33%, counted in samples), `name`, `layout`, `space`,
    `instruction` (its column), `template`, `share` (of the mixture), `per_image` (the most samples of an image),
    `where` (values that fields have), `drop`, `max_area`, `max_instruction` and `overlap`. Samples are named NAME/ID.
    Images in bytes are written to a folder beside FILE. The same MIX and seed give the same rows. After a kill the same
    command resumes with the data set where it was.

    Example: `grounding-rewards mix mix.yaml --for verl --out train.parquet`
    """
    manifest = read_mixture(file, seed).run(
        out, None if trainer is None else layout_of(trainer), template=template, skip_bad=skip_bad,
        all_in_json=as_json, reporting=replace(terminal.REPORTING, note=terminal.note_once()),
    )  # fmt: skip
    if as_json:
        terminal.print_json({"out": str(out), **manifest})
        return
    counts = manifest["datasets"]
    for name, each in counts.items():
        lost = ", ".join(f"{count:,} {why}" for why, count in Counter(each["left_out"]).most_common())
        terminal.say(f"{name}: {each['taken']:,} of {each['samples']:,} samples{f', left out {lost}' if lost else ''}")
    terminal.say(f"{sum(each['taken'] for each in counts.values()):,} samples written to {out}")
