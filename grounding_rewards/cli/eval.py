"""``grounding-rewards eval``: files of rows in, accuracies with their intervals out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards import catalogue
from grounding_rewards.batch.benchmarks.evaluation import options_of
from grounding_rewards.batch.evaluate import EvaluatedRows, evaluate_rows
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.finding import Severity, command_line
from grounding_rewards.cli import benchmarks, comparing, options, terminal
from grounding_rewards.cli.render import evaluation as show
from grounding_rewards.settings.groups import OnBadTarget


def evaluate_files(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help=options.ROWS)],
    *,
    chosen: options.RecipeOptions,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Break down by this column, too; may be given several times."),
    ] = None,
    as_json: options.AsJson = False,
    recipe: options.RecipeName = "click",
    bad_target: options.BadTargets = OnBadTarget.RAISE,
    box_format: options.BoxFormats = None,
    columns: options.FileColumns,
    images: options.SizedImages,
    split: options.RowsSplit = None,
    join: options.Joining,
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
    fields, named = list(dict.fromkeys(by or ())), published.benchmark
    join = replace(join, reporting=replace(terminal.REPORTING, note=terminal.note_once()))
    inputs = join.inputs(files, paired=paired, whole=named is not None)
    recipes = [
        catalogue.recipe(recipe, **options_of(named, recipe, own)) for own in options.of_each(chosen, len(inputs))
    ]
    for name in fields:
        if named is not None and name in named.names:
            terminal.note(f"--by {name}: a group of {named.title} itself, which is always shown")
    runs, live = list[EvaluatedRows](), list[list[str]]()
    for (name, paths, own_join), own in zip(inputs, recipes, strict=True):
        known = len(terminal.warnings())
        scorer = TableScorer(
            own, columns, bad_target, box_format, images, on_note=join.reporting.note, on_warning=terminal.warn
        )
        runs.append(
            evaluate_rows(
                paths, scorer, fields, join=own_join, split=split, named=named, categories=published.categories,
                paired=paired, consensus=consensus, naming=command_line, name=name, several=len(inputs) > 1,
            )
        )  # fmt: skip
        live.append(terminal.warnings()[known:])
    shown = [(name or published.called(paths), each) for (name, paths, _), each in zip(inputs, runs, strict=True)]
    compared = comparing.compare(shown, seed or 0) if paired else None
    if not as_json:
        for letter, each in zip("AB", runs, strict=False):
            if named is not None:
                show.totals(f"{named.title}{paired * f', {letter}'}", each.figures)
        show.evaluations(shown, label_free=recipes[0].label_free)
        comparing.show(shown, compared)
        if recipes[0].label_free and named is None:
            terminal.note(options.unlabelled(recipes[0]))
    entries = list[dict[str, Any]]()
    for each, earlier in zip(runs, live, strict=True):
        known = len(terminal.warnings())
        for severity, text in each.remarks:
            (terminal.note if severity is Severity.NOTE else terminal.warn)(text)
        terminal.report(each.findings, each.file if len(runs) > 1 else "")
        entries.append({**each.to_dict(), "warnings": [*earlier, *terminal.warnings()[known:]]})
    about = comparing.report(compared, [name for name, _ in shown])
    if as_json:
        terminal.print_json({"files": entries, **({"paired": about} if paired else {})})
