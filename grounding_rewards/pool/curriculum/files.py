"""The directory that a curriculum becomes: a file a stage, what is in none, and a manifest of which comes when."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.curriculum import Curriculum, Stage
from grounding_rewards.pool.curriculum.config import plain
from grounding_rewards.pool.curriculum.sets import StageSets, stage_sets, stage_weights
from grounding_rewards.pool.files import Data
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.stats_table import to_table
from grounding_rewards.tables.atomic import Files, atomic_files, output_of
from grounding_rewards.tables.base import Note
from grounding_rewards.tables.data_paths import made_directory
from grounding_rewards.tables.files import schema_of
from grounding_rewards.tables.parted import Written, write_parts, write_tables

MANIFEST = "curriculum.manifest.json"
OUTSIDE = "outside"
WEIGHTS = "weights.parquet"


def write_curriculum(
    out: Path,
    stats: SampleStats,
    curriculum: Curriculum,
    *,
    seed: int = 0,
    data: Data | None = None,
    said: Mapping[str, Any] | None = None,
    note: Note = lambda text: None,
    advance: Callable[[float], None] = lambda done: None,
) -> dict[str, Any]:
    """Write a file a stage, and the manifest as the last, in place of those of an older curriculum.

    Args:
        out: the directory.
        stats: m samples.
        curriculum: bands, stages and gate.
        seed: of the draws.
        data: training rows: files hold those of the stage's samples, with every column and the schema's metadata as
            they were. None: files hold the statistics of its samples, and their band.
        said: what the manifest says beside, such as its inputs.
        note: is told what a format could not keep as it was.
        advance: is told the share of the training rows that have been read.

    Returns:
        The manifest.

    Raises:
        PoolError: a stage has no samples, no sample is in the training rows, or ``out`` holds something else.
        TableError: the training rows cannot be read.
    """
    join: dict[str, Any] = {}
    if data is not None:
        join = {"join": data.join(stats)}
        there = set(data.names)
        stats = stats.taken(np.array([name in there for name in stats.sample_id.tolist()], dtype=np.bool_))
    found = stage_sets(stats, curriculum, seed)
    suffix = ".jsonl" if data is not None and schema_of(data.table) is None else ".parquet"
    files = [f"stage-{place}-{_slug(stage.name)}{suffix}" for place, stage in enumerate(curriculum.stages, 1)]
    rows = {name: part.rows for name, part in zip(files, found.sets, strict=True)} | {OUTSIDE + suffix: found.outside}
    with _opened(out) as (opened, manifest):
        if data is None:
            tables = ((out / name, [_table(stats, found, curriculum, part)]) for name, part in rows.items())
            written = write_tables(opened, tables)
        else:
            ids = stats.sample_id
            parts = {out / name: frozenset(ids[part].tolist()) for name, part in rows.items()}
            written = write_parts(opened, parts, data.table, data.names, note=note, advance=advance)
        by_name = {each.path.name: each for each in written}
        content = {
            **_head(curriculum, found, said, seed),
            **join,
            "outside": _file(OUTSIDE + suffix, by_name),
            "stages": [
                {**_stage(place, found, files), **_file(name, by_name)} for place, name in enumerate(files)
            ],
        }  # fmt: skip
        manifest.write(as_json(content))
    return content


def write_weights(
    out: Path, stats: SampleStats, curriculum: Curriculum, *, said: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Write how likely each sample is drawn in each stage: one table of sample_id, stage and weight, and the manifest.

    Raises:
        PoolError: a stage has no samples, or ``out`` holds something else.
    """
    found, weights = stage_weights(stats, curriculum)
    tables = []
    for part, column in zip(found.sets, weights, strict=True):
        ids = [str(name) for name in stats.sample_id[part.rows]]
        tables.append(pa.table({"sample_id": ids, "stage": [part.stage.name] * len(ids), "weight": column[part.rows]}))
    with _opened(out) as (opened, manifest):
        (written,) = write_tables(opened, [(out / WEIGHTS, tables)])
        stages = [{**_stage(place, found, None), "file": None} for place in range(len(found.sets))]
        content = {
            **_head(curriculum, found, said, None),
            "weights": _file(WEIGHTS, {WEIGHTS: written}),
            "stages": stages,
        }
        manifest.write(as_json(content))
    return content


def as_json(value: Any) -> bytes:
    """Plain values as the lines of a manifest."""
    text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")  # of a name that is not UTF-8, whose escape is JSON's


@contextmanager
def _opened(out: Path) -> Iterator[tuple[Files, IO[bytes]]]:
    """Open the files of a curriculum and its manifest; those of an older one that this one has not are removed."""
    if out.exists() and not out.is_dir():
        raise PoolError(f"{out}: is no directory; expected one, or nothing, where the stages are to be")
    if not out.absolute().parent.is_dir():
        raise PoolError(f"{out}: there is no directory {out.absolute().parent}")
    others = sorted(path.name for path in _there(out) if not _OURS.fullmatch(path.name)) if out.is_dir() else []
    if others:
        raise PoolError(
            f"{out}: holds {', '.join(others[:3])}, which is of no curriculum and would be lost; name another directory"
        )

    def older() -> Iterator[Path]:
        yield from (path for path in _there(out) if path not in files.outputs and _OURS.fullmatch(path.name))

    with made_directory(out), atomic_files() as files:
        yield files, files.open(out / MANIFEST)
        files.removed = older()  # looked up when the names change: another run may have written more by then


def _there(out: Path) -> list[Path]:
    """Return the files of a directory, and those that killed runs would have written."""
    return sorted({output_of(path) for path in Path(os.path.realpath(out)).iterdir()})


_OURS = re.compile(rf"stage-\d+-[^/]*\.(parquet|jsonl)|{OUTSIDE}\.(parquet|jsonl)|{re.escape(WEIGHTS)}|{MANIFEST}")


def _table(stats: SampleStats, found: StageSets, curriculum: Curriculum, rows: Any) -> pa.Table:
    names = [*curriculum.band_names, None, None]  # places from the end stand for no band
    bands = pa.array([names[place] for place in found.band[rows].tolist()], pa.string())
    return to_table(stats.taken(rows)).append_column("band", bands)


def _head(curriculum: Curriculum, found: StageSets, said: Mapping[str, Any] | None, seed: int | None) -> dict[str, Any]:
    form = plain(curriculum)
    return {
        **(said or {}),
        "seed": seed,
        "bands": form["bands"],
        "min_rollouts": form["min_rollouts"],
        "samples": found.counts,
        "gate": None if form["gate"] is None else {**form["gate"], "rule": _RULE},
    }


_RULE = (
    "of the last last_k results of this stage (acc of its rollouts): up where their mean is above success_above, down "
    "where it is below failure_below, else stay; fewer results stay"
)


def _stage(place: int, found: StageSets, files: Sequence[str] | None) -> dict[str, Any]:
    """One stage in the manifest; ``up`` and ``down`` are the stages to go to, by number, counted from 1."""
    part = found.sets[place]
    stage: Stage = part.stage
    last = len(found.sets) - 1
    quotas = [{**vars(quota), "shortfall": quota.shortfall} for quota in part.quotas]
    told = {
        "stage": place + 1,
        "name": stage.name,
        "epochs": stage.epochs,
        "samples": len(part),
        "up": None if place == last else place + 2,
        "down": place or None,
        "bands": quotas,
    }
    if files is not None:
        told["next_file"] = None if place == last else files[place + 1]
    return told


def _file(name: str, written: Mapping[str, Written]) -> dict[str, Any]:
    if name not in written:
        return {"file": None, "rows": 0, "sha256": None}
    return {"file": name, "rows": written[name].rows, "sha256": written[name].sha256}


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")[:80] or "stage"
