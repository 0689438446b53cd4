"""Choose rollouts of files, and write them with their manifest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from grounding_rewards._version import __version__
from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.pool.files import SCHEMA_VERSION
from grounding_rewards.pool.methods import ROLLOUT_CHOICES, method
from grounding_rewards.pool.rollout_choice.columns import RolloutColumns, read_columns
from grounding_rewards.pool.rollout_choice.figures import figures
from grounding_rewards.pool.rollout_choice.protocol import RolloutChoice, choose
from grounding_rewards.pool.stats_table import is_stats
from grounding_rewards.tables.atomic import atomic_files
from grounding_rewards.tables.chosen_rollouts import ChosenRollouts
from grounding_rewards.tables.files import check_output, check_place
from grounding_rewards.tables.launches import several_runs
from grounding_rewards.tables.manifests import digest, manifest_bytes
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts

_READING = 0.4
"""Share of the progress that stands for reading and choosing."""


def choose_rollouts(
    rollouts: Sequence[Path],
    spec: str | Mapping[str, Any],
    out: Path,
    *,
    rounds: Collection[int] | None = None,
    reporting: Reporting = SILENT,
) -> dict[str, Any]:
    r"""Write the rollouts that a method keeps, as ``grounding-rewards pool rollouts`` does, beside a manifest.

    Rows are in the order of the table, with every column as it was and those of the method behind them.

    Args:
        rollouts: files and directories of rollouts.
        spec: the method's name, or a mapping with ``name`` and arguments; one of ``pool.methods.ROLLOUT_CHOICES``.
        out: the file to write, .parquet or .jsonl; the manifest is ``manifest_of(out)``.
        rounds: the rounds that count; None for all. Other rollouts are not written.
        reporting: takes notes, warnings and progress.

    Returns:
        The manifest.

    Raises:
        PoolError: there is no such method, an argument does not fit, or it keeps nothing.
        TableError: a file cannot be read or written, or has a column of the name of a new one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, out = Path(folder, "rollouts.jsonl"), Path(folder, "kept.jsonl")
    ...     _ = file.write_text("".join(f'{{"sample_id": "a", "acc": {x}, "total": {x}}}\n' for x in (1, 1, 1, 0)))
    ...     manifest = choose_rollouts([file], {"name": "pods", "keep": 2}, out)
    ...     kept = out.read_text().splitlines()
    >>> kept, manifest["rollouts"]
    (['{"sample_id": "a", "acc": 1, "total": 1}', '{"sample_id": "a", "acc": 0, "total": 0}'],
     {'before': 4, 'after': 2})
    """
    choice = method(spec, ROLLOUT_CHOICES)
    for path in rollouts:
        if is_stats(path):
            raise TableError(f"{path}: holds statistics of samples; give the rollouts that they were counted from")
    table = open_rollouts(rollouts)
    check_output(out, [*table.files, *rollouts])
    check_place(manifest_of(out), [*table.files, *rollouts])
    source = ChosenRollouts(table)
    if text := several_runs(table.files):
        reporting.warn(text)
    with reporting.progress("choosing rollouts") as advance, atomic_files() as files:
        columns = read_columns(table, _read(table, choice), rounds=rounds)
        chosen = choose(columns, choice)
        if not len(chosen.kept):
            paths, name = ", ".join(map(str, rollouts)), _parameters(spec, choice)["name"]
            raise PoolError(f"{paths}: {name} keeps none of {len(columns)} rollouts")
        source.check_names(list(chosen.columns))
        advance(_READING)
        # Opened first, so renamed last: it never describes older files.
        manifest, file = files.open(manifest_of(out)), files.open(out)
        rows = columns.row[chosen.kept]
        order = np.argsort(rows)
        new = {name: np.asarray(column)[order] for name, column in chosen.columns.items()}
        source.write(
            file, out, rows[order], new, note=reporting.note,
            advance=lambda done: advance(_READING + (1 - _READING) * done),
        )  # fmt: skip
        file.flush()
        before, after = figures(columns), figures(columns, chosen.kept)
        content = {
            "inputs": [{"role": "rollouts", **each} for each in table.inputs()],
            "method": _parameters(spec, choice),
            "rounds": _rounds(columns),
            **{name: {"before": before[name], "after": after[name]} for name in before},
            "columns": list(new),
            "outputs": [{"path": out.name, "rows": len(rows), "sha256": digest(Path(file.name))}],
            "version": __version__,
            "schema_version": SCHEMA_VERSION,
        }
        manifest.write(manifest_bytes(content))
    return content


def manifest_of(out: Path) -> Path:
    """Return the path of the manifest beside a file of rollouts.

    >>> str(manifest_of(Path("a/kept.parquet")))
    'a/kept.parquet.manifest.json'
    """
    return out.with_name(f"{out.name}.manifest.json")


def _read(table: RolloutTable, choice: RolloutChoice) -> list[str]:
    """Return the columns to read: those of the choice, and totals for the counts where all files have them."""
    files: list[Any] = [*table.parquet, *table.rows]
    totals = all("total" in each.columns for each in files)
    return list(dict.fromkeys([*choice.needs, *(["total"] if totals else [])]))


def _rounds(rollouts: RolloutColumns) -> list[int | None]:
    first, last = int(rollouts.round.min()), int(rollouts.round.max())
    there = [first] if first == last else np.unique(rollouts.round).tolist()  # which sorts all
    return [None if number < 0 else number for number in there]


def _parameters(spec: str | Mapping[str, Any], choice: Any) -> dict[str, Any]:
    return {"name": spec if isinstance(spec, str) else spec["name"], **asdict(choice)}
