"""Allocate further rollouts from files of rollouts, and write them with a manifest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from grounding_rewards._version import __version__
from grounding_rewards.arrays import Ints
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.allocation.budget import check_budget, within_budget
from grounding_rewards.pool.allocation.protocol import allocate, in_name_order
from grounding_rewards.pool.methods import ALLOCATIONS, method
from grounding_rewards.pool.run import measured_at, open_measured
from grounding_rewards.pool.selection.filters import suspects
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.stats_table import read_stats
from grounding_rewards.pool.summary import by_source
from grounding_rewards.tables.atomic import atomic_files
from grounding_rewards.tables.files import check_output, check_place
from grounding_rewards.tables.manifests import digest, fingerprint, manifest_bytes
from grounding_rewards.tables.parted import write_rows
from grounding_rewards.tables.reporting import SILENT, Reporting

SCHEMA_VERSION = 1
_READ = ("sample_id", "source", "round", "temperature", "variance", "clicks", "dispersion", "target_diagonal")


def allocate_rollouts(
    rollouts: Sequence[Path],
    out: Path,
    spec: str | Mapping[str, Any],
    *,
    budget: int | None = None,
    rounds: Collection[int] | None = None,
    by: str = "source",
    reporting: Reporting = SILENT,
) -> dict[str, Any]:
    r"""Allocate further rollouts, as ``grounding-rewards pool allocate`` does, and write them beside a manifest.

    Args:
        rollouts: files and directories of rollouts, or one file of statistics.
        out: the file to write, .parquet or .jsonl: ``sample_id`` and ``n`` of each sample with n > 0, by name.
        spec: the method's name, or a mapping with ``name`` and arguments.
        budget: scale the numbers so that they sum to this; None leaves them as they are.
        rounds: the rounds that count; None for all.
        by: the column that becomes the samples' source.
        reporting: takes warnings and progress.

    Returns:
        The manifest.

    Raises:
        PoolError: an argument does not fit, or the method cannot use these samples.
        TableError: a file cannot be read or written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, out = Path(folder, "rollouts.jsonl"), Path(folder, "more.jsonl")
    ...     _ = file.write_text('{"sample_id": "a", "acc": 0}\n{"sample_id": "a", "acc": 0, "rollout": 1}\n')
    ...     manifest = allocate_rollouts([file], out, "dars")
    ...     out.read_text(), manifest["n"], manifest["method"]["form"]
    ('{"sample_id": "a", "n": 1}\n', 1, 'equal')
    """
    allocation = method(spec, ALLOCATIONS)
    if budget is not None:
        check_budget(budget)
    # Options that can change nothing in statistics, which are counted already: errors there.
    asked = {"--round": rounds is not None, "--by": by != "source"}
    table = open_measured(rollouts, [option for option, value in asked.items() if value])
    manifest = out.with_name(f"{out.name}.manifest.json")
    inputs = [*rollouts, *(() if table is None else table.files)]
    check_output(out, inputs)
    check_place(manifest, inputs)
    with reporting.progress("allocating rollouts") as advance:
        if table is None:
            stats, hashes = read_stats(rollouts[0]), [{"role": "statistics", **fingerprint(rollouts[0], rollouts)}]
        else:
            stats = stats_of(table, rounds=rounds, by=by, columns=_READ, warn=reporting.warn)
            hashes = [{"role": "rollouts", **each} for each in table.inputs()]
        advance(0.7)
        numbers = allocate(stats, allocation)
        if budget is not None:
            numbers = within_budget(stats, numbers, budget)
        aside = suspects(stats)
        content = {
            "suspects": {"samples": int(aside.sum()), "n": int(numbers[aside].sum())},
            "method": {"name": spec if isinstance(spec, str) else spec["name"], **asdict(allocation)},
            "budget": budget,
            "inputs": hashes,
            **measured_at(stats, table, rounds, by),
            **counts(stats, numbers),
            "version": __version__,
            "schema_version": SCHEMA_VERSION,
        }
        _write(out, manifest, stats, numbers, content)
    return content


def counts(stats: SampleStats, numbers: Ints) -> dict[str, Any]:
    """Count samples and further rollouts: in all, by the number of right rollouts, and by source.

    >>> from grounding_rewards.pool import sample_stats
    >>> counts(sample_stats(["a", "a", "b"], [0, 1, None]), np.array([3, 0]))["by_num_correct"]
    [{'num_correct': 1, 'scored': 2, 'samples': 1, 'n': 3}, {'num_correct': 0, 'scored': 0, 'samples': 1, 'n': 0}]
    """
    step = int(stats.num_correct.max(initial=0)) + 1  # a pair as one number: faster to count
    codes, place = np.unique(stats.n * step + stats.num_correct, return_inverse=True)
    samples, further = np.bincount(place), np.zeros(len(codes), dtype=np.int64)
    np.add.at(further, place, numbers)
    rows = zip(codes % step, codes // step, samples, further, strict=True)
    cells = [dict(zip(("num_correct", "scored", "samples", "n"), map(int, row), strict=True)) for row in rows]
    return {
        "samples": len(stats),
        "allocated": int((numbers > 0).sum()),
        "n": int(numbers.sum()),
        "by_num_correct": sorted(cells, key=_pass_rate),
        "by_source": [
            {"source": source, "samples": len(rows), "n": int(numbers[rows].sum())} for source, rows in by_source(stats)
        ],
    }


def _pass_rate(cell: Mapping[str, int]) -> tuple[float, int]:
    """Return what sorts counts by pass rate; samples without a scored rollout are the last."""
    return (cell["num_correct"] / cell["scored"] if cell["scored"] else 2.0, cell["scored"])


def _write(out: Path, manifest: Path, stats: SampleStats, numbers: Ints, content: dict[str, Any]) -> None:
    """Write the samples that get rollouts, and the manifest, to which the file's hash is added."""
    rows = in_name_order(stats)
    rows = rows[numbers[rows] > 0]
    names = pa.array([str(name) for name in stats.sample_id[rows].tolist()], pa.string())
    with atomic_files() as files:
        opened = files.open(manifest)  # opened first, so renamed last: it never describes an older file
        file = files.open(out)
        written = write_rows(file, out, [pa.table({"sample_id": names, "n": numbers[rows]})])
        file.flush()
        content["outputs"] = [{"path": out.name, "rows": written, "sha256": digest(Path(file.name))}]
        opened.write(manifest_bytes(content))
