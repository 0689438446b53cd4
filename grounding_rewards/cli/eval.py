"""``grounding-rewards eval``: files of rows in, accuracies with their intervals out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards import catalogue
from grounding_rewards.batch.sample_scores import Answers
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.accuracy import Evaluation, evaluate, merge
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.cli import benchmarks, comparing, joining, options, terminal
from grounding_rewards.cli.render import evaluation as show


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
    paired: comparing.Paired = False,
    consensus: comparing.Consensus = False,
    seed: comparing.Seed = None,
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

    Two models, each with a space of its own: `grounding-rewards eval a.jsonl b.jsonl --paired --response-space
    pixel,thousandths`
    """
    comparing.check(seed, paired=paired, consensus=consensus, benchmark=published.benchmark is not None)
    fields, note = list(dict.fromkeys(by or ())), terminal.note_once()
    if published.benchmark is not None:
        models = benchmarks.models(files, join, paired=paired)
        recipes = [
            catalogue.recipe(recipe, **published.options(recipe, own)) for own in options.of_each(chosen, len(models))
        ]
        scorers = [
            TableScorer(each, columns, bad_target, box_format, images, on_note=note, on_warning=terminal.warn)
            for each in recipes
        ]
        benchmarks.run(published, models, split, scorers, fields, paired=paired, seed=seed or 0, as_json=as_json)
        return
    inputs = join.inputs(files, paired=paired)
    recipes = [catalogue.recipe(recipe, **own) for own in options.of_each(chosen, len(inputs))]
    label_free = recipes[0].label_free
    evaluations, runs = list[tuple[str, Evaluation]](), list[tuple[Answers, Diagnosis, list[str]]]()
    for (name, file, own_join), own_recipe in zip(inputs, recipes, strict=True):
        known = len(terminal.warnings())
        table, named = own_join.open(file, split, columns)
        own_scorer = TableScorer(
            own_recipe, named, bad_target, box_format, images, on_note=note, on_warning=terminal.warn
        ).of(table)
        diagnosis = options.diagnosis(own_scorer)
        own_scorer = replace(own_scorer, diagnosis=diagnosis)
        answers = Answers(own_scorer, table, fields, paired=paired, consensus=consensus)
        evaluations.append((name, _evaluate(answers)))
        runs.append((answers, diagnosis, terminal.warnings()[known:]))
    compared = comparing.compare(evaluations, runs[0][0].samples, runs[-1][0].samples, seed or 0) if paired else None
    if not as_json:
        show.evaluations(evaluations, label_free=label_free)
        comparing.show(evaluations, [answers.singles for answers, *_ in runs], compared)
        if label_free:
            terminal.note(options.unlabelled(recipes[0]))
    further = list[dict[str, Any]]()
    for (name, _), (answers, diagnosis, earlier) in zip(evaluations, runs, strict=True):
        known, scorer = len(terminal.warnings()), answers.scorer
        joining.repeated(answers.table)
        answers.problems.report(terminal.warn, name if len(inputs) > 1 else "")
        findings = terminal.report(diagnosis.findings(), name if len(inputs) > 1 else "")
        read = {"columns": scorer.used(answers.table), **joining.counts(answers.table), **answers.problems.to_dict()}
        further.append({**read, "warnings": [*earlier, *terminal.warnings()[known:]], "findings": findings})
    about = comparing.report(compared, [name for name, _ in evaluations])
    if as_json:
        entries = [
            {"file": name, "recipe": own.to_dict(), **options.marked(own), **each.to_dict(), **more,
             **comparing.singles(answers)}
            for (name, each), own, (answers, *_), more in zip(evaluations, recipes, runs, further, strict=True)
        ]  # fmt: skip
        terminal.print_json({"files": entries, "paired": about} if paired else entries)


def _evaluate(answers: Answers) -> Evaluation:
    parts = list[Evaluation]()
    with terminal.progress(f"scoring {answers.table.path.name}") as advance:
        for batch, scored in answers.batches():
            fields = {name: batch.column(name) for name in answers.by}
            parts.append(evaluate(scored.scores, refusals=scored.rollouts.targets.refusal, by=fields))
            advance(batch.done)
    return merge(parts)
