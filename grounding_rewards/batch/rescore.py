"""Score rollouts anew, shard by shard."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from grounding_rewards._version import __version__
from grounding_rewards.batch.earlier import check_given, left_out
from grounding_rewards.batch.grouped_rows import files_of_groups, scored_groups
from grounding_rewards.batch.row_scorer import RowScorer
from grounding_rewards.batch.row_scoring import Columns, TableScorer
from grounding_rewards.batch.written import MANIFEST, summary, write
from grounding_rewards.errors import RecipeError, TableError
from grounding_rewards.plugins.sources import files_named, plugins_named
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.base import Batch, Note, Table
from grounding_rewards.tables.files import overlap
from grounding_rewards.tables.manifests import digest, read_manifest
from grounding_rewards.tables.rollout_columns import COLUMNS, rollout_schema
from grounding_rewards.tables.rollout_source import LoggedTable, Source, state_of, types_of
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts
from grounding_rewards.tables.shards import OUTPUTS, PREFIX, Run, open_run

Advance = Callable[[float], None]

SHARD_BATCHES = 8
"""Batches of a file that make a shard, which is done at once, and once more where a run is killed within it."""

_READING = 0.1
"""The share of the work that reading the files once before is taken for."""

_BY_DEFAULT = Columns()


@dataclass(frozen=True)
class Rescored:
    """Result of ``rescore``.

    Attributes:
        manifest: what the directory says of itself.
        made: shards that were made now.
        found: shards that were there.
    """

    manifest: Mapping[str, Any]
    made: int
    found: int


def rescore(
    rollouts: RolloutTable | Sequence[str | os.PathLike[str]],
    recipe: Recipe,
    out: str | os.PathLike[str],
    *,
    columns: Columns = _BY_DEFAULT,
    bad_target: str = "raise",
    overwrite: bool = False,
    advance: Advance = lambda done: None,
    note: Note = lambda text: None,
    warn: Note = lambda text: None,
) -> Rescored:
    r"""Score rollouts, or score them anew, into a directory that is a rollout table when all is there.

    Where a run was killed, the same call goes on; where the directory is there, made of the same rollouts by the same
    recipe, nothing is done, and nothing read but what tells that. An old directory that gives way can be read until all
    of the new one is there. Rows that a recipe compares are written by sample,
    round, train_step and rollout, all others in their order.

    Args:
        rollouts: rows with responses and targets, or the files of them.
        recipe: which scores; one that ``recipe`` built, for its name and options tell what the directory is made with.
        out: the directory.
        columns: what holds what.
        bad_target: what to do with a row whose target cannot be used: ``"raise"``, or ``"abstain"`` from scoring it.
        overwrite: whether a directory, or an unfinished run, that was made of something else gives way.
        advance: takes the share that is done, 0 to 1.
        note: takes what becomes of columns.
        warn: takes warnings about rollouts and targets; the manifest has them, too.

    Raises:
        TableError: the rollouts cannot be read or scored, or the directory is another one already.
        PoolError: a sample has a rollout twice in a round.
        RecipeError: the recipe adds up trajectories, or ``bad_target`` is neither word.
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
    scorer = TableScorer(recipe, columns, bad_target, warn)
    done = _Rescorer(scorer, table, advance, note).run(Path(out), overwrite=overwrite)
    for text in done.manifest.get("warnings", ()):
        warn(text)
    return done


@dataclass(frozen=True, eq=False)
class _Rescorer:
    """One run: the arguments of ``rescore``."""

    scorer: TableScorer
    rollouts: RolloutTable
    advance: Advance
    note: Note

    def run(self, out: Path, *, overwrite: bool) -> Rescored:
        _check_apart(self.rollouts, out)
        tables = [_table(each) for each in (*self.rollouts.parquet, *self.rollouts.rows)]
        for table in tables:
            self.scorer.columns.check(table, label_free=self.scorer.recipe.label_free)
        states = [state_of(table) for table in tables]  # before their content is read, for they may grow meanwhile
        identity = self._identity()
        with open_run(out, MANIFEST, identity, command="grounding-rewards pool score", overwrite=overwrite) as run:
            if run is None:
                manifest = read_manifest(out / MANIFEST)
                return Rescored(manifest, 0, len(manifest[OUTPUTS]))
            check_given(self.rollouts, tables, self.scorer.columns.id)
            warned = list[str]()
            return self._make(run, self._sources(tables, states, warned.append), warned)

    def _sources(self, tables: Sequence[Table], states: Sequence[tuple[int, int]], warn: Note) -> list[Source]:
        """The files, read once for what is not known before: types of JSON, and what scored them earlier."""
        scorer, sources = self.scorer, list[Source]()
        gone = left_out(self.rollouts, tables, scorer.recipe, scorer.columns, self.note, warn)
        for table, state in zip(tables, states, strict=True):
            sources.append(Source.of(table, gone, state, self.note))
            self.advance(_READING * len(sources) / len(tables))
        return sources

    def _make(self, run: Run, sources: Sequence[Source], warned: Sequence[str]) -> Rescored:
        scorer, columns = self._row_scorer(sources), self._needed(sources)
        grouped = "groups" in self.scorer.recipe.needs
        names, made = list[str](), 0
        for number, batches in enumerate((_by_group if grouped else _by_file)(run.folder, scorer, sources, columns)):
            names.append(f"{PREFIX}{number:06d}.parquet")
            if names[-1] not in run:
                with run.write(names[-1]) as file:
                    write(file, scorer.schema, self._advanced(batches))
                    for source in sources:
                        source.check()  # before the shard has its name: what another file said is never kept
                made += 1
        manifest = run.finish(names, summary(run.folder, names, self.scorer.recipe, warned))
        return Rescored(manifest, made, len(names) - made)

    def _advanced(self, batches: Iterable[tuple[Any, float]]) -> Iterator[Any]:
        for batch, done in batches:
            yield batch
            self.advance(_READING + (1 - _READING) * done)

    def _row_scorer(self, sources: Sequence[Source]) -> RowScorer:
        numbered = any("rollout" in each.table.columns for each in sources)
        return RowScorer(self.scorer, _schema(sources, self.scorer.recipe), first=int(numbered and len(sources) > 1))

    def _needed(self, sources: Sequence[Source]) -> frozenset[str]:
        """Return the columns that scoring needs as Python has them."""
        if self.scorer.recipe.reads_extras:
            return frozenset(name for source in sources for name in source.table.columns)
        return frozenset(vars(self.scorer.columns).values())

    def _identity(self) -> dict[str, Any]:
        scorer = self.scorer
        said = scorer.recipe.to_dict()
        return {
            "version": __version__,
            "recipe": said,
            "code": [{"path": str(file), "sha256": digest(file)} for file in files_named(said)],
            "plugins": plugins_named(said),
            "columns": dict(vars(scorer.columns)),
            "bad_target": str(scorer.bad_target),
            "inputs": self.rollouts.inputs(),
        }


Shard = Iterator[tuple[Any, float]]
"""Rows of a shard, scored when they are asked for, each batch with the share of all that is done by then."""


def _by_file(folder: Path, scorer: RowScorer, sources: Sequence[Source], columns: Collection[str]) -> Iterator[Shard]:
    """Yield the shards of rows that are scored each by itself: batches of a file that follow each other."""

    def scored(place: int, batches: Iterable[tuple[int, Batch]]) -> Shard:
        source = sources[place]
        for _, batch in batches:
            rows = scorer.scored(source.table, batch, scorer.unscored(source, place, batch))
            yield rows, (place + batch.done) / len(sources)

    for place, source in enumerate(sources):
        numbered = ((index // SHARD_BATCHES, batch) for index, batch in enumerate(source.batches(columns)))
        for _, batches in groupby(numbered, key=itemgetter(0)):
            yield scored(place, batches)


def _by_group(folder: Path, scorer: RowScorer, sources: Sequence[Source], columns: Collection[str]) -> Iterator[Shard]:
    """Yield the shards of rows that are compared with each other."""
    files = files_of_groups(folder, scorer, sources, columns)
    for number, file in enumerate(files, 1):
        yield ((scored_groups(each, scorer, sources, columns), number / len(files)) for each in [file])


def _check_apart(rollouts: RolloutTable, out: Path) -> None:
    """Check that the output is no part of the input, nor the input of the output.

    Raises:
        TableError: it is.
    """
    for path in rollouts.paths:
        if overlap(out, path):
            raise TableError(f"{out}: lies in the input {path}, or holds it; write to another directory")


def _table(rows: Any) -> Table:
    found: Table = rows.table if hasattr(rows, "table") else LoggedTable(rows)
    return found


def _schema(sources: Sequence[Source], recipe: Recipe) -> Any:
    """The columns of every rollout table, further ones of the files, and the recipe's parts.

    Raises:
        TableError: a part bears the name of another column, or two files disagree on a column.
    """
    rollout_schema(recipe.parts)  # which refuses the name of another column
    metadata = next((each.kept.metadata for each in sources if each.kept.metadata), None)
    parts = [(name, pa.float64()) for name in recipe.parts]
    return pa.schema([*COLUMNS.items(), *types_of(sources).items(), *parts], metadata)
