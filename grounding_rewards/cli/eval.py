"""``grounding-rewards eval``: files of rows in, accuracies with their intervals out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards import catalogue
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.accuracy import Evaluation, evaluate, merge
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.cli import benchmarks, joining, options, terminal
from grounding_rewards.cli.render import evaluation as show
from grounding_rewards.tables import Table


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
    images: options.SizedImages,
    split: options.RowsSplit = None,
    join: joining.Joining,
    published: benchmarks.Published,
) -> None:
    """Count how often a model was right, with 95 % Wilson intervals.

    Prints a row a file, the responses by reason, the refusals if any are asked for, and a table for every --by field.
    Warnings at the end say what looks wrong and which flag fixes it; --json has them as `findings`, too.

    Columns that no option names are guessed by their names, and layouts of benchmarks are recognised; stderr says so.
    `a.b` names a field of a column, `none` prevents a guess.

    Example: `grounding-rewards eval responses.jsonl --response-space thousandths --by ui_type`

    Answers in another file: `grounding-rewards eval annotations.json --predictions answers.jsonl --id sample_id`

    A published benchmark, whose files are one evaluation: `grounding-rewards eval annotations/ --predictions
    answers.jsonl --benchmark screenspot-pro --response-space pixel`
    """
    join.check(files[:1] if published.benchmark else files)
    scorer = TableScorer(
        catalogue.recipe(recipe, **published.options(recipe, chosen)), columns, bad_target, box_format, images,
        on_note=terminal.note_once(), on_warning=terminal.warn,
    )  # fmt: skip
    fields = list(dict.fromkeys(by or ()))
    if published.benchmark is not None:
        benchmarks.run(published, files, split, join, scorer, fields, as_json=as_json)
        return
    evaluations, runs = list[tuple[str, Evaluation]](), list[tuple[Table, TableScorer, Diagnosis, list[str]]]()
    for file in files:
        known = len(terminal.warnings())
        table, named = join.open(file, split, columns)
        own_scorer = replace(scorer, columns=named).of(table)
        diagnosis = options.diagnosis(own_scorer)
        evaluations.append((str(file), _evaluate(table, replace(own_scorer, diagnosis=diagnosis), fields)))
        runs.append((table, own_scorer, diagnosis, terminal.warnings()[known:]))
    if not as_json:
        show.evaluations(evaluations, label_free=scorer.recipe.label_free)
        if scorer.recipe.label_free:
            terminal.note(options.unlabelled(scorer.recipe))
    further = list[dict[str, Any]]()
    for table, own_scorer, diagnosis, earlier in runs:
        known = len(terminal.warnings())
        joining.repeated(table)
        findings = terminal.report(diagnosis.findings(), str(table.path) if len(files) > 1 else "")
        read = {"columns": own_scorer.used(table), **joining.counts(table)}
        further.append({**read, "warnings": [*earlier, *terminal.warnings()[known:]], "findings": findings})
    if as_json:
        own = {"recipe": scorer.recipe.to_dict(), **options.marked(scorer.recipe)}
        terminal.print_json(
            [
                {"file": name, **own, **each.to_dict(), **more}
                for (name, each), more in zip(evaluations, further, strict=True)
            ]
        )


def _evaluate(table: Table, scorer: TableScorer, by: list[str]) -> Evaluation:
    parts = list[Evaluation]()
    with terminal.progress(f"scoring {table.path.name}") as advance:
        for batch in scorer.batches(table, by=by, whole=False):
            scored = scorer.score(table, batch)
            fields = {name: batch.column(name) for name in by}
            parts.append(evaluate(scored.scores, refusals=scored.rollouts.targets.refusal, by=fields))
            advance(batch.done)
    return merge(parts)
