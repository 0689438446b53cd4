"""Rollouts that are checked before a model is trained on them: what was read, what groups teach, which space fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from grounding_rewards.batch.consensus_answers import NUMBER
from grounding_rewards.batch.joining import Join
from grounding_rewards.batch.samples import Problems, names_of, reads
from grounding_rewards.batch.score_rows import RecipeSlice
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks import accuracy
from grounding_rewards.checks.accuracy import Evaluation
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.checks.finding import Finding, Naming
from grounding_rewards.checks.groups import GroupFigures, Groups
from grounding_rewards.checks.space_fit import SpaceFit
from grounding_rewards.coords.spaces import extents
from grounding_rewards.tables.sample_ids import SOURCE_COLUMNS

SIZE = "target size"
_SIZES = (("below 0.01 %", 1e-4), ("0.01 to 0.1 %", 1e-3), ("0.1 to 1 %", 1e-2), ("from 1 %", np.inf))
"""Shares of the screen."""


@dataclass(frozen=True)
class CheckedRollouts:
    """Figures of rollouts, and what looks wrong with them."""

    evaluation: Evaluation  # what was read and right, by source and by size of the target
    groups: GroupFigures
    fit: SpaceFit  # the search for other spaces
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        fit = self.fit
        return {
            **self.evaluation.to_dict(),
            "groups": vars(self.groups),
            "space": {
                "declared": str(fit.declared),
                "best": None if fit.better is None else _named(fit.better.settings),
                "scores": self.space_scores,
            },
        }

    @property
    def space_scores(self) -> dict[str, float]:
        """Shares of right rows under each setting that was tried."""
        rows = max(1, self.fit.rows)
        tried = {_named(each.settings): each.hits / rows for each in self.fit.tried}
        return {"declared": self.fit.hits / rows, **tried}


def _named(settings: Sequence[tuple[str, Any]]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings)


def check_rollouts(
    file: Path, scorer: TableScorer, join: Join, *, split: str | None = None, naming: Callable[[str], Naming]
) -> CheckedRollouts:
    """Check the rollouts of a file, with the answers of another one where ``join`` names it."""
    table, columns = join.open(file, split, scorer.columns)
    scorer = replace(scorer, columns=columns).of(table)
    diagnosis = Diagnosis(scorer.recipe, naming(scorer.columns.response), scorer.box_format)
    scorer = replace(scorer, diagnosis=diagnosis)
    problems, groups, parts = Problems(scorer, table), Groups(), list[Evaluation]()
    source = next((name for name in SOURCE_COLUMNS if name in table.columns), None)
    reading = [*reads(scorer, table, [*NUMBER, *([source] if source else [])]), *problems.reads]
    with join.reporting.progress(f"checking {table.path.name}") as advance:
        for batch in problems.left_out(scorer.batches(table, by=reading, whole=False)):
            scored = scorer.score(table, batch)
            read = scored.rollouts.targets.rows
            names = names_of(scorer, table, batch, batch.column(scorer.columns.id), read=read)
            scores, rounds = scored.scores, batch.column(NUMBER[0])
            groups.add(
                list(zip(names, rounds, strict=True)), scores.total, scores.acc, scored.columns["parsed"], scores.valid
            )
            by = {**({source: batch.column(source)} if source else {}), SIZE: _sizes(scored)}
            parts.append(accuracy.evaluate(scores, by=by))
            advance(batch.done)
    for text in problems.left_out_words():
        join.reporting.warn(text)
    figures = groups.figures()
    findings = (*diagnosis.findings(), *figures.findings())
    return CheckedRollouts(accuracy.merge(parts), figures, diagnosis.fit(), findings)


def _sizes(scored: RecipeSlice) -> list[str | None]:
    """Return the size of each row's largest place, as a share of the screen; None where it is unknown."""
    rollouts = scored.rollouts
    regions = rollouts.targets.regions
    extent = extents(scored.recipe.space, rollouts.image_sizes, rollouts.model_image_sizes)[regions.row]
    share = np.prod((regions.box[:, 2:] - regions.box[:, :2]) / extent, axis=1)
    largest = np.full(len(scored.scores), np.nan)
    np.fmax.at(largest, regions.row, share)
    return [next((name for name, end in _SIZES if each < end), None) for each in largest.tolist()]
