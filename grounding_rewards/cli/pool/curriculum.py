"""``grounding-rewards pool curriculum``: data sets by stage, easiest samples first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.errors import PoolError
from grounding_rewards.tables.contents import JSON_LINES, PARQUET
from grounding_rewards.wording import percent


def curriculum(
    stats: Annotated[Path, typer.Argument(metavar="STATS", help="Output of `pool stats --out`, or rollouts.")],
    stages: Annotated[Path, typer.Option(metavar="FILE", help="Bands, stages and gate (.json, .toml).")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Directory to write.")] = None,
    data: options.TrainingRows = None,
    id_column: options.SampleColumn = None,
    split: options.Split = None,
    weights: Annotated[bool, typer.Option("--weights", help="Write weights by stage in place of data sets.")] = False,
    validate: Annotated[
        bool,
        typer.Option("--validate", help="Check declared bands against measured pass rates; fail if wrong."),
    ] = False,
    band_column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="For --validate: the column of declared bands. Default: difficulty or band."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="For --validate: the column of types. Default: source."),
    ] = None,
    rounds: options.Rounds = None,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Sort samples into bands by their pass rate, and write a data set for each stage of training.

    DIR holds one data set a stage, the samples in no band (outside), and curriculum.manifest.json: files with their
    hashes, the samples and the shortfall of each band, epochs, the gate, and the order of stages. No sample is in a
    stage twice: where a band has too few, the shortfall is reported.

    --validate compares the bands that the data declare with measured pass rates: an easier band's pass rate must be
    above a harder one's, and their 95 % intervals apart, for all samples and for each type, and each band of a stage
    must have scored rollouts. Without --out nothing is written.

    Example: `grounding-rewards pool curriculum stats.parquet --stages examples/curriculum.json --out stages --data
    train.parquet`
    """
    if out is None and not validate:
        raise PoolError("--out: expected a directory for the stages, or --validate to check bands alone")
    from grounding_rewards.pool.curriculum.command import check_stats, declared_bands, write_stages
    from grounding_rewards.pool.curriculum.stages import read_curriculum

    options.check_data(data, id_column, split)
    if out is not None and out.suffix.lower() in _FILES:
        raise PoolError(f"--out: got {out}, the name of a file; expected that of a directory, which is made")
    if not validate and (band_column is not None or by is not None):
        raise PoolError(f"{'--by' if band_column is None else '--band-column'} says what is checked; add --validate")
    if weights and data is not None:
        raise PoolError("--weights and --data: weights go by the names of samples; leave one of the two out")
    plan = read_curriculum(stages)
    checked = None
    if validate:
        checked = check_stats(*declared_bands(stats, band_column, by or "source", rounds), plan)
        for remark in checked["remarks"]:
            terminal.note(remark)
        if out is None or not checked["passed"]:
            terminal.print_json(checked) if as_json else _show_check(checked)
        if not checked["passed"]:
            raise PoolError(f"bands are not what they are called: {'; '.join(checked['problems'])}")
    if out is None:
        return
    manifest = write_stages(
        stats, stages, out, data=data, id_column=id_column, split=split, weights=weights, rounds=rounds, seed=seed,
        validation=checked, reporting=terminal.REPORTING,
    )  # fmt: skip
    terminal.print_json(manifest) if as_json else _show(manifest, out)


_FILES = (*PARQUET, *JSON_LINES, ".json")


def _show(manifest: dict[str, Any], out: Path) -> None:
    heads = ["stage", "samples", "epochs", "bands", "missing"]
    table = layout.table(heads, figures=["samples", "epochs"])
    for stage in manifest["stages"]:
        bands = ", ".join(f"{band['band']} {band['taken']}" for band in stage["bands"])
        missing = ", ".join(f"{band['band']} {band['shortfall']}" for band in stage["bands"] if band["shortfall"])
        layout.row(table, [stage["name"], f"{stage['samples']:,}", str(stage["epochs"]), bands, missing or "-"])
    layout.console().print(table)
    left = {name: manifest["samples"][name] for name in ("between", "unmeasured") if manifest["samples"][name]}
    for name, count in left.items():
        terminal.note(f"samples in no band, {_LEFT[name]}: {count}")
    terminal.say(f"{len(manifest['stages'])} stages written to {out}")


_LEFT = {"between": "with pass rates between bands", "unmeasured": "with too few scored rollouts"}


def _show_check(checked: Mapping[str, Any]) -> None:
    figures = ["right", "of", "rate", "95 % interval"]
    table = layout.table(["type", "band", *figures, "in its range"], figures=figures)
    for kind, check in (("all", checked["overall"]), *checked["types"].items()):
        for band in check["bands"]:
            interval = f"{percent(band['low'])} to {percent(band['high'])}" if band["n"] else "-"
            inside = {None: "-", True: "yes", False: "no"}[band["inside"]]
            layout.row(
                table,
                [kind, band["band"], str(band["correct"]), str(band["n"]), percent(band["rate"]), interval, inside],
            )
    layout.console().print(table)
