"""Rows of a file that workers of a cluster score, batch by batch, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, NamedTuple

from grounding_rewards.actions import objects
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.accuracy import Evaluation, evaluate
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.cluster import Cluster
from grounding_rewards.errors import ClusterError
from grounding_rewards.scoring import ACTION
from grounding_rewards.tables.contents import is_stream
from grounding_rewards.tables.interrupting import ahead
from grounding_rewards.tables.json_lines import dumps
from grounding_rewards.tables.object_stores import fetched
from grounding_rewards.tables.opening import files_of_table
from grounding_rewards.tables.rows import Batch, Table


class Scored(NamedTuple):
    """The scores of a batch."""

    columns: dict[str, Any]  # by name, one value a row
    evaluation: Evaluation


def scored_on(cluster: Cluster | None, scorer: TableScorer, table: Table) -> Iterator[tuple[Batch, Scored]]:
    """Yield whole batches of a table with their scores, which are made here or on a cluster."""
    batches = ahead(scorer.batches(table, whole=True))
    if cluster is None:
        for batch in batches:
            yield batch, _scored(scorer, table, batch)
        return
    from grounding_rewards.tables.arrow_rows import ParquetTable  # pyarrow, which JSON does without
    from grounding_rewards.tables.matched import MatchedTable
    from grounding_rewards.tables.rollout_source import state_of

    if is_stream(table.path) or isinstance(table, MatchedTable):
        what = "standard input is read" if is_stream(table.path) else "answers of another file are joined and scored"
        raise ClusterError(f"--ray: {what} on one machine; leave --ray out")
    parts: list[tuple[int, ...]] = [()]
    if isinstance(table, ParquetTable) and not scorer.recipe.needs & {"groups", "trajectories"}:
        parts = [*table.parts([0, *accumulate(map(len, scorer.batches(table, whole=True)))])]
    work = _Scoring(scorer, table, state_of(table)).apart()
    for scored, notes, warnings, diagnosis in cluster.map(work, parts, files_of_table(table), ordered=True):
        for text in notes:
            if scorer.images is not None:
                scorer.images.noted(text)
        for text in warnings:
            scorer.on_warning(text)
        if scorer.diagnosis is not None and diagnosis is not None:
            scorer.diagnosis.join(diagnosis)
        if scored is not None:
            yield next(batches), scored


def _scored(scorer: TableScorer, table: Table, batch: Batch) -> Scored:
    scored = scorer.score(table, batch)
    scores, columns = scored.scores, scored.scores.arrays()
    if ACTION in scorer.recipe.accepts:
        arguments = scores.predictions.arguments.by_row(len(batch))
        columns["action_name"] = objects([name or None for name in scores.predictions.actions.tolist()])
        # As JSON, what each action says; None where it says nothing.
        columns["arguments"] = objects([dumps(fields).decode() if fields else None for fields in arguments])
    return Scored(columns, evaluate(scores, refusals=scored.rollouts.targets.refusal))


@dataclass(frozen=True, eq=False)
class _Scoring:
    """A worker's part: batches by where they end, or all of them."""

    scorer: TableScorer
    table: Table
    state: tuple[int, int]
    notes: list[str] = field(default_factory=list)  # where sizes of images were read
    warnings: list[str] = field(default_factory=list)

    def apart(self) -> _Scoring:
        """Return the same for workers, whose notes come with the batches."""
        images = self.scorer.noting(self.notes.append).images
        return replace(self, scorer=replace(self.scorer, images=images, on_warning=self.warnings.append))

    def __call__(self, ends: Sequence[int]) -> Iterator[tuple[Scored | None, list[str], list[str], Diagnosis | None]]:
        from grounding_rewards.tables.arrow_rows import ParquetTable
        from grounding_rewards.tables.rollout_source import state_of

        fetched(self.table.path)
        if state_of(self.table) != self.state:
            raise ClusterError(f"{self.table.path}: is not the file that it was when the command began, on a worker")
        diagnosis = self.scorer.diagnosis and Diagnosis(
            self.scorer.recipe, self.scorer.diagnosis.naming, self.scorer.box_format, ends[0] if ends else 0
        )
        scorer = replace(self.scorer, diagnosis=diagnosis)
        columns = None if scorer.recipe.reads_extras else scorer.reads(self.table)
        some = self.table.between(ends, columns, whole=False) if ends and isinstance(self.table, ParquetTable) else None
        for batch in scorer.batches(self.table, whole=True) if some is None else some:
            yield _scored(scorer, self.table, batch), [*self.notes], [*self.warnings], None
            self.notes.clear()
            self.warnings.clear()
        yield None, [], [], diagnosis
