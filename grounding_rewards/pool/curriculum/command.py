"""Files of a curriculum: bands that data declare and their check, the data set of each stage, and a manifest."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from grounding_rewards._version import __version__
from grounding_rewards.arrays import Floats
from grounding_rewards.errors import DataPathError, PoolError, near
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.command import TrainingRows, write_outputs
from grounding_rewards.pool.curriculum.stages import (
    Curriculum,
    StageGate,
    StageSets,
    gate_of,
    read_curriculum,
    stage_sets,
    stage_weights,
)
from grounding_rewards.pool.methods.filters import among
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.stats_table import is_stats, read_stats, to_table
from grounding_rewards.stats.intervals import wilson
from grounding_rewards.tables.atomic import Files, output_of
from grounding_rewards.tables.data_paths import inside_file, made_directory
from grounding_rewards.tables.manifests import digest, files_of_rows, fingerprint
from grounding_rewards.tables.opening import open_table
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards.tables.writing import Written, overlap, write_parts, write_tables

USUAL = ("difficulty", "band")
"""Columns of declared bands, where none is named."""

_READ = ("sample_id", "source", "round", "temperature")


def declared_bands(
    path: str | os.PathLike[str], column: str | None = None, by: str = "source", rounds: Sequence[int] | None = None
) -> tuple[SampleStats, Sequence[Any]]:
    """Return statistics of samples, by the types in column ``by``, and the band that each declares in ``column``."""
    if is_stats(path):
        table = open_table(path)
        stats = read_stats(path, rounds=rounds)
        name = _column(path, column, table.columns)
        wanted = [name, by] if by in table.columns else [name]
        rows = [row for batch in table.batches(wanted, whole=False) for row in batch.rows]
        kinds = np.empty(len(rows), dtype=np.object_)
        kinds[:] = [row.get(by) for row in rows]
        return replace(stats, source=kinds), [row.get(name) for row in rows]
    rollouts = open_rollouts([path])
    name = _column(path, column, rollouts.columns)
    stats = stats_of(rollouts, rounds=rounds, by=by, columns=_READ)
    # Counted by the declared band, which comes as ``source``; both are sorted by name, so rows agree.
    return stats, stats_of(rollouts, rounds=rounds, by=name, columns=_READ).source.tolist()


def _column(path: str | os.PathLike[str], column: str | None, there: Sequence[str]) -> str:
    for name in USUAL if column is None else [column]:
        if name in there:
            return name
    missing = " or ".join(map(repr, USUAL)) if column is None else repr(column)
    hint = "." if column is None else near(column, there) or "."
    raise PoolError(
        f"{path}: no column {missing}, which would say of which band a sample is meant to be; name one by "
        f"--band-column{hint} It has: {', '.join(map(str, there))}"
    )


Counts = Mapping[str, tuple[int, int]]
"""Right and scored rollouts by band."""

_NONE = (0, 0)


def check_bands(
    counts: Mapping[str, Counts], ranges: Mapping[str, tuple[float, float]], needed: Collection[str] = ()
) -> dict[str, Any]:
    """Check declared bands, easiest first, of all types and of each, as plain values; rollouts count as independent."""
    total = {
        band: tuple(sum(each.get(band, _NONE)[at] for each in counts.values()) for at in (0, 1)) for band in ranges
    }
    overall = _checked(total, ranges)
    overall["problems"] += [f"{band} has no scored rollouts" for band in overall["missing"] if band in needed]
    there = len(ranges) - len(overall["missing"])
    if there < 2:
        overall["problems"].append(
            f"{there} of {len(ranges)} bands have scored rollouts; expected two at least to compare"
        )
    # A single type is all of them, checked already.
    types = {kind: _checked(counts[kind], ranges) for kind in (sorted(counts) if len(counts) > 1 else ())}
    named = {"all types": overall, **{f"type {kind!r}": each for kind, each in types.items()}}
    problems = [f"{name}: {problem}" for name, each in named.items() for problem in each["problems"]]
    remarks = [
        f"{name}: no scored rollouts of {', '.join(each['missing'])}"
        + ("; so there is nothing to compare" if len(ranges) - len(each["missing"]) < 2 else "")
        for name, each in named.items()
        if each["missing"]
    ]
    return {"passed": not problems, "problems": problems, "remarks": remarks, "overall": overall, "types": types}


def _checked(counts: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Check the bands of one type."""
    bands = list[dict[str, Any]]()
    for band, (least, most) in ranges.items():
        correct, n = counts.get(band, _NONE)
        low, high = map(float, wilson(correct, n))
        rate = correct / n if n else None
        inside = None if rate is None else least <= rate <= most
        bands.append(
            {"band": band, "correct": correct, "n": n, "low": low, "high": high, "inside": inside, "rate": rate}
        )
    there = [each for each in bands if each["n"]]
    problems = [problem for easier, harder in combinations(there, 2) if (problem := _problem(easier, harder))]
    return {"bands": bands, "problems": problems, "missing": [each["band"] for each in bands if not each["n"]]}


def _problem(easier: Mapping[str, Any], harder: Mapping[str, Any]) -> str | None:
    pair = f"{easier['band']} and {harder['band']}"
    one, other = ("{band} {rate:.3f} [{low:.3f}, {high:.3f}]".format(**each) for each in (easier, harder))
    if easier["rate"] < harder["rate"]:
        return f"{pair} are inverted: {one} is below {other}"
    if easier["rate"] == harder["rate"]:
        return f"{pair} are equal: {one} is not above {other}"
    apart = easier["low"] > harder["high"]
    return None if apart else f"{pair} are not apart: the intervals of {one} and {other} overlap"


def check_stats(stats: SampleStats, declared: Sequence[Any] | NDArray[Any], curriculum: Curriculum) -> dict[str, Any]:
    """Check the bands that samples declare, None for none, by their source; see ``check_bands``."""
    known = {band.name: (band.low, band.high) for band in curriculum.easiest_first()}
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    for row, band in enumerate(declared):
        if band is None or band != band:  # null, as Parquet's NaN too
            continue
        if band not in known:
            raise PoolError(f"{stats.named(row)} declares the band {band!r:.80}; expected one of {', '.join(known)}")
        kind = "unknown" if stats.source[row] is None else str(stats.source[row])
        correct, n = counts.setdefault(kind, {}).get(band, _NONE)
        counts[kind][band] = correct + int(stats.num_correct[row]), n + int(stats.n[row])
    if not counts:
        raise PoolError(f"no sample declares a band; expected {', '.join(known)} in the column of declared bands")
    return check_bands(counts, known, {name for stage in curriculum.stages for name in stage.bands})


MANIFEST = "curriculum.manifest.json"
OUTSIDE = "outside"
WEIGHTS = "weights.parquet"


def write_stages(
    statistics: Path,
    stages: Path,
    out: Path,
    *,
    data: Path | None = None,
    id_column: str | None = None,
    split: str | None = None,
    weights: bool = False,
    rounds: Sequence[int] | None = None,
    seed: int = 0,
    validation: Mapping[str, Any] | None = None,
    reporting: Reporting = SILENT,
) -> dict[str, Any]:
    """Write the stages of a curriculum from files, as ``grounding-rewards pool curriculum`` does."""
    curriculum = read_curriculum(stages)
    for path in (statistics, stages, *([] if data is None else [data])):
        if overlap(out, path):
            raise PoolError(f"{out}: one of it and the input {path} lies in the other; write somewhere else")
    rows = None if data is None else TrainingRows(data, id_column, split)
    with reporting.progress("writing stages") as advance:
        inputs = [{"role": "statistics", **fingerprint(statistics, files_of_rows(statistics))}]
        inputs.append({"role": "stages", **fingerprint(stages, [stages])})
        if rows is not None:
            inputs.append(rows.read(lambda done: advance(0.3 * done)))
        facts: dict[str, Any] = {"version": __version__, "inputs": inputs}
        if rounds is not None:
            facts["rounds"] = sorted(set(rounds))
        if validation is not None:
            facts["validation"] = dict(validation)
        stats = read_stats(statistics, rounds=rounds, warn=reporting.warn)
        advance(0.4)
        join: dict[str, Any] = {}
        if weights:
            staged, columns = stage_weights(stats, curriculum)
        else:
            if rows is not None:
                join = {"join": rows.join(stats)}
                stats = stats.taken(among(stats.sample_id, rows.names))  # stages must not draw samples without a row
            staged = stage_sets(stats, curriculum, seed)
        # Rows without a schema do not fit into Parquet.
        suffix = ".jsonl" if rows is not None and rows.table.schema is None else ".parquet"
        # Names of stages are free text, names of files are not.
        slugs = [re.sub(r"[^A-Za-z0-9._]+", "-", stage.name).strip("-.")[:80] or "stage" for stage in curriculum.stages]
        names = None if weights else [f"stage-{place}-{slug}{suffix}" for place, slug in enumerate(slugs, 1)]
        parts = dict(zip(names or (), [part.rows for part in staged.sets], strict=False))
        parts |= {OUTSIDE + suffix: staged.outside}

        def write(opened: Files) -> list[Written]:
            if weights:
                return write_tables(opened, [(out / WEIGHTS, _weights(stats, staged, columns))])
            if rows is None:
                tables = ((out / name, [_table(stats, staged, curriculum, part)]) for name, part in parts.items())
                return write_tables(opened, tables)
            ids = {out / name: frozenset(stats.sample_id[part].tolist()) for name, part in parts.items()}
            note, done = reporting.note, lambda share: advance(0.4 + 0.6 * share)
            return write_parts(opened, ids, rows.table, rows.names, note=note, advance=done)

        def describe(outputs: list[Written]) -> dict[str, Any]:
            by_name = {file.path.name: file for file in outputs}
            whole = WEIGHTS if weights else OUTSIDE + suffix
            return {
                **facts,
                "seed": None if weights else seed,
                "bands": {band.name: [band.low, band.high] for band in curriculum.bands},
                "min_rollouts": curriculum.min_rollouts,
                "samples": staged.counts,
                "gate": None if curriculum.gate is None else {**vars(curriculum.gate), "rule": _RULE},
                **join,
                "weights" if weights else "outside": _file(whole, by_name),
                "stages": [
                    {**_stage(place, staged, names), **(_file(names[place], by_name) if names else {"file": None})}
                    for place in range(len(staged.sets))
                ],
            }  # fmt: skip

        _check_directory(out)
        with made_directory(out):
            # looked for when names are changed, not now: another run may write more until then
            older = (path for folder in [out] for path in _written(folder) if _OURS.fullmatch(path.name))
            return write_outputs(out / MANIFEST, write, describe, older=older, dump=_dumped)


def _check_directory(out: Path) -> None:
    """Check that a directory can be written, and holds nothing but an older curriculum."""
    if out.exists() and not out.is_dir():
        raise PoolError(f"{out}: is not a directory; expected a directory for the stages, or nothing there")
    if not out.absolute().parent.is_dir():
        raise PoolError(f"{out}: there is no directory {out.absolute().parent}")
    others = sorted(path.name for path in _written(out) if not _OURS.fullmatch(path.name)) if out.is_dir() else []
    if others:
        raise PoolError(
            f"{out}: holds {', '.join(others[:3])}, which no curriculum wrote and would be lost; name another directory"
        )


def _dumped(content: dict[str, Any]) -> bytes:
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")  # lone surrogates, of names that are not UTF-8


def _written(out: Path) -> list[Path]:
    """Return the files of a directory, and those that killed runs would have written."""
    return sorted({output_of(path) for path in Path(os.path.realpath(out)).iterdir()})


_OURS = re.compile(rf"stage-\d+-[^/]*\.(parquet|jsonl)|{OUTSIDE}\.(parquet|jsonl)|{re.escape(WEIGHTS)}|{MANIFEST}")


def _weights(stats: SampleStats, staged: StageSets, weights: Sequence[Floats]) -> Iterator[pa.Table]:
    """Yield the weight of each sample in each stage: a table of sample_id, stage and weight."""
    for part, column in zip(staged.sets, weights, strict=True):
        ids = [str(name) for name in stats.sample_id[part.rows]]
        yield pa.table({"sample_id": ids, "stage": [part.stage.name] * len(ids), "weight": column[part.rows]})


def _table(stats: SampleStats, staged: StageSets, curriculum: Curriculum, rows: Any) -> pa.Table:
    names = [*curriculum.band_names, None, None]  # places from the end stand for no band
    bands = pa.array([names[place] for place in staged.band[rows].tolist()], pa.string())
    return to_table(stats.taken(rows)).append_column("band", bands)


_RULE = (
    "of the last last_k results of this stage (acc of its rollouts): up where their mean is above success_above, down "
    "where it is below failure_below, else stay; fewer results stay"
)


def _stage(place: int, staged: StageSets, files: Sequence[str] | None) -> dict[str, Any]:
    """Describe one stage for the manifest; ``up`` and ``down`` are the stages to go to, counted from 1."""
    part, last = staged.sets[place], len(staged.sets) - 1
    return {
        "stage": place + 1,
        "name": part.stage.name,
        "epochs": part.stage.epochs,
        "samples": len(part.rows),
        "up": None if place == last else place + 2,
        "down": place or None,
        "bands": list(part.quotas),
        **({} if files is None else {"next_file": None if place == last else files[place + 1]}),
    }


def _file(name: str, written: Mapping[str, Written]) -> dict[str, Any]:
    if name not in written:
        return {"file": None, "rows": 0, "sha256": None}
    return {"file": name, "rows": written[name].rows, "sha256": written[name].sha256}


_STAGE = {"name", "file", "epochs"}


def stage_files(source: str | os.PathLike[str]) -> tuple[dict[str, Path], StageGate | None, list[int]]:
    """Return the checked file of each stage by its name, the gate between them, and the epochs of each."""
    if not isinstance(source, str | os.PathLike):
        raise PoolError(f"source: got {source!r:.80}; expected a directory of stages, or data sets by name")
    path = Path(source) / MANIFEST
    if not path.is_file():
        raise PoolError(f"{path}: no such file; expected a directory that `grounding-rewards pool curriculum` wrote")
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise PoolError(f"{path}: is damaged ({error}); write it again") from None
    stages = manifest.get("stages") if isinstance(manifest, dict) else None
    if (
        not isinstance(stages, list)
        or not all(isinstance(stage, dict) and stage.keys() >= _STAGE for stage in stages)
        or "gate" not in manifest
    ):
        raise PoolError(f"{path}: is no manifest of stages with name, file, epochs, and a gate; write it again")
    files = {stage["name"]: _stage_file(path, stage["file"], stage.get("sha256")) for stage in stages}
    gate = manifest["gate"]
    try:
        between = gate_of({name: gate[name] for name in gate if name != "rule"} if isinstance(gate, dict) else gate)
    except PoolError as error:
        raise PoolError(f"{path}, {error}") from None
    return files, between, [stage["epochs"] for stage in stages]


def _stage_file(path: Path, name: Any, sha256: Any) -> Path:
    if name is None:
        raise PoolError(f"{path}: has weights in place of files; write it again without --weights")
    try:
        inside_file(path.parent, name)
    except DataPathError as error:
        raise PoolError(f"{path}: names the file {name!r:.200} ({error}); write it again") from None
    file: Path = path.parent / name
    if sha256 is not None and digest(file) != sha256:
        raise PoolError(f"{file}: is not what {path.name} says: a run was killed, or it was changed; write it again")
    return file
