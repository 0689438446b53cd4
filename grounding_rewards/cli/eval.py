"""``grounding-rewards eval``: files of rows in, accuracies with their intervals out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from grounding_rewards import catalogue
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.accuracy import Evaluation, evaluate, merge
from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import evaluation as show
from grounding_rewards.errors import TargetError
from grounding_rewards.tables.folders import open_rows
from grounding_rewards.targets.suspects import SuspectTargets, described


def evaluate_files(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help=options.ROWS)],
    *,
    chosen: options.RecipeOptions,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Break down by this column, too; may be given several times."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list, one entry a file.")] = False,
    recipe: Annotated[str, typer.Option("--recipe", metavar="NAME", help="The recipe whose `acc` counts.")] = "click",
    bad_target: options.BadTargets = options.OnBadTarget.RAISE,
    box_format: options.BoxFormats = None,
    columns: options.FileColumns,
    split: options.RowsSplit = None,
) -> None:
    """Count how often a model was right, with 95 % Wilson intervals.

    Prints a row a file, the responses by reason, the refusals if any are asked for, and a table for every --by field.

    Example: `grounding-rewards eval responses.jsonl --response-space thousandths --by ui_type`
    """
    scorer = TableScorer(catalogue.recipe(recipe, **chosen), columns, bad_target, box_format, on_warning=terminal.warn)
    fields = list(dict.fromkeys(by or ()))
    evaluations, warned = [], list[list[str]]()
    for file in files:
        known = len(terminal.warnings())
        evaluations.append((str(file), _evaluate(file, split, scorer, fields)))
        warned.append(terminal.warnings()[known:])
    if as_json:
        own = {"recipe": scorer.recipe.to_dict(), **options.marked(scorer.recipe)}
        terminal.print_json(
            [
                {"file": file, **own, **each.to_dict(), "warnings": texts}
                for (file, each), texts in zip(evaluations, warned, strict=True)
            ]
        )
    else:
        show.evaluations(evaluations, label_free=scorer.recipe.label_free)
        if scorer.recipe.label_free:
            terminal.note(options.unlabelled(scorer.recipe))


def _evaluate(file: Path, split: str | None, scorer: TableScorer, by: list[str]) -> Evaluation:
    table = open_rows(file, split)
    parts, noticed = list[Evaluation](), list[SuspectTargets]()
    wrong: TargetError | None = None
    scorer = replace(scorer, on_findings=noticed.extend)
    with terminal.progress(f"scoring {file.name}") as advance:
        for batch in scorer.batches(table, by=by, whole=False):
            scored = scorer.score(table, batch)
            scores = scored.scores
            wrong = wrong or next(iter(scores.errors.values()), None)
            parts.append(
                evaluate(scores, refusals=scored.rollouts.targets.refusal, by={name: batch.column(name) for name in by})
            )
            advance(batch.done)
    evaluation = merge(parts)
    if wrong is not None:
        terminal.warn(f"{file}: {evaluation.not_valid} rows have targets that cannot be used, the first: {wrong}")
    for text in described(noticed):
        terminal.warn(text)
    return evaluation
