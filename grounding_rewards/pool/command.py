"""The frame of the commands that choose: read and measure, choose, and write with a manifest, each once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from grounding_rewards._version import __version__
from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.coords.spaces import COORDINATE_LIMIT
from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.pool.aggregate import ALL, stats_of
from grounding_rewards.pool.draws import check_whole
from grounding_rewards.pool.methods import ALLOCATION, CHOICE, allocate, choose, method
from grounding_rewards.pool.methods.protocol import in_name_order, settings_of
from grounding_rewards.pool.rollouts import RolloutColumns, groups, read_columns
from grounding_rewards.pool.selection.filters import suspects
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.stats_table import is_stats, read_stats
from grounding_rewards.pool.summary import by_source
from grounding_rewards.tables.atomic import atomic_files
from grounding_rewards.tables.chosen_rollouts import ChosenRollouts
from grounding_rewards.tables.files import check_output, check_place
from grounding_rewards.tables.launches import several_runs
from grounding_rewards.tables.manifests import digest, fingerprint, manifest_bytes
from grounding_rewards.tables.parted import write_rows
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Source:
    """Rollouts, or one file of statistics, that a command is given, with what the manifest says of them."""

    paths: Sequence[Path]
    table: RolloutTable | None
    rounds: Collection[int] | None
    by: str

    @property
    def files(self) -> list[Path]:
        """Return all paths and files, none of which an output may replace."""
        return [*self.paths, *(() if self.table is None else self.table.files)]

    def stats(self, columns: Collection[str] = ALL, **options: Any) -> SampleStats:
        """Read or count statistics."""
        if self.table is None:
            return read_stats(self.paths[0])
        return stats_of(self.table, rounds=self.rounds, by=self.by, columns=columns, **options)

    def inputs(self) -> list[dict[str, Any]]:
        """Fingerprint the inputs."""
        if self.table is None:
            return [{"role": "statistics", **fingerprint(self.paths[0], self.paths)}]
        return [{"role": "rollouts", **each} for each in self.table.inputs()]

    def measured_at(self, stats: SampleStats) -> dict[str, Any]:
        """Return the rounds, temperatures and source column; None for what a file of statistics lacks."""
        known = sorted({value for value in stats.temperature.tolist() if value == value})  # without NaN: no JSON
        warm: list[float | None] = [None, *known] if np.isnan(stats.temperature).any() else [*known]
        if self.table is None:
            return {"rounds": None, "temperatures": warm, "by": None}
        if self.rounds is None:
            return {"rounds": list(self.table.rounds()), "temperatures": list(self.table.temperatures()), "by": self.by}
        return {"rounds": list(self.rounds), "temperatures": warm, "by": self.by}


def source(paths: Sequence[Path], *, rounds: Collection[int] | None = None, by: str = "source", **asked: Any) -> Source:
    """Open rollouts, or one file of statistics, which does not go with other inputs or with options of rollouts."""
    counted = next((path for path in paths if is_stats(path)), None)
    if counted is None:
        return Source(paths, open_rollouts(paths), rounds, by)
    options = {"other inputs": len(paths) > 1, "--round": rounds is not None, "--by": by != "source", **asked}
    for option in (option for option, value in options.items() if value):
        raise TableError(f"{counted}: holds statistics of samples, which do not go with {option}; give rollouts")
    return Source(paths, None, rounds, by)


def write_output(out: Path, content: dict[str, Any], write: Callable[[IO[bytes]], int]) -> dict[str, Any]:
    """Write an output, and beside it its manifest: the content with the output's rows and hash, which is returned."""
    with atomic_files() as files:
        manifest = files.open(manifest_of(out))  # opened first, so renamed last: it never describes an older file
        file = files.open(out)
        rows = write(file)
        file.flush()
        content = {
            **content,
            "outputs": [{"path": out.name, "rows": rows, "sha256": digest(Path(file.name))}],
            "version": __version__,
            "schema_version": SCHEMA_VERSION,
        }
        manifest.write(manifest_bytes(content))
    return content


def manifest_of(out: Path) -> Path:
    """Return the path of the manifest beside a file."""
    return out.with_name(f"{out.name}.manifest.json")


def check_outputs(out: Path, inputs: Sequence[Path]) -> None:
    """Check before the long work that an output and its manifest can be written and replace no input."""
    check_output(out, inputs)
    check_place(manifest_of(out), inputs)


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
    """Write ``sample_id`` and ``n``, the further rollouts of each sample that gets some; return the manifest."""
    allocation = method(spec, ALLOCATION)
    if budget is not None:
        check_budget(budget)
    given = source(rollouts, rounds=rounds, by=by)
    check_outputs(out, given.files)
    with reporting.progress("allocating rollouts") as advance:
        read = ("sample_id", "source", "round", "temperature", "variance", "clicks", "dispersion", "target_diagonal")
        stats = given.stats(read, warn=reporting.warn)
        advance(0.7)
        numbers = allocate(stats, allocation)
        numbers = numbers if budget is None else within_budget(stats, numbers, budget)
        aside, rows = suspects(stats), in_name_order(stats)
        rows = rows[numbers[rows] > 0]
        content = {
            "suspects": {"samples": int(aside.sum()), "n": int(numbers[aside].sum())},
            "method": settings_of(spec, allocation), "budget": budget, "inputs": given.inputs(),
            **given.measured_at(stats), **counts(stats, numbers),
        }  # fmt: skip
        names = pa.array([str(name) for name in stats.sample_id[rows].tolist()], pa.string())
        table = pa.table({"sample_id": names, "n": numbers[rows]})
        return write_output(out, content, lambda file: write_rows(file, out, [table]))


def choose_rollouts(
    rollouts: Sequence[Path],
    spec: str | Mapping[str, Any],
    out: Path,
    *,
    rounds: Collection[int] | None = None,
    reporting: Reporting = SILENT,
) -> dict[str, Any]:
    """Write the rollouts that a method keeps, as they were, with its columns behind them; return the manifest."""
    choice = method(spec, CHOICE)
    for path in rollouts:
        if is_stats(path):
            raise TableError(f"{path}: holds statistics of samples; give the rollouts that they were counted from")
    given = source(rollouts, rounds=rounds)
    check_outputs(out, given.files)
    table = given.table
    assert table is not None
    rows = ChosenRollouts(table)
    if text := several_runs(table.files):
        reporting.warn(text)
    with reporting.progress("choosing rollouts") as advance:
        every: list[Any] = [*table.parquet, *table.rows]
        totals = ["total"] if all("total" in each.columns for each in every) else []
        columns = read_columns(table, list(dict.fromkeys([*choice.needs, *totals])), rounds=rounds)
        chosen = choose(columns, choice)
        if not len(chosen.kept):
            paths, name = ", ".join(map(str, rollouts)), settings_of(spec, choice)["name"]
            raise PoolError(f"{paths}: {name} keeps none of {len(columns)} rollouts")
        rows.check_names(list(chosen.columns))
        advance(0.4)
        places = columns.row[chosen.kept]
        order = np.argsort(places)
        new = {name: np.asarray(column)[order] for name, column in chosen.columns.items()}
        before, after = figures(columns), figures(columns, chosen.kept)
        there = np.unique(columns.round).tolist()
        content = {
            "inputs": given.inputs(), "method": settings_of(spec, choice),
            "rounds": [None if number < 0 else number for number in there],
            **{name: {"before": before[name], "after": after[name]} for name in before}, "columns": list(new),
        }  # fmt: skip

        def write(file: IO[bytes]) -> int:
            rows.write(
                file, out, places[order], new, note=reporting.note, advance=lambda done: advance(0.4 + 0.6 * done)
            )
            return len(places)

        return write_output(out, content, write)


def within_budget(stats: SampleStats, numbers: Ints, budget: Any) -> Ints:
    """Scale numbers of rollouts so that they sum to a budget exactly: floors, and one more for the largest remainders.

    Of equal remainders the larger number is served first, then the earlier name.
    """
    check_budget(budget)
    total = int(numbers.sum())
    if not total:
        raise PoolError(f"budget: got {budget}, and the method gives no sample any rollout")
    parts = numbers.astype(np.object_) * int(budget)  # Python's whole numbers, which do not overflow
    scaled: Ints = (parts // total).astype(np.int64)
    rest = (parts % total).astype(np.int64)
    order = in_name_order(stats)
    order = order[np.lexsort((-numbers[order], -rest[order]))]  # stable, and its last key counts first
    scaled[order[: int(budget) - int(scaled.sum())]] += 1
    return scaled


def check_budget(budget: Any) -> None:
    """Check a budget: a whole number from 1 to 1e12."""
    if check_whole("budget", budget, 1) > COORDINATE_LIMIT:
        raise PoolError(f"budget: got {budget}; expected 1e12 at most")


def counts(stats: SampleStats, numbers: Ints) -> dict[str, Any]:
    """Count samples and further rollouts: in all, by the number of right rollouts, and by source."""
    step = int(stats.num_correct.max(initial=0)) + 1  # a pair as one number: faster to count
    codes, place = np.unique(stats.n * step + stats.num_correct, return_inverse=True)
    further = np.zeros(len(codes), dtype=np.int64)
    np.add.at(further, place, numbers)
    rows = zip(codes % step, codes // step, np.bincount(place), further, strict=True)
    cells = [dict(zip(("num_correct", "scored", "samples", "n"), map(int, row), strict=True)) for row in rows]
    cells.sort(key=lambda cell: (cell["num_correct"] / cell["scored"] if cell["scored"] else 2.0, cell["scored"]))
    return {
        "samples": len(stats), "allocated": int((numbers > 0).sum()), "n": int(numbers.sum()),
        "by_num_correct": cells,
        "by_source": [
            {"source": name, "samples": len(rows), "n": int(numbers[rows].sum())} for name, rows in by_source(stats)
        ],
    }  # fmt: skip


def figures(rollouts: RolloutColumns, kept: Ints | None = None) -> dict[str, Any]:
    """Count rollouts and samples, with the mean pass rate and the share of groups without signal; None if unscored."""
    group, sample, acc = groups(rollouts), rollouts.sample, rollouts.acc
    rewards = acc if np.isnan(rollouts.total).all() else rollouts.total
    rewards = np.where(np.isnan(acc), np.nan, rewards)
    if kept is not None:
        group, sample, acc, rewards = group[kept], sample[kept], acc[kept], rewards[kept]
    scored = ~np.isnan(acc)
    n, right = np.bincount(sample[scored]), np.bincount(sample[scored], acc[scored])
    highest, lowest = np.full((2, int(group.max(initial=-1)) + 1), np.nan)  # fmax and fmin pass over NaN
    np.fmax.at(highest, group, rewards)
    np.fmin.at(lowest, group, rewards)
    spread: Floats = (highest - lowest)[~np.isnan(highest)]
    return {
        "rollouts": len(sample),
        "samples": len(np.unique(sample)),
        "mean_p": float((right[n > 0] / n[n > 0]).mean()) if n.any() else None,
        "no_signal": float((spread <= NO_SIGNAL).mean()) if len(spread) else None,
    }
