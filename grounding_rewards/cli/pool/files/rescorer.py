"""The files of ``pool score``: what is read, piece by piece, what is written, and what became of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from grounding_rewards import __version__
from grounding_rewards.catalogue import recipe as build
from grounding_rewards.cli import terminal
from grounding_rewards.cli.pool.files.grouped_rows import GroupedRows
from grounding_rewards.cli.pool.files.rescored import Rescored
from grounding_rewards.cli.pool.files.scored import MANIFEST, made, summary, write
from grounding_rewards.cli.scorer import Columns, Scorer
from grounding_rewards.errors import GroundingRewardsError, TableError
from grounding_rewards.further import reads_further
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.base import Batch, Table
from grounding_rewards.tables.resumable import Pieces, directory_in_pieces
from grounding_rewards.tables.rollout_columns import COLUMNS, rollout_schema
from grounding_rewards.tables.rollout_shards import PREFIX
from grounding_rewards.tables.rollout_source import LoggedTable, Source, types_of
from grounding_rewards.tables.rollout_table import RolloutTable, open_rollouts

_EARLIER = frozenset({"total", "acc", "valid", "x", "y", "reason", "dialect"})
"""Columns that `grounding-rewards score` writes."""


@dataclass
class Done:
    """What a run did.

    Attributes:
        manifest: what the directory says of itself.
        now: pieces that this run made.
        found: pieces that were there.
        notes: what is to be said of columns.
    """

    manifest: Mapping[str, Any]
    now: int = 0
    found: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Rescorer:
    """Settings of one run: those of ``grounding-rewards pool score``, whose help explains them."""

    scorer: Scorer
    overwrite: bool = False

    def run(self, paths: Sequence[Path], out: Path) -> Done:
        """Score rollouts into a directory.

        Raises:
            TableError: the input cannot be read or scored, or the output is another one already.
            RecipeError: the recipe adds up trajectories.
        """
        rollouts = open_rollouts(paths)
        check_apart(rollouts, out)
        tables = [_table(each) for each in (*rollouts.parquet, *rollouts.rows)]
        notes: list[str] = []
        gone = self._gone(rollouts, tables, notes.append)
        for table in tables:
            self.scorer.columns.check(table, label_free=self.scorer.recipe.label_free)
        with terminal.progress("reading") as advance:
            sources = []
            for place, table in enumerate(tables, 1):
                sources.append(Source.of(table, gone, notes.append))
                advance(place / len(tables))
        identity = self._identity(rollouts)
        with directory_in_pieces(out, MANIFEST, identity, overwrite=self.overwrite) as pieces:
            if pieces is None:
                return Done(made(out), found=len(made(out)["outputs"]))
            return self._make(pieces, sources, notes)

    def _make(self, pieces: Pieces, sources: Sequence[Source], notes: list[str]) -> Done:
        parts = self.scorer.recipe.parts
        rollout_schema(parts)  # which refuses parts that bear the name of another column
        further = types_of(sources)
        metadata = next((each.kept.metadata for each in sources if each.kept.metadata), None)
        schema = pa.schema([*COLUMNS.items(), *further.items(), *[(name, pa.float64()) for name in parts]], metadata)
        numbered = any("rollout" in each.table.columns for each in sources)
        rescored = Rescored(self.scorer, schema, first=int(numbered and len(sources) > 1))
        if self.scorer.recipe.needs & {"groups"}:
            work: Work = GroupedRows(rescored, sources, self._columns(sources))
        else:
            work = Straight(rescored, sources, self._columns(sources))
        names = [f"{PREFIX}{number:06d}.parquet" for number in range(work.count)]
        missing = [number for number, name in enumerate(names) if name not in pieces]
        rows = sum(source.rows for source in sources)
        with terminal.progress(f"scoring {rows:,} rollouts") as advance:
            work.prepare(pieces.folder, missing)
            share = rows * len(missing) / max(len(names), 1)
            done = 0

            def scored(batches: Iterable[tuple[int, Any]]) -> Iterator[Any]:
                nonlocal done
                for _, found in batches:
                    yield (batch := work.scored(found))
                    done += len(batch)
                    advance(min(done / share, 1.0))

            for number, batches in groupby(work.rows(pieces.folder, missing), key=itemgetter(0)):
                with pieces.write(names[number]) as file:
                    write(file, schema, scored(batches))
                    for source in sources:
                        source.check()  # before the piece has its name: what another file said is never kept
        said = summary(pieces.folder, names, self.scorer.recipe)
        manifest = pieces.finish(names, said)
        return Done(manifest, len(missing), len(names) - len(missing), notes)

    def _columns(self, sources: Sequence[Source]) -> frozenset[str]:
        """The columns that scoring needs as Python has them."""
        if reads_further(self.scorer.recipe):
            return frozenset(name for source in sources for name in source.table.columns)
        return frozenset(vars(self.scorer.columns).values())

    def _gone(self, rollouts: RolloutTable, tables: Sequence[Table], note: Callable[[str], None]) -> set[str]:
        """Columns that are not written again: earlier scores, and what is called otherwise from now on."""
        known = {name for table in tables for name in table.columns}
        parts, stay = _earlier_parts(rollouts, tables, self.scorer.recipe)
        scored = _EARLIER - set(COLUMNS) if known >= _EARLIER else frozenset[str]()
        left_out = sorted(((parts | scored) & known) - set(self.scorer.recipe.parts) - set(COLUMNS))
        if left_out:
            note(f"scores of earlier recipes are left out: {', '.join(left_out)}")
        if stay:
            note(f"parts of {', '.join(stay)} cannot be told from other columns, and stay as they are")
        renamed = {name for role, name in vars(self.scorer.columns).items() if name != getattr(Columns(), role)}
        return {*left_out, *self.scorer.recipe.parts, *renamed, "correct"}

    def _identity(self, rollouts: RolloutTable) -> dict[str, Any]:
        scorer = self.scorer
        return {
            "version": __version__,
            "recipe": scorer.recipe.to_dict(),
            "code": _code(scorer.recipe.to_dict()),
            "columns": dict(vars(scorer.columns)),
            "bad_target": str(scorer.on_bad_target),
            "resizing": None if scorer.resizing is None else dict(vars(scorer.resizing)),
            "inputs": rollouts.inputs(),
        }


@dataclass(frozen=True)
class Straight:
    """Rows that are scored each by itself: pieces are rows of a file that follow each other."""

    rescored: Rescored
    sources: Sequence[Source]
    columns: frozenset[str]

    @property
    def _firsts(self) -> list[int]:
        """The number of each file's first piece, and that behind the last."""
        counts = [-(-source.rows // source.piece_rows) for source in self.sources]
        return [0, *np.cumsum(counts).tolist()]

    @property
    def count(self) -> int:
        """How many pieces there are."""
        return self._firsts[-1]

    def prepare(self, folder: Path, missing: Sequence[int]) -> None:
        """Nothing is to be done before."""

    def rows(self, folder: Path, missing: Sequence[int]) -> Iterator[tuple[int, tuple[int, Batch]]]:
        """Rows of some pieces, in order, each batch with its piece's number, and its file's."""
        firsts = self._firsts
        for place, source in enumerate(self.sources):
            spans = {number - firsts[place] for number in missing if firsts[place] <= number < firsts[place + 1]}
            for span, batch in source.batches(self.columns, spans) if spans else ():
                yield firsts[place] + span, (place, batch)

    def scored(self, rows: tuple[int, Batch]) -> Any:
        """A batch with its scores."""
        place, batch = rows
        source = self.sources[place]
        return self.rescored.scored(source.table, batch, self.rescored.unscored(source, place, batch))


class Work(Protocol):
    """What is scored, piece by piece."""

    @property
    def count(self) -> int:
        """How many pieces there are."""
        ...

    def prepare(self, folder: Path, missing: Sequence[int]) -> None:
        """What is to be done before."""
        ...

    def rows(self, folder: Path, missing: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Rows of some pieces, in order, each with its piece's number."""
        ...

    def scored(self, rows: Any) -> Any:
        """These rows with their scores."""
        ...


def check_apart(rollouts: RolloutTable, out: Path) -> None:
    """Check that the output is no part of the input, nor the input of the output.

    Raises:
        TableError: it is.
    """
    for path in rollouts.paths:
        one, other = path.resolve(), out.resolve()
        if one.is_relative_to(other) or (path.is_dir() and other.is_relative_to(one)):
            raise TableError(f"{out}: lies in the input {path}, or holds it; write to another directory")


def _table(rows: Any) -> Table:
    found: Table = rows.table if hasattr(rows, "table") else LoggedTable(rows)
    return found


def _earlier_parts(rollouts: RolloutTable, tables: Sequence[Table], recipe: Recipe) -> tuple[set[str], list[str]]:
    """Parts of the recipes that rows were scored with before; and those recipes whose parts nobody can tell."""
    if not any("recipe" in table.columns for table in tables):
        return set(), []
    names: set[str] = set()
    for batch in rollouts.batches(["recipe"]):
        names.update(name for name in batch.column("recipe").unique().to_pylist() if name is not None)
    parts, unknown = set[str](), list[str]()
    for name in sorted(names):
        found = recipe.parts if name == recipe.name else _parts_of(name)
        parts.update(found or ())
        unknown += [name] if found is None else []
    return parts, unknown


def _parts_of(name: str) -> tuple[str, ...] | None:
    for options in ({}, {"response_space": "pixel"}):
        try:
            return build(name, **options).parts
        except GroundingRewardsError:
            continue
    return None


def _code(value: Any) -> dict[str, str]:
    """What the files of one's own code hold that a recipe names, for they may have changed between two runs."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return {name: digest for each in value for name, digest in _code(each).items()}
    named = re.fullmatch(r"(.+\.py):[^:]+", value) if isinstance(value, str) else None
    if named is None or not Path(named[1]).is_file():
        return {}
    return {named[1]: hashlib.sha256(Path(named[1]).read_bytes()).hexdigest()}
