"""``grounding-rewards eval``: files of rows in, accuracies with their intervals out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grounding_rewards import catalogue
from grounding_rewards.batch.benchmarks import BENCHMARKS, Benchmark, benchmark
from grounding_rewards.batch.benchmarks.evaluation import options_of
from grounding_rewards.batch.evaluate import EvaluatedRows, evaluate_rows
from grounding_rewards.batch.joining import Join
from grounding_rewards.checks.finding import Severity, command_line
from grounding_rewards.cli import options, terminal
from grounding_rewards.cli.render import evaluation as show
from grounding_rewards.errors import RecipeError
from grounding_rewards.evaluators.judging import ALL
from grounding_rewards.evaluators.layouts import STEP_BENCHMARKS, StepBenchmark, step_benchmark
from grounding_rewards.settings.declared import option
from grounding_rewards.settings.groups import OnBadTarget
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.contents import is_stream
from grounding_rewards.tables.rollout_columns import FIRST_RESPONSE

if TYPE_CHECKING:
    from grounding_rewards.checks.paired import Comparison

Paired = Annotated[bool, typer.Option(
    "--paired",
    help="Also compare two files over the samples that both have: the difference with a 95 % interval and a p "
    "over images, and McNemar's exact test; of one table of zoomed rollouts its first answers and its last. "
    "--json is then an object with `files` and `paired`.",
)]  # fmt: skip
Consensus = Annotated[bool, typer.Option(
    "--consensus",
    help="Judge one answer a sample: the middle of the region in which most of its rollouts agree (GUI-RC).",
)]  # fmt: skip
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of the draws of --paired. Default: 0.")
]
_PANEL = "Published benchmarks"


@dataclass(frozen=True)
class Published:
    """A published benchmark, and whose rule judges it."""

    benchmark_name: str | None = option(
        f"Read and judge the files as one published benchmark: {', '.join(BENCHMARKS)}; with --rule as one of whole "
        f"actions: {', '.join(STEP_BENCHMARKS)}.", None, metavar="NAME", panel=_PANEL, flags=["--benchmark"],
    )  # fmt: skip
    categories: Path | None = option(
        "OSWorld-G's categories of each id. Default: classification_result.json beside the rows.", None,
        metavar="FILE", panel=_PANEL,
    )  # fmt: skip
    rule: str | None = option(
        f"The evaluator by whose rule whole actions are judged, such as os-atlas; or {ALL}.", None, metavar="RULE",
        panel=_PANEL,
    )  # fmt: skip


def _published(
    benchmark_name: str | None, categories: Path | None, rule: str | None
) -> tuple[Benchmark | StepBenchmark | None, Any]:
    """Return the benchmark, and the file of its categories, or the rules of one of whole actions."""
    if benchmark_name is None:
        for flag, given, whose in (("--categories", categories, "rows"), ("--rule", rule, "steps")):
            if given is not None:
                raise RecipeError(f"{flag}: got it without --benchmark, whose {whose} they are of")
        return None, None
    named = step_benchmark(benchmark_name) or benchmark(benchmark_name)
    if categories is not None and (isinstance(named, StepBenchmark) or not named.categories):
        raise RecipeError(f"--categories: {named.title} has no categories in a file of their own")
    if isinstance(named, StepBenchmark):
        from grounding_rewards.batch.steps import rules_named

        return named, rules_named(benchmark_name, rule)
    if rule is not None:
        raise RecipeError(f"--rule: {named.title} has one rule; leave it out")
    return named, categories


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
    rows: options.Rows,
    published: Annotated[tuple[Benchmark | StepBenchmark | None, Any], options.group(_published, Published)],
    paired: Paired = False,
    consensus: Consensus = False,
    seed: Seed = None,
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

    A benchmark of whole actions, by the rule of one evaluator or of all: `grounding-rewards eval steps.json
    --predictions answers.jsonl --benchmark androidcontrol --rule all --response-space thousandths`

    Both answers of zoomed rollouts, the first and the last: `grounding-rewards eval zoomed --paired`

    Two models, each with a space of its own: `grounding-rewards eval a.jsonl b.jsonl --paired --response-space
    pixel,thousandths`
    """
    if seed is not None and not paired:
        raise RecipeError("--seed: got it without --paired, whose draws it is the seed of")
    named, categories = published
    if isinstance(named, StepBenchmark):
        for name in ("paired", "consensus", "by", "recipe", "bad_target", "box_format", "split"):
            if options.given(name):
                raise RecipeError(
                    f"{options.flag_of(name)}: got it with {named.title}, whose rule says it; leave it out"
                )
        from grounding_rewards.batch.steps import recipe_of, steps_by_rule

        found = steps_by_rule(named, categories, files, rows.join, rows.columns.response, recipe_of(chosen))
        if as_json:
            terminal.print_json({"files": [{**found.to_dict(), "warnings": terminal.warnings()}]})
        else:
            show.steps(named.title, found)
        return
    if named is not None and consensus:
        raise RecipeError("--consensus: got it with --benchmark, which judges the answers as they are; leave one out")
    fields = list(dict.fromkeys(by or ()))
    columns, split = rows.columns, rows.split
    join = replace(rows.join, reporting=replace(terminal.REPORTING, note=terminal.note_once()))
    zoomed = paired and named is None and _is_zoomed(files, columns, split, join)
    inputs = join.inputs(files * 2 if zoomed else files, paired=paired, whole=named is not None)
    of_inputs = [columns] * len(inputs)
    if zoomed:
        inputs[0] = (f"{files[0]}, first answers", *inputs[0][1:])
        of_inputs[0] = replace(columns, response=FIRST_RESPONSE)
    recipes = [
        catalogue.recipe(recipe, **options_of(named, recipe, own)) for own in options.of_each(chosen, len(inputs))
    ]
    for name in fields:
        if named is not None and name in named.names:
            terminal.note(f"--by {name}: a group of {named.title} itself, which is always shown")
    runs, live = list[EvaluatedRows](), list[list[str]]()
    for (name, paths, own_join), own, own_columns in zip(inputs, recipes, of_inputs, strict=True):
        known = len(terminal.warnings())
        scorer = replace(rows, columns=own_columns).scorer(own, bad_target, box_format, join.reporting.note)
        runs.append(
            evaluate_rows(
                paths, scorer, fields, join=own_join, split=split, named=named, categories=categories,
                paired=paired, consensus=consensus, naming=command_line, name=name, several=len(inputs) > 1,
            )
        )  # fmt: skip
        live.append(terminal.warnings()[known:])
    whole = named.name if named else ""
    shown = [
        (name or (str(paths[0].absolute()) if len(paths) == 1 else whole), each)
        for (name, paths, _), each in zip(inputs, runs, strict=True)
    ]
    names = [name for name, _ in shown]
    compared: Comparison | None = None
    if paired:
        from grounding_rewards.checks.paired import compare

        compared = compare(*(each.samples.scores(name) for name, each in shown), seed=seed or 0)
    if not as_json:
        for letter, each in zip("AB", runs, strict=False):
            if named is not None:
                show.totals(f"{named.title}{paired * f', {letter}'}", each.figures)
        show.evaluations(shown, label_free=recipes[0].label_free)
        if single := [(name, each.singles) for name, each in shown if each.singles is not None]:
            show.singles(single)
        if compared is not None:
            show.pairs(compared.pairs, names)
        if recipes[0].label_free and named is None:
            terminal.note(options.unlabelled(recipes[0]))
    entries = list[dict[str, Any]]()
    for each, earlier in zip(runs, live, strict=True):
        known = len(terminal.warnings())
        for severity, text in each.remarks:
            (terminal.note if severity is Severity.NOTE else terminal.warn)(text)
        terminal.report(each.findings, each.file if len(runs) > 1 else "")
        entries.append({**each.to_dict(), "warnings": [*earlier, *terminal.warnings()[known:]]})
    about = {} if compared is None else {"paired": _reported(compared, names)}
    if as_json:
        terminal.print_json({"files": entries, **about})


def _is_zoomed(files: Sequence[Path], columns: Columns, split: str | None, join: Join) -> bool:
    """Return True for one table of zoomed rollouts, whose first answers are compared with those to the crops."""
    if len(files) != 1 or join.every or is_stream(files[0]):
        return False
    return FIRST_RESPONSE in join.open(files[0], split, columns).columns


def _reported(compared: Comparison, files: Sequence[str]) -> dict[str, Any]:
    """Print notes and warnings on a comparison; return its plain values for JSON."""
    for text in compared.notes():
        terminal.note(text)
    warnings = compared.warnings(files)
    for text in warnings:
        terminal.warn(text)
    return {"files": [*files], **compared.to_dict(), "warnings": warnings}
