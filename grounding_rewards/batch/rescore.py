"""Score rollouts, for the first time or again, into the shards of a rollout table."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from io import BytesIO
from itertools import accumulate, groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from grounding_rewards._version import __version__
from grounding_rewards.batch.rollout_scorer import RolloutScorer, rescored
from grounding_rewards.batch.score_rows import Inputs, RecipeSlice, marked
from grounding_rewards.batch.table_scorer import Scoring, TableScorer
from grounding_rewards.catalogue import RecordedName, recorded_recipe
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.checks.finding import Finding, Severity, command_line
from grounding_rewards.cluster import Cluster
from grounding_rewards.coords.image_sizes import read_sizes
from grounding_rewards.errors import ClusterError, RecipeError, TableError
from grounding_rewards.plugins.registry import files_named, plugins_named
from grounding_rewards.rollouts import PARSED, Reason, Scores
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.arrow_rows import ARROW_ROWS, ParquetTable
from grounding_rewards.tables.atomic import atomic_files
from grounding_rewards.tables.columns import OWN, Columns, columns_read, has
from grounding_rewards.tables.image_files import ImageFiles
from grounding_rewards.tables.launches import PREFIX, several_runs
from grounding_rewards.tables.manifests import OUTPUTS, digest, manifest_bytes, manifest_or_none, read_manifest
from grounding_rewards.tables.object_stores import fetched, local
from grounding_rewards.tables.reporting import Advance
from grounding_rewards.tables.rollout_columns import COLUMNS, KEY, arrow, arrow_type, fields, rollout_schema
from grounding_rewards.tables.rollout_source import RolloutFile, state_of, types_of
from grounding_rewards.tables.rollout_sql import FileRollouts
from grounding_rewards.tables.rollout_table import MatchedRollouts, RolloutTable, open_rollouts
from grounding_rewards.tables.rows import BATCH_ROWS, Batch, Note, Table
from grounding_rewards.tables.runs import Run, described, is_whole, open_run
from grounding_rewards.tables.sample_ids import name_of
from grounding_rewards.tables.trainer_logs.logged import TrainerLog
from grounding_rewards.tables.writing import overlap
from grounding_rewards.targets.box_format import BoxFormat, as_box_format

MANIFEST = "_score.manifest.json"  # readers of a directory of Parquet pass over names that begin with an underscore
_HELD_BYTES = 1 << 26  # bytes of batches that are gathered into one row group

_NAMED = ("response", "target", "image_size", "model_image_size", "id", "token_length")
"""Columns that the manifest names; several names where files differ."""

SHARD_BATCHES = 8  # batches of a file in one shard. A run that goes on after a kill does its unfinished shard again
_READING = 0.1  # share of the progress that stands for reading the files once before any row is scored

_BY_DEFAULT = Columns()


@dataclass(frozen=True)
class Rescored:
    """Result of ``rescore``."""

    manifest: Mapping[str, Any]  # what the directory was made of, and figures of its rows
    made: int  # number of shards that this call made
    found: int  # number of shards that were there before it

    @property
    def findings(self) -> list[Finding]:
        """The diagnosis of all rows."""
        return [Finding.from_dict(each) for each in self.manifest.get("findings", ())]


def rescore(
    rollouts: RolloutTable | Sequence[str | os.PathLike[str]],
    recipe: Recipe,  # built by ``grounding_rewards.recipe``, so that the manifest can hold its name and options
    out: str | os.PathLike[str],
    *,
    columns: Columns = _BY_DEFAULT,  # those without a name are looked for in each file
    bad_target: str = "raise",  # or "abstain" from scoring a row whose target cannot be used
    box_format: str | None = None,  # how boxes are written, as in ``Targets.from_list``; the directory has them as xyxy
    image_files: ImageFiles | None = None,  # reads sizes that rows lack and conversions need from their images
    overwrite: bool = False,  # replaces a directory, or an unfinished run, that was made of something else
    cluster: Cluster | None = None,  # scores on its workers, into the same shards; None scores here
    advance: Advance = lambda done: None,
    note: Note = lambda text: None,  # takes remarks on what becomes of columns, and notes of the diagnosis
    warn: Note = lambda text: None,  # takes warnings about rollouts and targets; the manifest has them, too
) -> Rescored:
    """Score rollouts, for the first time or again, into a directory that is a rollout table once it is complete."""
    # After a kill, the same call goes on where the run ended. A directory that is replaced can be read until the new
    # one is complete. Rows that the recipe compares are ordered by sample, round, train_step and rollout.
    if "trajectories" in recipe.needs:
        raise RecipeError(
            f"{recipe.name} adds up a trajectory, and rollouts of a pool do not say which steps are of one attempt; "
            "score a file of whole attempts with `grounding-rewards score`"
        )
    table = rollouts if isinstance(rollouts, RolloutTable) else open_rollouts(rollouts)
    scorer = Scoring(recipe, columns, bad_target, as_box_format(box_format), image_files, on_note=note, on_warning=warn)
    if cluster is not None and isinstance(table, MatchedRollouts):
        raise ClusterError("--ray: answers of another file are joined and scored on one machine; leave --ray out")
    done = _Rescorer(scorer, table, cluster, advance, note).run(local(out, output=True), overwrite=overwrite)
    for text in done.manifest.get("warnings", ()):
        warn(text)
    for finding in done.findings:
        if finding.severity is Severity.NOTE:
            note(str(finding))
    return done


@dataclass(frozen=True, eq=False)
class _Rescorer:
    """One run of ``rescore``, with its arguments."""

    scorer: Scoring
    rollouts: RolloutTable
    cluster: Cluster | None
    advance: Advance
    note: Note

    def run(self, out: Path, *, overwrite: bool) -> Rescored:
        for path in self.rollouts.paths:
            if overlap(out, path):
                raise TableError(f"{out}: lies in the input {path}, or holds it; write to another directory")
        opened = (each.table for each in self.rollouts.each)
        tables: list[Table] = [each.unjudged() if isinstance(each, TrainerLog) else each for each in opened]
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
            _check_once(self.rollouts, scorers)
            return self._make(run, self._sources(scorers, states, warned.append), scorers, warned)

    def _sources(
        self, scorers: Sequence[TableScorer], states: Sequence[tuple[int, int]], warn: Note
    ) -> list[RolloutFile]:
        """Read the files once to find out the types of JSON columns, and the recipes that scored the rows earlier."""
        sources, tables = list[RolloutFile](), [each.table for each in scorers]
        gone = _earlier_columns(self.rollouts, tables, self.scorer.recipe, self.note, warn)
        for scorer, state in zip(scorers, states, strict=True):
            sources.append(RolloutFile.of(scorer.table, gone | renamed(scorer), state, self.note))
            self.advance(_READING * len(sources) / len(tables))
        return sources

    def _make(
        self, run: Run, sources: Sequence[RolloutFile], scorers: Sequence[TableScorer], warned: Sequence[str]
    ) -> Rescored:
        """Write the shards that are not there yet, and the manifest."""
        recipe = self.scorer.recipe
        # Beside files whose rollouts have numbers files count from 1, so that the numbers do not meet.
        numbered = any("rollout" in each.table.columns for each in sources)
        first = int(numbered and len(sources) > 1)
        rollout_schema(recipe.parts)  # for its error, where a part has the name of another column
        metadata = next((each.kept.metadata for each in sources if each.kept.metadata), None)
        parts = [(name, pa.float64()) for name in recipe.parts]
        schema = pa.schema([*fields(), *types_of(sources).items(), *parts], metadata)
        pairs = enumerate(zip(scorers, sources, strict=True), first)
        readers = [RolloutScorer(each, source, schema, number, reads=recipe) for number, (each, source) in pairs]
        columns = set[str]()  # those needed as Python values, not as Arrow
        for each in scorers:
            columns.update(each.table.columns if recipe.reads_extras else each.reads())
        scoring = _Scoring(readers, columns, "groups" in recipe.needs)
        names, made = self._here(run, scoring) if self.cluster is None else self._spread(run, scoring, self.cluster)
        manifest = run.finish(
            names, summary(run.folder, names, recipe, scorers[0].columns.response, scorers[0].box_format, warned)
        )
        return Rescored(manifest, made, len(names) - made)

    def _here(self, run: Run, scoring: _Scoring) -> tuple[list[str], int]:
        """Write the shards that are not there yet; return the names of all, and how many it made."""
        names, made = list[str](), 0
        for batches in scoring.shards(run.folder):
            names.append(_name(len(names)))
            if names[-1] not in run:
                with run.write(names[-1]) as file:
                    _write(
                        file,
                        scoring.readers[0].schema,
                        batches,
                        lambda done: self.advance(_READING + (1 - _READING) * done),
                    )
                    scoring.check()  # before the shard gets its name: rows of a file that has changed are never kept
                made += 1
        return names, made

    def _spread(self, run: Run, scoring: _Scoring, cluster: Cluster) -> tuple[list[str], int]:
        """Write them as workers make them."""
        units = [*scoring.units(run.folder)]
        count, made = sum(each.count for each in units), 0
        wanted = {number for number in range(count) if _name(number) not in run}
        lacking = [replace(each, wanted=wanted & {*range(each.first, each.first + each.count)}) for each in units]
        inputs = [*self.rollouts.files, *(each.groups for each in units if each.groups)]
        items = [each for each in lacking if each.wanted]
        for number, content in cluster.map(scoring.apart(), items, inputs, note=self.note):
            with run.write(_name(number)) as file:
                file.write(content)
                scoring.check()
            made += 1
            self.advance(_READING + (1 - _READING) * (count - len(wanted) + made) / count)
        return [_name(number) for number in range(count)], made

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


def _name(number: int) -> str:
    return f"{PREFIX}{number:06d}.parquet"


Shard = Iterator[tuple[Any, float]]
"""Batches of a shard, scored when they are asked for; each with the share of all rows that is done by then."""


@dataclass(frozen=True)
class _Unit:
    """Shards that one worker makes, one after the other."""

    first: int  # number of the first one
    count: int
    place: int = 0  # number of the file
    ends: tuple[int, ...] = ()  # of batches, as in ``RolloutFile.batches``
    groups: Path | None = None  # the file of rows that are compared with each other
    wanted: Collection[int] = ()  # numbers of those that are not there yet


@dataclass(frozen=True, eq=False)
class _Scoring:
    """Rollouts as shards of scored ones, here or on a worker."""

    readers: Sequence[RolloutScorer]
    columns: Collection[str]
    by_group: bool  # True where rows are compared with each other
    notes: list[str] = field(default_factory=list)  # of a worker

    def check(self) -> None:
        for each in self.readers:
            each.source.check()

    def shards(self, folder: Path) -> Iterator[Shard]:
        """Yield all shards in order; one that nobody asks for is not scored."""
        if self.by_group:
            files = _files_of_groups(folder, self.readers, self.columns)
            for number, file in enumerate(files, 1):
                yield self._of_groups(file, number / len(files))
            return
        for place, each in enumerate(self.readers):
            yield from self._of_batches(place, each.source.batches(self.columns))

    def units(self, folder: Path) -> Iterator[_Unit]:
        """Yield the same shards by what one worker makes of them: those of a file, of Parquet those of a row group."""
        if self.by_group:
            for number, file in enumerate(_files_of_groups(folder, self.readers, self.columns)):
                yield _Unit(number, 1, groups=file)
            return
        number = 0
        for place, source in enumerate(each.source for each in self.readers):
            ends = [0, *accumulate(map(len, source.batches(self.columns)))]
            parquet, step = isinstance(source.table, ParquetTable), _batches_of_shard(source.table)
            for part in source.table.parts(ends, step) if isinstance(source.table, ParquetTable) else [ends]:
                count = -(-(len(part) - 1) // step)
                yield _Unit(number, count, place, tuple(part) if parquet else ())
                number += count

    def apart(self) -> _Scoring:
        """Return the same for workers, whose notes come with the shards."""
        return replace(self, readers=[each.noting(self.notes.append) for each in self.readers])

    def __call__(self, unit: _Unit) -> Iterator[tuple[int, bytes]]:
        """Yield the wanted shards of a unit: the number, and the file."""
        if unit.groups is not None:
            shards: Iterator[Shard] = iter([self._of_groups(fetched(unit.groups), 1.0)])
        else:
            source, scorer = self.readers[unit.place].source, self.readers[unit.place].scorer
            for path in (source.table.path, *([Path(scorer.images.files.root)] if scorer.images else [])):
                fetched(path)
            source.check()
            shards = self._of_batches(unit.place, source.batches(self.columns, unit.ends))
        for number, batches in enumerate(shards, unit.first):
            if number in unit.wanted:
                _write(file := BytesIO(), self.readers[0].schema, batches)
                yield number, file.getvalue()

    def _of_groups(self, file: Path, done: float) -> Shard:
        yield _scored_groups(file, self.readers), done

    def _of_batches(self, place: int, batches: Iterable[Batch]) -> Iterator[Shard]:
        """Yield shards of batches that follow each other in a file."""
        # groupby reads past the batches of a shard that nobody asks for: one that is there is not scored again.
        step = _batches_of_shard(self.readers[place].source.table)
        numbered = ((index // step, batch) for index, batch in enumerate(batches))
        for _, each in groupby(numbered, key=itemgetter(0)):
            yield self._scored(place, (batch for _, batch in each))

    def _scored(self, place: int, batches: Iterable[Batch]) -> Shard:
        for batch in batches:
            yield self.readers[place].scored(batch), (place + batch.done) / len(self.readers)


def _batches_of_shard(table: Table) -> int:
    """Return how many batches of a file are one shard: of Parquet, whose batches have more rows, fewer."""
    return max(1, SHARD_BATCHES * BATCH_ROWS // ARROW_ROWS) if isinstance(table, ParquetTable) else SHARD_BATCHES


def _write(file: IO[bytes], schema: Any, batches: Shard, advance: Advance = lambda done: None) -> None:
    """Write a shard as Parquet, in few row groups and bounded memory."""
    held, size = list[Any](), 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch, done in batches:
            held, size = [*held, batch], size + batch.nbytes
            if size > _HELD_BYTES:
                writer.write_table(pa.Table.from_batches(held))
                held, size = [], 0
            advance(done)
        if held:
            writer.write_table(pa.Table.from_batches(held))


_SCORED = frozenset({"total", "acc", "valid", "x", "y", "reason", "dialect"})
"""Columns that `grounding-rewards score` writes."""


def _earlier_columns(
    rollouts: RolloutTable, tables: Sequence[Table], recipe: Recipe, note: Note, warn: Note
) -> set[str]:
    """Return columns that are not written again: earlier scores, and what takes their names."""
    known = {name for table in tables for name in table.columns}
    parts, stay = _parts(rollouts, recipe) if "recipe" in known else (set[str](), list[str]())
    scored = _SCORED - set(COLUMNS) if known >= _SCORED else frozenset[str]()
    gone = sorted(((parts | scored) & known) - set(recipe.parts) - set(COLUMNS))
    if gone:
        note(f"scores of earlier recipes are left out: {', '.join(gone)}")
    if stay:
        warn(
            "rollouts name recipes that are not installed, or that need options: "
            f"{', '.join(f'{name!r:.80}' for name in stay[:3])}; a name in a file is never loaded as code, so the "
            "columns of their parts are unknown and stay as they are"
        )
    return {*gone, *recipe.parts, "correct"}


def renamed(scorer: TableScorer) -> set[str]:
    """Return columns of one table that are called otherwise from now on; another table may have more by these names."""
    kept = {"image", "refusal", *({"id", "image_size"} & scorer.guessed)}  # of a guess targets may say another
    return {name for field, name in vars(scorer.columns).items() if field not in kept} - {*vars(OWN).values()}


def _parts(rollouts: RolloutTable, recipe: Recipe) -> tuple[set[str], list[str]]:
    """Parts of the recipes that rows were scored with before; and those recipes whose parts nobody can tell."""
    names: set[str] = set()
    for batch in rollouts.batches(["recipe"]):
        names.update(name for name in batch.column("recipe").unique().to_pylist() if name is not None)
    parts, unknown = set[str](), list[str]()
    for name in sorted(names):
        named = RecordedName(name)
        built = (
            # Some recipes demand a space, on which their parts do not depend.
            recipe if name == recipe.name else recorded_recipe(named) or recorded_recipe(named, response_space="pixel")
        )
        parts.update(() if built is None else built.parts)
        unknown += [name] if built is None else []
    return parts, unknown


def _check_once(rollouts: RolloutTable, scorers: Sequence[TableScorer]) -> None:
    """Check that no rollout is there twice, as far as files name and number them."""
    named = [(each.table, each.columns.id) for each in scorers if "id" not in each.guessed]
    numbered = [(table, name) for table, name in named if has(table, name) and "rollout" in table.columns]
    if numbered:
        keys = _Keys(rollouts.paths[0], numbered)
        RolloutTable(rollouts.paths, rollouts.files, [FileRollouts(keys)]).check_once()


class _Keys:
    """The keys of all rows. Unlike in a rollout table samples may lack names, and what cannot be read is null."""

    columns = KEY

    def __init__(self, path: Path, tables: Sequence[tuple[Table, str]]) -> None:
        self.path, self.tables = path, tables  # each with the column of names

    @property
    def schema(self) -> Any:
        """The Arrow schema."""
        return pa.schema([(name, arrow_type(COLUMNS[name])) for name in KEY])

    def batches(self) -> Iterator[Batch]:
        """Yield all rows."""
        for table, named in self.tables:
            own = (named, *KEY[1:])
            for batch in table.batches(columns_read(own), whole=False):
                names, rounds, numbers = (batch.column(name) for name in own)
                values = ([name_of(name) for name in names], rounds, numbers)
                arrays = [arrow(each, field.type) for each, field in zip(values, self.schema, strict=True)]
                yield Batch(0, [], pa.RecordBatch.from_arrays(arrays, schema=self.schema), 1.0)


GROUP_ROWS = 1 << 16  # rows that are brought together in a file, about

_FOLDER = "groups"
_MOST_FILES = 256  # more files are not written at once

_GROUP = ("sample_id", "round", "train_step")
"""Columns that are equal in the rows of one group: a sample that is visited again is compared again."""

_SCATTERED_BYTES = 1 << 27


def _files_of_groups(folder: Path, readers: Sequence[RolloutScorer], columns: Collection[str]) -> list[Path]:
    """Bring rows of one sample, round and step of the trainer together in one file; files that are there stay."""
    count = min(_MOST_FILES, -(-sum(each.source.rows for each in readers) // GROUP_ROWS))
    files = [folder / _FOLDER / f"{number}.parquet" for number in range(count)]
    complete = folder / _FOLDER / "complete"
    if (there := manifest_or_none(complete)) is not None:  # made by a run that was killed later
        if all(is_whole(complete.parent, {**there.get(file.name, {}), "path": file.name}) for file in files):
            return files
        readers[0].scorer.on_warning(f"{folder}: groups of rows are not what was written; they are made again")
    complete.parent.mkdir(exist_ok=True)
    with atomic_files() as outputs:
        whole = outputs.open(complete)  # opened first, it gets its name last: before that, the next run makes all again
        made = [outputs.open(file) for file in files]
        with ExitStack() as stack:
            writers = [stack.enter_context(pq.ParquetWriter(file, readers[0].schema)) for file in made]
            held: list[list[Any]] = [[] for _ in writers]
            size = 0
            for number, rows in _scattered(readers, columns, count):
                held[number].append(rows)
                size += rows.nbytes
                if size > _SCATTERED_BYTES:
                    _flush(writers, held)
                    size = 0
            _flush(writers, held)
        for file in made:
            file.flush()
        names = {file.name: described(file.name, Path(one.name)) for file, one in zip(files, made, strict=True)}
        whole.write(manifest_bytes(names))
    return files


def _scored_groups(file: Path, readers: Sequence[RolloutScorer]) -> Any:
    """Score all rows of a file, in an order of their own: the last bit of a sum depends on the order."""
    scorer, schema = readers[0].scorer, readers[0].schema
    with file.open("rb") as opened:
        table = pq.read_table(opened, schema=schema)
    if not len(table):  # whose groups all went elsewhere
        return pa.RecordBatch.from_pylist([], schema=schema)
    table = table.sort_by([(name, "ascending") for name in (*_GROUP, "rollout")]).combine_chunks()
    (whole,) = table.to_batches()
    names = ", ".join(str(each.source.table.path) for each in readers[:3])
    return rescored(scorer.recipe, whole, names, groups=_groups(whole), bad_target=scorer.bad_target)


def _scattered(readers: Sequence[RolloutScorer], columns: Collection[str], count: int) -> Iterator[tuple[int, Any]]:
    """Yield all rows, each with the number of its group's file."""
    for reader in readers:
        for batch in reader.source.batches(columns):
            reader.scorer.responses(batch)  # which are texts of some kind from here on
            rows = reader.unscored(batch, alone=False)
            # Not hash(), which differs between processes: a run that goes on finds the groups in the same files.
            hashes = [blake2b(repr(group).encode(), digest_size=8).digest() for group in _groups(rows)]
            numbers = [int.from_bytes(each) % count for each in hashes]
            for number in sorted(set(numbers)):
                yield number, rows.take([row for row, each in enumerate(numbers) if each == number])


def _groups(rows: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(rows.column(list(COLUMNS).index(name)).to_pylist() for name in _GROUP), strict=True))


def _flush(writers: Sequence[Any], held: Sequence[list[Any]]) -> None:
    for writer, rows in zip(writers, held, strict=True):
        if rows:
            writer.write_table(pa.Table.from_batches(rows))
            rows.clear()


_JUDGED = ["sample_id", "response", "target", "image_size", "model_image_size", "total", "acc", "reason"]
"""Columns that a diagnosis is made of."""


def summary(
    folder: Path,
    names: Sequence[str],
    recipe: Recipe,
    response: str = OWN.response,
    box_format: BoxFormat | None = None,
    warned: Sequence[str] = (),
) -> dict[str, Any]:
    """Return figures and warnings of all shards, read from the files: the same however many runs made them."""
    rows, scored, hits, total, parsed = 0, 0, 0, 0.0, 0
    reasons: Counter[str | None] = Counter()
    written = box_format and BoxFormat.XYXY  # which the directory has, whatever was declared
    diagnosis = Diagnosis(recipe, command_line(response), written)
    parsed_reasons = pa.array([reason.name for reason in PARSED])
    for name in names:
        with (folder / name).open("rb") as opened, pq.ParquetFile(opened) as file:
            figures = file.read(["total", "acc", "reason"])
            for batch in file.iter_batches(columns=_JUDGED):
                _diagnose(diagnosis, batch.filter(batch.column("response").is_valid()), box_format)
        usable = figures.filter(figures.column("acc").is_valid())
        rows, scored = rows + len(figures), scored + len(usable)
        hits += int(np.count_nonzero(usable.column("acc").to_numpy() == 1.0))
        total += float(usable.column("total").to_numpy().sum())
        parsed += int(pc.sum(pc.is_in(usable.column("reason"), parsed_reasons)).as_py() or 0)
        counts = figures.column("reason").value_counts().to_pylist()
        reasons.update({each["values"]: each["counts"] for each in counts})
    findings = diagnosis.findings()
    return {
        **marked(recipe),
        "rows": rows, "scored": scored, "unscored": rows - scored, "no_response": reasons[None],
        "mean_total": total / scored if scored else None, "hit_rate": hits / scored if scored else None,
        "parse_rate": parsed / scored if scored else None,
        "reasons": {reason.name: reasons[reason.name] for reason in Reason if reason.name in reasons},
        "warnings": [*warned, *(str(each) for each in findings if each.severity is not Severity.NOTE)],
        "findings": [each.to_dict() for each in findings],
    }  # fmt: skip


_CODES = {reason.name: int(reason) for reason in Reason}


def _diagnose(diagnosis: Diagnosis, rows: Any, declared: BoxFormat | None) -> None:
    """Count scored rows, which all have a response, in a diagnosis; boxes were ``declared`` to be of a format."""
    recipe = diagnosis.recipe
    names, texts, targets, *sizes = (rows.column(name).to_pylist() for name in _JUDGED[:5])
    read = recipe.read_targets(targets, bad_target="abstain", warn=False)
    read = read.changed(box_format=declared)
    rollouts = recipe.prepare(
        [None] * len(targets), read, image_sizes=sizes[0], model_image_sizes=sizes[1], groups=names,
        bad_target="abstain",
    )  # fmt: skip
    total, acc = (rows.column(name).fill_null(0.0).to_numpy(zero_copy_only=False) for name in ("total", "acc"))
    reason = np.array([_CODES[name] for name in rows.column("reason").to_pylist()], dtype=np.int8)
    scores = Scores(
        total, acc, (reason != Reason.BAD_TARGET).astype(np.float64), {}, reason, rollouts.predictions,
        rollouts.targets.errors,
    )  # fmt: skip
    outside = [
        None if all(size is None for size in each) else read_sizes("image_size", each, len(each)) for each in sizes
    ]
    scored = RecipeSlice(recipe, Inputs(texts, targets), rollouts, scores, sizes=(outside[0], outside[1]))
    diagnosis.add(scored, place=lambda row: f"sample {names[row]!r:.80}")
