"""``grounding-rewards mix``: several training sets to the rows of one trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.convert import Trainer
from grounding_rewards.converting import LAYOUTS, Wording
from grounding_rewards.converting.mixture import COLUMNS, MixedTable, read_mixture
from grounding_rewards.converting.run import Converter
from grounding_rewards.tables import write_table
from grounding_rewards.tables.atomic import atomic_file
from grounding_rewards.tables.manifests import manifest_bytes
from grounding_rewards.tables.writing import KeptColumns


def mix(
    file: Annotated[Path, typer.Argument(metavar="MIX", help="The data sets: .yaml or .json.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write: .parquet or .jsonl.")],
    *,
    trainer: Annotated[
        Trainer | None, typer.Option("--for", help="Trainer to convert for. Default: rows for `rollout`.")
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
    `per_image` (the most samples of an image) and `where` (values that fields have). Samples are named NAME/ID. Images
    in bytes are written to a folder beside FILE. The same MIX and seed give the same rows.

    Example: `grounding-rewards mix mix.yaml --for verl --out train.parquet`
    """
    images = out.with_name(f"{out.name.partition('.')[0]}.images")
    table = MixedTable(file, read_mixture(file), images, seed, terminal.note_once())
    if trainer is not None:
        columns = {**dict.fromkeys(("image-size", "refusal")), **{name: name for name in COLUMNS}}
        converter = Converter(
            layout=LAYOUTS[trainer.value], columns=columns, wording=Wording(None, template), skip_bad=skip_bad,
            all_in_json=as_json, reporting=terminal.REPORTING,
        )  # fmt: skip
        converter.run(file, out, table)
    else:
        with write_table(
            out, like=KeptColumns(table, COLUMNS, {}), new=dict.fromkeys(COLUMNS, str), note=terminal.note
        ) as writer:
            kept = KeptColumns(table, COLUMNS, {})
            for batch in table.batches():
                writer.write(kept.cut(batch), {name: [row[name] for row in batch.rows] for name in COLUMNS})
    manifest: dict[str, Any] = {"kind": "mixture", "mix": str(file), "seed": seed, "datasets": table.counts}
    with atomic_file(out.with_name(f"{out.name}.manifest.json")) as written:
        written.write(manifest_bytes(manifest))
    if as_json:
        terminal.print_json({"out": str(out), **manifest})
        return
    for name, counts in table.counts.items():
        lost = ", ".join(f"{count:,} {why}" for why, count in counts["left_out"].items())
        terminal.say(
            f"{name}: {counts['taken']:,} of {counts['samples']:,} samples{f', left out {lost}' if lost else ''}"
        )
    terminal.say(f"{sum(each['taken'] for each in table.counts.values()):,} samples written to {out}")
