"""Commands that choose, on one frame: read and measure, choose, and write with the manifest last."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from grounding_rewards._version import __version__
from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.errors import PoolError, RecipeError, TableError
from grounding_rewards.groups.spread import NO_SIGNAL
from grounding_rewards.plugins.registry import files_named, plugins_named
from grounding_rewards.pool.aggregate import ALL, stats_of
from grounding_rewards.pool.difficulties import add_difficulty
from grounding_rewards.pool.draws import check_whole, largest_remainder
from grounding_rewards.pool.methods import ALLOCATION, CHOICE, allocate, choose, in_name_order, method
from grounding_rewards.pool.rollouts import RolloutColumns, groups, read_columns
from grounding_rewards.pool.selection import check_numbers, filters, next_pool, plain, suspects, with_defaults
from grounding_rewards.pool.stats import SUMMED, SampleStats, by_source, summary
from grounding_rewards.pool.stats_table import in_tables, is_stats, read_stats
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.atomic import Files, atomic_files, leftovers
from grounding_rewards.tables.launches import several_runs
from grounding_rewards.tables.manifests import files_of_rows, fingerprint, manifest_bytes, read_manifest
from grounding_rewards.tables.opening import files_of_table, open_rows
from grounding_rewards.tables.reporting import SILENT, Advance, Reporting
from grounding_rewards.tables.rollout_source import ChosenRollouts
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts
from grounding_rewards.tables.rows import Note
from grounding_rewards.tables.sample_ids import sample_id, sample_names
from grounding_rewards.tables.training_sets import BY_FIELDS, ShapedTable
from grounding_rewards.tables.writing import (
    Written,
    check_output,
    check_place,
    write_file,
    write_parts,
    write_rows,
    write_tables,
    written,
)

SCHEMA_VERSION = 1
_ASIDE = ("easy", "suspects", "control")


@dataclass(frozen=True)
class Source:
    """Rollouts, or one file of statistics, that a command is given, with what the manifest says of them."""

    paths: Sequence[Path]
    table: RolloutTable | None  # None for statistics
    rounds: Collection[int] | None = None  # the rounds that count; None for all
    by: str = "source"  # the column that becomes the samples' source
    target_space: CoordSpace | str | None = None  # the space of targets that name none
    recipe: Recipe | None = None  # the recipe whose form targets have, where rollouts name none that is installed

    @property
    def files(self) -> list[Path]:
        """Return all paths and files, none of which an output may replace."""
        return [*self.paths, *(() if self.table is None else self.table.files)]

    def stats(self, warn: Note, columns: Collection[str] = ALL) -> SampleStats:
        """Read or count statistics."""
        if self.table is None:
            return read_stats(self.paths[0])
        return stats_of(
            self.table, rounds=self.rounds, by=self.by, columns=columns, target_space=self.target_space,
            recipe=self.recipe, warn=warn,
        )  # fmt: skip

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


def source(paths: Sequence[Path], *, statistics: bool = True, **reading: Any) -> Source:
    """Open rollouts, or one file of ``statistics`` where these may be; ``reading`` is by the fields of ``Source``."""
    counted = next((path for path in paths if is_stats(path)), None)
    if counted is None:
        return Source(paths, open_rollouts(paths), **reading)
    if not statistics:
        raise TableError(f"{counted}: holds statistics of samples; give the rollouts that they were counted from")
    usual = {each.name: each.default for each in fields(Source)}
    given = [_OPTIONS[name] for name in _OPTIONS if reading.get(name, usual[name]) != usual[name]]
    for option in [*(["other inputs"] if len(paths) > 1 else []), *given]:
        raise TableError(f"{counted}: holds statistics of samples, which do not go with {option}; give rollouts")
    return Source(paths, None)


_OPTIONS = {"rounds": "--round", "by": "--by", "target_space": "--target-space", "recipe": "--recipe"}


def write_outputs(
    manifest: Path,
    write: Callable[[Files], list[Written]],
    describe: Callable[[list[Written]], dict[str, Any]],
    *,
    older: Iterable[Path] = (),
    dump: Callable[[dict[str, Any]], bytes] = manifest_bytes,
) -> dict[str, Any]:
    """Write outputs, then the manifest that describes them, and return it; ``older`` files not written are removed."""
    with atomic_files() as files:
        opened = files.open(manifest)  # opened first, so renamed last: it never describes an older file
        content = describe(write(files))
        opened.write(dump(content))
        # Looked up when the names change, for another run may have written more by then.
        files.removed = (path for path in older if Path(os.path.realpath(path)) not in files.outputs)
    return content


def _described(content: dict[str, Any]) -> Callable[[list[Written]], dict[str, Any]]:
    """Return a manifest's content with the rows and hashes of outputs, once they are written."""
    return lambda outputs: {
        **content,
        "outputs": [{"path": file.path.name, "rows": file.rows, "sha256": file.sha256} for file in outputs],
        "version": __version__,
        "schema_version": SCHEMA_VERSION,
    }


def _write_one(out: Path, content: dict[str, Any], rows: int, write: Callable[[Any], object]) -> dict[str, Any]:
    """Write one file of rows, and the manifest beside it."""

    def write_all(files: Files) -> list[Written]:
        file = files.open(out)
        write(file)
        return [written(file, out, rows)]

    return write_outputs(manifest_of(out), write_all, _described(content))


def manifest_of(out: Path) -> Path:
    """Return the path of the manifest beside a file."""
    return out.with_name(f"{out.name}.manifest.json")


def check_outputs(out: Path, inputs: Sequence[Path]) -> None:
    """Check before the long work that an output and its manifest can be written and replace no input."""
    check_output(out, inputs)
    check_place(manifest_of(out), inputs)


def count_rollouts(
    rollouts: Sequence[Path],
    out: Path | None = None,
    *,
    ks: Sequence[int] = (),
    item_response: str | None = None,
    reporting: Reporting = SILENT,
    **reading: Any,
) -> dict[str, Any]:
    """Count rollouts by sample, as ``grounding-rewards pool stats`` does; ``ks`` adds pass@k."""
    if item_response is not None and out is None:
        raise TableError("--item-response writes a column of --out; name a file by --out")
    given = source(rollouts, statistics=False, **reading)
    table, rounds = given.table, given.rounds
    assert table is not None
    if out is not None:
        check_output(out, given.files)  # before counting, which may take minutes
    with reporting.progress("counting rollouts") as advance:
        stats = given.stats(reporting.warn, SUMMED if out is None else ALL)
        fit: dict[str, Any] = {}
        if item_response is not None:
            # A single round has one ability, which says nothing: all count in the fit.
            one = item_response == "round" and rounds is not None and len(set(rounds)) == 1
            difficulty, fit["item_response"] = add_difficulty(
                table, stats, item_response, rounds=None if one else rounds, warn=reporting.warn
            )
            stats = replace(stats, item_difficulty=difficulty)
        advance(0.8)
        if out is not None:
            write_file(out, in_tables(stats, ks=ks))
    at: dict[str, dict[Any, int]] = {"rounds": table.rounds(rounds), "temperatures": table.temperatures(rounds)}
    named = {
        name: {"unknown" if key is None else str(key): count for key, count in counts.items()}
        for name, counts in at.items()
    }
    return {**summary(stats, ks), **named, **fit, **({} if out is None else {"out": str(out)})}


def allocate_rollouts(
    rollouts: Sequence[Path],
    out: Path,
    spec: str | Mapping[str, Any],
    *,
    budget: int | None = None,
    reporting: Reporting = SILENT,
    **reading: Any,
) -> dict[str, Any]:
    """Allocate further rollouts, as ``grounding-rewards pool allocate`` does, and write them beside a manifest."""
    spec = spec if isinstance(spec, Mapping) else {"name": spec}
    allocation = method(spec, ALLOCATION)
    if budget is not None and check_whole("budget", budget, 1) > COORDINATE_LIMIT:
        raise PoolError(f"budget: got {budget}; expected 1e12 at most")
    given = source(rollouts, **reading)
    check_outputs(out, given.files)
    with reporting.progress("allocating rollouts") as advance:
        read = ("sample_id", "source", "round", "temperature", "variance", "clicks", "dispersion", "target_diagonal")
        stats = given.stats(reporting.warn, (*read, *getattr(allocation, "needs", ())))
        advance(0.7)
        numbers = allocate(stats, allocation)
        numbers = numbers if budget is None else within_budget(stats, numbers, budget)
        aside, rows = suspects(stats), in_name_order(stats)
        rows = rows[numbers[rows] > 0]
        content = {
            "suspects": {"samples": int(aside.sum()), "n": int(numbers[aside].sum())},
            "method": with_defaults(spec, allocation), "budget": budget, **_inputs(given, spec),
            **given.measured_at(stats), **counts(stats, numbers),
        }  # fmt: skip
        names = pa.array([str(name) for name in stats.sample_id[rows].tolist()], pa.string())
        table = pa.table({"sample_id": names, "n": numbers[rows]})
        return _write_one(out, content, len(rows), lambda file: write_rows(file, out, [table]))


def choose_rollouts(
    rollouts: Sequence[Path], spec: str | Mapping[str, Any], out: Path, *, reporting: Reporting = SILENT, **reading: Any
) -> dict[str, Any]:
    """Choose rollouts, as ``grounding-rewards pool rollouts`` does, and write them beside a manifest."""
    spec = spec if isinstance(spec, Mapping) else {"name": spec}
    choice = method(spec, CHOICE)
    given = source(rollouts, statistics=False, **reading)
    check_outputs(out, given.files)
    table = given.table
    assert table is not None
    rows = ChosenRollouts(table)
    if text := several_runs(table.files):
        reporting.warn(text)
    with reporting.progress("choosing rollouts") as advance:
        totals = ["total"] if all("total" in each.columns for each in table.each) else []
        columns = read_columns(table, list(dict.fromkeys([*choice.needs, *totals])), rounds=given.rounds)
        chosen = choose(columns, choice)
        if not len(chosen.kept):
            name = with_defaults(spec, choice)["name"]
            raise PoolError(f"{', '.join(map(str, rollouts))}: {name} keeps none of {len(columns)} rollouts")
        rows.check_names(list(chosen.columns))
        advance(0.4)
        places = columns.row[chosen.kept]
        order = np.argsort(places)
        new = {name: np.asarray(column)[order] for name, column in chosen.columns.items()}
        before, after = figures(columns), figures(columns, chosen.kept)
        there = np.unique(columns.round).tolist()
        content = {
            **_inputs(given, spec), "method": with_defaults(spec, choice),
            "rounds": [None if number < 0 else number for number in there],
            **{name: {"before": before[name], "after": after[name]} for name in before}, "columns": list(new),
        }  # fmt: skip

        done, note = lambda share: advance(0.4 + 0.6 * share), reporting.note
        return _write_one(
            out, content, len(places), lambda file: rows.write(file, out, places[order], new, note=note, advance=done)
        )


def _inputs(given: Source, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs for a manifest, and where a method comes from that is not built in: its file, or its plugin."""
    code = [{"role": "method", **fingerprint(path, [path])} for path in files_named(spec)]
    plugins = plugins_named(spec)
    return {"inputs": given.inputs() + code, **({"plugins": plugins} if plugins else {})}


def within_budget(stats: SampleStats, numbers: Ints, budget: Any) -> Ints:
    """Scale numbers of rollouts to sum to a budget exactly: floors, and one more for the largest remainders."""
    if not numbers.any():
        raise PoolError(f"budget: got {budget}, and the method gives no sample any rollout")
    scaled, order = np.zeros_like(numbers), in_name_order(stats)
    scaled[order] = largest_remainder(numbers[order].tolist(), budget)
    return scaled


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


class TrainingRows:
    """Rows to train on, with the name of each row's sample once ``read``; None where a row has none."""

    def __init__(self, path: Path, id_column: str | None = None, split: str | None = None) -> None:
        self.path, self.table, self._id_column = path, open_rows(path, split, shape=BY_FIELDS), id_column
        self.files = files_of_table(self.table)
        self.names: Sequence[str | None] = []

    def read(self, advance: Advance) -> dict[str, Any]:
        """Read the names of the samples, and fingerprint the files."""
        if isinstance(self.table, ShapedTable) and self._id_column is None and "id" not in self.table.columns:
            self.names = [sample_id(**content) for content in self.table.contents()]
        else:
            self.names = sample_names(self.table, self._id_column, advance=advance)
        return {"role": "data", **fingerprint(self.path, self.files)}

    def join(self, stats: SampleStats) -> dict[str, int]:
        """Count the samples in the rollouts, in the data, and in both."""
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
    two_model: tuple[Path, Path] | None = None,
    data: Path | None = None,
    id_column: str | None = None,
    split: str | None = None,
    reporting: Reporting = SILENT,
    **settings: Any,
) -> dict[str, Any]:
    """Draw a pool as ``grounding-rewards pool next`` does, by ``settings`` of ``next_pool`` and ``Source``."""
    reading = {name: settings.pop(name) for name in _OPTIONS if name in settings}
    call = signature(next_pool).bind(None, **{"seed": 0, **settings})
    call.apply_defaults()
    asked = call.arguments
    # Here, and not after a long count.
    check_numbers(**{name: asked[name] for name in ("seed", "zero_share", "min_rollouts", "limit")})
    band, selectors = asked["band"], asked["selectors"]
    try:
        needs = {name for _, each, _ in filters(band, selectors) for name in getattr(each, "needs", ())}
    except RecipeError as error:
        raise PoolError(f"selectors: {error}") from None
    except RecursionError:  # selectors come from JSON, nested at will
        raise PoolError("selectors: is nested too deep") from None
    given = source(rollouts, **reading)
    rows = None if data is None else TrainingRows(data, id_column, split)
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
    _check_pool(out, inputs, [*files, *([] if rows is None else rows.files)])
    with reporting.progress("drawing the next pool") as advance:
        read = None if rows is None else rows.read(lambda done: advance(done / 5))
        stats = given.stats(reporting.warn, (*ALL, *needs))
        advance(0.4)
        join = None if rows is None else rows.join(stats)
        weak_strong = [read_stats(path, warn=reporting.warn) for path in models.values()]
        call.arguments |= {
            "stats": stats, "two_model": (weak_strong[0], weak_strong[1]) if weak_strong else None,
            "available": None if rows is None else {name for name in rows.names if name is not None},
        }  # fmt: skip
        pool = next_pool(*call.args, **call.kwargs)
        code = {"selectors": [plain(spec) for spec in selectors]}
        hashes = given.inputs()
        hashes += [{"role": role, **fingerprint(path, files_of_rows(path))} for role, path in models.items()]
        hashes += [] if read is None else [read]
        hashes += [{"role": "selector", **fingerprint(path, [path])} for path in files_named(code)]
        advance(0.5)
        settings = {
            "exclude_source": sorted(asked["exclude_sources"]),
            "band": None if band is None else [band.low_rate, band.high_rate],
            "confident": band is not None and band.confident,
            **{name: asked[name] for name in ("suspects", "min_rollouts", "limit", "control")},
            "target_space": given.target_space,
            "recipe": None if given.recipe is None else given.recipe.to_dict(),
        }
        facts = {
            "inputs": hashes,
            "join": join,
            **given.measured_at(stats),
            **code,
            "plugins": plugins_named({**code, "recipe": settings["recipe"]}),
            "settings": settings,
        }
        paths = pool_paths(out)
        kept = {"pool": pool.kept, "easy": pool.easy, "suspects": pool.suspects, "control": pool.control}
        parts = {paths[name]: chosen for name, chosen in kept.items() if chosen is not None}

        def write(opened: Files) -> list[Written]:
            if rows is None:
                return write_tables(opened, ((path, in_tables(stats, chosen)) for path, chosen in parts.items()))
            ids = {path: stats.sample_id[chosen].tolist() for path, chosen in parts.items()}
            note, done = reporting.note, lambda share: advance(0.5 + share / 2)
            return write_parts(opened, ids, rows.table, rows.names, note=note, advance=done)

        older = [paths[name] for name in _ASIDE]
        return write_outputs(paths["manifest"], write, _described({**pool.to_json(), **facts}), older=older)


def pool_paths(out: Path) -> dict[str, Path]:
    """Return the paths of the pool, of the samples set aside, and of the manifest."""
    aside = {name: out.with_name(f"{out.stem}.{name}{out.suffix}") for name in _ASIDE}
    return {"pool": out, **aside, "manifest": manifest_of(out)}


def _check_pool(out: Path, inputs: Sequence[Path], files: Sequence[Path]) -> None:
    """Check that a pool can be written."""
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


def _listed(paths: Mapping[str, Path]) -> set[str]:
    """Return the files of earlier runs, by their manifest or by that of one that was killed before the rename."""
    outputs = set[str]()
    for manifest in (paths["manifest"], *leftovers(paths["manifest"])):
        with suppress(TableError, KeyError, TypeError):  # what is no manifest of ours lists nothing
            outputs |= {str(output["path"]) for output in read_manifest(manifest)["outputs"]}
    return outputs


def _examples(names: set[Any]) -> str:
    return ", ".join(repr(name) for name in sorted(names, key=str)[:3])
