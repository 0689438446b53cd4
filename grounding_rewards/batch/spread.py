"""Rows of a file that processes here or workers of a cluster score, batch by batch, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import accumulate
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from grounding_rewards.actions import objects
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.accuracy import Evaluation, evaluate, merge
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.cluster import Cluster
from grounding_rewards.errors import ClusterError
from grounding_rewards.processes import cores, packed, spread
from grounding_rewards.scoring import ACTION
from grounding_rewards.tables.contents import is_stream
from grounding_rewards.tables.interrupting import ahead
from grounding_rewards.tables.json_lines import JsonLinesWriter, Lines, dumps
from grounding_rewards.tables.object_stores import fetched
from grounding_rewards.tables.opening import files_of_table
from grounding_rewards.tables.rows import Batch, Table, Writer
from grounding_rewards.tables.text_rows import JsonLinesTable, Part

_LARGE = 1 << 25
"""Bytes of a file from which one more process is worth its beginning."""

New = Mapping[str, tuple[str, type]]
"""Name as it is written, and type, of each column of scores."""


class Scored(NamedTuple):
    """The scores of a batch."""

    columns: dict[str, Any]  # by the name that is written, one value a row
    evaluation: Evaluation
    total: Any  # sum of the usable rows' totals, in more digits: rows may be cut into batches in several ways


def scored_on(cluster: Cluster | None, scorer: TableScorer, new: New, writer: Writer) -> Iterator[tuple[Batch, Scored]]:
    """Yield whole batches of a table, for a writer, with their scores, which are made here or on a cluster."""
    table = scorer.table
    if cluster is None and isinstance(writer, JsonLinesWriter) and _is_large(table, scorer):
        lines = packed(_Lines(scorer, new))
        if lines is not None:
            count = min(cores(), table.source.file.stat().st_size // _LARGE + 1)
            yield from _joined(scorer, spread(lines, table.parts(), count))
            return
    batches = ahead(scorer.batches(whole=True))
    if cluster is None:
        for batch in batches:
            yield batch, _scored(scorer, batch, new)
        return
    from grounding_rewards.tables.arrow_rows import ParquetTable  # pyarrow, which JSON does without
    from grounding_rewards.tables.matched import MatchedTable
    from grounding_rewards.tables.rollout_source import state_of

    if is_stream(table.path) or isinstance(table, MatchedTable):
        what = "standard input is read" if is_stream(table.path) else "answers of another file are joined and scored"
        raise ClusterError(f"--ray: {what} on one machine; leave --ray out")
    parts: list[tuple[int, ...]] = [()]
    if isinstance(table, ParquetTable) and not scorer.recipe.needs & {"groups", "trajectories"}:
        parts = [*table.parts([0, *accumulate(map(len, scorer.batches(whole=True)))])]
    work = _Batches(scorer, new, state_of(table))
    for _, scored in _joined(scorer, cluster.map(work, parts, files_of_table(table), ordered=True)):
        yield next(batches), scored


def _is_large(table: Table, scorer: TableScorer) -> TypeGuard[JsonLinesTable]:
    """Return True where rows are scored by themselves, each for itself, and are lines of a large file."""
    large = type(table) is JsonLinesTable and table.source.file.stat().st_size >= _LARGE and cores() > 1
    return large and not (scorer.recipe.needs & {"groups", "trajectories"} or scorer.recipe.reads_itself)


def _joined(scorer: TableScorer, results: Iterator[_Result]) -> Iterator[tuple[Any, Scored]]:
    """Yield what has been scored elsewhere; join what was noticed there."""
    for batch, scored, notes, warnings, diagnosis in results:
        for text in notes:
            if scorer.images is not None:
                scorer.images.noted(text)
        for text in warnings:
            scorer.on_warning(text)
        if scorer.diagnosis is not None and diagnosis is not None:
            scorer.diagnosis.join(diagnosis)
        if scored is not None:
            yield batch, scored


def _scored(scorer: TableScorer, batch: Batch, new: New) -> Scored:
    scored = scorer.score(batch)
    scores, columns = scored.scores, scored.scores.arrays()
    if ACTION in scorer.recipe.accepts:
        arguments = scores.predictions.arguments.by_row(len(batch))
        columns["action_name"] = objects([name or None for name in scores.predictions.actions.tolist()])
        # As JSON, what each action says; None where it says nothing.
        columns["arguments"] = objects([dumps(fields).decode() if fields else None for fields in arguments])
    named = {new[name][0]: values for name, values in columns.items()}
    total = columns["total"][columns["valid"] == 1].sum(dtype=np.longdouble)
    return Scored(named, evaluate(scores, refusals=scored.rollouts.targets.refusal), total)


_Result = tuple[Batch | None, Scored | None, list[str], list[str], Diagnosis | None]


@dataclass(frozen=True, eq=False)
class _Scoring:
    """Work of others, whose notes come with what they have scored."""

    scorer: TableScorer
    new: New
    notes: list[str] = field(default_factory=list, kw_only=True)  # where sizes of images were read
    warnings: list[str] = field(default_factory=list, kw_only=True)

    def from_row(self, first: int) -> TableScorer:
        """Return the scorer of rows from one on."""
        images, known = self.scorer.noting(self.notes.append).images, self.scorer.diagnosis
        diagnosis = known and Diagnosis(known.recipe, known.naming, known.box_format, first)
        return replace(self.scorer, images=images, on_warning=self.warnings.append, diagnosis=diagnosis)

    def said(self) -> tuple[list[str], list[str]]:
        """Return the notes and warnings since it was last asked."""
        said = [*self.notes], [*self.warnings]
        self.notes.clear()
        self.warnings.clear()
        return said


@dataclass(frozen=True, eq=False)
class _Lines(_Scoring):
    """Lines of JSON, which become lines with scores."""

    def __call__(self, part: Part) -> Iterator[_Result]:
        scorer, file, done = replace(self.from_row(part.before[1]), table=part), BytesIO(), list[Scored]()
        writer = JsonLinesWriter(file, part.path, dict(self.new.values()))
        for batch in scorer.batches(whole=True):
            done.append(_scored(scorer, batch, self.new))
            writer.write(batch, done[-1].columns)
        scored = Scored({}, merge(each.evaluation for each in done), sum(each.total for each in done))
        written = Batch(part.before[1], (), Lines((), [file.getvalue()[:-1]]), part.done)
        yield written, scored, *self.said(), scorer.diagnosis


@dataclass(frozen=True, eq=False)
class _Batches(_Scoring):
    """Batches of a table by where they end, or all of them."""

    state: tuple[int, int]  # of the file as it was when the command began

    def __call__(self, ends: Sequence[int]) -> Iterator[_Result]:
        from grounding_rewards.tables.arrow_rows import ParquetTable
        from grounding_rewards.tables.rollout_source import state_of

        table = self.scorer.table
        fetched(table.path)
        if state_of(table) != self.state:
            raise ClusterError(f"{table.path}: is not the file that it was when the command began, on a worker")
        scorer = self.from_row(ends[0] if ends else 0)
        columns = None if scorer.recipe.reads_extras else scorer.reads()
        some = table.between(ends, columns, whole=False) if ends and isinstance(table, ParquetTable) else None
        for batch in scorer.batches(whole=True) if some is None else some:
            yield None, _scored(scorer, batch, self.new), *self.said(), None
        yield None, None, [], [], scorer.diagnosis
