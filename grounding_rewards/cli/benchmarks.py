"""The options ``--benchmark`` and ``--categories``: the files of a published benchmark, as one evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from grounding_rewards.batch.benchmarks import BENCHMARKS, Benchmark, benchmark
from grounding_rewards.cli.options import completing
from grounding_rewards.errors import RecipeError


@dataclass(frozen=True)
class PublishedBenchmark:
    """The benchmark that is named, and its file of categories; None where nothing is named."""

    benchmark: Benchmark | None = None
    categories: Path | None = None

    def called(self, files: Sequence[Path]) -> str:
        """Return the name of the evaluated files of one model."""
        assert self.benchmark is not None  # else files have names of their own
        return str(files[0].absolute()) if len(files) == 1 else self.benchmark.name


_PANEL = "Published benchmarks"


def _published(
    benchmark_name: Annotated[
        str | None,
        typer.Option(
            "--benchmark",
            metavar="NAME",
            help=f"Read and judge the files as one published benchmark: {', '.join(BENCHMARKS)}.",
            autocompletion=completing(lambda: BENCHMARKS),
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
