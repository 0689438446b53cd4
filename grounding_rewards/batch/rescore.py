"""Score rollouts, for the first time or again, into the shards of a rollout table."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from grounding_rewards._version import __version__
from grounding_rewards.batch.columns import Columns
from grounding_rewards.batch.earlier_scores import check_once, left_out, renamed
from grounding_rewards.batch.grouped_rows import files_of_groups, scored_groups
from grounding_rewards.batch.rollout_scorer import RolloutScorer
from grounding_rewards.batch.scored_shards import summary
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.finding import Finding, Severity
from grounding_rewards.errors import RecipeError, TableError
from grounding_rewards.plugins.sources import files_named, plugins_named
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.base import Batch, Note, Table
from grounding_rewards.tables.files import overlap
from grounding_rewards.tables.image_files import ImageFiles
from grounding_rewards.tables.launches import PREFIX, several_runs
from grounding_rewards.tables.manifests import OUTPUTS, digest, read_manifest
from grounding_rewards.tables.reporting import Advance
from grounding_rewards.tables.rollout_columns import COLUMNS, rollout_schema
from grounding_rewards.tables.rollout_source import LoggedTable, RolloutFile, state_of, types_of
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts
from grounding_rewards.tables.runs import Run, open_run
from grounding_rewards.targets.box_format import as_box_format

MANIFEST = "_score.manifest.json"
"""Readers of a directory of Parquet pass over names that begin with an underscore."""

_HELD_BYTES = 1 << 26
"""Bytes of batches that are gathered into one row group."""

_NAMED = ("response", "target", "image_size", "model_image_size", "id", "token_length")
"""Columns that the manifest names; several names where files differ."""

SHARD_BATCHES = 8
"""Batches of a file in one shard. A run that goes on after a kill does its unfinished shard again."""

_READING = 0.1
"""Share of the progress that stands for reading the files once before any row is scored."""

_BY_DEFAULT = Columns()


@dataclass(frozen=True)
class Rescored:
    """Result of ``rescore``.

    Attributes:
        manifest: what the directory was made of, and figures of its rows.
        made: number of shards that this call made.
        found: number of shards that were there before it.
    """

    manifest: Mapping[str, Any]
    made: int
    found: int

    @property
    def findings(self) -> list[Finding]:
        """The diagnosis of all rows."""
        return [Finding.from_dict(each) for each in self.manifest.get("findings", ())]


def rescore(
    rollouts: RolloutTable | Sequence[str | os.PathLike[str]],
    recipe: Recipe,
    out: str | os.PathLike[str],
    *,
    columns: Columns = _BY_DEFAULT,
    bad_target: str = "raise",
    box_format: str | None = None,
    image_files: ImageFiles | None = None,
    overwrite: bool = False,
    advance: Advance = lambda done: None,
    note: Note = lambda text: None,
    warn: Note = lambda text: None,
) -> Rescored:
    r"""Score rollouts, for the first time or again, into a directory that is a rollout table once it is complete.

    After a kill, the same call goes on where the run ended. Where the directory is complete, and made of the same
    rollouts by the same recipe, nothing is done, and only what shows this is read. A directory that is replaced can be
    read until the new one is complete. Rows that the recipe compares are ordered by sample, round, train_step and
    rollout; all others keep their order.

    Args:
        rollouts: rows with responses and targets, or the files that hold them.
        recipe: the recipe, built by ``grounding_rewards.recipe``, so that the manifest can hold its name and options.
        out: the directory.
        columns: names of the columns of the rollouts; those without one are looked for in each file.
        bad_target: what to do with a row whose target cannot be used: ``"raise"``, or ``"abstain"`` from scoring it.
        box_format: how boxes of targets are written, as of ``Targets.from_list``; the directory has them as xyxy.
        image_files: reads sizes that rows lack and conversions need from their images; None reads none.
        overwrite: replace a directory, or an unfinished run, that was made of something else.
        advance: takes the share that is done, 0 to 1.
        note: takes remarks on what becomes of columns, and notes of the diagnosis.
        warn: takes warnings about rollouts and targets; the manifest has them, too.

    Raises:
        TableError: the rollouts cannot be read or scored, or the directory is already made of something else.
        PoolError: a round has a rollout of a sample twice.
        RecipeError: the recipe adds up trajectories, or ``bad_target`` is neither of the two.
        OSError: the directory cannot be written.

    >>> import pathlib, tempfile
    >>> from grounding_rewards import recipe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, out = pathlib.Path(folder, "rollouts.jsonl"), pathlib.Path(folder, "scored")
    ...     _ = file.write_text('{"sample_id": "a", "response": "(500, 500)", "target": [0.4, 0.4, 0.6, 0.6]}\n')
    ...     done = rescore([file], recipe("gelato"), out)
    ...     open_rollouts([out]).read(["sample_id", "total"]).to_pylist(), done.made, done.manifest["hit_rate"]
    ([{'sample_id': 'a', 'total': 1.0}], 1, 1.0)
    """
    if "trajectories" in recipe.needs:
        raise RecipeError(
            f"{recipe.name} adds up a trajectory, and rollouts of a pool do not say which steps are of one attempt; "
            "score a file of whole attempts with `grounding-rewards score`"
        )
    table = rollouts if isinstance(rollouts, RolloutTable) else open_rollouts(rollouts)
    scorer = TableScorer(
        recipe, columns, bad_target, as_box_format(box_format), image_files, on_note=note, on_warning=warn
    )
    done = _Rescorer(scorer, table, advance, note).run(Path(out), overwrite=overwrite)
    for text in done.manifest.get("warnings", ()):
        warn(text)
    for finding in done.findings:
        if finding.severity is Severity.NOTE:
            note(str(finding))
    return done


@dataclass(frozen=True, eq=False)
class _Rescorer:
    """One run of ``rescore``, with its arguments."""

    scorer: TableScorer
    rollouts: RolloutTable
    advance: Advance
    note: Note

    def run(self, out: Path, *, overwrite: bool) -> Rescored:
        for path in self.rollouts.paths:
            if overlap(out, path):
                raise TableError(f"{out}: lies in the input {path}, or holds it; write to another directory")
        rows: tuple[Any, ...] = (*self.rollouts.parquet, *self.rollouts.rows)
        tables: list[Table] = [each.table if hasattr(each, "table") else LoggedTable(each) for each in rows]
        scorers = [self.scorer.of(table) for table in tables]
        states = [state_of(table) for table in tables]  # before content is read, because the files may grow meanwhile
        identity = self._identity([each.columns for each in scorers])
        with open_run(
            out, MANIFEST, identity, command="grounding-rewards pool score", overwrite=overwrite,
            warn=self.scorer.on_warning,
        ) as run:  # fmt: skip
            if run is None:
                manifest = read_manifest(out / MANIFEST)
                return Rescored(manifest, 0, len(manifest[OUTPUTS]))
            several = several_runs(self.rollouts.files)
            warned = [several] if several else []
            check_once(self.rollouts, tables, scorers)
            return self._make(run, self._sources(tables, scorers, states, warned.append), scorers, warned)

    def _sources(
        self, tables: Sequence[Table], scorers: Sequence[TableScorer], states: Sequence[tuple[int, int]], warn: Note
    ) -> list[RolloutFile]:
        """Read the files once to find out the types of JSON columns, and the recipes that scored the rows earlier."""
        sources = list[RolloutFile]()
        gone = left_out(self.rollouts, tables, self.scorer.recipe, self.note, warn)
        for table, scorer, state in zip(tables, scorers, states, strict=True):
            sources.append(RolloutFile.of(table, gone | renamed(scorer), state, self.note))
            self.advance(_READING * len(sources) / len(tables))
        return sources

    def _make(
        self, run: Run, sources: Sequence[RolloutFile], readers: Sequence[TableScorer], warned: Sequence[str]
    ) -> Rescored:
        """Write the shards that are not there yet, and the manifest."""
        recipe, names, made = self.scorer.recipe, list[str](), 0
        # Rollouts without numbers are numbered from file << 32. Beside files that have numbers, files count from 1, so
        # that the numbers do not meet.
        numbered = any("rollout" in each.table.columns for each in sources)
        schema, first = _schema(sources, recipe), int(numbered and len(sources) > 1)
        scorers = [RolloutScorer(each, schema, first, reads=recipe) for each in readers]
        # Needed as Python values, not as Arrow.
        pairs = zip(readers, sources, strict=True)
        columns = frozenset(name for each, source in pairs for name in each.reads(source.table))
        if recipe.reads_extras:
            columns = frozenset(name for source in sources for name in source.table.columns)
        shards = _by_group if "groups" in recipe.needs else _by_file
        for number, batches in enumerate(shards(run.folder, scorers, sources, columns)):
            names.append(f"{PREFIX}{number:06d}.parquet")
            if names[-1] not in run:
                with run.write(names[-1]) as file:
                    _write(file, schema, self._advanced(batches))
                    for source in sources:
                        source.check()  # before the shard gets its name: rows of a file that has changed are never kept
                made += 1
        manifest = run.finish(
            names, summary(run.folder, names, recipe, readers[0].columns.response, readers[0].box_format, warned)
        )
        return Rescored(manifest, made, len(names) - made)

    def _advanced(self, batches: Iterable[tuple[Any, float]]) -> Iterator[Any]:
        """Yield the batches, and report the progress after each."""
        for batch, done in batches:
            yield batch
            self.advance(_READING + (1 - _READING) * done)

    def _identity(self, columns: Sequence[Columns]) -> dict[str, Any]:
        """Return what a directory is made of: only one with the same identity is kept, or gone on with."""
        scorer = self.scorer
        config = scorer.recipe.to_dict()
        return {
            "version": __version__,
            "recipe": config,
            "code": [{"path": str(file), "sha256": digest(file)} for file in files_named(config)],
            "plugins": plugins_named(config),
            "columns": {name: ", ".join(dict.fromkeys(getattr(each, name) for each in columns)) for name in _NAMED},
            "image_root": (scorer.image_files and scorer.image_files.root) or None,
            "image_column": scorer.columns.image or None,
            "bad_target": str(scorer.bad_target),
            "box_format": scorer.box_format and str(scorer.box_format),
            "inputs": self.rollouts.inputs(),
            **self.rollouts.identity,
        }


Shard = Iterator[tuple[Any, float]]
"""Batches of a shard, scored when they are asked for; each with the share of all rows that is done by then."""


def _by_file(
    folder: Path, scorers: Sequence[RolloutScorer], sources: Sequence[RolloutFile], columns: Collection[str]
) -> Iterator[Shard]:
    """Yield the shards of rows that are scored one by one: batches that follow each other in a file."""

    def scored(place: int, batches: Iterable[tuple[int, Batch]]) -> Shard:
        source, scorer = sources[place], scorers[place]
        for _, batch in batches:
            rows = scorer.scored(source.table, batch, scorer.unscored(source, place, batch))
            yield rows, (place + batch.done) / len(sources)

    for place, source in enumerate(sources):
        # groupby reads past the batches of a shard that nobody asks for: one that is there is not scored again.
        numbered = ((index // SHARD_BATCHES, batch) for index, batch in enumerate(source.batches(columns)))
        for _, batches in groupby(numbered, key=itemgetter(0)):
            yield scored(place, batches)


def _by_group(
    folder: Path, scorers: Sequence[RolloutScorer], sources: Sequence[RolloutFile], columns: Collection[str]
) -> Iterator[Shard]:
    """Yield the shards of rows that are compared with each other."""
    files = files_of_groups(folder, scorers, sources, columns)
    for number, file in enumerate(files, 1):
        # A generator, so that a shard that is there already is not scored again.
        yield ((scored_groups(each, scorers[0], sources, columns), number / len(files)) for each in [file])


def _schema(sources: Sequence[RolloutFile], recipe: Recipe) -> Any:
    """Return the schema of all shards: columns of every rollout table, further ones of the files, and parts."""
    rollout_schema(recipe.parts)  # for its error, where a part has the name of another column
    metadata = next((each.kept.metadata for each in sources if each.kept.metadata), None)
    parts = [(name, pa.float64()) for name in recipe.parts]
    return pa.schema([*COLUMNS.items(), *types_of(sources).items(), *parts], metadata)


def _write(file: IO[bytes], schema: Any, batches: Iterable[Any]) -> None:
    """Write batches as Parquet, in few row groups and bounded memory."""
    held, size = list[Any](), 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batches:
            held, size = [*held, batch], size + batch.nbytes
            if size > _HELD_BYTES:
                writer.write_table(pa.Table.from_batches(held))
                held, size = [], 0
        if held:
            writer.write_table(pa.Table.from_batches(held))
