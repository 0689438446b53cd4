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
from grounding_rewards.batch.sample_scores import SampleTable
from grounding_rewards.batch.table_scorer import TableScorer
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.checks.finding import Code
from grounding_rewards.cli import comparing, joining, options, terminal
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


Model = tuple[str, Sequence[Path], joining.Join]
"""Files of a model's answers: how they are called, the files, and what is joined to them."""


def models(files: Sequence[Path], join: joining.Join, *, paired: bool) -> list[Model]:
    """Return the one model whose answers the files hold, or the two that are compared.

    Raises:
        RecipeError: two are compared, and there are neither two files or folders nor two files of predictions; or as of
            ``Join.check``.
    """
    join.check(files[:1])
    if not paired:
        return [("", files, join)]
    if len(join.every) == 2:
        return [(str(each), files, replace(join, predictions=each)) for each in join.every]
    if len(files) == 2 and not join.every:
        return [(str(file), [file], join) for file in files]
    raise RecipeError(
        f"--paired: got {len(files)} files and {len(join.every)} --predictions; expected two files or folders, each "
        "with all answers of a model, or the benchmark's files and --predictions twice"
    )


@dataclass(frozen=True, eq=False)
class _Run:
    """Evaluated answers of a model."""

    name: str
    files: Sequence[Path]
    table: Table
    scorer: TableScorer
    result: BenchmarkResult
    pairs: SampleTable
    diagnosis: Diagnosis
    warnings: Sequence[str]


def run(
    published: PublishedBenchmark,
    named: Sequence[Model],
    split: str | None,
    scorers: Sequence[TableScorer],
    by: Sequence[str],
    *,
    paired: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Evaluate the files of a benchmark as one, and print its figures, groups and remarks; of two models, both."""
    rows = published.benchmark
    assert rows is not None  # the caller has asked
    for name in by:
        if name in rows.names:
            terminal.note(f"--by {name}: a group of {rows.title} itself, which is always shown")
    runs = [
        _evaluated(published, rows, model, split, scorer, by, paired=paired)
        for model, scorer in zip(named, scorers, strict=True)
    ]
    called = [(each.name or _called(rows, each.files), each.result.evaluation) for each in runs]
    compared = comparing.compare(called, runs[0].pairs, runs[1].pairs, seed) if paired else None
    if not as_json:
        for letter, each in zip("AB", runs, strict=False):  # as of the comparison below, which names their files
            show.totals(f"{rows.title}{paired * f', {letter}'}", each.result.figures)
        show.evaluations(called, label_free=scorers[0].recipe.label_free)
        comparing.show(called, [None] * len(runs), compared)
    entries = [_entry(rows, each) for each in runs]
    about = comparing.report(compared, [name for name, _ in called])
    if as_json:
        terminal.print_json({"files": entries, "paired": about} if paired else entries)


def _called(rows: Benchmark, files: Sequence[Path]) -> str:
    return str(files[0].absolute()) if len(files) == 1 else rows.name


def _evaluated(
    published: PublishedBenchmark, rows: Benchmark, model: Model, split: str | None, scorer: TableScorer,
    by: Sequence[str], *, paired: bool,
) -> _Run:  # fmt: skip
    known = len(terminal.warnings())
    name, files, join = model
    alike = () if rows.repeated == 0 else rows.key
    table, columns = join.join(open_benchmark(rows, files, split, terminal.note), scorer.columns, alike)
    own = replace(scorer, columns=columns, layouts=rows.layouts).of(table)
    diagnosis = options.diagnosis(own)
    pairs = SampleTable(own, table, [each for each in by if each not in rows.names], once=rows.repeated != 0)
    with terminal.progress(f"scoring {rows.title}") as advance:
        result = evaluate_benchmark(
            rows, table, replace(own, diagnosis=diagnosis), by=by, categories=published.read_categories(table, rows),
            pairs=pairs if paired else None, advance=advance,
        )  # fmt: skip
    return _Run(name, files, table, own, result, pairs, diagnosis, terminal.warnings()[known:])


def _entry(rows: Benchmark, run: _Run) -> dict[str, Any]:
    """Print what looks wrong with the answers of a model; return all about them, for JSON."""
    known, scorer = len(terminal.warnings()), run.scorer
    joining.repeated(run.table)
    run.result.problems.report(terminal.warn, run.name)
    remarks = _remarks(rows, run.result, scorer)
    abstains = scorer.bad_target == "abstain"
    findings = [each for each in run.diagnosis.findings() if abstains or each.code is not Code.BAD_TARGET]
    reported = terminal.report(findings, run.name)
    figures = {"name": rows.name, "totals": [each.to_dict() for each in run.result.figures], "notes": remarks}
    return {
        "file": run.name or str(run.table.path), "files": list(map(str, run.files)), "benchmark": figures,
        "recipe": scorer.recipe.to_dict(), **options.marked(scorer.recipe), **run.result.evaluation.to_dict(),
        "columns": scorer.used(run.table), **joining.counts(run.table), **run.result.problems.to_dict(),
        "warnings": [*run.warnings, *terminal.warnings()[known:]], "findings": reported,
    }  # fmt: skip


def _remarks(rows: Benchmark, result: BenchmarkResult, scorer: TableScorer) -> list[str]:
    """Print what is missing of the benchmark and which targets were refused; return the texts."""
    remarks = list[str]()
    for missing in dict.fromkeys(each.missing for each in result.figures if each.missing):
        names = " and ".join(each.name for each in result.figures if each.missing == missing)
        remarks.append(f"{rows.title}, {names}: {missing}, so no figure of the benchmark")
        (terminal.warn if result.figures[0].missing == missing else terminal.note)(remarks[-1])
    for once in dict.fromkeys(each.once for each in result.figures if each.once):
        remarks.append(
            f"{rows.title}: {once} row{'s' if once > 1 else ''} of the benchmark repeat{'' if once > 1 else 's'} "
            f"others, and each sample counts once: {rows.totals[0].rows - once} of {rows.totals[0].rows}"
        )
        terminal.note(remarks[-1])
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
