"""Write the files of a pool: its rows, the samples set aside, and the manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grounding_rewards._version import __version__
from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.pool.selection import NextPool
from grounding_rewards.pool.stats import SampleStats
from grounding_rewards.pool.stats_table import in_tables
from grounding_rewards.tables.atomic import atomic_files, leftovers
from grounding_rewards.tables.base import Table
from grounding_rewards.tables.files import check_output, check_place
from grounding_rewards.tables.manifests import manifest_bytes, read_manifest
from grounding_rewards.tables.parted import write_parts, write_tables

SCHEMA_VERSION = 1
_ASIDE = ("easy", "suspects", "control")


@dataclass(frozen=True, eq=False)
class NamedRows:
    """Training rows with the name of each row's sample.

    Attributes:
        table: the rows.
        names: (n,) the name of each row's sample; None where it has none.
    """

    table: Table
    names: Sequence[str | None]

    @property
    def files(self) -> list[Path]:
        """Return the files that hold the rows."""
        return [table.path for table in getattr(self.table, "tables", [self.table])]  # a folder has several

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


def pool_paths(out: Path) -> dict[str, Path]:
    """Return the paths of the pool, of the samples set aside, and of the manifest.

    >>> [str(path) for path in pool_paths(Path("a/pool.parquet")).values()]
    ['a/pool.parquet', 'a/pool.easy.parquet', 'a/pool.suspects.parquet', 'a/pool.control.parquet', \
'a/pool.parquet.manifest.json']
    """
    aside = {name: out.with_name(f"{out.stem}.{name}{out.suffix}") for name in _ASIDE}
    return {"pool": out, **aside, "manifest": out.with_name(f"{out.name}.manifest.json")}


def check_paths(out: Path, inputs: Sequence[Path], files: Sequence[Path]) -> None:
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


def write_pool(
    out: Path,
    pool: NextPool,
    data: NamedRows | None,
    facts: dict[str, Any],
    note: Callable[[str], None] = lambda text: None,
    advance: Callable[[float], None] = lambda done: None,
) -> dict[str, Any]:
    """Write all files of a pool, its manifest last; files that only an earlier run set aside are removed.

    Args:
        out: the pool's own file.
        pool: the pool.
        data: the training rows to write; None writes names and statistics.
        facts: fields of the manifest beside the counts.
        note: takes remarks.
        advance: takes the share that is done.

    Returns:
        The manifest.
    """
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
