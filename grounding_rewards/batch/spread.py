"""Rows of a file that workers of a cluster score, batch by batch, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from grounding_rewards.batch.score_rows import RecipeSlice
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.cluster import Cluster
from grounding_rewards.errors import ClusterError
from grounding_rewards.tables.contents import is_stream
from grounding_rewards.tables.interrupting import ahead
from grounding_rewards.tables.object_stores import fetched
from grounding_rewards.tables.opening import files_of_table
from grounding_rewards.tables.rows import Batch, Table


def scored_on(cluster: Cluster | None, scorer: TableScorer, table: Table) -> Iterator[tuple[Batch, RecipeSlice]]:
    """Yield whole batches of a table with their scores, which are made here or on a cluster."""
    if cluster is None:
        for batch in ahead(scorer.batches(table, whole=True)):
            yield batch, scorer.score(table, batch)
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
    work = _Scoring(replace(scorer, diagnosis=None), table, state_of(table)).apart()
    results = cluster.map(work, parts, files_of_table(table), ordered=True)
    for batch, (scored, notes, warnings) in zip(ahead(scorer.batches(table, whole=True)), results, strict=True):
        for text in notes:
            if scorer.images is not None:
                scorer.images.noted(text)
        for text in warnings:
            scorer.on_warning(text)
        scorer.diagnose(table, batch, scored)
        yield batch, scored


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

    def __call__(self, ends: Sequence[int]) -> Iterator[tuple[RecipeSlice, list[str], list[str]]]:
        from grounding_rewards.tables.arrow_rows import ParquetTable
        from grounding_rewards.tables.rollout_source import state_of

        fetched(self.table.path)
        if state_of(self.table) != self.state:
            raise ClusterError(f"{self.table.path}: is not the file that it was when the command began, on a worker")
        columns = None if self.scorer.recipe.reads_extras else self.scorer.reads(self.table)
        some = self.table.between(ends, columns) if ends and isinstance(self.table, ParquetTable) else None
        for batch in self.scorer.batches(self.table, whole=True) if some is None else some:
            scored = self.scorer.score(self.table, batch)
            inputs = replace(scored.inputs, groups=None, extras=None)  # which hold the batch, and nobody reads
            yield replace(scored, inputs=inputs), [*self.notes], [*self.warnings]
            self.notes.clear()
            self.warnings.clear()
