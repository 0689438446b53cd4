"""A run of ``pool next``: what was asked for, the files that are read, and the manifest that is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import PoolError, RecipeError, TableError
from grounding_rewards.plugins.sources import files_named, plugins_named
from grounding_rewards.pool import Band, SampleStats
from grounding_rewards.pool.files import Data, check_paths, write_pool
from grounding_rewards.pool.selection import NextPool, next_pool
from grounding_rewards.pool.selection.filters import filters
from grounding_rewards.pool.selection.steps import check_numbers
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.reporting import SILENT, Reporting


@dataclass(frozen=True)
class Settings:
    """What was asked for, as the manifest records it."""

    zero_share: float
    seed: int
    exclude_source: tuple[str, ...] = ()
    band: Band | None = None
    two_model: tuple[Path, Path] | None = None
    selectors: tuple[str | Mapping[str, Any], ...] = ()
    suspects: bool = True
    min_rollouts: int | None = None
    limit: int | None = None
    control: bool = False
    rounds: tuple[int, ...] | None = None
    target_space: CoordSpace | None = None
    recipe: Recipe | None = None
    by: str = "source"

    def check(self) -> None:
        """Check what can be checked before anything is read.

        Raises:
            PoolError: a number does not fit, or a selector cannot be built.
        """
        check_numbers(seed=self.seed, zero_share=self.zero_share, min_rollouts=self.min_rollouts, limit=self.limit)
        try:
            filters(self.band, self.selectors)
        except RecipeError as error:
            raise PoolError(f"--selector: {error}") from None
        except RecursionError:
            raise PoolError("--selector: is nested too deep") from None

    def draw(self, stats: SampleStats, judges: tuple[SampleStats, SampleStats] | None, data: Data | None) -> NextPool:
        """The next pool by these settings; see ``next_pool``."""
        return next_pool(
            stats,
            seed=self.seed,
            zero_share=self.zero_share,
            exclude_sources=self.exclude_source,
            min_rollouts=self.min_rollouts,
            two_model=judges,
            suspects=self.suspects,
            band=self.band,
            selectors=self.selectors,
            limit=self.limit,
            control=self.control,
            available=None if data is None else {name for name in data.names if name is not None},
        )

    def to_json(self) -> dict[str, Any]:
        """What the manifest does not say elsewhere, as plain values."""
        return {
            "exclude_source": sorted(self.exclude_source),
            "band": None if self.band is None else [self.band.low_rate, self.band.high_rate],
            "confident": self.band is not None and self.band.confident,
            "suspects": self.suspects,
            "min_rollouts": self.min_rollouts,
            "limit": self.limit,
            "control": self.control,
            "target_space": self.target_space,
            "recipe": None if self.recipe is None else self.recipe.to_dict(),
        }


def run(
    rollouts: Sequence[Path],
    out: Path,
    settings: Settings,
    data: Path | None,
    id_column: str | None,
    split: str | None,
    reporting: Reporting = SILENT,
) -> dict[str, Any]:
    """Read rollouts, or statistics of them, draw a pool, and write it with its manifest, which is returned.

    Args:
        rollouts: files and directories of them, or one file of statistics.
        out: the pool's own file.
        settings: what was asked for, checked.
        data: the rows to train on; None writes names and statistics.
        id_column: where the data name their samples.
        split: which split of the data.
        reporting: where notes, warnings and progress are shown.

    Raises:
        PoolError: no sample is left, or a setting does not fit.
        TableError: a file cannot be read or written.
    """
    from grounding_rewards.pool.inputs import open_measured
    from grounding_rewards.pool.stats_table import read_stats
    from grounding_rewards.tables.folders import open_rows
    from grounding_rewards.tables.manifests import files_of_rows, fingerprint
    from grounding_rewards.tables.sample_ids import sample_names

    measured = open_measured(
        rollouts, settings.rounds, settings.target_space, settings.by, settings.recipe, warn=reporting.warn
    )
    rows = None if data is None else open_rows(data, split)
    judges = dict(zip(("weak", "strong"), settings.two_model or (), strict=False))
    for path in judges.values():
        if not path.exists():
            raise TableError(f"--two-model: {path}: no such file")
    asked = [*rollouts, *judges.values(), *([] if data is None else [data])]
    files = [*measured.files, *(file for path in judges.values() for file in files_of_rows(path))]
    check_paths(out, asked, [*files, *([] if rows is None else Data(rows, ()).files)])
    with reporting.progress("drawing the next pool") as advance:
        named = (
            None if rows is None else Data(rows, sample_names(rows, id_column, advance=lambda done: advance(done / 5)))
        )
        stats = measured.stats()
        advance(0.4)
        join = None if named is None else named.join(stats)
        weak_strong = tuple(read_stats(path) for path in judges.values())
        found = settings.draw(stats, (weak_strong[0], weak_strong[1]) if weak_strong else None, named)
        inputs = measured.inputs()
        inputs += [{"role": role, **fingerprint(path, files_of_rows(path))} for role, path in judges.items()]
        if data is not None and named is not None:
            inputs.append({"role": "data", **fingerprint(data, named.files)})
        code: dict[str, Any] = {"selectors": list(settings.selectors)}
        inputs += [{"role": "selector", **fingerprint(path, [path])} for path in files_named(code)]
        advance(0.5)
        said = {
            "inputs": inputs,
            "join": join,
            **measured.told(stats),
            **code,
            "plugins": plugins_named({**code, "recipe": settings.recipe and settings.recipe.to_dict()}),
            "settings": settings.to_json(),
        }
        manifest = write_pool(
            out, found, named, said, note=reporting.note, advance=lambda done: advance(0.5 + done / 2)
        )
    return manifest
