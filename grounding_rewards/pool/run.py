"""Draw the next round's pool from files of rollouts, and write it with its manifest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import PoolError, RecipeError, TableError
from grounding_rewards.plugins.sources import files_named, plugins_named
from grounding_rewards.pool import Band
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.files import NamedRows, check_paths, write_pool
from grounding_rewards.pool.selection import next_pool
from grounding_rewards.pool.selection.filters import SelectorSpec, filters, plain
from grounding_rewards.pool.selection.steps import check_numbers
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.stats_table import is_stats, read_stats
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.folders import open_rows
from grounding_rewards.tables.manifests import files_of_rows, fingerprint
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts
from grounding_rewards.tables.sample_ids import sample_names


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
        out: the pool's own file, .parquet or .jsonl; ``pool.files.pool_paths`` names those beside it.
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
    # Options that can change nothing in statistics, which are counted already: errors there.
    asked = {"--round": rounds is not None, "--target-space": target_space, "--by": by != "source", "--recipe": recipe}
    table = open_measured(rollouts, [option for option, value in asked.items() if value])
    rows = None if data is None else open_rows(data, split)
    models = dict(zip(("weak", "strong"), two_model or (), strict=False))  # None: no pairs
    for path in models.values():
        if not path.exists():
            raise PoolError(f"two_model: {path}: no such file")
    files = [
        *(rollouts if table is None else table.files),
        *(file for path in models.values() for file in files_of_rows(path)),
    ]
    inputs = [*rollouts, *models.values(), *([] if data is None else [data])]
    # Before the long work, for the output must replace no input.
    check_paths(out, inputs, [*files, *([] if rows is None else NamedRows(rows, ()).files)])
    with reporting.progress("drawing the next pool") as advance:
        named = None
        if rows is not None:
            named = NamedRows(rows, sample_names(rows, id_column, advance=lambda done: advance(done / 5)))
        if table is None:
            stats = read_stats(rollouts[0])
        else:
            stats = stats_of(
                table, rounds=rounds, by=by, target_space=target_space, recipe=recipe, warn=reporting.warn
            )  # fmt: skip
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
        hashes = _hashes(rollouts, table, models, {} if data is None or named is None else {data: named.files}, code)
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
            **measured_at(stats, table, rounds, by),
            **code,
            "plugins": plugins_named({**code, "recipe": settings["recipe"]}),
            "settings": settings,
        }
        return write_pool(
            out, pool, named, facts, note=reporting.note, advance=lambda done: advance(0.5 + done / 2)
        )  # fmt: skip


def _check_selectors(band: Band | None, selectors: Iterable[SelectorSpec]) -> None:
    """Check that selectors can be built, before anything is read."""
    try:
        filters(band, selectors)
    except RecipeError as error:
        raise PoolError(f"selectors: {error}") from None
    except RecursionError:  # selectors come from JSON, nested at will
        raise PoolError("selectors: is nested too deep") from None


def open_measured(paths: Sequence[Path], asked: Sequence[str]) -> RolloutTable | None:
    """Open rollouts; None for one file of statistics, which does not go with options ``asked`` of rollouts."""
    path = next((path for path in paths if is_stats(path)), None)
    if path is None:
        return open_rollouts(paths)
    asked = ["other inputs", *asked] if len(paths) > 1 else asked
    if asked:
        raise TableError(f"{path}: holds statistics of samples, which do not go with {asked[0]}; give rollouts")
    return None


def _hashes(
    rollouts: Sequence[Path],
    table: RolloutTable | None,
    models: Mapping[str, Path],
    data: Mapping[Path, Sequence[Path]],
    code: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Fingerprint all inputs for the manifest, each with its role."""
    if table is None:
        hashes = [{"role": "statistics", **fingerprint(rollouts[0], rollouts)}]
    else:
        hashes = [{"role": "rollouts", **file} for file in table.inputs()]
    hashes += [{"role": role, **fingerprint(path, files_of_rows(path))} for role, path in models.items()]
    hashes += [{"role": "data", **fingerprint(path, files)} for path, files in data.items()]
    return hashes + [{"role": "selector", **fingerprint(path, [path])} for path in files_named(code)]


def measured_at(
    stats: SampleStats, table: RolloutTable | None, rounds: Collection[int] | None, by: str
) -> dict[str, Any]:
    """Return the rounds, temperatures and source column for the manifest; None for what a file of statistics lacks."""
    known = sorted({value for value in stats.temperature.tolist() if value == value})  # without NaN, which is no JSON
    temperatures: list[float | None] = [None, *known] if np.isnan(stats.temperature).any() else [*known]
    if table is None:
        return {"rounds": None, "temperatures": temperatures, "by": None}
    if rounds is None:
        return {"rounds": list(table.rounds()), "temperatures": list(table.temperatures()), "by": by}
    return {"rounds": list(rounds), "temperatures": temperatures, "by": by}
