"""The options ``--benchmark`` and ``--categories``: the files of a published benchmark, as one evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from grounding_rewards.batch.benchmarks import BENCHMARKS, Benchmark, benchmark
from grounding_rewards.batch.benchmarks.evaluation import CLICK, BenchmarkResult, evaluate_benchmark
from grounding_rewards.batch.benchmarks.files import open_benchmark, read_categories
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.finding import Code
from grounding_rewards.cli import joining, options, terminal
from grounding_rewards.cli.render import evaluation as show
from grounding_rewards.errors import RecipeError
from grounding_rewards.tables import Table
from grounding_rewards.tables.folders import folder_of

_SHOWN = 3


@dataclass(frozen=True)
class PublishedBenchmark:
    """The benchmark that is named, and its file of categories; None where nothing is named."""

    benchmark: Benchmark | None = None
    categories: Path | None = None

    def options(self, recipe: str, chosen: dict[str, Any]) -> dict[str, Any]:
        """Return the options of a recipe: of ``click`` the benchmark's, over which those that are named go."""
        own = self.benchmark.options if self.benchmark is not None and recipe == CLICK else {}
        return {**own, **chosen}

    def read_categories(self, table: Table, rows: Benchmark) -> Mapping[str, Sequence[str]] | None:
        """Return the categories of ids: of the file that is named, else of the one beside the annotations."""
        if not rows.categories:
            return None
        path = self.categories or folder_of(table.path) / rows.categories
        if self.categories is None and not path.is_file():
            terminal.note(f"no categories: no {rows.categories} beside the rows; --categories names it")
            return None
        return read_categories(path)


def run(
    published: PublishedBenchmark,
    files: Sequence[Path],
    split: str | None,
    join: joining.Join,
    scorer: TableScorer,
    by: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """Evaluate the files of a benchmark as one, and print its figures, groups and remarks."""
    rows = published.benchmark
    assert rows is not None  # the caller has asked
    table, named = join.join(open_benchmark(rows, files, split, terminal.note), scorer.columns)
    own_scorer = replace(scorer, columns=named, layouts=rows.layouts).of(table)
    diagnosis = options.diagnosis(own_scorer)
    with terminal.progress(f"scoring {rows.title}") as advance:
        result = evaluate_benchmark(
            rows, table, replace(own_scorer, diagnosis=diagnosis), by=by,
            categories=published.read_categories(table, rows), advance=advance,
        )  # fmt: skip
    if not as_json:
        show.totals(rows.title, result.figures)
        name = str(files[0].absolute()) if len(files) == 1 else rows.name
        show.evaluations([(name, result.evaluation)], label_free=scorer.recipe.label_free)
    joining.repeated(table)
    result.problems.report(terminal.warn)
    remarks = _remarks(rows, result, scorer)
    abstains = scorer.bad_target == "abstain"
    findings = [each for each in diagnosis.findings() if abstains or each.code is not Code.BAD_TARGET]
    reported = terminal.report(findings)
    if as_json:
        recipe = scorer.recipe
        figures = {"name": rows.name, "totals": [each.to_dict() for each in result.figures], "notes": remarks}
        terminal.print_json([{
            "file": str(table.path), "files": list(map(str, files)), "benchmark": figures,
            "recipe": recipe.to_dict(), **options.marked(recipe), **result.evaluation.to_dict(),
            "columns": own_scorer.used(table), **joining.counts(table), **result.problems.to_dict(),
            "warnings": terminal.warnings(),
            "findings": reported,
        }])  # fmt: skip


def _remarks(rows: Benchmark, result: BenchmarkResult, scorer: TableScorer) -> list[str]:
    """Print what is missing of the benchmark and which targets were refused; return the texts."""
    remarks = list[str]()
    for missing in dict.fromkeys(each.missing for each in result.figures if each.missing):
        names = " and ".join(each.name for each in result.figures if each.missing == missing)
        remarks.append(f"{rows.title}, {names}: {missing}, so no figure of the benchmark")
        (terminal.warn if result.figures[0].missing == missing else terminal.note)(remarks[-1])
    if result.refused:
        several = f"{len(result.refused)} places of targets" if len(result.refused) > 1 else "1 place of a target"
        remarks.append(
            f"{several} cannot be read, so no answer hits them and their rows count as wrong: "
            f"{'; '.join(result.refused[:_SHOWN])}{'; ...' if len(result.refused) > _SHOWN else ''}"
        )
        terminal.note(remarks[-1])
    if scorer.recipe.name != CLICK:
        remarks.append(f"{scorer.recipe.name} judges by its own rule, which may differ from that of {rows.title}")
        terminal.note(remarks[-1])
    return remarks


_PANEL = "Published benchmarks"


def _published(
    benchmark_name: Annotated[
        str | None,
        typer.Option(
            "--benchmark",
            metavar="NAME",
            help=f"Read and judge the files as one published benchmark: {', '.join(BENCHMARKS)}.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    categories: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="OSWorld-G's categories of each id. Default: classification_result.json beside the rows.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
) -> PublishedBenchmark:
    if benchmark_name is None:
        if categories is not None:
            raise RecipeError("--categories: got it without --benchmark, whose rows they are of")
        return PublishedBenchmark()
    named = benchmark(benchmark_name)
    if categories is not None and not named.categories:
        raise RecipeError(f"--categories: {named.title} has no categories in a file of their own")
    return PublishedBenchmark(named, categories)


Published = Annotated[PublishedBenchmark, _published]
"""Both options as one argument; see ``options.FileColumns``."""
