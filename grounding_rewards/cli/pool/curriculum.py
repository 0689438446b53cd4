"""``grounding-rewards pool curriculum``: what to train on first, and what next."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import tables as layout
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.report.wording import percent
from grounding_rewards.tables.files import JSON_LINES, PARQUET, overlap
from grounding_rewards.targets.unique_keys import unique_keys

if TYPE_CHECKING:
    from grounding_rewards.pool.curriculum import Curriculum
    from grounding_rewards.pool.curriculum.band_check import Validation


def curriculum(
    stats: Annotated[
        Path, typer.Argument(metavar="STATS", help="What `pool stats --out` wrote, or rollouts as it reads them.")
    ],
    stages: Annotated[Path, typer.Option(metavar="FILE", help="Bands, stages and gate (.json, .toml).")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where the stages are written.")] = None,
    data: options.TrainingRows = None,
    id_column: options.SampleColumn = None,
    split: options.Split = None,
    weights: Annotated[bool, typer.Option("--weights", help="Write weights by stage in place of data sets.")] = False,
    validate: Annotated[
        bool, typer.Option("--validate", help="Check that bands are what the data calls them; fail if not.")
    ] = False,
    band_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="For --validate: of bands that the data declares. Default: difficulty or band."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="For --validate: checked for each value of this. Default: source."),
    ] = None,
    rounds: options.Rounds = None,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest, or the check, as JSON.")] = False,
) -> None:
    """Part samples by their pass rate into bands, and write the stages that train on them.

    DIR holds one data set a stage, the samples that are in no band (outside), and curriculum.manifest.json: files with
    their hashes, what each band gave and lacked, epochs, the gate, and which stage comes after which. No sample stands
    in a stage twice: where a band has too few, the shortfall is told.

    --validate compares the bands that the data declares with what was measured: an easier band's pass rate must be
    above a harder one's, and their 95 % intervals apart, for all samples and for each type, and each band that a stage
    trains on must have scored rollouts. Without --out nothing is written.

    Example: `grounding-rewards pool curriculum stats.parquet --stages examples/curriculum.json --out stages --data
    train.parquet`
    """
    if out is None and not validate:
        raise PoolError("--out: expected a directory for the stages, or --validate to check bands alone")
    options.check_data(data, id_column, split)
    if out is not None and out.suffix.lower() in _FILES:
        raise PoolError(f"--out: got {out}, the name of a file; expected that of a directory, which is made")
    if not validate and (band_column is not None or by is not None):
        raise PoolError(f"{'--by' if band_column is None else '--band-column'} says what is checked; add --validate")
    if weights and data is not None:
        raise PoolError("--weights and --data: weights go by the names of samples; leave one of the two out")
    plan = read_stages(stages)
    checked = _validate(stats, plan, band_column, by or "source", rounds) if validate else None
    if checked is not None and not (checked.passed and out is not None):
        _tell_check(checked, as_json)
    if out is None:
        return
    said = _write(stats, stages, out, plan, data, id_column, split, weights, rounds, seed, checked)
    if as_json:
        terminal.print_json(said)
    else:
        _show(said)
        sys.stderr.write(terminal.printable(f"{len(said['stages'])} stages written to {out}") + "\n")


_FILES = (*PARQUET, *JSON_LINES, ".json")


def read_stages(path: Path) -> Curriculum:
    """A curriculum from a file of JSON or TOML.

    Raises:
        PoolError: it is not there, is neither, or does not fit; names the file.
    """
    from grounding_rewards.pool.curriculum.config import read

    kinds: dict[str, Callable[[str], Any]] = {
        ".json": partial(json.loads, object_pairs_hook=unique_keys),
        ".toml": tomllib.loads,
    }
    if path.suffix.lower() not in kinds:
        raise PoolError(f"{path}: stages are read from files that end in .json or .toml")
    if not path.is_file():
        raise PoolError(f"--stages: {path}: no such file; expected bands, stages and gate in .json or .toml")
    try:
        return read(kinds[path.suffix.lower()](path.read_text("utf-8")))
    except RecursionError:
        raise PoolError(f"{path}: is nested too deep") from None
    except ValueError as error:  # PoolError, and what json and tomllib raise
        raise PoolError(f"{path}: {error}") from None


def _validate(stats: Path, plan: Curriculum, column: str | None, by: str, rounds: Sequence[int] | None) -> Validation:
    from grounding_rewards.pool.curriculum import validate_stats
    from grounding_rewards.pool.curriculum.bands import declared_bands

    found, bands = declared_bands(stats, column, by, rounds)
    checked = validate_stats(found, bands, plan)
    for remark in checked.remarks:
        terminal.note(remark)
    return checked


def _tell_check(checked: Validation, as_json: bool) -> None:
    """Print what was measured.

    Raises:
        PoolError: the bands failed.
    """
    if as_json:
        terminal.print_json(checked.to_json())
    else:
        _show_check(checked)
    if not checked.passed:
        raise PoolError(f"bands are not what they are called: {'; '.join(checked.problems)}")


def _write(
    stats: Path,
    stages: Path,
    out: Path,
    plan: Curriculum,
    data: Path | None,
    id_column: str | None,
    split: str | None,
    weights: bool,
    rounds: Sequence[int] | None,
    seed: int,
    checked: Validation | None,
) -> dict[str, Any]:
    from grounding_rewards._version import __version__
    from grounding_rewards.pool.curriculum.files import write_curriculum, write_weights
    from grounding_rewards.pool.files import Data
    from grounding_rewards.pool.stats_table import read_stats
    from grounding_rewards.tables.folders import open_rows
    from grounding_rewards.tables.manifests import files_of_rows, fingerprint
    from grounding_rewards.tables.sample_ids import sample_names

    _check_apart(out, [stats, stages, *([] if data is None else [data])])
    rows = None if data is None else open_rows(data, split)
    with terminal.progress("writing stages") as advance:
        inputs = [{"role": "statistics", **fingerprint(stats, files_of_rows(stats))}]
        inputs.append({"role": "stages", **fingerprint(stages, [stages])})
        named = None
        if data is not None and rows is not None:
            named = Data(rows, sample_names(rows, id_column, advance=lambda done: advance(0.3 * done)))
            inputs.append({"role": "data", **fingerprint(data, named.files)})
        said: dict[str, Any] = {"version": __version__, "inputs": inputs}
        if rounds is not None:
            said["rounds"] = sorted(set(rounds))
        if checked is not None:
            said["validation"] = checked.to_json()
        found = read_stats(stats, rounds=rounds)
        advance(0.4)
        if weights:
            return write_weights(out, found, plan, said=said)
        return write_curriculum(
            out, found, plan, seed=seed, data=named, said=said, note=terminal.note,
            advance=lambda done: advance(0.4 + 0.6 * done),
        )  # fmt: skip


def _check_apart(out: Path, inputs: Sequence[Path]) -> None:
    """Check that no input is replaced with the directory, and none becomes larger by it.

    Raises:
        PoolError: one would be.
    """
    for path in inputs:
        if overlap(out, path):
            raise PoolError(f"{out}: one of it and the input {path} lies in the other; write somewhere else")


def _show(said: dict[str, Any]) -> None:
    heads = ["stage", "samples", "epochs", "bands", "missing"]
    table = layout.table(heads, ["samples", "epochs"])
    for stage in said["stages"]:
        bands = ", ".join(f"{band['band']} {band['taken']}" for band in stage["bands"])
        missing = ", ".join(f"{band['band']} {band['shortfall']}" for band in stage["bands"] if band["shortfall"])
        layout.row(table, [stage["name"], f"{stage['samples']:,}", str(stage["epochs"]), bands, missing or "-"])
    layout.console().print(table)
    left = {name: said["samples"][name] for name in ("between", "unmeasured") if said["samples"][name]}
    for name, count in left.items():
        terminal.note(f"samples in no band, {_LEFT[name]}: {count}")


_LEFT = {"between": "with pass rates between bands", "unmeasured": "with too few scored rollouts"}


def _show_check(checked: Validation) -> None:
    table = layout.table(["type", "band", "right", "of", "rate", "95 % interval", "in its range"], ["95 % interval"])
    for check in checked.checks:
        for band in check.bands:
            interval = f"{percent(band.low)} to {percent(band.high)}"
            inside = {None: "-", True: "yes", False: "no"}[band.inside]
            cells = [str(band.correct), str(band.n), percent(band.rate), interval if band.n else "-", inside]
            layout.row(table, [check.kind or "all", band.band, *cells])
    layout.console().print(table)
