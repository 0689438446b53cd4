"""Commands that choose, on one frame: read and measure, choose, and write with the manifest last."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from grounding_rewards._version import __version__
from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.errors import PoolError, RecipeError, TableError
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.plugins.config import files_named, plugins_named
from grounding_rewards.pool.aggregate import ALL, stats_of
from grounding_rewards.pool.draws import check_whole
from grounding_rewards.pool.methods import ALLOCATION, CHOICE, allocate, choose, method
from grounding_rewards.pool.methods.filters import Band
from grounding_rewards.pool.methods.protocol import in_name_order, settings_of
from grounding_rewards.pool.rollouts import RolloutColumns, groups, read_columns
from grounding_rewards.pool.selection import NextPool, next_pool
from grounding_rewards.pool.selection.filters import SelectorSpec, filters, plain, suspects
from grounding_rewards.pool.selection.steps import check_numbers
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.stats_table import in_tables, is_stats, read_stats
from grounding_rewards.pool.summary import by_source
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.atomic import atomic_files, leftovers
from grounding_rewards.tables.base import Note, Table
from grounding_rewards.tables.files import check_output, check_place
from grounding_rewards.tables.folders import files_of_table, open_rows
from grounding_rewards.tables.launches import several_runs
from grounding_rewards.tables.manifests import digest, files_of_rows, fingerprint, manifest_bytes, read_manifest
from grounding_rewards.tables.parted import write_parts, write_rows, write_tables
from grounding_rewards.tables.reporting import SILENT, Advance, Reporting
from grounding_rewards.tables.rollout_source import ChosenRollouts
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts
from grounding_rewards.tables.sample_ids import sample_names

SCHEMA_VERSION = 1
_ASIDE = ("easy", "suspects", "control")


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
    r"""Allocate further rollouts, as ``grounding-rewards pool allocate`` does, and write them beside a manifest.

    Args:
        rollouts: files and directories of rollouts, or one file of statistics.
        out: the file to write, .parquet or .jsonl: ``sample_id`` and ``n`` of each sample with n > 0, by name.
        spec: the method's name, or a mapping with ``name`` and settings.
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
            "method": settings_of(spec, allocation), "budget": budget, **_inputs(given, spec),
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
    """Choose rollouts, as ``grounding-rewards pool rollouts`` does, and write them beside a manifest.

    Args:
        rollouts: files and directories of rollouts.
        spec: the method's name, or a mapping with ``name`` and settings.
        out: the file to write, .parquet or .jsonl: the rows that stay, as they were, and the method's columns.
        rounds: the rounds that count; None for all.
        reporting: takes notes, warnings and progress.

    Returns:
        The manifest.

    Raises:
        PoolError: an argument does not fit, the method cannot use these rollouts, or keeps none.
        TableError: a file cannot be read or written, or has a column that the method adds.
    """
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
        totals = ["total"] if all("total" in each.columns for each in table.each) else []
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
            **_inputs(given, spec), "method": settings_of(spec, choice),
            "rounds": [None if number < 0 else number for number in there],
            **{name: {"before": before[name], "after": after[name]} for name in before}, "columns": list(new),
        }  # fmt: skip

        def write(file: IO[bytes]) -> int:
            rows.write(
                file, out, places[order], new, note=reporting.note, advance=lambda done: advance(0.4 + 0.6 * done)
            )
            return len(places)

        return write_output(out, content, write)


def _inputs(given: Source, spec: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs for a manifest, and where a method comes from that is not built in: its file, or its plugin."""
    named = spec if isinstance(spec, Mapping) else {"name": spec}
    code = [{"role": "method", **fingerprint(path, [path])} for path in files_named(named)]
    plugins = plugins_named(named)
    return {"inputs": given.inputs() + code, **({"plugins": plugins} if plugins else {})}


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


@dataclass(frozen=True, eq=False)
class NamedRows:
    """Training rows with the name of each row's sample."""

    table: Table
    names: Sequence[str | None]  # (n,) the name of each row's sample; None where it has none

    def join(self, stats: SampleStats) -> dict[str, int]:
        """Count the samples in the rollouts, in the data, and in both.

        Raises:
            PoolError: none is in both; shows names of both.
        """
        measured, there = set(stats.sample_id.tolist()), {name for name in self.names if name is not None}
        both = len(measured & there)
        if not both:
            raise PoolError(
                f"{self.table.path}: none of its samples is among those of the rollouts: its names are such as "
                f"{_examples(there)}, those of the rollouts such as {_examples(measured)}; expected the same names in "
                "both: name the column that holds them by --id-column"
            )
        return {
            "both": both,
            "data_only": len(there) - both,
            "rollouts_only": len(measured) - both,
            "rows_without_name": sum(name is None for name in self.names),
        }


def next_round(
    rollouts: Sequence[Path],
    out: Path,
    *,
    seed: int = 0,
    zero_share: float = 0.2,
    exclude_sources: Collection[str] = (),
    min_rollouts: int | None = None,
    two_model: tuple[Path, Path] | None = None,
    suspects: bool = True,
    band: Band | None = None,
    selectors: Sequence[SelectorSpec] = (),
    limit: int | None = None,
    control: bool = False,
    rounds: Collection[int] | None = None,
    by: str = "source",
    target_space: CoordSpace | str | None = None,
    recipe: Recipe | None = None,
    data: Path | None = None,
    id_column: str | None = None,
    split: str | None = None,
    reporting: Reporting = SILENT,
) -> dict[str, Any]:
    r"""Draw a pool from rollouts, as ``grounding-rewards pool next`` does, and write it beside its manifest.

    Args:
        rollouts: files and directories of rollouts, or one file of statistics.
        out: the pool's own file, .parquet or .jsonl; ``pool_paths`` names those beside it.
        seed: see ``next_pool``, as for all arguments up to ``control``.
        zero_share: the share of never-solved samples.
        exclude_sources: sources to leave out.
        min_rollouts: the fewest scored rollouts of a sample.
        two_model: rollouts or statistics of a weak and of a strong model.
        suspects: set suspects aside.
        band: pass rates to keep.
        selectors: further selectors.
        limit: the most samples.
        control: also draw a control of the same size.
        rounds: the rounds that count; None for all.
        by: the column that becomes the samples' source.
        target_space: the space of targets that name none.
        recipe: the recipe whose form targets have, where rollouts name none that is installed.
        data: the training rows to draw from; None writes names and statistics.
        id_column: the column of sample names in ``data``; None looks where ``convert`` puts them.
        split: the split of ``data``.
        reporting: takes notes, warnings and progress.

    Returns:
        The manifest.

    Raises:
        PoolError: no sample is left, or an argument does not fit.
        TableError: a file cannot be read or written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "rollouts.jsonl")
    ...     _ = file.write_text('{"sample_id": "a", "acc": 1}\n{"sample_id": "a", "acc": 0, "rollout": 1}\n')
    ...     manifest = next_round([file], Path(folder, "pool.jsonl"), zero_share=0)
    >>> manifest["samples"], manifest["kept"], manifest["outputs"][0]["path"]
    (1, 1, 'pool.jsonl')
    """
    # Here, and not after a long count.
    check_numbers(seed=seed, zero_share=zero_share, min_rollouts=min_rollouts, limit=limit)
    _check_selectors(band, selectors)
    given = source(rollouts, rounds=rounds, by=by, **{"--target-space": target_space, "--recipe": recipe})
    rows = None if data is None else open_rows(data, split)
    models = dict(zip(("weak", "strong"), two_model or (), strict=False))  # None: no pairs
    for path in models.values():
        if not path.exists():
            raise PoolError(f"two_model: {path}: no such file")
    files = [
        *(rollouts if given.table is None else given.table.files),
        *(file for path in models.values() for file in files_of_rows(path)),
    ]
    inputs = [*rollouts, *models.values(), *([] if data is None else [data])]
    # Before the long work, for the output must replace no input.
    _check_pool(out, inputs, [*files, *([] if rows is None else files_of_table(rows))])
    with reporting.progress("drawing the next pool") as advance:
        named = None
        if rows is not None:
            named = NamedRows(rows, sample_names(rows, id_column, advance=lambda done: advance(done / 5)))
        stats = given.stats(target_space=target_space, recipe=recipe, warn=reporting.warn)
        advance(0.4)
        join = None if named is None else named.join(stats)
        weak_strong = [read_stats(path, warn=reporting.warn) for path in models.values()]
        pool = next_pool(
            stats, seed=seed, zero_share=zero_share, exclude_sources=exclude_sources, min_rollouts=min_rollouts,
            two_model=(weak_strong[0], weak_strong[1]) if weak_strong else None, suspects=suspects, band=band,
            selectors=selectors, limit=limit, control=control,
            available=None if named is None else {name for name in named.names if name is not None},
        )  # fmt: skip
        code = {"selectors": [plain(spec) for spec in selectors]}
        hashes = given.inputs()
        hashes += [{"role": role, **fingerprint(path, files_of_rows(path))} for role, path in models.items()]
        if data is not None and rows is not None:
            hashes.append({"role": "data", **fingerprint(data, files_of_table(rows))})
        hashes += [{"role": "selector", **fingerprint(path, [path])} for path in files_named(code)]
        advance(0.5)
        settings = {
            "exclude_source": sorted(exclude_sources),
            "band": None if band is None else [band.low_rate, band.high_rate],
            "confident": band is not None and band.confident,
            "suspects": suspects,
            "min_rollouts": min_rollouts,
            "limit": limit,
            "control": control,
            "target_space": target_space,
            "recipe": None if recipe is None else recipe.to_dict(),
        }
        facts = {
            "inputs": hashes,
            "join": join,
            **given.measured_at(stats),
            **code,
            "plugins": plugins_named({**code, "recipe": settings["recipe"]}),
            "settings": settings,
        }
        return _write_pool(out, pool, named, facts, reporting.note, lambda done: advance(0.5 + done / 2))


def _check_selectors(band: Band | None, selectors: Iterable[SelectorSpec]) -> None:
    """Check that selectors can be built, before anything is read."""
    try:
        filters(band, selectors)
    except RecipeError as error:
        raise PoolError(f"selectors: {error}") from None
    except RecursionError:  # selectors come from JSON, nested at will
        raise PoolError("selectors: is nested too deep") from None


def pool_paths(out: Path) -> dict[str, Path]:
    """Return the paths of the pool, of the samples set aside, and of the manifest.

    >>> [str(path) for path in pool_paths(Path("a/pool.parquet")).values()]
    ['a/pool.parquet', 'a/pool.easy.parquet', 'a/pool.suspects.parquet', 'a/pool.control.parquet', \
'a/pool.parquet.manifest.json']
    """
    aside = {name: out.with_name(f"{out.stem}.{name}{out.suffix}") for name in _ASIDE}
    return {"pool": out, **aside, "manifest": manifest_of(out)}


def _check_pool(out: Path, inputs: Sequence[Path], files: Sequence[Path]) -> None:
    """Check that a pool can be written.

    Raises:
        TableError: a path has another suffix, lies in no directory or in an input, or is an input; or a file exists
            that no run set aside.
    """
    check_output(out, files)
    paths = pool_paths(out)
    ours = _listed(paths)  # any other file aside is somebody else's, and not replaced
    for name, path in paths.items():
        check_place(path, [*files, *inputs])
        if name in _ASIDE and path.name not in ours and path.exists():
            raise TableError(
                f"{path}: exists, and no {paths['manifest'].name} lists it, so it is not replaced; move it away, or "
                "write to another file"
            )


def _write_pool(
    out: Path,
    pool: NextPool,
    data: NamedRows | None,
    facts: dict[str, Any],
    note: Note,
    advance: Advance,
) -> dict[str, Any]:
    """Write all files of a pool, its manifest last; files that only an earlier run set aside are removed."""
    paths = pool_paths(out)
    rows = {"pool": pool.kept, "easy": pool.easy, "suspects": pool.suspects, "control": pool.control}
    parts = {paths[name]: chosen for name, chosen in rows.items() if chosen is not None}
    with atomic_files() as files:
        opened = files.open(paths["manifest"])  # opened first, so renamed last: it never describes older files
        if data is None:
            written = write_tables(files, ((path, in_tables(pool.stats, chosen)) for path, chosen in parts.items()))
        else:
            ids = {path: pool.stats.sample_id[chosen].tolist() for path, chosen in parts.items()}
            written = write_parts(files, ids, data.table, data.names, note=note, advance=advance)
        manifest = {
            **pool.to_json(),
            **facts,
            "outputs": [{"path": file.path.name, "rows": file.rows, "sha256": file.sha256} for file in written],
            "version": __version__,
            "schema_version": SCHEMA_VERSION,
        }
        opened.write(manifest_bytes(manifest))
        there = {file.path for file in written}
        files.removed = [paths[name] for name in _ASIDE if paths[name] not in there]  # an older run's
    return manifest


def _listed(paths: Mapping[str, Path]) -> set[str]:
    """Return the files of earlier runs, by their manifest or by that of one that was killed before the rename."""
    outputs = set[str]()
    for manifest in (paths["manifest"], *leftovers(paths["manifest"])):
        with suppress(TableError, KeyError, TypeError):  # what is no manifest of ours lists nothing
            outputs |= {str(output["path"]) for output in read_manifest(manifest)["outputs"]}
    return outputs


def _examples(names: set[Any]) -> str:
    return ", ".join(repr(name) for name in sorted(names, key=str)[:3])
