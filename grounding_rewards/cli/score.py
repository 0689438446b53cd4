"""``grounding-rewards score``: a file of rows in, the same rows with their scores out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards import catalogue
from grounding_rewards.batch.joining import counts, written
from grounding_rewards.batch.score_rows import marked
from grounding_rewards.batch.spread import scored_on
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.accuracy import Evaluation, merge
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.checks.finding import command_line
from grounding_rewards.cli import options, terminal
from grounding_rewards.cluster import Cluster, joined
from grounding_rewards.scoring import ACTION, Recipe
from grounding_rewards.settings.groups import OnBadTarget
from grounding_rewards.tables.interrupting import behind
from grounding_rewards.tables.writing import write_table


def score(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=options.ROWS)],
    recipe: options.RecipeName,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write: .jsonl or .parquet.")],
    *,
    chosen: options.RecipeOptions,
    bad_target: options.BadTargets = OnBadTarget.RAISE,
    box_format: options.BoxFormats = None,
    prefix: Annotated[str, typer.Option(metavar="P", help="Text before the name of every new column.")] = "",
    ray: options.Ray = None,
    as_json: options.AsJson = False,
    rows: options.Rows,
) -> None:
    """Score every row of a file with a recipe, and write the rows with their scores.

    New columns: total, acc, valid, the recipe's parts, reason, x and y (the point that was read, in the recipe's
    space) and dialect; of a recipe that judges actions also action_name and arguments, what was read as JSON, with
    ends of drags in the recipe's space. A row whose target cannot be used has no scores. All other columns stay as
    they are. Columns that no option names are guessed by their names, and layouts of benchmarks are recognised; stderr
    says so. `a.b` names a field of a column, `none` prevents a guess. Warnings at the end say what looks wrong and
    which flag fixes it; --json has them as `findings`, too.

    Example: `grounding-rewards score rollouts.jsonl --recipe gelato --out scored.parquet`
    """
    rows.join.check([file])
    built = catalogue.recipe(recipe, **chosen)
    table = rows.join.open(file, rows.split, rows.columns)
    written(table, terminal.note)
    scorer = rows.scorer(built, bad_target, box_format).of(table)
    with joined(ray) as cluster:
        summary = _write(out, scorer, prefix, cluster)
    if as_json:
        terminal.print_json(summary)
    else:
        left_out = summary["rows"] - summary["valid"]
        scored = f"{summary['rows']} rows scored with {built.name}{f' ({left_out} of them not valid)' * bool(left_out)}"
        terminal.say(f"{scored}: {terminal.scores_in_words(summary)}; written to {out}")
        if scorer.recipe.label_free:
            terminal.note(options.unlabelled(scorer.recipe))


def _write(out: Path, scorer: TableScorer, prefix: str, cluster: Cluster | None) -> dict[str, Any]:
    parts: list[Evaluation] = []
    table, total, notes = scorer.table, 0.0, list[str]()
    diagnosis = Diagnosis(scorer.recipe, command_line(scorer.columns.response), scorer.box_format)
    scorer = replace(scorer, diagnosis=diagnosis)
    new = _new(scorer.recipe, prefix, table.columns)
    with (
        terminal.progress(f"scoring {table.path.name}") as advance,
        write_table(out, like=table, new=dict(new.values()), note=notes.append) as writer,
        behind(writer.write) as write,  # files are read and written while rows are scored
    ):
        for batch, scored in scored_on(cluster, scorer, new, writer):
            write(batch, scored.columns)
            parts.append(scored.evaluation)
            total += scored.total
            advance(batch.done)
    for text in notes:
        terminal.note(text)
    terminal.report(diagnosis.findings())
    evaluation = merge(parts)
    return {
        "file": str(table.path),
        "out": str(out),
        "recipe": scorer.recipe.to_dict(),
        **marked(scorer.recipe),
        **counts(table),
        "rows": evaluation.rows,
        "valid": evaluation.valid,
        "mean_total": float(total / evaluation.valid) if evaluation.valid else None,
        "accuracy": evaluation.accuracy,
        "parse_rate": evaluation.parse_rate,
        "reasons": dict(evaluation.reasons),
        "columns": scorer.used(),
    }


def _new(recipe: Recipe, prefix: str, there: Iterable[str]) -> dict[str, tuple[str, type]]:
    """Return the name and the type of each new column; a part whose name is taken, as ``refusal``, says what it is."""
    numbers, texts = ["total", "acc", "valid", *recipe.parts, "x", "y"], ["reason", "dialect"]
    texts += ["action_name", "arguments"] if ACTION in recipe.accepts else []
    taken = {name for name in recipe.parts if prefix + name in there}
    for name in sorted(taken):
        terminal.note(f"{prefix}{name} is a column of the file: the recipe's part is written as {prefix}part_{name}")
    return {
        name: (f"{prefix}part_{name}" if name in taken else prefix + name, kind)
        for names, kind in ((numbers, float), (texts, str))
        for name in names
    }
